//! SockPerf's text against what the real sockperf printed: 3.7 of Debian 12, and 3.10-23.gited92afb185e6. The full log of each
//! captured loopback run is read, all figures are computed again, and text and files are the same.
//!
//! The captures were taken with `--no-rdtsc`, which makes sockperf's clock count nanoseconds; one is by the processor's
//! counter, and there the last digit can differ.

mod fields;
mod read;

use pathmeter_dialect::sockperf::output::banner::{self, Ended, TestSocket};
use pathmeter_dialect::sockperf::output::latency::{Report, report};
use pathmeter_dialect::sockperf::output::stats::Figures;
use pathmeter_dialect::sockperf::output::{
    Bins, Cut, End, Mode, NoWindow, Record, RequestedTest, Totals, Version, server, stream, window,
};
use read::{Capture, capture, file, number};

const V3_7: &str = "3.7-no.git";
const V3_10: &str = "3.10-23.gited92afb185e6";

/// The run of this name; the port and whether it is TCP.
struct Case {
    name: &'static str,
    asked: RequestedTest,
    ended: Ended,
    place: (u16, bool),
}

fn case(name: &'static str, port: u16, asked: RequestedTest) -> Case {
    Case { name, asked, ended: Ended::Timer, place: (port, false) }
}

/// The latency tests of one version; they were the same for both.
fn cases(version: Version, prefix: [&'static str; 6], port: u16) -> Vec<Case> {
    let two = RequestedTest { version, rate: Some(300), end: End::Seconds(2), ..RequestedTest::default() };
    let under_load =
        RequestedTest { mode: Mode::UnderLoad, rate: Some(2000), reply_every: 10, size: 64, ..two.clone() };
    let playback = RequestedTest {
        mode: Mode::Playback,
        rate: Some(10_000),
        reply_every: 2,
        end: End::Seconds(1),
        ..two.clone()
    };
    let [pp, rtt, burst, ul, pb, silent] = prefix;
    vec![
        case(pp, port, two.clone()),
        Case {
            place: (port, true),
            ..case(rtt, port, RequestedTest { size: 350, full_rtt: true, ..two.clone() })
        },
        case(burst, port, RequestedTest { size: 100, range: 50, burst: 4, ..two.clone() }),
        case(ul, port, under_load),
        Case { ended: Ended::Played, ..case(pb, port, playback) },
        case(silent, port + 1, RequestedTest { rate: None, end: End::Seconds(1), ..two }),
    ]
}

fn all() -> Vec<Case> {
    let old = ["3.7-pp", "3.7-pp-rtt", "3.7-pp-burst", "3.7-ul", "3.7-pb", "3.7-silent"];
    let new = ["3.10-pp", "3.10-pp-rtt", "3.10-pp-burst", "3.10-ul", "3.10-pb", "3.10-silent"];
    [cases(Version::V3_7, old, 21_111), cases(Version::V3_10, new, 22_111)].into_iter().flatten().collect()
}

fn again(asked: &RequestedTest, capture: &Capture) -> Report {
    let window = match capture.totals().received {
        0 => Err(NoWindow::Silence),
        _ => Ok(capture.window()),
    };
    // Only the text reports that no reply came.
    let totals = Totals { sent: capture.totals().sent.max(1), ..capture.totals() };
    report(asked, &totals, &window, None)
}

fn before(case: &Case) -> String {
    let (port, tcp) = case.place;
    let name = if case.asked.version == Version::V3_7 { V3_7 } else { V3_10 };
    let place = TestSocket { address: ([127, 0, 0, 1], port).into(), tcp };
    let heading = banner::version(name) + &banner::client(case.asked.mode, "recvfrom", &[place]);
    heading + banner::WARM_UP + banner::STARTING + &banner::ended(case.ended) + banner::TEST_ENDED
}

#[test]
fn latency_tests_print_the_same_bytes() {
    for case in all() {
        let capture = capture(case.name);
        let report = again(&case.asked, &capture);
        assert_eq!(before(&case) + &report.screen, capture.out, "screen of {}", case.name);
        assert_eq!(report.file, capture.log, "full log of {}", case.name);
    }
}

#[test]
fn a_number_of_observations() {
    let case = Case {
        ended: Ended::Number,
        ..case("3.10-num", 22_111, RequestedTest { end: End::Observations(200), ..RequestedTest::default() })
    };
    let capture = capture(case.name);
    let report = again(&case.asked, &capture);
    let out = fields::without_line(&capture.out, "RunTime Estimate=");
    fields::agree(&(before(&case) + &report.screen), &out, case.name);
    fields::agree(&report.file, &capture.log, case.name);
}

#[test]
fn by_the_processors_counter_to_a_nanosecond() {
    let requested = RequestedTest { version: Version::V3_7, rate: Some(300), ..RequestedTest::default() };
    let case = case("3.7-pp-tsc", 21_111, requested);
    let capture = capture(case.name);
    let report = again(&case.asked, &capture);
    fields::agree(&(before(&case) + &report.screen), &capture.out, case.name);
    fields::agree(&report.file, &capture.log, case.name);
}

#[test]
fn a_histogram() {
    let bins = Bins { width: 5, low: 10, high: 60 };
    let requested = RequestedTest {
        rate: Some(300),
        end: End::Seconds(2),
        confidence: 95,
        histogram: Some(bins),
        ..RequestedTest::default()
    };
    let capture = capture("3.10-hist");
    assert_eq!(again(&requested, &capture).file, capture.log);
    let (totals, window) = (capture.totals(), Ok(capture.window()));
    let wide = report(&requested, &totals, &window, Some(400)).screen;
    // Without a terminal sockperf sizes the heading by chance.
    let heading = |line: &&str| !line.contains("bins");
    let captured = capture.out.split_once("Test ended\n").unwrap().1;
    assert_eq!(
        wide.lines().filter(heading).collect::<Vec<_>>(),
        captured.lines().filter(heading).collect::<Vec<_>>()
    );
    let narrow = report(&requested, &totals, &window, None).screen;
    assert!(narrow.contains("(Key: '#' = up to 2 samples)"), "{narrow}");
    let bars = narrow.split_once("[Histogram]").unwrap().1;
    assert!(bars.lines().all(|line| line.len() < 110), "{narrow}");
}

#[test]
fn tests_without_a_result_say_why() {
    let totals = Totals { sent: 9, received: 8, ..Totals::default() };
    for (version, none, message) in [
        (Version::V3_7, NoWindow::TooShort, "Try tune parameters: --time/--mps/--reply-every\n"),
        (Version::V3_10, NoWindow::TooShort, "Test end before test start. Ending statistics early\n"),
        (
            Version::V3_10,
            NoWindow::Empty,
            "No valid observations found. Try tune parameters: --time/--number-of-packets",
        ),
        // Another server of the group was heard.
        (Version::V3_10, NoWindow::Silence, "No valid observations found."),
    ] {
        let report =
            report(&RequestedTest { version, ..RequestedTest::default() }, &totals, &Err(none), None);
        assert!(
            report.screen.contains(message) && report.file.contains(message),
            "{none:?}: {}",
            report.screen
        );
    }
    let unsent = report(&RequestedTest::default(), &Totals::default(), &Err(NoWindow::Silence), None);
    assert_eq!((unsent.screen.as_str(), unsent.file.as_str()), ("sockperf: No messages were sent\n", ""));
}

#[test]
fn throughput_tests_print_the_same_bytes() {
    for (version, prefix, port) in [(Version::V3_7, "3.7-tp", 21_111), (Version::V3_10, "3.10-tp", 22_111)] {
        let plain = RequestedTest { version, mode: Mode::Throughput, size: 64, ..RequestedTest::default() };
        for (name, tcp, asked) in [
            ("", false, plain.clone()),
            ("-mps", false, RequestedTest { size: 4096, rate: Some(1000), ..plain.clone() }),
            ("-range", true, RequestedTest { size: 4096, range: 100, giga: true, ..plain.clone() }),
            ("-1472", true, RequestedTest { size: 1472, precise: true, ..plain.clone() }),
        ] {
            let name = format!("{prefix}{name}");
            let capture = capture(&name);
            let case = Case { place: (port, tcp), ..case("", port, asked) };
            let sent = number(&capture.out, "Total of ").unwrap();
            let rate: f64 = number(&capture.out, "Message Rate is ").unwrap();
            // The exact time is not printed: one is taken that gives the rate.
            let run_time = model::units::Nanos((sent as f64 / rate * 1e9).round() as u64);
            let totals = Totals { sent, run_time, ..Totals::default() };
            let text = before(&case) + &stream::report(&case.asked, &totals);
            assert_eq!(text, capture.out, "{name}");
        }
    }
}

#[test]
fn servers_print_the_same_bytes() {
    for (name, version, place) in
        [("3.7-sr-tcp", V3_7, (21_111, true)), ("3.7-sr-udp", V3_7, (21_111, false))]
    {
        let (port, tcp) = place;
        let captured = file(&format!("{name}.out"));
        let place = TestSocket { address: ([127, 0, 0, 1], port).into(), tcp };
        let thread = number(&captured, "[tid ").unwrap();
        let start = banner::version(version) + &banner::server(&[place]) + banner::WARM_UP;
        let ready = banner::server_waits(thread, "recvfrom");
        assert!(captured.starts_with(&(start + &ready)), "{captured}");
        let total = server::total(number(&captured, "Total ").unwrap());
        assert!(captured.contains(&(banner::ended(Ended::User) + &total)), "{captured}");
        assert!(captured.ends_with(server::EXIT), "{captured}");
    }
    let gaps = file("3.10-sr-udp.out");
    let line = gaps.lines().find(|line| line.contains("new session")).unwrap();
    let client = line.split(['[', ']']).nth(1).unwrap().parse().unwrap();
    let (session, output) = server::Session::new(client, 1, false);
    assert_eq!(output, format!("{line}\n"));
    assert!(gaps.contains(&session.summary()), "{gaps}");
}

#[test]
fn the_window_of_a_log_is_what_was_printed() {
    for case in all() {
        let capture = capture(case.name);
        let printed = capture.window();
        let record =
            |(number, observed): (usize, &pathmeter_dialect::sockperf::output::Observation)| Record {
                sequence: (number as u64 + 1) * u64::from(case.asked.reply_every),
                socket: 0,
                sent: observed.sent,
                received: Some(observed.received),
            };
        let records: Vec<Record> = printed.observations.iter().enumerate().map(record).collect();
        let Ok(counted) = window(&records, 0, Cut::Nothing) else {
            assert!(records.is_empty(), "{}", case.name);
            continue;
        };
        assert_eq!(
            (counted.sent, &counted.observations),
            (printed.sent, &printed.observations),
            "{}",
            case.name
        );
        let (ours, theirs) = (counted.run_time.0 as f64 / 1e9, printed.run_time.0 as f64 / 1e9);
        assert!((ours - theirs).abs() <= 0.0005, "{}: {ours} and {theirs}", case.name);
    }
}

/// The five runs from the field: what their own figures give of the others.
#[test]
fn figures_from_the_field_agree_with_each_other() {
    let directions =
        ["azure-firewall-snat", "default-snat", "load-balancer-outbound", "nat-gateway", "public-ip"];
    for direction in directions {
        let text = file(&format!("sockperf-tcp-350-{direction}.txt"));
        let nanos = |before: &str| {
            let micros: f64 = number(&text, before).unwrap_or_else(|| panic!("{before} of {direction}"));
            model::units::Nanos((micros * 1000.0).round() as u64)
        };
        let count: usize = number(&text, "Total ").unwrap();
        // Each value from one percentile's place on up to the next's.
        let known = [
            (0.25, "25.000 = "),
            (0.5, "50.000 = "),
            (0.75, "75.000 = "),
            (0.9, "90.000 = "),
            (0.99, "99.000 = "),
        ];
        let mut sorted = vec![nanos("<MIN> observation = "); count];
        for (share, name) in known {
            let from = (0.5 + share * count as f64) as usize - 1;
            sorted[from..].fill(nanos(&format!("percentile {name}")));
        }
        *sorted.last_mut().unwrap() = nanos("<MAX> observation = ");
        let figures = Figures {
            sorted,
            average: nanos("avg-rtt="),
            std_dev: nanos("std-dev="),
            mean_ad: nanos("mean-ad="),
            median_ad: nanos("median-ad="),
            siqr: nanos("siqr="),
        };
        let interval = figures.interval(99);
        let line = format!(
            "cv={:.3}, std-error={:.3}, 99.0% ci=[{:.3}, {:.3}])",
            figures.cv(),
            figures.std_error(),
            interval.low,
            interval.high
        );
        let printed = &text[text.find("cv=").unwrap()..];
        fields::agree(&line, printed.lines().next().unwrap(), direction);
        let quartiles = [0.75, 0.25].map(|share| figures.percentile(share).unwrap().0);
        // Those were cut from finer ticks.
        assert!(((quartiles[0] - quartiles[1]) / 2).abs_diff(figures.siqr.0) <= 1, "{direction}");
        assert_eq!(figures.percentile(0.999), figures.sorted.last().copied(), "{direction}");
    }
}

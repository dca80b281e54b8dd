//! Round trips: a run in which each rule must be raised, one in which it must not, and the verdicts.

use crate::egress::{LatencyFixture, capped, egress_result, phase, times};
use crate::rules::{Scenario, find, raises, spares};
use model::event::Outcome;
use model::finding::{Severity, Status};
use model::latency::{Cause, LatencyMode, LoadResult, Outlier, ToolBaseline, WaitMode};
use model::limit::{LimitKind, Purpose};
use model::plan::{Direction, Directions};
use model::run::Run;
use model::sample::Silence;
use model::stats::histogram::Histogram;
use model::stats::shift::LevelShift;
use model::units::{BitRate, Nanos, PacketRate};

pub(crate) const SCENARIOS: &[Scenario] = &[
    raises("rtt-outliers", "the firewall of the fixtures", || LatencyFixture::fixtures().run()),
    raises("rtt-outliers", "a path that holds one of 200 000 for 50 ms", || far(50_000, Cause::Path).run()),
    raises("rtt-outliers", "a host that does", || far(50_000, Cause::Host).run()),
    raises("rtt-outliers", "a heavy tail without a far one", || heavy(210).run()),
    raises("rtt-outliers", "replies after the timeout", || {
        LatencyFixture::lan().with(|w| w.first().counted.late = 1).run()
    }),
    spares("rtt-outliers", "the nat gateway of the fixtures: 1.035 medians", || {
        LatencyFixture::fixtures().with(|w| w.egress_paths.truncate(4)).run()
    }),
    spares("rtt-outliers", "a LAN whose longest is twenty medians", || LatencyFixture::lan().run()),
    spares("rtt-outliers", "a LAN whose longest is fifty medians", || far(1000, Cause::Path).run()),
    spares("rtt-outliers", "a tail that is not so heavy", || heavy(190).run()),
    raises("no-reply", "there is no answer", || silent().run()),
    raises("no-reply", "one-way messages that never arrive", || thrown(0).run()),
    spares("no-reply", "a single reply", || silent().with(|w| w.first().counted.received = 1).run()),
    spares("no-reply", "a reply after its timeout", || silent().with(|w| w.first().counted.late = 1).run()),
    raises("outage", "no reply for eight seconds", || mute(8_000, 80).run()),
    raises("outage", "no reply any more", || {
        mute(2_000, 20).with(|w| w.first().silence.as_mut().expect("a silence").ended = false).run()
    }),
    raises("outage", "fifteen messages in a row in 0.3 s", || mute(300, 15).run()),
    spares("outage", "less than a tenth of a second", || mute(90, 80).run()),
    spares("outage", "two in a row, of a path that loses a tenth", || {
        mute(2_000, 2).with(|w| w.first().counted.lost = 20_000).run()
    }),
    spares("outage", "round trips without a silence", || LatencyFixture::lan().run()),
    raises("path-loss", "round trips: 0.2 % lost", || lost(400).run()),
    raises("path-loss", "two of ten lost", || {
        LatencyFixture::with_egress_paths(vec![egress_result("far", times([20; 7], 10))])
            .with(|w| w.first().counted.lost = 2)
            .run()
    }),
    raises("path-loss", "a tenth of the one-way messages", || thrown(180_000).run()),
    spares("path-loss", "round trips: 0.05 % lost", || lost(100).run()),
    spares("path-loss", "one of 261", || {
        LatencyFixture::fixtures().with(|w| w.first().counted.lost = 1).run()
    }),
    spares("path-loss", "no reply at all, which explains it all", || silent().run()),
    raises("reordering", "round trips: 1 % overtaken", || {
        LatencyFixture::lan().with(|w| w.first().counted.reordered = 2_000).run()
    }),
    spares("reordering", "round trips: two overtaken", || {
        LatencyFixture::lan().with(|w| w.first().counted.reordered = 2).run()
    }),
    raises("duplicates", "round trips: 0.1 % twice", || {
        LatencyFixture::lan().with(|w| w.first().counted.duplicates = 200).run()
    }),
    spares("duplicates", "round trips: two twice", || {
        LatencyFixture::lan().with(|w| w.first().counted.duplicates = 2).run()
    }),
    raises("sender-limited", "a tenth of the messages was sent late, and half of the rate reached", || {
        late().with(|w| w.plan.rate = Some(PacketRate(40_000))).run()
    }),
    raises("sent-late", "late messages, which move the median", || late_median().run()),
    spares("sent-late", "late messages, and half of the rate reached", || {
        late_median().with(|w| w.plan.rate = Some(PacketRate(40_000))).run()
    }),
    spares("sender-limited", "late messages, which move the median", || late_median().run()),
    spares("sender-limited", "a tenth was sent late, at the rate asked for", || {
        late().with(|w| w.plan.rate = Some(PacketRate(20_000))).run()
    }),
    raises("sender-limited", "ping-pong that cannot keep its rate", || {
        LatencyFixture::lan()
            .with(|w| (w.plan.rate, w.first().counted.unsent) = (Some(PacketRate(40_000)), 200_000))
            .run()
    }),
    raises("level-shift", "1 ms become 82 ms", || shifted(82).run()),
    spares("level-shift", "one level", || LatencyFixture::lan().run()),
    spares("sender-limited", "a few messages were sent late", || {
        LatencyFixture::lan().with(|w| w.first().counted.behind = 20).run()
    }),
    raises("host-noise", "latency: 2 % of the CPU time stolen", || {
        LatencyFixture::lan().with(|w| w.noise.steal_share = 0.02).run()
    }),
    raises("host-noise", "latency: interrupted twenty times per second", || {
        LatencyFixture::lan().with(|w| w.noise.involuntary_switches = 200).run()
    }),
    spares("host-noise", "latency: a thread that sleeps, interrupted twenty times per second", || {
        LatencyFixture::lan()
            .with(|w| (w.noise.involuntary_switches, w.plan.wait) = (200, model::latency::WaitMode::Block))
            .run()
    }),
    raises("host-noise", "latency: held in 0.1 % of the round trips", || hiccups(200, 100).run()),
    raises("host-noise", "latency: held for 2 % of the time, in few pieces", || hiccups(10, 20_000).run()),
    spares("host-noise", "latency: held twice in ten seconds", || hiccups(2, 100).run()),
    spares("host-noise", "latency: held for 100 µs beside round trips of 383 ms", || {
        LatencyFixture::fixtures()
            .with(|w| (w.noise.hiccups, w.noise.hiccup_total) = (1000, Nanos::from_millis(100)))
            .run()
    }),
    spares("host-noise", "latency: nothing stolen, interrupted once a second", || {
        LatencyFixture::lan().with(|w| w.noise.involuntary_switches = 10).run()
    }),
    raises("bufferbloat", "up: 10 ms become 120 ms", || {
        LatencyFixture::lan().load(Directions::Up, 10, 120).run()
    }),
    raises("bufferbloat", "both: 10 ms become 16 ms", || {
        LatencyFixture::lan().load(Directions::Both, 10, 16).run()
    }),
    spares("bufferbloat", "10 ms become 14 ms", || LatencyFixture::lan().load(Directions::Up, 10, 14).run()),
    spares("bufferbloat", "385 ms become 400 ms, as routes do", || {
        LatencyFixture::lan().load(Directions::Down, 385, 400).run()
    }),
    spares("bufferbloat", "no idle figure", || {
        let phases = vec![phase(None), phase(Some(Directions::Up))];
        LatencyFixture::lan().with(|w| w.loaded = Some(LoadResult { phases, series: Vec::new() })).run()
    }),
];

fn far(micros: u64, cause: Cause) -> LatencyFixture {
    LatencyFixture::lan().longest(Nanos::from_micros(micros), cause)
}

fn heavy(p999: u64) -> LatencyFixture {
    LatencyFixture::with_egress_paths(vec![egress_result(
        "far",
        times([18, 20, 22, 30, p999, 300, 400], 200_000),
    )])
}

fn silent() -> LatencyFixture {
    LatencyFixture::lan().with(|w| {
        let egress = w.first();
        (egress.rtt, egress.counted.received, egress.counted.lost) = (None, 0, egress.counted.asked);
    })
}

fn thrown(arrived: u64) -> LatencyFixture {
    LatencyFixture::lan().with(|w| {
        w.plan.mode = LatencyMode::Throughput;
        let egress = w.first();
        (egress.rtt, egress.counted.asked, egress.counted.received) = (None, 0, 0);
        egress.counted.far_received = Some(arrived);
    })
}

fn lost(count: u64) -> LatencyFixture {
    LatencyFixture::lan().with(|w| {
        w.first().counted.lost = count;
        w.first().counted.received -= count;
    })
}

fn hiccups(count: u64, micros: u64) -> LatencyFixture {
    LatencyFixture::lan().with(|w| {
        w.noise.hiccups = count;
        w.noise.hiccup_total = Nanos::from_micros(count * micros);
        w.noise.hiccup_worst = Nanos::from_micros(2 * micros);
    })
}

/// A tenth of the messages was sent late.
fn late() -> LatencyFixture {
    LatencyFixture::lan().with(|w| w.first().counted.behind = 20_000)
}

/// The wait in this sender makes the median.
fn late_median() -> LatencyFixture {
    late()
        .with(|w| w.first().service = Some(times([1, 2, 3, 4, 5, 6, 7], 200_000)))
        .with(far_median)
        .with(|w| w.first().spoiled_from_percent = w.first().late_from_percent())
}

/// Round trips of half a millisecond and more from when they were due.
fn far_median(w: &mut LatencyFixture) {
    w.first().rtt = Some(times([500, 600, 700, 800, 900, 950, 990], 200_000));
}

/// A round trip that goes from 1 ms to so many after four seconds.
fn shifted(to: u64) -> LatencyFixture {
    let shift =
        LevelShift { at: Nanos::from_secs(4), from: Nanos::from_millis(1), to: Nanos::from_millis(to) };
    LatencyFixture::lan().with(|w| w.first().shifts = vec![shift])
}

/// A silence in which so many messages in a row were lost in so many milliseconds.
fn mute(millis: u64, lost: u64) -> LatencyFixture {
    let (at, length) = (Nanos::from_secs(1), Nanos::from_millis(millis));
    let silence = Silence { at, length, ended: true, missing: Some(lost) };
    LatencyFixture::lan().with(|w| (w.first().silence, w.first().counted.lost) = (Some(silence), lost))
}

#[test]
fn of_the_fixtures_only_the_firewall_has_a_far_outlier() {
    let run = LatencyFixture::fixtures().run();
    assert_eq!(run.findings.len(), 1, "{:#?}", run.findings);
    let finding = &run.findings[0];
    assert_eq!(
        (finding.id.as_str(), finding.egress.as_deref()),
        ("rtt-outliers", Some("azure-firewall-snat"))
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.evidence["max_over_median_ratio"], 2.536);
    assert_eq!(finding.evidence["rtt_max_ns"], 975_994_156_u64);
    assert_eq!(
        finding.title,
        "At least 1 of 258 round trips by azure-firewall-snat took far longer than the rest: up to 976 ms, 2.54 times \
         the median of 385 ms; 591 ms beyond the median is more than a host's scheduler takes"
    );
}

#[test]
fn whose_fault_sets_the_severity() {
    for (micros, cause, severity) in [
        (50_000, Cause::Host, Severity::Info),
        (50_000, Cause::Path, Severity::Warning),
        (50_000, Cause::Unknown, Severity::Warning),
        (4_000, Cause::Path, Severity::Info),
        (4_000, Cause::Unknown, Severity::Info),
    ] {
        let run = far(micros, cause).run();
        assert_eq!(find(&run, "rtt-outliers").unwrap().severity, severity, "{micros} {cause:?}");
    }
}

#[test]
fn on_a_busy_host_a_far_one_counts_when_it_exceeds_the_waits_for_a_cpu() {
    for (micros, runnable_per_cpu, severity) in [
        (90_000, 1.5, Severity::Info),
        (120_000, 1.5, Severity::Warning),
        (120_000, 9.0, Severity::Info),
        (400_000, 9.0, Severity::Warning),
    ] {
        let run = far(micros, Cause::Unknown).with(|run| {
            (run.noise.others_share, run.noise.runnable_per_cpu) = (0.9, runnable_per_cpu);
        });
        assert_eq!(
            find(&run.run(), "rtt-outliers").unwrap().severity,
            severity,
            "{micros} µs, {runnable_per_cpu}"
        );
    }
}

#[test]
fn under_load_the_load_is_the_answer_and_an_idle_outlier_a_remark() {
    let run = far(50_000, Cause::Path).load(Directions::Up, 10, 14).run();
    assert_eq!(find(&run, "rtt-outliers").unwrap().severity, Severity::Info);
    let line = pathmeter_insight::answer::answer_of_run(&run).line;
    assert_eq!(line, "RTT 10.0 ms idle, loaded 14.0 ms up");
}

#[test]
fn the_hosts_own_far_ones_do_not_make_the_paths_worse() {
    let mut fixture = far(50_000, Cause::Host);
    let path = Outlier { at: Nanos::ZERO, rtt: Nanos::from_millis(2), host: Nanos::ZERO, cause: Cause::Path };
    fixture.first().outliers.push(path);
    assert_eq!(find(&fixture.run(), "rtt-outliers").unwrap().severity, Severity::Info);
}

#[test]
fn a_histogram_counts_the_far_ones() {
    let mut histogram = Histogram::default();
    histogram.record_n(20_000, 9_990);
    histogram.record_n(3_000_000, 9);
    histogram.record_n(4_000_000, 1);
    let mut far = egress_result("far", histogram.distribution().unwrap());
    far.histogram = Some(histogram.to_v2_base64());
    let path = Outlier { at: Nanos::ZERO, rtt: Nanos::from_millis(3), host: Nanos::ZERO, cause: Cause::Path };
    far.outliers = vec![path; 10];
    let run = LatencyFixture::with_egress_paths(vec![far]).run();
    let finding = find(&run, "rtt-outliers").unwrap();
    assert_eq!(finding.evidence["far_count"], 10);
    assert!(finding.title.starts_with("10 of 10\u{a0}000 round trips to far.example"), "{}", finding.title);
    // One in a thousand.
    assert_eq!(finding.severity, Severity::Warning);
}

#[test]
fn a_host_that_makes_the_tail_is_named_with_its_first_percentile() {
    let run = hiccups(2_000, 100).run();
    let noise = find(&run, "host-noise").unwrap();
    assert_eq!((noise.severity, run.verdict.status), (Severity::Info, Status::Ok));
    assert!(noise.title.contains("so that p99 and all above are this host's"), "{}", noise.title);
    let run = hiccups(20, 100).run();
    assert_eq!(find(&run, "host-noise").unwrap().severity, Severity::Info);
}

#[test]
fn messages_lost_in_an_outage_are_no_path_loss() {
    let run = mute(700, 350).run();
    assert_eq!(find(&run, "outage").unwrap().evidence["lost_count"], 350);
    assert!(find(&run, "path-loss").is_none(), "{:#?}", run.findings);
    // 400 others were lost beside it.
    let run = mute(700, 350).with(|w| w.first().counted.lost += 400).run();
    assert_eq!(find(&run, "path-loss").unwrap().evidence["lost_count"], 400);
}

#[test]
fn silence_after_a_single_reply_is_an_outage() {
    let silence =
        Silence { at: Nanos::from_secs(1), length: Nanos::from_secs(8), ended: false, missing: Some(15) };
    let run = mute(8_000, 15).with(|run| {
        let egress = run.first();
        (egress.silence, egress.elapsed) = (Some(silence), Nanos::from_secs(9));
        (egress.counted.asked, egress.counted.sent, egress.counted.received, egress.counted.lost) =
            (16, 16, 1, 15);
    });
    let run = run.run();
    assert_eq!(find(&run, "outage").unwrap().severity, Severity::Problem);
    assert_eq!(run.verdict.status, Status::Problem);
}

#[test]
fn several_outages_are_one_finding_with_their_sum() {
    let at = |second| Silence {
        at: Nanos::from_secs(second),
        length: Nanos::from_millis(300 + second),
        ended: true,
        missing: Some(15),
    };
    let run = LatencyFixture::lan()
        .with(|w| (w.first().outages, w.first().counted.lost) = (vec![at(1), at(4), at(7)], 45))
        .run();
    let outage = find(&run, "outage").unwrap();
    assert_eq!(
        (&outage.evidence["outages_count"], &outage.evidence["outages_lost_count"]),
        (&3.into(), &45.into())
    );
    assert!(outage.title.contains("3 such times of 912 ms in all"), "{}", outage.title);
    assert!(find(&run, "path-loss").is_none());
}

#[test]
fn a_level_shift_is_no_outage_and_its_higher_level_no_outlier() {
    let run = shifted(82)
        .with(|w| w.first().rtt = Some(times([900, 1000, 81_000, 82_000, 83_000, 84_000, 85_000], 600)))
        .run();
    let ids: Vec<&str> = run.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["level-shift"]);
    assert!(
        run.findings[0].title.contains("from 1.00 ms to 82.0 ms at 4.00 s into the run"),
        "{}",
        run.findings[0].title
    );
}

/// A judge over what busy hosts give: many hiccups, late messages, sleeping threads, far replies of a far end that waits for a
/// CPU. Nothing of it is the path's, and no run is degraded.
#[test]
fn two_busy_loops_beside_a_clean_path_degrade_nothing() {
    for number in 0..200_u64 {
        let wait = if number % 2 == 0 { WaitMode::Spin } else { WaitMode::Block };
        let far = Nanos::from_millis(4 + number % 60);
        let cause = if number % 3 == 0 { Cause::Host } else { Cause::Unknown };
        let run = LatencyFixture::lan().longest(far, cause).with(|w| {
            w.plan.wait = wait;
            w.plan.rate = Some(PacketRate(20_000));
            w.noise.others_share = 0.6 + (number % 40) as f64 / 100.0;
            w.noise.steal_share = (number % 10) as f64 / 50.0;
            w.noise.involuntary_switches = 10 * number;
            (w.noise.hiccups, w.noise.hiccup_total) = (number * 20, Nanos::from_micros(number * 20 * 4_000));
            w.noise.hiccup_worst = Nanos::from_millis(8);
            w.first().counted.behind = number * 900;
        });
        let run = run.run();
        assert_eq!(run.verdict.status, Status::Ok, "{number}: {:#?}", run.findings);
    }
}

#[test]
fn hiccups_between_messages_hit_none() {
    // 93 hiccups in ten seconds beside 200 round trips of 20 µs: 0.11 % of the time, not half of the round trips.
    let few = LatencyFixture::with_egress_paths(vec![egress_result(
        "far",
        times([18, 20, 22, 30, 60, 150, 400], 200),
    )]);
    let run = few.with(|w| (w.noise.hiccups, w.noise.hiccup_total) = (93, Nanos::from_micros(9_300))).run();
    let noise = find(&run, "host-noise").unwrap();
    assert_eq!(noise.evidence["round_trips_hit_share"], 0.001_116);
}

#[test]
fn each_path_has_findings_of_its_own() {
    let run = LatencyFixture::fixtures()
        .with(|w| w.egress_paths.iter_mut().for_each(|egress| egress.counted.lost = 10))
        .run();
    let egress_paths: Vec<_> =
        run.findings.iter().filter(|f| f.id == "path-loss").filter_map(|f| f.egress.as_deref()).collect();
    assert_eq!(egress_paths.len(), 5, "{egress_paths:?}");
}

#[test]
fn loss_in_one_direction_names_it() {
    let losing = |up, down| {
        let run = lost(400)
            .with(|w| (w.first().counted.lost_up, w.first().counted.lost_down) = (Some(up), Some(down)));
        find(&run.run(), "path-loss").unwrap().direction
    };
    assert_eq!(losing(400, 0), Some(Direction::Up));
    assert_eq!(losing(0, 400), Some(Direction::Down));
    assert_eq!(losing(100, 300), None);
}

#[test]
fn both_directions_at_once_speaks_only_when_neither_alone_does() {
    let mut fixture = LatencyFixture::lan().load(Directions::Up, 10, 120);
    let both = fixture.loaded.as_mut().unwrap().phases[1].clone();
    fixture
        .loaded
        .as_mut()
        .unwrap()
        .phases
        .push(model::latency::LoadPhase { load: Some(Directions::Both), ..both });
    let run = fixture.run();
    let directions: Vec<_> =
        run.findings.iter().filter(|f| f.id == "bufferbloat").map(|f| f.direction).collect();
    assert_eq!(directions, [Some(Direction::Up)]);
}

fn verdict(run: &Run) -> (Status, &str) {
    (run.verdict.status, run.verdict.text.as_str())
}

#[test]
fn a_healthy_run_is_a_sentence() {
    let run = LatencyFixture::lan().run();
    assert_eq!(run.findings, []);
    let text = "The round trip to far.example takes 20.0 µs (median of 200\u{a0}000; 99 % within 30.0 µs).";
    assert_eq!(verdict(&run), (Status::Ok, text));
}

#[test]
fn silence_is_void_and_of_several_paths_a_problem() {
    let run = silent().run();
    let text = "Nothing was measured: no reply came to any of 200\u{a0}000 messages to far.example.";
    assert_eq!(verdict(&run), (Status::Void, text));
    let dead = silent().egress_paths.remove(0);
    let run = LatencyFixture::fixtures().with(|w| w.egress_paths.push(dead)).run();
    assert_eq!(run.verdict.status, Status::Problem);
    assert!(
        run.verdict.text.ends_with("No reply came to any of 200\u{a0}000 messages by far."),
        "{}",
        run.verdict.text
    );
    assert!(!run.verdict.text.contains(" 0 ns"), "{}", run.verdict.text);
}

#[test]
fn a_failure_before_any_reply_is_void_and_after_it_is_not() {
    let outcome = || Outcome::Failed { reason: "far: refused".into() };
    let run = silent().with(|w| w.outcome = outcome()).run();
    assert_eq!(verdict(&run), (Status::Void, "Nothing was measured: far: refused."));
    let run = LatencyFixture::lan().with(|w| w.outcome = outcome()).run();
    assert_eq!(run.verdict.status, Status::Degraded);
    assert!(run.verdict.text.ends_with("Then it broke off: far: refused."), "{}", run.verdict.text);
}

#[test]
fn figures_of_any_size_are_borne() {
    for number in [0, 1, u64::MAX / 2, u64::MAX] {
        let run = LatencyFixture::lan().load(Directions::Up, 1, 2).with(|w| {
            let egress = w.first();
            let rtt = egress.rtt.as_mut().unwrap();
            (rtt.count, rtt.p50, rtt.p90, rtt.p99, rtt.max) =
                (number, Nanos(number), Nanos(number), Nanos(number), Nanos(number));
            let counted = &mut egress.counted;
            (counted.late, counted.lost, counted.behind, counted.duplicates) =
                (number, number, number, number);
            (counted.reordered, counted.received) = (number, number);
            egress.elapsed = Nanos(number);
            egress.outliers = vec![Outlier {
                at: Nanos(number),
                rtt: Nanos(number),
                host: Nanos(number),
                cause: Cause::Path,
            }];
            egress.histogram = Some("not a histogram".into());
            (w.noise.hiccups, w.noise.hiccup_total, w.noise.involuntary_switches) =
                (number, Nanos(number), number);
        });
        let run = run.run();
        assert!(run.verdict.text.ends_with('.'), "{}", run.verdict.text);
        assert!(run.findings.iter().all(|finding| !finding.title.contains("NaN")), "{:?}", run.findings);
    }
}

#[test]
fn a_floor_above_the_usual_round_trip_was_spoiled_and_is_withheld() {
    let floor = |least| {
        let rtt = times([least, least + 5, least + 10, 90, 91, 92, 93], 1000);
        let run =
            LatencyFixture::lan().with(|w| w.floor = Some(ToolBaseline { rtt, wait: WaitMode::Spin })).run();
        run.summary.tool_floor.map(|floor| floor.min)
    };
    // The LAN's median is 20 µs.
    assert_eq!(floor(20), Some(Nanos::from_micros(20)));
    assert_eq!(floor(21), None);
}

#[test]
fn messages_sent_late_are_a_note_and_their_median_is_withheld() {
    let run = late_median().run();
    let finding = find(&run, "sent-late").unwrap();
    assert_eq!(finding.severity, Severity::Info);
    assert!(
        finding.title.contains("the median is 600 µs from when they were due and 2.00 µs from the send call"),
        "{}",
        finding.title
    );
    assert_eq!(run.verdict.status, Status::Ok, "{}", run.verdict.text);
    let line = pathmeter_insight::answer::answer_of_run(&run).line;
    assert!(line.contains("2.00 µs median from the send call"), "{line}");
    // The effect of the path is the answer, whatever this host does beside it.
    let twice = late_median().with(|w| w.first().counted.duplicates = 2_000).run();
    assert_eq!(
        pathmeter_insight::answer::answer_of_run(&twice).line.split(" twice").next(),
        Some("Packets arrive")
    );
}

#[test]
fn the_queue_under_load_has_its_limit_and_its_place() {
    let shaped = |capped_load| {
        let mut fixture = LatencyFixture::lan().load(Directions::Up, 10, 70);
        let phase = &mut fixture.loaded.as_mut().unwrap().phases[1];
        (phase.up, phase.mss) = (Some(BitRate(47_000_000)), Some(1448));
        fixture.load_probing = capped_load;
        fixture.run()
    };
    let run = shaped(Some(capped()));
    let limit = run.summary.loaded.as_ref().unwrap().phases[1].limit.clone().expect("a limit");
    assert_eq!(
        (limit.kind, limit.rate, limit.queue),
        (LimitKind::Shaper, Some(BitRate(50_000_000)), Some(Nanos::from_millis(60)))
    );
    let title = &find(&run, "bufferbloat").unwrap().title;
    assert!(
        title.contains("of queue at a shaper of 50.0 Mbit/s, queue 60.0 ms, between hop 1 and hop 2"),
        "{title}"
    );
    let line = pathmeter_insight::answer::answer_of_run(&run).line;
    assert!(
        line.ends_with("; up: a shaper of 50.0 Mbit/s, queue 60.0 ms, between hop 1 and hop 2"),
        "{line}"
    );
    // Where small frames were not sent, it may be a limit of packets as well.
    let mut unsure = capped();
    unsure.steps.retain(|step| step.purpose != Purpose::Small);
    assert_eq!(shaped(Some(unsure)).summary.loaded.as_ref().unwrap().phases[1].limit, None);
    // Without a load that exceeded the path no limit is named.
    let run = shaped(None);
    assert_eq!(run.summary.loaded.as_ref().unwrap().phases[1].limit, None);
    assert!(
        find(&run, "bufferbloat").unwrap().title.contains("of queue;")
            || find(&run, "bufferbloat").unwrap().title.ends_with("of queue")
    );
}

#[test]
fn a_level_that_a_busy_host_may_make_is_a_note() {
    let severity = |to: u64, others: f64| {
        let run = shifted(to).with(|w| w.noise.others_share = others).run();
        find(&run, "level-shift").unwrap().severity
    };
    assert_eq!(severity(82, 0.9), Severity::Info);
    assert_eq!(severity(82, 0.1), Severity::Warning);
    assert_eq!(severity(182, 0.9), Severity::Warning);
}

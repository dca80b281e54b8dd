//! Outputs of the real tools, recorded in their modes: what is printed is what is imported. The printed figures are found here by
//! their words alone, not by the code that is tested.

use super::{near, only};
use model::plan::Transport;
use model::run::Run;
use model::summary::DirectionSummary;

/// The recorded outputs whose names begin so.
fn recorded(start: &str) -> Vec<(String, String)> {
    let folder = format!("{}/tests/import/recorded", env!("CARGO_MANIFEST_DIR"));
    let mut all: Vec<(String, String)> = std::fs::read_dir(&folder)
        .expect("the folder of recorded outputs")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name.starts_with(start))
        .map(|name| (name.clone(), std::fs::read_to_string(format!("{folder}/{name}")).expect("text")))
        .collect();
    all.sort();
    assert!(all.len() > 3, "{start}: the recorded outputs are here");
    all
}

/// The number and the unit behind a word.
fn behind<'a>(text: &'a str, word: &str) -> Option<(f64, &'a str)> {
    let mut tokens = text.split_once(word)?.1.split_whitespace().filter(|word| *word != "=");
    Some((tokens.next()?.trim_end_matches([';', ',']).parse().ok()?, tokens.next().unwrap_or_default()))
}

fn scale(unit: &str, base: f64) -> f64 {
    match unit.chars().next() {
        Some('K') => base,
        Some('M') => base.powi(2),
        Some('G') => base.powi(3),
        _ => 1.0,
    }
}

/// A row of iPerf2 apart: its end in seconds, bytes, bits per second and the words behind.
fn row(line: &str) -> Option<(f64, f64, f64, Vec<&str>)> {
    let (head, figures) = line.split_once(" sec ")?;
    let end = head.rsplit('-').next()?.trim().parse().ok()?;
    let tokens: Vec<&str> = figures.split_whitespace().collect();
    let number = |at: usize| tokens.get(at)?.parse::<f64>().ok();
    let bytes = number(0)? * scale(tokens.get(1)?, 1024.0);
    let bits = if tokens.get(3)?.contains("Byte") {
        8.0 * scale(tokens[3], 1024.0)
    } else {
        scale(tokens[3], 1000.0)
    };
    Some((end, bytes, number(2)? * bits, tokens[4..].to_vec()))
}

/// The last row of a line that is accepted, as a whole: of several streams their sum.
fn whole<'a>(text: &'a str, is_own: &dyn Fn(&str) -> bool) -> Option<(f64, f64, f64, Vec<&'a str>)> {
    let rows = || text.lines().filter(|line| line.starts_with('[') && is_own(line));
    let sum = rows().filter(|line| line.starts_with("[SUM]")).filter_map(row).next_back();
    sum.or_else(|| rows().filter_map(row).next_back())
}

fn up(run: &Run) -> &DirectionSummary {
    run.summary.up.as_ref().expect("it went up")
}

fn down(run: &Run) -> &DirectionSummary {
    run.summary.down.as_ref().expect("it went down")
}

/// Half of the last digit of the figures that the tool prints with three of them.
const ROUNDED: f64 = 0.006;

#[test]
fn iperf2_over_tcp() {
    for (name, text) in recorded("iperf_tcp").into_iter().filter(|(name, _)| !name.contains("-yC")) {
        let run = only(&text).run;
        let both = name.contains("full-duplex");
        assert_eq!(
            (run.summary.up.is_some(), run.summary.down.is_some()),
            (!name.contains("-R"), name.contains("-R") || both),
            "{name}"
        );
        let check = |figures: &DirectionSummary, back: bool| {
            let is_own = |line: &str| line.contains('*') == back;
            let (end, bytes, bits, _) = whole(&text, &is_own).unwrap_or_else(|| panic!("{name}"));
            near(figures.received.bytes.0 as f64, bytes, ROUNDED);
            // The sum's time is that of the first stream which ended.
            if !name.contains("-P") {
                near(figures.elapsed.as_secs_f64(), end, ROUNDED);
                near(figures.goodput.0 as f64, bits, ROUNDED);
            }
        };
        run.summary.up.as_ref().into_iter().for_each(|figures| check(figures, false));
        run.summary.down.as_ref().into_iter().for_each(|figures| check(figures, true));
        if let Some(last) = text.lines().rfind(|line| line.contains("K/")).and_then(row) {
            let retries: u64 = last.3[1].parse().expect("retries");
            assert_eq!(up(&run).retransmits, Some(retries), "{name}");
        }
    }
}

#[test]
fn iperf2_over_udp() {
    for (name, text) in recorded("iperf_udp").into_iter().filter(|(name, _)| !name.contains("-yC")) {
        let run = only(&text).run;
        let is_server = name.contains("server");
        let receives_back = name.contains("-R") && !is_server;
        if name.contains("full-duplex") || name.contains("-R") && is_server {
            continue;
        }
        let figures = if receives_back { down(&run) } else { up(&run) };
        assert_eq!(figures.transport, Transport::Udp, "{name}");
        let receives = |line: &str| line.contains(" ms ") && line.contains('%') && !line.contains("[ ID]");
        // Of several streams each has a report of its own.
        let rows: Vec<_> = text.lines().filter(|line| receives(line) && line.contains(" sec ")).collect();
        let counts = |line: &str| {
            let before = line.split('(').next().expect("counts");
            let (lost, total) = before.rsplit_once('/').expect("lost of all");
            let lost = lost.split_whitespace().next_back().expect("lost");
            (lost.parse::<u64>().expect("lost"), total.trim().parse::<u64>().expect("all"))
        };
        let of_whole: Vec<&&str> = rows.iter().filter(|line| line.contains(" 0.0000-")).collect();
        let streams = figures.streams.len();
        let last = &of_whole[of_whole.len() - streams..];
        let (lost, total) = last.iter().map(|line| counts(line)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let loss = figures.loss.expect("loss");
        assert_eq!(
            (loss.path + loss.receiver + loss.sender, figures.received.datagrams),
            (lost, total - lost),
            "{name}"
        );
        let bytes: f64 = last.iter().filter_map(|line| row(line)).map(|row| row.1).sum();
        near(figures.received.bytes.0 as f64, bytes, ROUNDED);
        assert_eq!(figures.reordered, None, "{name}: no count of these was printed");
    }
}

#[test]
fn iperf2_in_csv() {
    let recorded = recorded("iperf_").into_iter().filter(|(name, _)| name.contains("-yC"));
    for (name, text) in recorded.filter(|(name, _)| !name.contains("server")) {
        let run = only(&text).run;
        let last: Vec<&str> = text.lines().next_back().expect("a row").split(',').collect();
        let figures = up(&run);
        assert_eq!(figures.sent.bytes.0.to_string(), last[7], "{name}");
        // A sender that has no report of what arrived reports −1.
        let is_unknown = last.get(11) == Some(&"-1");
        assert_eq!(
            (figures.receiver_unknown, figures.loss.is_some()),
            (last.len() == 9 || is_unknown, last.len() > 9 && !is_unknown),
            "{name}"
        );
        if is_unknown {
            assert_eq!((figures.jitter, figures.reordered), (None, None), "{name}");
        }
    }
}

#[test]
fn sockperf_in_its_modes() {
    for (name, text) in recorded("sockperf_") {
        let imported = only(&text);
        let summary = &imported.run.summary;
        if let Some((rate, _)) = behind(&text, "Message Rate is") {
            let sent: f64 = behind(&text, "Total of").expect("what was sent").0;
            let figures = up(&imported.run);
            assert_eq!(
                (figures.transport == Transport::Tcp, figures.sent.datagrams as f64),
                (name.contains("tcp"), if name.contains("udp") { sent } else { 0.0 }),
                "{name}"
            );
            near(
                figures.sent.bytes.0 as f64 * 8.0 / figures.elapsed.as_secs_f64() / 8.0,
                rate * f64::from(if name.contains("-m") { 500 } else { 14 }),
                0.01,
            );
            assert_eq!(figures.jitter, None, "{name}");
            continue;
        }
        let factor = if text.contains("Round trip is") || name.contains("full-rtt") { 1.0 } else { 2.0 };
        let rtt = summary.rtt.unwrap_or_else(|| panic!("{name}"));
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        let (_, valid) = text.split_once("[Valid Duration]").expect("what is counted");
        assert_eq!(
            summary.egress_paths[0].counted.received as f64,
            behind(valid, "ReceivedMessages=").expect("received").0,
            "{name}"
        );
        for (word, found) in [
            ("<MAX> observation", rtt.max),
            ("<MIN> observation", rtt.min),
            ("percentile 99.000", rtt.p99),
            ("percentile 50.000", rtt.p50),
            ("avg-", rtt.mean),
        ] {
            let printed = match word {
                "avg-" => text
                    .split_once("avg-")
                    .and_then(|(_, rest)| rest.split_once('='))
                    .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok()),
                _ => behind(&text, word).map(|(value, _)| value),
            };
            near(micros(found.0), printed.unwrap_or_else(|| panic!("{name}: {word}")) * factor, 0.001);
        }
        near(
            summary.egress_paths[0].elapsed.as_secs_f64(),
            behind(valid, "RunTime=").expect("a time").0,
            0.001,
        );
    }
}

#[test]
fn qperf_in_its_modes() {
    for (name, text) in recorded("qperf_") {
        let run = only(&text).run;
        let rate = |word: &str| {
            let (value, unit) = text
                .lines()
                .find_map(|line| behind(line, word).filter(|_| line.trim_start().starts_with(word)))?;
            Some(value * scale(unit, 1000.0) * if unit.contains("b/") { 1.0 } else { 8.0 })
        };
        if name.contains("_lat") {
            let (value, unit) = behind(&text, "latency").expect("a latency");
            let factor = if unit == "ns" { 2.0 } else { 2000.0 };
            near(run.summary.egress_paths[0].rtt.expect("a mean").mean.0 as f64, value * factor, 0.001);
            continue;
        }
        let figures = up(&run);
        near(figures.goodput.0 as f64, rate("recv_bw").or_else(|| rate("bw")).expect("a rate"), 0.01);
        if let Some((value, unit)) = text.lines().find_map(|line| behind(line, "recv_bytes")) {
            near(figures.received.bytes.0 as f64, value * scale(unit, 1000.0), 0.01);
            near(figures.elapsed.as_secs_f64(), 1.0, 0.02);
        }
        assert_eq!((figures.jitter, figures.reordered), (None, None), "{name}");
    }
}

#[test]
fn pings() {
    for (name, text) in recorded("ping_") {
        let run = only(&text).run;
        let counted = run.summary.egress_paths[0].counted;
        let line = text.lines().find(|line| line.contains("packets transmitted")).expect("a summary");
        let figures: Vec<u64> =
            line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        assert_eq!((counted.sent, counted.received), (figures[0], figures[1]), "{name}");
        let times = text.split_once("mdev = ").expect("times").1;
        let times: Vec<f64> = times.split(['/', ' ']).filter_map(|word| word.parse().ok()).collect();
        let rtt = run.summary.egress_paths[0].rtt.expect("round trips");
        near(rtt.min.0 as f64 / 1e6, times[0], 0.001);
        near(rtt.max.0 as f64 / 1e6, times[2], 0.001);
    }
}

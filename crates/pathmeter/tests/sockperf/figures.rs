//! Statistics: recomputed from the real tool's full log they are what it printed, and from ours what we printed.

use crate::process::{Scratch, Tool, ToolOutput, free_port, number};
use dialect::sockperf::output::latency::report;
use dialect::sockperf::output::{
    Counters, Cut, Observation, Record, RequestedTest, Totals, Version, Window, window,
};
use model::units::Nanos;

#[test]
fn their_figures_are_ours() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let scratch = Scratch::new("their-log");
    for (transport, rtt) in [("", ""), ("--tcp", "--full-rtt")] {
        let port = free_port();
        let _serving = Tool::Ours.serve(port, transport);
        let log = scratch.path("log");
        let options =
            format!("pp {transport} -i 127.0.0.1 -p {port} -m 64 --mps=1000 {rtt} --full-log {log}");
        let output = Tool::Theirs.run(&options).good();
        // 3.7 prints less of them: what it prints must be equal.
        let version = if output.stdout.contains("mean-ad=") { Version::V3_10 } else { Version::V3_7 };
        recompute(&output, &scratch.read("log"), version, !rtt.is_empty());
    }
}

#[test]
fn our_log_gives_our_figures() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let scratch = Scratch::new("our-log");
    for version in [Version::V3_7, Version::V3_10] {
        let port = free_port();
        let _serving = Tool::Theirs.serve(port, "");
        let (log, name) = (scratch.path("log"), if version == Version::V3_7 { "3.7" } else { "3.10" });
        let options = format!("-m 64 -t 1 --mps=1000 --full-log {log} --as-version {name}");
        let output = Tool::Ours.run(&format!("pp -i 127.0.0.1 -p {port} {options}")).good();
        recompute(&output, &scratch.read("log"), version, false);
        assert!(output.stdout.contains(&format!("== version #{name}-pathmeter.")), "{output:#?}");
    }
}

#[test]
fn a_histogram_counts_every_observation() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let scratch = Scratch::new("histogram");
    let (port, log) = (free_port(), scratch.path("log"));
    let _serving = Tool::Theirs.serve(port, "");
    let options = format!(
        "ul -i 127.0.0.1 -p {port} --reply-every=1 --mps=1000 --histogram 10:20:200 --full-log {log}"
    );
    let output = Tool::Ours.run(&options).good();
    assert!(output.stdout.contains("[Histogram] Display"), "{output:#?}");
    let file = scratch.read("log");
    let (_, bins) = file.split_once("frequency\n").expect("a histogram in the file");
    let counts = bins.lines().take_while(|line| !line.starts_with('-'));
    let sum: f64 = counts
        .map(|line| line.rsplit(' ').next().and_then(|count| count.parse::<f64>().ok()).expect("a count"))
        .sum();
    assert_eq!(sum, output.number("mTotal "), "{file}");
    assert!(file.contains("--h_bin_size_us=10 --h_lower_range_us=20 --h_upper_range_us=200"), "{file}");
}

/// Prints again what the log holds, and compares with what was printed, number by number.
fn recompute(output: &ToolOutput, log: &str, version: Version, full_rtt: bool) {
    let observations = rows(log);
    let record = |(at, observed): (usize, &Observation)| Record {
        socket: 0,
        sequence: at as u64 + 1,
        sent: observed.sent,
        received: Some(observed.received),
    };
    let records: Vec<Record> = observations.iter().enumerate().map(record).collect();
    let counted = window(&records, 0, Cut::Nothing).expect("observations in the log");
    let valid = output.stdout.split("[Valid Duration]").nth(1).expect("a valid duration");
    let reported = |before| number(valid, before).unwrap_or_else(|| panic!("no {before} in {output:#?}"));
    assert!((reported("RunTime=") - counted.run_time.0 as f64 / 1e9).abs() < 0.0011, "{output:#?}");
    let counters = Counters {
        dropped: reported("# dropped messages = ") as u64,
        duplicated: reported("# duplicated messages = ") as u64,
        out_of_order: reported("# out-of-order messages = ") as u64,
    };
    let printed = Window { counters, sent: reported("SentMessages=") as u64, ..counted };
    let requested =
        RequestedTest { version, full_rtt, size: 64, rate: Some(1000), ..RequestedTest::default() };
    let totals = Totals {
        run_time: Nanos((output.number("Run] RunTime=") * 1e9) as u64),
        warm_up_millis: 400,
        sent: output.number("SentMessages=") as u64,
        received: output.number("ReceivedMessages=") as u64,
    };
    let again = report(&requested, &totals, &Ok(printed), None);
    let (_, theirs) = output.stdout.split_once("Test ended\n").expect("the end of the test");
    agree(&again.screen, theirs);
    agree(&again.file, log);
}

fn rows(log: &str) -> Vec<Observation> {
    let rows = log.lines().skip_while(|line| !line.starts_with("packet,")).skip(1);
    let rows = rows.take_while(|line| !line.starts_with('-')).map(|row| {
        let times: Vec<Nanos> = row.split(", ").skip(1).take(2).map(nanos).collect();
        Observation { sent: times[0], received: times[1] }
    });
    rows.collect()
}

/// `12.000000345` s, exactly.
fn nanos(text: &str) -> Nanos {
    assert_eq!(text.split('.').nth(1).map(str::len), Some(9), "{text}");
    Nanos(text.replace('.', "").parse().expect("digits"))
}

/// The same lines but for the last digit of numbers: sockperf's ticks are finer than a nanosecond.
fn agree(ours: &str, theirs: &str) {
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{ours}\n{theirs}");
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        let split = |line: &str| -> Vec<String> {
            line.split([' ', ',', ';', '=', '(', ')', '[', ']'])
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let (one, other) = (split(ours), split(theirs));
        let close = |(one, other): (&String, &String)| match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(one), Ok(other)) => (one - other).abs() <= 0.0011,
            _ => one == other,
        };
        assert!(
            one.len() == other.len() && one.iter().zip(&other).all(close),
            "\n  ours   {ours}\n  theirs {theirs}"
        );
    }
}

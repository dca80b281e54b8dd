//! The shapes of lines: numbers and units masked, so that two runs compare.

use std::collections::BTreeSet;

/// The different shapes in a text.
pub(crate) fn shapes(text: &str) -> BTreeSet<String> {
    text.lines().map(shape).filter(|line| !line.is_empty()).collect()
}

/// Shapes of the first that the second lacks, and those it adds.
pub(crate) fn missing(model: &BTreeSet<String>, ours: &BTreeSet<String>) -> (Vec<String>, Vec<String>) {
    // What a run has or has not by chance.
    let chance = |line: &&String| !line.contains("out-of-order") && !line.starts_with("WARNING");
    let lacks = model.difference(ours).filter(chance).cloned().collect();
    let adds = ours.difference(model).filter(chance).cloned().collect();
    (lacks, adds)
}

fn shape(line: &str) -> String {
    // 2.1.8 prints connect times with -e alone; 2.1.5 did without too, as this does.
    if line.starts_with("[ CT]") {
        return String::new();
    }
    let mut masked = String::new();
    for character in line.chars() {
        match character {
            '0'..='9' if masked.ends_with('#') => {}
            '0'..='9' => masked.push('#'),
            '.' if masked.ends_with('#') => {}
            other => masked.push(other),
        }
    }
    for unit in ["KByte", "MByte", "GByte", "Byte", "Kbit", "Mbit", "Gbit", "bit"] {
        masked = masked.replace(unit, "U");
    }
    // What is known of a connection differs: a server here tells the segment size as 2.1.5 did, and a Kalman filter
    // is a matter of the build.
    masked =
        masked.replace(" (kalman adjust)", "").replace(" (icwnd/mss/irtt=#/#/#)", "").replace(" (MSS=#)", "");
    // On one host a delay is a microsecond below zero now and then: both ends cut their times to whole ones.
    masked = masked.replace("/-#", "/#");
    // Calls and delays stand where this end counts them, and 2.1.8's total of a client in CSV is -1.
    masked = masked.replace("-/-/-/- ms # pps", DELAYS).replace("-/- ", "#/# ").replace(",-#", ",#");
    masked = masked.replace(" #=#:#:#:#:#:#:#:#", "").replace("#/#/#/- ms", "#/#/#/# ms");
    for gone in ["UU", "Us"] {
        masked = masked.replace(gone, "U");
    }
    masked.split_whitespace().collect::<Vec<_>>().join(" ")
}

const DELAYS: &str = "#/#/#/# ms # pps #/#(#) pkts #";

#[test]
fn numbers_and_units_are_masked() {
    let one = "[  1] 0.0000-1.0004 sec  2.72 GBytes  23.3 Gbits/sec";
    let other = "[ 12] 1.0000-2.0 sec   926 MBytes  7 Kbits/sec";
    assert_eq!(shape(one), shape(other));
    assert_ne!(shape(one), shape("[ *1] 0.0000-1.0004 sec  2.72 GBytes  23.3 Gbits/sec"));
    assert_eq!(shape(one), "[ #] #-# sec # U # U/sec");
}

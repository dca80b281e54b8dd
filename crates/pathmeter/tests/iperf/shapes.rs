//! The output of an end, in the parts that two runs of a mode have in common: its lines in their order with the parts that
//! change from run to run masked, and nothing else.

use std::collections::BTreeMap;

/// The lines of one end.
///
/// Streams run side by side, so the order of lines of different streams is chance at the real tool; within a stream, and
/// for the sum, it is not.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Shapes {
    /// Lines of its settings.
    settings: Vec<String>,
    /// Lines of connections, by their numbers.
    connections: Vec<String>,
    headings: Vec<String>,
    /// Lines of each stream and of the sum, by the text in brackets.
    lines: BTreeMap<String, Vec<String>>,
}

/// The shapes of what an end of a mode printed. `unit`: the mode fixes the unit of amounts and rates.
pub(crate) fn shapes(text: &str, unit: bool) -> Shapes {
    let mut shapes = Shapes::default();
    let (mut rules, mut before) = (0, "");
    for line in text.lines() {
        // 2.1.8 has a heading over each server's report, or one over all of them.
        let again =
            before.ends_with("Server Report:") && shapes.headings.iter().any(|heading| heading == line);
        before = line;
        if again {
            continue;
        }
        if line.starts_with("-----") {
            rules += 1;
        } else if line.starts_with("[ ID]") || line.starts_with("[SUM-cnt]") {
            shapes.headings.push(line.to_owned());
        } else if line.contains(" connected with ") {
            shapes.connections.push(connection(line));
        } else if rules % 2 == 1 {
            shapes.settings.push(setting(line));
        } else if !by_chance(line) {
            let id = id(line);
            let lines = shapes.lines.entry(id).or_default();
            let line = row(line, unit);
            // How many intervals there are follows from the times, which `rows.rs` holds.
            if !(is_interval(&line) && lines.last() == Some(&line)) {
                lines.push(line);
            }
        }
    }
    assert!(rules % 2 == 0, "a block of settings has no end: {text}");
    shapes.connections.sort();
    shapes
}

/// A line that a run has or lacks by chance: also on loopback datagrams overtake one another when a sender changes its CPU.
fn by_chance(line: &str) -> bool {
    line.contains("datagrams received out-of-order")
}

/// The text in brackets, or the number in a line of CSV.
pub(crate) fn id(line: &str) -> String {
    match line.split_once(']') {
        Some((id, _)) if line.starts_with('[') => id.to_owned() + "]",
        _ => line.split(',').nth(5).unwrap_or_default().to_owned(),
    }
}

fn is_interval(line: &str) -> bool {
    line.contains("#-# sec ") || line.contains(",#-#,")
}

/// All but ports and process numbers is the same each time.
fn setting(line: &str) -> String {
    // Whether the pace has a Kalman filter is a matter of the build.
    let line = line.replace(" (kalman adjust)", "");
    masked_behind(&line, &[" port ", " pid "])
}

/// A client of 2.1.8 looks at its socket's buffer while another thread connects it: before that, it is the kernel's
/// default, which is what is printed here, and later what the kernel has made of it.
pub(crate) fn without_window(mut shapes: Shapes) -> Shapes {
    shapes.settings.retain(|line| !line.starts_with("TCP window size: "));
    shapes
}

fn connection(line: &str) -> String {
    let mut line = masked_behind(line, &[" port ", "(sock=", "(ct=", " on "]);
    // The first round trip; the window and the segment before it are the kernel's defaults.
    if let Some((front, behind)) = line.split_once("irtt=")
        && let Some((facts, rest)) = behind.split_once(')')
        && let Some((known, _)) = facts.rsplit_once('/')
    {
        line = format!("{front}irtt={known}/#){rest}");
    }
    line
}

/// Numbers behind these words, and the signs between them, are one mark.
fn masked_behind(line: &str, words: &[&str]) -> String {
    let mut masked = line.to_owned();
    for word in words {
        let parts: Vec<&str> = masked.split(word).collect();
        let rest = parts[1..].iter().map(|part| {
            let end = part.find(|c: char| !(c.is_ascii_digit() || "-:. ".contains(c))).unwrap_or(part.len());
            let end = part[..end].trim_end().len();
            format!("{word}{}{}", if end > 0 { "#" } else { "" }, &part[end..])
        });
        masked = parts[0].to_owned() + &rest.collect::<String>();
    }
    masked
}

/// Numbers are masked. A column that numbers are set flush right in keeps its width, and units stay: all of them when the
/// mode fixes them, and whether it is bits or bytes where their size chooses the prefix.
fn row(line: &str, unit: bool) -> String {
    // 2.1.8 does not know the total at a client and prints -1.
    let line = line.replace(",-1,-0.000,", ",0,0.000,");
    // On one host a delay is a microsecond below zero now and then: both ends cut their times to whole ones. How much
    // delays spread is not read here from a server's report, whose field for it is too small for most paths. The network
    // power divides by the mean delay, which is not a number where that is zero.
    let delays = |line: &str| {
        let line = line.replace(" pkts NAN", " pkts 0").replace("/- ms", "/0 ms").replace("/-", "/");
        line.replace(" ms -", " ms ").replace("  -", "  ")
    };
    let line = if line.contains(" pps ") { delays(&line) } else { line };
    let mut masked = String::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !(c.is_ascii_digit() || c == '.')).map_or(rest.len(), |n| at + n);
        let blanks = rest[..at].len() - rest[..at].trim_end_matches(' ').len();
        let right = blanks >= 4 || (blanks >= 2 && UNITS.iter().any(|unit| rest[end..].starts_with(unit)));
        // A fixed unit makes numbers that are wider than their column of four.
        let amount = [" ms", " pps"].iter().all(|unit| !rest[end..].starts_with(unit));
        let digits = if blanks == 2 && amount { (end - at).min(4) } else { end - at };
        let width = blanks + if right { digits } else { 1 };
        masked.push_str(&rest[..at - blanks]);
        masked.push_str(&format!("{:>width$}", "#"));
        rest = &rest[end..];
    }
    masked.push_str(rest);
    if !unit && !line.contains(',') {
        for prefix in [" K", " M", " G", " "] {
            masked = masked.replace(&format!("#{prefix}Byte"), "# UByte");
            masked = masked.replace(&format!("#{prefix}bit"), "# Ubit");
        }
    }
    masked
}

/// Units behind a number that is set flush right.
const UNITS: [&str; 11] = [" KB", " MB", " GB", " By", " Kb", " Mb", " Gb", " bi", " ms", " pps", "K/"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_masked_and_columns_kept() {
        let first = "[  1] 0.0000-1.0004 sec  2.72 GBytes  23.3 Gbits/sec";
        let other = "[  2] 1.0000-2.0000 sec   926 MBytes   773 Kbits/sec";
        assert_eq!(row(first, false), row(other, false));
        assert_eq!(row(first, false), "[  #] #-# sec     # UBytes     # Ubits/sec");
        let others = [
            "[  1] 0.0000-1.0004 sec  2.72 GBytes  23.3 GBytes/sec",
            "[  1] 0.0000-1.0004 sec 2.72 GBytes  23.3 Gbits/sec",
            "[ *1] 0.0000-1.0004 sec  2.72 GBytes  23.3 Gbits/sec",
            "[  1] 0.0000--1.0004 sec  2.72 GBytes  23.3 Gbits/sec",
            "[  1] 0.0000-1.0004 sec  2.72 GBytes  23.3 Gbits/sec  3",
        ];
        others.iter().for_each(|line| assert_ne!(row(line, false), row(first, false), "{line}"));
        assert_ne!(row(first, true), row("[  1] 0.0000-1.0004 sec  2.72 MBytes  23.3 Gbits/sec", true));
        assert_eq!(row("/sec   0.003 ms 0/91 (0%)", false), row("/sec  11.037 ms 12/910 (0.1%)", false));
        let writes = "  8.21 Gbits/sec  1250/0          8     1023K/141(169) us  1161986";
        assert_eq!(row(writes, false), row("  8.21 Gbits/sec  9/0        238       10K/1(1) us  6", false));
    }

    #[test]
    fn the_order_and_the_number_of_lines_count() {
        let row = |id, times| format!("[{id}] {times} sec   926 MBytes   773 Mbits/sec\n");
        let (one, two) = (row("  1", "0.0000-1.0000"), row("  2", "0.0000-1.0000"));
        let sum = row("SUM", "0.0000-1.0000");
        let sent = "[  1] Sent 3 datagrams\n";
        let shapes_of = |parts: &[&str]| shapes(&parts.concat(), false);
        assert_eq!(
            shapes_of(&[&one, &two, &sum]),
            shapes_of(&[&two, &one, &sum]),
            "streams run side by side"
        );
        assert_ne!(shapes_of(&[&one, &two, &sum]), shapes_of(&[&one, &two]));
        assert_ne!(shapes_of(&[&one, sent]), shapes_of(&[sent, &one]));
        assert_ne!(shapes_of(&[&one, sent]), shapes_of(&[&one, sent, sent]));
    }

    #[test]
    fn what_a_connection_starts_with_is_kept() {
        let line = |window, port| {
            format!(
                "[  1] local 127.0.0.1 port {port} connected with 127.0.0.1 port 5001 \
                     (icwnd/mss/irtt={window}/1448/{port}) (ct=0.42 ms) on 2026-11-21 21:39:54 (UTC)"
            )
        };
        assert_eq!(connection(&line(14, 40_000)), connection(&line(14, 50_001)));
        assert_ne!(connection(&line(14, 40_000)), connection(&line(10, 40_000)));
        assert_eq!(
            setting("Server listening on TCP port 5001 with pid 7"),
            "Server listening on TCP port # with pid #"
        );
    }
}

//! Short phrases.

use model::finding::Severity;
use model::plan::{Direction, Directions, ENDLESS, End, TestSpec, Transport};
use model::stats::distribution::Distribution;
use model::stats::percentile::Standing;
use model::units::{Nanos, count};

/// A planned time without needless decimals: `10 s`, `2.50 s`.
pub(in crate::format) fn span(time: Nanos) -> String {
    match time.0 % 1_000_000_000 {
        0 => format!("{} s", time.0 / 1_000_000_000),
        _ => time.to_string(),
    }
}

/// A distribution of times in a line.
pub(in crate::format) fn distribution(times: &Distribution) -> String {
    let centre = times.centre();
    let p99 = times.known(99.0, |times| times.p99).map(|p99| format!(", 99 % within {p99}"));
    let longest = times.longest().map(|longest| format!(", largest {longest}"));
    let tail: String = [p99, longest].into_iter().flatten().collect();
    format!("{} {}{tail}", centre.name, centre.time)
}

/// A percentile as far as it is known: `482 ms`, `≥ 482 ms` where messages that never came back reach it, or nothing.
pub(in crate::format) fn percentile(standing: Standing, value: &str) -> Option<String> {
    match standing {
        Standing::Known => Some(value.into()),
        Standing::AtLeast => Some(format!("≥ {value}")),
        Standing::TooFew | Standing::Spoiled | Standing::NotGiven => None,
    }
}

/// `up`, `down` or `both directions at once`.
pub(in crate::format) fn directions(directions: Directions) -> &'static str {
    match directions {
        Directions::Up => "up",
        Directions::Down => "down",
        Directions::Both => "both directions at once",
    }
}

/// `idle`, `up`, `down` or `both`: the load beside round trips.
pub(in crate::format) fn load(load: Option<Directions>) -> &'static str {
    match load {
        None => "idle",
        Some(Directions::Up) => "up",
        Some(Directions::Down) => "down",
        Some(Directions::Both) => "both",
    }
}

/// The text, or the begin of a longer one, in so many columns.
pub(in crate::format) fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// `0.0-1.0 s`; two decimals when the interval is short.
pub(in crate::format) fn interval(start: Nanos, end: Nanos) -> String {
    let decimals = if end.saturating_sub(start) < Nanos::from_millis(500) { 2 } else { 1 };
    format!("{:.decimals$}-{:.decimals$} s", start.as_secs_f64(), end.as_secs_f64())
}

/// A test in a phrase: `UDP up, 2 streams, 1.00 Gbit/s each, 1472-byte datagrams, 10 s`.
pub(in crate::format) fn test(test: &TestSpec) -> String {
    let mut parts =
        vec![format!("{} {}", test.transport, directions(test.directions)), count(test.streams, "stream")];
    if let Some(rate) = test.bitrate {
        parts.push(if test.streams > 1 { format!("{rate} each") } else { rate.to_string() });
    }
    if let Some(length) = test.length.filter(|_| test.transport == Transport::Udp) {
        parts.push(format!("{length}-byte datagrams"));
    }
    parts.push(match test.end {
        End::Time(ENDLESS) => UNTIL_STOPPED.into(),
        End::Time(time) => span(time),
        End::Bytes(bytes) => bytes.to_string(),
        End::Blocks(blocks) => count(blocks, "block"),
    });
    if test.omit.0 > 0 {
        parts.push(format!("the first {} not counted", span(test.omit)));
    }
    parts.join(", ")
}

/// The end of a test that ends by Ctrl-C.
pub(in crate::format) const UNTIL_STOPPED: &str = "until stopped";

/// `Up` or `Down`.
pub(in crate::format) fn direction_word(direction: Direction) -> &'static str {
    direction.choose("Up", "Down")
}

/// `info`, `warning` or `problem`.
pub(in crate::format) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Problem => "problem",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_reads_as_a_phrase() {
        let mut spec = TestSpec::new(Transport::Udp);
        spec.streams = 2;
        spec.length = Some(1472);
        spec.omit = Nanos::from_millis(2500);
        assert_eq!(test(&spec), "UDP up, 2 streams, 1472-byte datagrams, 10 s, the first 2.50 s not counted");
    }
}

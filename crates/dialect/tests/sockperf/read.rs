//! A capture of the real sockperf: its output, and its full log.

use model::units::Nanos;
use pathmeter_dialect::sockperf::output::{Counters, Observation, Totals, Window};

/// The files of one run.
pub(crate) struct Capture {
    /// Standard output, without the line that the end of the receiving thread puts anywhere.
    pub(crate) out: String,
    /// The full log, where one was requested.
    pub(crate) log: String,
}

pub(crate) fn capture(name: &str) -> Capture {
    let out = file(&format!("{name}.out"));
    Capture {
        out: out.replace("sockperf: Test end (interrupted by signal 2)\n", ""),
        log: std::fs::read_to_string(path(&format!("{name}.log"))).unwrap_or_default(),
    }
}

/// A file of `tests/fixtures/sockperf`.
pub(crate) fn file(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("read {name}: {error}"))
}

fn path(name: &str) -> String {
    format!("{}/../report/tests/fixtures/sockperf/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Capture {
    /// The rows of the full log, exact.
    pub(crate) fn observations(&self) -> Vec<Observation> {
        let rows = self.log.lines().skip_while(|line| !line.starts_with("packet,")).skip(1);
        rows.take_while(|line| !line.starts_with('-')).map(observation).collect()
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            run_time: millis(self.number("Run] RunTime=")),
            warm_up_millis: self.number("Warm up time="),
            sent: self.number("SentMessages="),
            received: self.number("ReceivedMessages="),
        }
    }

    /// The counts of its full log; figures that the log does not have are those of the output.
    pub(crate) fn window(&self) -> Window {
        let counters = Counters {
            dropped: self.number("# dropped messages = "),
            duplicated: self.number("# duplicated messages = "),
            out_of_order: self.number("# out-of-order messages = "),
        };
        let valid = self.out.split("[Valid Duration]").nth(1).unwrap_or_default();
        let run_time = millis(number(valid, "RunTime=").unwrap_or_default());
        let sent = number(valid, "SentMessages=").unwrap_or_default();
        Window { observations: self.observations(), counters, run_time, sent }
    }

    /// The number behind these words, where they first stand; else 0.
    fn number<T: std::str::FromStr + Default>(&self, before: &str) -> T {
        number(&self.out, before).unwrap_or_default()
    }
}

/// The number behind these words, where they first stand.
pub(crate) fn number<T: std::str::FromStr>(text: &str, before: &str) -> Option<T> {
    let (_, rest) = text.split_once(before)?;
    let end =
        rest.find(|byte: char| !(byte.is_ascii_digit() || byte == '.' || byte == '-')).unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().ok()
}

fn observation(row: &str) -> Observation {
    let fields: Vec<&str> = row.split(", ").collect();
    let &[_, sent, received, _] = fields.as_slice() else { panic!("a row of four fields: {row}") };
    Observation { sent: nanos(sent), received: nanos(received) }
}

/// `12.000000345` s.
fn nanos(text: &str) -> Nanos {
    let digits = text.replace('.', "");
    assert_eq!(text.len() - text.find('.').unwrap_or(0), 10, "nine decimals: {text}");
    Nanos(digits.parse().expect("digits"))
}

fn millis(seconds: f64) -> Nanos {
    Nanos((seconds * 1000.0).round() as u64 * 1_000_000)
}

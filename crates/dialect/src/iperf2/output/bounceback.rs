//! `--bounceback`: round trips in rows.

use super::Iperf2Options;
use super::columns::Figures;
use model::stats::distribution::Distribution;
use model::units::Nanos;

/// The rows of round trips. TCP's own figures are left out, as by builds that do not have them.
pub struct Iperf2Bounceback {
    options: Iperf2Options,
    /// Bytes of a request and of its reply together.
    bytes: u32,
    headed: bool,
}

impl Iperf2Bounceback {
    /// Nothing printed yet. `bytes`: of a request and its reply together.
    #[must_use]
    pub fn new(options: Iperf2Options, bytes: u32) -> Iperf2Bounceback {
        Iperf2Bounceback { options, bytes, headed: false }
    }

    /// The row of an interval, or of the whole time. `label`: `[  1]` or `[SUM]`.
    pub fn row(&mut self, label: &str, span: (Nanos, Nanos), trips: Option<&Distribution>) -> String {
        let heading = if std::mem::replace(&mut self.headed, true) { "" } else { HEADING };
        let count = trips.map_or(0, |trips| trips.count);
        let (start, end) = (span.0.as_secs_f64(), span.1.as_secs_f64());
        // Both directions are counted, as iPerf2 does.
        let bytes = count * u64::from(self.bytes);
        let front =
            Figures { start, end, bytes, ..Figures::default() }.front(self.options.unit.unwrap_or('a'));
        let millis = |time: Nanos| time.0 as f64 / 1e6;
        let times = trips.map_or_else(
            || "0=0.000/0.000/0.000/0.000 ms    0 rps".to_owned(),
            |trips| {
                let rate = if trips.mean.0 > 0 { 1e9 / trips.mean.0 as f64 } else { 0.0 };
                format!(
                    "{count}={:.3}/{:.3}/{:.3}/{:.3} ms    {rate:.0} rps",
                    millis(trips.mean),
                    millis(trips.min),
                    millis(trips.max),
                    millis(trips.stddev)
                )
            },
        );
        format!("{heading}{label} {front}    {times}\n")
    }
}

/// One-way delays of round trips in both directions, by the wall clocks of both ends (`--trip-times`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Iperf2OneWay {
    there: Tally,
    back: Tally,
    /// How far the two are apart.
    apart: Tally,
}

/// Signed nanoseconds, summed up.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    mean: f64,
    /// Sum of the squares of the distances from the mean.
    squares: f64,
    min: f64,
    max: f64,
}

impl Iperf2OneWay {
    /// A round trip: nanoseconds to the server and back, each between two clocks.
    pub fn record(&mut self, there: i64, back: i64) {
        self.there.add(there as f64);
        self.back.add(back as f64);
        self.apart.add((there - back).abs() as f64);
    }

    /// `[  1] 0.0000-1.0165 sec  OWD Delays (ms) Cnt=10 To=… From=… Asymmetry=…    2613 rps`, each mean, least, most and
    /// deviation; what stands last is how many round trips a second would follow each other.
    #[must_use]
    pub fn row(&self, label: &str, span: (Nanos, Nanos)) -> String {
        let (start, end) = (span.0.as_secs_f64(), span.1.as_secs_f64());
        let both = self.there.mean + self.back.mean;
        let rate = if both > 0.0 { 1e9 / both } else { 0.0 };
        format!(
            "{label} {start:4.4}-{end:4.4} sec  OWD Delays (ms) Cnt={} To={} From={} Asymmetry={}    {rate:.0} rps\n",
            self.there.count,
            self.there.millis(),
            self.back.millis(),
            self.apart.millis()
        )
    }
}

impl Tally {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.count as f64;
        self.squares += from_mean * (value - self.mean);
        self.min = if self.count == 1 { value } else { self.min.min(value) };
        self.max = if self.count == 1 { value } else { self.max.max(value) };
    }

    fn millis(&self) -> String {
        let deviation = if self.count > 1 { (self.squares / (self.count - 1) as f64).sqrt() } else { 0.0 };
        let all = [self.mean, self.min, self.max, deviation];
        all.map(|nanos| format!("{:.3}", nanos / 1e6)).join("/")
    }
}

const HEADING: &str =
    "[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev    RPS\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut one_way = Iperf2OneWay::default();
        one_way.record(4_000, 6_000);
        one_way.record(10_000, 2_000);
        assert_eq!(
            one_way.row("[  1]", (Nanos::ZERO, Nanos::from_micros(1_016_500))),
            "[  1] 0.0000-1.0165 sec  OWD Delays (ms) Cnt=2 To=0.007/0.004/0.010/0.004 From=0.004/0.002/0.006/0.003 \
             Asymmetry=0.005/0.002/0.008/0.004    90909 rps\n"
        );
    }

    #[test]
    fn rows() {
        let mut rows = Iperf2Bounceback::new(Iperf2Options::default(), 200);
        let trips = Distribution {
            count: 10,
            min: Nanos::from_micros(8),
            mean: Nanos::from_micros(32),
            max: Nanos::from_micros(240),
            stddev: Nanos::from_micros(73),
            ..Distribution::default()
        };
        let first = rows.row("[  1]", (Nanos::ZERO, Nanos::from_secs(1)), Some(&trips));
        assert_eq!(
            first.lines().last(),
            Some(
                "[  1] 0.0000-1.0000 sec  1.95 KBytes  16.0 Kbits/sec    10=0.032/0.008/0.240/0.073 ms    31250 rps"
            )
        );
        assert_eq!(first.lines().count(), 2);
        let empty = rows.row("[  1]", (Nanos::from_secs(1), Nanos::from_secs(2)), None);
        assert!(empty.ends_with("0=0.000/0.000/0.000/0.000 ms    0 rps\n"), "{empty}");
    }
}

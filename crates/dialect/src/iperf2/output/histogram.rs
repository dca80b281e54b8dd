//! Times counted in bins (`--histograms`, `--jitter-histograms`, `--bounceback`), a line for each time of a row.

use engine::work::observer::{HistogramKind, TimedBins};
use model::stats::bins::Bins;
use model::time::WallTime;
use model::units::Nanos;

/// Times counted in bins, and what they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iperf2Histogram<'a> {
    /// iPerf2's name: `T8` of datagrams, `J8` of their jitter, `F8` of frames and bursts, `W8` of writes, `BB8` of
    /// round trips.
    pub name: &'static str,
    /// The counts.
    pub bins: &'a Bins,
    /// The largest time, nanoseconds, and when it ended.
    pub largest: Option<(i64, WallTime)>,
}

/// Which percentiles a line of bins gives beside the 99.7th, percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iperf2Percentiles {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl Default for Iperf2Percentiles {
    fn default() -> Iperf2Percentiles {
        Iperf2Percentiles { low: 5.0, high: 95.0 }
    }
}

impl Iperf2Percentiles {
    /// `5.00/95.00/99.7%=1/3/3`: the percentiles and the bins that hold them.
    fn text(self, bin: impl Fn(f64) -> u32) -> String {
        let Iperf2Percentiles { low, high } = self;
        let [at_low, at_high, at_most] = [low, high, MOST].map(|percent| bin(percent / 100.0));
        if high > MOST {
            format!("{low:.2}/{MOST}/{high:.2}/%={at_low}/{at_most}/{at_high}")
        } else {
            format!("{low:.2}/{high:.2}/{MOST}%={at_low}/{at_high}/{at_most}")
        }
    }
}

impl<'a> From<&'a TimedBins> for Iperf2Histogram<'a> {
    fn from(counted: &'a TimedBins) -> Iperf2Histogram<'a> {
        let name = match counted.kind {
            HistogramKind::Writes => "W8",
            HistogramKind::Delays => "T8",
            HistogramKind::Jitter => "J8",
            HistogramKind::Pieces => "F8",
        };
        Iperf2Histogram { name, bins: &counted.bins, largest: counted.largest }
    }
}

impl Iperf2Histogram<'_> {
    /// `[  1] 0.0000-2.0160 sec BB8(f)-PDF: bin(w=100us):cnt(20)=1:19,3:1 (5.00/95.00/99.7%=1/3/3,Outliers=0,obl/obu=0/0)`:
    /// how many times fell into each bin, the bins that hold so many percent of them, and the largest time. Outliers lie
    /// three times the distance of the 10th to the 90th percentile above it. `whole`: of the whole time.
    #[must_use]
    pub fn line(
        &self,
        id: u32,
        (start, end): (f64, f64),
        whole: bool,
        percentiles: Iperf2Percentiles,
    ) -> String {
        let Iperf2Histogram { name, bins, .. } = self;
        let total = bins.total();
        let last = bins.shape().count;
        let at = |share: f64| bins.bin_at(share).unwrap_or(if total > 0 { last } else { 0 });
        let (low, high) = (at(0.1), at(0.9));
        let fence = u64::from(high) + 3 * u64::from(high - low);
        let outliers: u64 =
            bins.filled().filter(|(bin, _)| u64::from(*bin) > fence).map(|(_, count)| count).sum();
        let counts: Vec<String> = bins.filled().map(|(bin, count)| format!("{bin}:{count}")).collect();
        let equals = if counts.is_empty() { "" } else { "=" };
        let (below, above) = bins.outside();
        let largest = self.largest.filter(|(most, _)| *most > 0).map_or_else(String::new, |(most, ended)| {
            let (seconds, micros) = (ended.0 / 1_000_000_000, ended.0 / 1000 % 1_000_000);
            format!(" ({:.3} ms/{seconds}.{micros:06})", most as f64 / 1e6)
        });
        format!(
            "[{id:3}] {start:4.4}-{end:4.4} sec {name}{}-PDF: bin(w={}):cnt({total}){equals}{} \
             ({},Outliers={outliers},obl/obu={below}/{above}){largest}\n",
            if whole { "(f)" } else { "" },
            width(bins.shape().width),
            counts.join(","),
            percentiles.text(at)
        )
    }
}

/// `100us`, `1ms`.
fn width(width: Nanos) -> String {
    match width.0 {
        millis if millis.is_multiple_of(1_000_000) => format!("{}ms", millis / 1_000_000),
        other => format!("{}us", other / 1000),
    }
}

/// A percentile that every line has.
const MOST: f64 = 99.7;

#[cfg(test)]
mod tests {
    use super::*;
    use model::stats::bins::BinShape;

    fn counted(shape: BinShape, times: &[(i64, u64)]) -> Bins {
        let mut bins = Bins::new(shape);
        times.iter().for_each(|(nanos, count)| bins.record(*nanos, *count));
        bins
    }

    /// 20 round trips as 2.1.8 printed them, of which one took 225 µs; that one is an outlier by the rule, and 2.1.8 leaves it
    /// out.
    #[test]
    fn round_trips() {
        let shape = BinShape { width: Nanos::from_micros(100), count: 100_000 };
        let bins = counted(shape, &[(6_000, 19), (225_000, 1)]);
        let histogram = Iperf2Histogram { name: "BB8", bins: &bins, largest: None };
        assert_eq!(
            histogram.line(1, (0.0, 2.016), true, Iperf2Percentiles::default()),
            "[  1] 0.0000-2.0160 sec BB8(f)-PDF: bin(w=100us):cnt(20)=1:19,3:1 \
             (5.00/95.00/99.7%=1/3/3,Outliers=1,obl/obu=0/0)\n"
        );
    }

    #[test]
    fn delays_with_the_largest() {
        let shape = BinShape { width: Nanos::from_millis(1), count: 10 };
        let bins = counted(shape, &[(-5, 1), (1_500_000, 98), (70_000_000, 1)]);
        let largest = Some((70_000_000, WallTime(1_700_000_000_000_042_000)));
        let histogram = Iperf2Histogram { name: "T8", bins: &bins, largest };
        let percentiles = Iperf2Percentiles { low: 1.0, high: 99.9 };
        assert_eq!(
            histogram.line(12, (1.0, 2.0), false, percentiles),
            "[ 12] 1.0000-2.0000 sec T8-PDF: bin(w=1ms):cnt(100)=2:98 \
             (1.00/99.7/99.90/%=2/10/10,Outliers=0,obl/obu=1/1) (70.000 ms/1700000000.000042)\n"
        );
    }

    #[test]
    fn nothing_counted() {
        let shape = BinShape { width: Nanos::from_micros(100), count: 1000 };
        let bins = Bins::new(shape);
        let histogram = Iperf2Histogram { name: "J8", bins: &bins, largest: None };
        let line = histogram.line(1, (0.0, 1.0), false, Iperf2Percentiles::default());
        assert!(line.contains("bin(w=100us):cnt(0) (5.00/95.00/99.7%=0/0/0,"), "{line}");
    }
}

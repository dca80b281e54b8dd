//! A distribution of times as the figures in results.

use super::quantile::rank;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A distribution of times as the figures in results, in nanoseconds. A figure that its source does not give has no key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "PartialDistribution", into = "PartialDistribution")]
pub struct Distribution {
    /// Number of times measured.
    pub count: u64,
    /// The shortest, exact.
    pub min: Nanos,
    /// The arithmetic mean.
    pub mean: Nanos,
    /// The sample standard deviation, zero for a single value.
    pub stddev: Nanos,
    /// The median, by nearest rank and to the histogram's precision, as are the following.
    pub p50: Nanos,
    /// 90 % are no longer than this.
    pub p90: Nanos,
    /// 99 % are no longer than this.
    pub p99: Nanos,
    /// 99.9 % are no longer than this. With fewer than 1,000 values it is the longest.
    pub p999: Nanos,
    /// 99.99 % are no longer than this. With fewer than 10,000 values it is the longest.
    pub p9999: Nanos,
    /// The longest, exact.
    pub max: Nanos,
    /// Further values that were not measured, such as messages without a reply. A percentile that they reach is the least
    /// possible value, and no more is known of it ([`Distribution::standing`]).
    pub missing: u64,
    /// Figures that the source does not give. Their fields hold a figure between those of their neighbours, for arithmetic alone:
    /// output uses [`Distribution::standing`], [`Distribution::least`], [`Distribution::longest`] and [`Distribution::centre`].
    pub absent: Absent,
}

/// Figures of a distribution that its source does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// No `min`.
    pub min: bool,
    /// No `stddev`.
    pub stddev: bool,
    /// The absent ones of `p50`, `p90`, `p99`, `p999`, `p9999`, in this order.
    pub percentiles: [bool; 5],
    /// No `max`.
    pub max: bool,
}

impl Absent {
    /// Everything is given.
    pub const NOTHING: Absent = Absent { min: false, stddev: false, percentiles: [false; 5], max: false };
    /// No percentile is given, as in the summary of ping(8).
    pub const PERCENTILES: Absent = Absent { percentiles: [true; 5], ..Absent::NOTHING };
}

/// The middle of a distribution: its median, or its mean where the source gives no median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Centre {
    /// The time.
    pub time: Nanos,
    /// `median` or `mean`.
    pub name: &'static str,
}

impl Distribution {
    /// The shortest; `None` where the source does not give it.
    #[must_use]
    pub fn least(&self) -> Option<Nanos> {
        (!self.absent.min).then_some(self.min)
    }

    /// The longest, likewise.
    #[must_use]
    pub fn longest(&self) -> Option<Nanos> {
        (!self.absent.max).then_some(self.max)
    }

    /// The median, likewise.
    #[must_use]
    pub fn median(&self) -> Option<Nanos> {
        (!self.absent.percentiles[0]).then_some(self.p50)
    }

    /// The sample standard deviation, likewise.
    #[must_use]
    pub fn deviation(&self) -> Option<Nanos> {
        (!self.absent.stddev).then_some(self.stddev)
    }

    /// The median, or the mean where there is none.
    #[must_use]
    pub fn centre(&self) -> Centre {
        let mean = Centre { time: self.mean, name: "mean" };
        self.median().map_or(mean, |time| Centre { time, name: "median" })
    }

    /// The same with this number of missing values. Whatever these would have been, a percentile that they reach is at least as
    /// long as if all of them were short: `at_rank` gives the measured value of a rank from 1.
    #[must_use]
    pub fn with_missing(self, missing: u64, at_rank: impl Fn(u64) -> Option<Nanos>) -> Distribution {
        let mut all = Distribution { missing, ..self };
        let least = |percent: f64, value: Nanos| {
            let rank =
                rank(percent / 100.0, self.count.saturating_add(missing)).filter(|rank| *rank > self.count);
            let least = rank.and_then(|rank| at_rank(rank.saturating_sub(missing).max(1)));
            least.map_or(value, |least| least.min(value))
        };
        (all.p50, all.p90, all.p99) = (least(50.0, self.p50), least(90.0, self.p90), least(99.0, self.p99));
        (all.p999, all.p9999) = (least(99.9, self.p999), least(99.99, self.p9999));
        all
    }
}

/// The figures that a source gives; the form in documents, where an absent figure has no key.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartialDistribution {
    /// Number of times measured.
    pub count: u64,
    /// The shortest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Nanos>,
    /// The arithmetic mean.
    pub mean: Nanos,
    /// The sample standard deviation, zero for a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev: Option<Nanos>,
    /// The median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<Nanos>,
    /// 90 % are no longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<Nanos>,
    /// 99 % are no longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Nanos>,
    /// 99.9 % are no longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<Nanos>,
    /// 99.99 % are no longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p9999: Option<Nanos>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Nanos>,
    /// Further values that were not measured.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Distribution> for PartialDistribution {
    fn from(of: Distribution) -> PartialDistribution {
        let values = [of.p50, of.p90, of.p99, of.p999, of.p9999];
        let mut percentiles = of.absent.percentiles.into_iter().zip(values);
        let mut next = || percentiles.next().filter(|(absent, _)| !absent).map(|(_, value)| value);
        let [p50, p90, p99, p999, p9999] = std::array::from_fn(|_| next());
        PartialDistribution {
            count: of.count,
            min: of.least(),
            mean: of.mean,
            stddev: of.deviation(),
            p50,
            p90,
            p99,
            p999,
            p9999,
            max: of.longest(),
            missing: of.missing,
        }
    }
}

impl From<PartialDistribution> for Distribution {
    fn from(from: PartialDistribution) -> Distribution {
        let percentiles = [from.p50, from.p90, from.p99, from.p999, from.p9999];
        // Ascending from the shortest, the next figure below replaces an absent one, but the mean replaces the median. A mean may
        // be above any percentile, so that the given figures bound it.
        let above = percentiles.into_iter().flatten().next().or(from.max);
        let middle = above.map_or(from.mean, |above| above.min(from.mean));
        let min = from.min.unwrap_or(middle);
        let mut below = middle.max(min);
        let [p50, p90, p99, p999, p9999] = percentiles.map(|value| {
            below = value.unwrap_or(below);
            below
        });
        Distribution {
            count: from.count,
            min,
            mean: from.mean,
            stddev: from.stddev.unwrap_or_default(),
            p50,
            p90,
            p99,
            p999,
            p9999,
            max: from.max.unwrap_or(p9999.max(from.mean)),
            missing: from.missing,
            absent: Absent {
                min: from.min.is_none(),
                stddev: from.stddev.is_none(),
                percentiles: percentiles.map(|value| value.is_none()),
                max: from.max.is_none(),
            },
        }
    }
}

/// The percentiles of a distribution.
pub(crate) const PERCENTS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_not_written_and_read_as_absent() {
        let mean = Nanos::from_nanos(8_100);
        let alone =
            Distribution::from(PartialDistribution { count: 40_000, mean, ..PartialDistribution::default() });
        let all_but_mean = Absent { min: true, stddev: true, percentiles: [true; 5], max: true };
        assert_eq!(alone.absent, all_but_mean);
        assert_eq!(
            (alone.least(), alone.median(), alone.longest(), alone.deviation()),
            (None, None, None, None)
        );
        assert_eq!(alone.centre(), Centre { time: mean, name: "mean" });
        assert_eq!(serde_json::to_string(&alone).unwrap(), r#"{"count":40000,"mean":8100}"#);
        let some = PartialDistribution {
            count: 40_000,
            min: Some(Nanos::from_nanos(5)),
            mean: Nanos::from_nanos(20),
            p90: Some(Nanos::from_nanos(30)),
            p99: Some(Nanos::from_nanos(40)),
            max: Some(Nanos::from_nanos(900)),
            ..PartialDistribution::default()
        };
        let some = Distribution::from(some);
        // A few long times: the mean is above most of the others.
        let skewed = Distribution::from(PartialDistribution {
            count: 3,
            mean: Nanos::from_nanos(62_322),
            p50: Some(Nanos::from_nanos(37_826)),
            p90: Some(Nanos::from_nanos(117_146)),
            ..PartialDistribution::default()
        });
        let without_median = Distribution::from(PartialDistribution {
            count: 40,
            mean: Nanos::from_nanos(62_322),
            p90: Some(Nanos::from_nanos(37_826)),
            ..PartialDistribution::default()
        });
        for distribution in [alone, some, skewed, without_median] {
            let written = serde_json::to_string(&distribution).unwrap();
            assert_eq!(serde_json::from_str::<Distribution>(&written).unwrap(), distribution, "{written}");
            let all = distribution;
            let times = [all.min, all.p50, all.p90, all.p99, all.p999, all.p9999, all.max];
            assert!(times.is_sorted(), "{all:?}");
        }
    }

    #[test]
    fn a_whole_distribution_keeps_its_form() {
        let whole = Distribution {
            count: 3,
            min: Nanos::from_nanos(1),
            mean: Nanos::from_nanos(2),
            stddev: Nanos::from_nanos(3),
            p50: Nanos::from_nanos(4),
            p90: Nanos::from_nanos(5),
            p99: Nanos::from_nanos(6),
            p999: Nanos::from_nanos(7),
            p9999: Nanos::from_nanos(8),
            max: Nanos::from_nanos(9),
            missing: 1,
            absent: Absent::NOTHING,
        };
        let written = serde_json::to_string(&whole).unwrap();
        assert_eq!(
            written,
            r#"{"count":3,"min":1,"mean":2,"stddev":3,"p50":4,"p90":5,"p99":6,"p999":7,"p9999":8,"max":9,"missing":1}"#
        );
        assert_eq!(serde_json::from_str::<Distribution>(&written).unwrap(), whole);
        assert_eq!(whole.centre(), Centre { time: Nanos::from_nanos(4), name: "median" });
    }
}

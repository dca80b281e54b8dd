//! `rtt-outliers`: the tail is far from the body, and whose fault that is.

use super::super::text::{capital, count, grouped, significant};
use super::super::{Finding, Severity};
use super::{name, share};
use model::latency::{Cause, EgressResult, HostNoise};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::histogram::Histogram;
use model::stats::percentile::Standing;
use model::units::Nanos;

/// Round trips far beyond the median, of each path.
pub(in super::super) fn rtt_outliers(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let busy = run.summary.noise.filter(HostNoise::is_busy).map(|noise| noise.longest_wait());
    Some(finding(run, egress, &Tail::from_egress(egress, busy)?))
}

/// The round trips far from the body.
struct Tail {
    rtt: Distribution,
    /// From here on a round trip is far.
    limit: Nanos,
    /// How many are, and whether there may be more of them.
    far: u64,
    at_least: bool,
    /// Causes of the far ones that were examined: this host, the path, not known.
    causes: [u64; 3],
    /// The most by which one that is not this host's fault exceeds the median.
    excess: Nanos,
    /// How long other work may have held a round trip up, where it kept this host's CPUs busy. A far end that shares
    /// them is in the round trip as the path is.
    busy: Option<Nanos>,
}

impl Tail {
    fn from_egress(egress: &EgressResult, busy: Option<Nanos>) -> Option<Tail> {
        let rtt = egress.rtt.filter(|rtt| rtt.count > 1 && rtt.p50.0 > 0)?;
        // The highest of several levels is the body.
        let levels = egress.shifts.iter().flat_map(|shift| [shift.from, shift.to]);
        let body = levels.max().unwrap_or_default().max(rtt.p50);
        let rtt = Distribution { p50: body, ..rtt };
        let limit = rtt.p50.saturating_mul(FAR).max(rtt.p50.saturating_add(NOTICEABLE));
        let lone = rtt.max >= limit;
        let heavy = heavy(&rtt);
        if !lone && !heavy && egress.counted.late == 0 {
            return None;
        }
        let limit = if lone { limit } else { rtt.p50.saturating_mul(HEAVY) };
        let observed = egress.outliers.iter().filter(|outlier| outlier.rtt >= limit);
        let causes = [Cause::Host, Cause::Path, Cause::Unknown]
            .map(|cause| observed.clone().filter(|o| o.cause == cause).count() as u64);
        let counted = egress.histogram.as_ref().and_then(|text| Histogram::from_v2_base64(text).ok());
        let counted = counted.map(|histogram| beyond(&histogram, limit));
        let known = counted.unwrap_or_else(|| causes.iter().sum::<u64>()).max(u64::from(rtt.max >= limit));
        let far = known.saturating_add(egress.counted.late);
        let others =
            observed.clone().filter(|outlier| outlier.cause != Cause::Host).map(|outlier| outlier.rtt).max();
        let farthest = others.unwrap_or(if observed.count() == 0 { rtt.max } else { rtt.p50 });
        let excess = farthest.saturating_sub(rtt.p50);
        Some(Tail { rtt, limit, far, at_least: counted.is_none(), causes, excess, busy })
    }

    /// The cause: the path when it caused any far one, else this host when it caused all examined ones.
    fn cause(&self) -> Cause {
        match self.causes {
            [_, path, _] if path > 0 => Cause::Path,
            [host, _, 0] if host > 0 => Cause::Host,
            _ => Cause::Unknown,
        }
    }

    /// The scheduler of this host, or of a far end that is as busy, may be all of it.
    fn may_be_host(&self) -> bool {
        self.excess < self.busy.unwrap_or(LONG)
    }

    /// Retransmissions and devices that fail over take so long.
    fn very_long(&self) -> bool {
        self.excess >= VERY_LONG
    }

    /// The far ones that are not this host's fault, as a share of all round trips: as among those looked at.
    fn not_host_share(&self) -> f64 {
        let [host, path, unknown] = self.causes;
        let part =
            if host + path + unknown == 0 { 1.0 } else { share(path + unknown, host + path + unknown) };
        share(self.far, self.rtt.count) * part
    }

    /// A single hiccup of some milliseconds is a remark; a long one, or many, is more.
    fn severity(&self, late: u64) -> Severity {
        let many = self.not_host_share() >= MANY || late > 0;
        match self.cause() {
            Cause::Host => Severity::Info,
            _ if self.busy.is_some() && self.may_be_host() => Severity::Info,
            Cause::Path | Cause::Unknown if many || !self.may_be_host() => Severity::Warning,
            Cause::Path | Cause::Unknown => Severity::Info,
        }
    }
}

/// The largest of p99 and p99.9 that so many values carry is far from the median.
fn heavy(rtt: &Distribution) -> bool {
    let carried = [(99.9, rtt.p999), (99.0, rtt.p99)];
    let carried = carried
        .into_iter()
        .find(|(percent, _)| !matches!(rtt.standing(*percent), Standing::TooFew | Standing::NotGiven));
    carried.is_some_and(|(_, value)| {
        value >= rtt.p50.saturating_mul(HEAVY) && value.saturating_sub(rtt.p50) >= HEAVY_EXCESS
    })
}

/// Values that lie above the limit, whole buckets.
fn beyond(histogram: &Histogram, limit: Nanos) -> u64 {
    histogram.buckets().filter(|(values, _)| *values.end() >= limit.0).map(|(_, count)| count).sum()
}

fn finding(run: &Run, egress: &EgressResult, tail: &Tail) -> Finding {
    let (rtt, late) = (&tail.rtt, egress.counted.late);
    let ratio = rtt.max.0 as f64 / rtt.p50.0 as f64;
    let [host, path, unknown] = tail.causes;
    // Beside a load these are round trips of the idle phase alone, and not the ones of interest.
    let is_beside = run.summary.loaded.as_ref().is_some_and(|loaded| loaded.phases.len() > 1);
    let severity = if is_beside { Severity::Info } else { tail.severity(late) };
    let finding = Finding::new("rtt-outliers", severity, None, title(run, egress, tail))
        .with("rtt_max_ns", rtt.max.0)
        .with("rtt_p50_ns", rtt.p50.0)
        .with("rtt_p99_ns", rtt.p99.0)
        .with("max_over_median_ratio", (ratio * 1000.0).round() / 1000.0)
        .with("far_limit_ns", tail.limit.0)
        .with("far_count", tail.far)
        .with("round_trips_count", rtt.count)
        .with("late_count", late)
        .with("caused_by_host_count", host)
        .with("caused_by_path_count", path)
        .with("cause_unknown_count", unknown);
    finding.advise(advice(tail))
}

fn title(run: &Run, egress: &EgressResult, tail: &Tail) -> String {
    let (rtt, name) = (&tail.rtt, name(run, egress));
    let all = count(rtt.count.saturating_add(egress.counted.late), "round trip");
    if egress.counted.late > 0 && egress.counted.late == tail.far {
        return format!(
            "{} of {all} {name} came too late to be measured; the others took up to {}, with a median of {}",
            grouped(tail.far),
            rtt.max,
            rtt.p50
        );
    }
    let least = if tail.at_least { "at least " } else { "" };
    let late = match egress.counted.late {
        0 => String::new(),
        1 => "1 came too late to be measured, ".into(),
        late => format!("{} came too late to be measured, ", grouped(late)),
    };
    let title = format!(
        "{least}{} of {all} {name} took far longer than the rest: {late}up to {}, {} times the median of {}; {}",
        grouped(tail.far),
        rtt.max,
        significant(rtt.max.0 as f64 / rtt.p50.0 as f64),
        rtt.p50,
        attribute(tail)
    );
    capital(&title)
}

/// The cause as text.
fn attribute(tail: &Tail) -> String {
    let [host, path, unknown] = tail.causes;
    let looked = host + path + unknown;
    match tail.cause() {
        Cause::Path if host == 0 => {
            format!("not this host but the path or the far end caused {}", all_of(path, looked))
        }
        Cause::Path => {
            format!("the path or the far end caused {}, this host {host}", all_of(path, looked))
        }
        Cause::Host => format!("this host held the measuring thread in {}", all_of(host, looked)),
        Cause::Unknown if host > 0 => {
            format!(
                "this host held the measuring thread in {}, of the rest it is not known",
                all_of(host, looked)
            )
        }
        Cause::Unknown if !tail.may_be_host() => {
            format!("{} beyond the median is more than a host's scheduler takes", tail.excess)
        }
        Cause::Unknown => "whether this host or the path is the cause is unknown".into(),
    }
}

fn all_of(part: u64, looked: u64) -> String {
    match (part, looked) {
        (1, 1) => "it".into(),
        (part, looked) if part == looked => format!("all {} looked at", grouped(looked)),
        (part, looked) => format!("{} of the {} looked at", grouped(part), grouped(looked)),
    }
}

fn advice(tail: &Tail) -> &'static str {
    match tail.cause() {
        Cause::Host => {
            "The tail is this host's, not the path's: stop other work, give the measuring thread a CPU of its own, and measure again."
        }
        Cause::Path | Cause::Unknown if tail.very_long() && !tail.may_be_host() => {
            "Look for what holds single packets back on this path: a retransmitted segment (over TCP at least 200 ms), a connection or address set up on first use, a device that reboots or fails over, Wi-Fi roaming. Repeat to see whether it comes back, and compare with another path: --via."
        }
        Cause::Path => {
            "See whether it comes back with another run, and with the far end's server on a CPU of its own; compare with another path: --via."
        }
        Cause::Unknown => {
            "Repeat with `pathmeter latency HOST --wait spin`, which sees whether this host held the reply back."
        }
    }
}

/// A round trip of twice the median is far …
const FAR: u64 = 2;
/// … when it also exceeds it by a millisecond: below that, on a path of some microseconds, every host's interrupts and timers
/// make one in some ten thousand round trips many times the median, which shows nothing about the path.
const NOTICEABLE: Nanos = Nanos::from_millis(1);
/// The carried percentile of a heavy tail, in medians …
const HEAVY: u64 = 10;
/// The excess over the median must be at least this: a wake-up of an idle CPU takes 50 µs.
const HEAVY_EXCESS: Nanos = Nanos::from_micros(100);
/// An excess that no scheduler makes: Linux gives a waking thread its turn within some milliseconds.
const LONG: Nanos = Nanos::from_millis(10);
/// A retransmission of TCP takes at least twice this.
const VERY_LONG: Nanos = Nanos::from_millis(100);
/// One in a thousand is no accident.
const MANY: f64 = 0.001;

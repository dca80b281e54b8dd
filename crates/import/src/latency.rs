//! Putting a latency run together from what an output reported, through the same events as a live run.

use super::{Imported, Tool};
use insight::run_of_events;
use model::event::{Event, Finished, Outcome, Warning};
use model::host::Host;
use model::latency::{
    Cause, Counted, EgressEnds, EgressPath, EgressResult, HostNoise, LatencyMode, LatencyPlan,
    LatencyProtocol, LatencyResult, LatencyStarted, Outlier, SocketSetup, WaitMode,
};
use model::path::PathResult;
use model::plan::{End, Target, Transport};
use model::sample::Silence;
use model::stats::batch_means::{BatchMeans, MeanInterval};
use model::stats::distribution::{Distribution, PartialDistribution};
use model::stats::histogram::Histogram;
use model::stats::percentile::{Percentile, percentiles};
use model::stats::spread::Dispersion;
use model::time::WallTime;
use model::units::{Nanos, PacketRate};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Everything an output reported of round trips on one path.
#[derive(Clone, Debug)]
pub(super) struct ParsedRun {
    pub(super) tool: Tool,
    pub(super) version: Option<String>,
    pub(super) line: usize,
    /// `latency` or `ping`.
    pub(super) kind: &'static str,
    pub(super) host: String,
    pub(super) label: String,
    pub(super) local: Option<SocketAddr>,
    pub(super) remote: Option<SocketAddr>,
    /// Absent: none that we speak, and the run has no plan.
    pub(super) protocol: Option<LatencyProtocol>,
    pub(super) mode: LatencyMode,
    /// Messages per second that were asked for.
    pub(super) rate: Option<PacketRate>,
    pub(super) transport: Transport,
    /// Bytes of a message; 0: not known.
    pub(super) size: u32,
    pub(super) elapsed: Nanos,
    pub(super) counted: Counted,
    pub(super) rtt: Option<Distribution>,
    pub(super) mad: Option<Nanos>,
    pub(super) iqr: Option<Nanos>,
    pub(super) failed: Option<String>,
    pub(super) path: Option<PathResult>,
    /// The longest time without a reply.
    pub(super) silence: Option<Silence>,
    pub(super) started: Option<WallTime>,
    pub(super) warnings: Vec<Warning>,
    of_trips: OfTrips,
}

/// The figures that only single round trips give.
#[derive(Clone, Debug, Default)]
struct OfTrips {
    percentiles: Vec<Percentile>,
    mean: Option<MeanInterval>,
    histogram: Option<String>,
    outliers: Vec<Outlier>,
}

/// A round trip: when it began, since the first, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    pub(super) at: Nanos,
    pub(super) rtt: Nanos,
}

/// Round trips as they come. The memory of any number of them has a bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Trips {
    histogram: Histogram,
    means: BatchMeans,
    /// The longest, the longest first, and of equally long ones the earlier first.
    farthest: Vec<Trip>,
    /// When the last one began.
    last: Option<Nanos>,
}

impl Trips {
    pub(super) fn push(&mut self, trip: Trip) {
        self.histogram.record(trip.rtt.0);
        self.means.record(trip.rtt.0 as f64);
        self.last = Some(trip.at);
        let is_full = self.farthest.len() == MOST_OUTLIERS;
        if !is_full || self.farthest.last().is_some_and(|least| least.rtt < trip.rtt) {
            let place = self.farthest.partition_point(|other| other.rtt >= trip.rtt);
            self.farthest.insert(place, trip);
            self.farthest.truncate(MOST_OUTLIERS);
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.histogram.count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the last one began.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.last
    }

    /// Moves the times at which they began.
    pub(super) fn retime(&mut self, time: impl Fn(Nanos) -> Nanos) {
        self.farthest.iter_mut().for_each(|trip| trip.at = time(trip.at));
        self.last = self.last.map(time);
    }
}

impl ParsedRun {
    pub(super) fn new(tool: Tool, line: usize, host: Option<&str>) -> ParsedRun {
        let host = host.unwrap_or("the far end").to_owned();
        ParsedRun {
            tool,
            version: None,
            line,
            kind: "latency",
            label: host.clone(),
            host,
            local: None,
            remote: None,
            protocol: None,
            mode: LatencyMode::PingPong,
            rate: None,
            transport: Transport::Udp,
            size: 0,
            elapsed: Nanos::ZERO,
            counted: Counted::default(),
            rtt: None,
            mad: None,
            iqr: None,
            failed: None,
            path: None,
            silence: None,
            started: None,
            warnings: Vec::new(),
            of_trips: OfTrips::default(),
        }
    }

    pub(super) fn warn(&mut self, id: &str, text: impl Into<String>) {
        self.warnings.push(Warning::new(id, text));
    }

    /// Everything that single round trips give; nothing of none.
    pub(super) fn of_round_trips(&mut self, trips: &Trips) {
        let Trips { histogram, means, farthest, .. } = trips;
        self.rtt = histogram.distribution();
        let dispersion = Dispersion::from_histogram(histogram);
        (self.mad, self.iqr) = (dispersion.map(|d| d.mad), dispersion.map(|d| d.iqr));
        let outlier =
            |trip: &Trip| Outlier { at: trip.at, rtt: trip.rtt, host: Nanos::ZERO, cause: Cause::Unknown };
        self.of_trips = OfTrips {
            percentiles: percentiles(histogram, &PERCENTS),
            mean: means.interval(0, 0.95),
            histogram: (!trips.is_empty()).then(|| histogram.to_v2_base64()),
            outliers: farthest.iter().map(outlier).collect(),
        };
    }

    /// Notes that times are printed in whole milliseconds.
    pub(super) fn of_whole_milliseconds(&mut self) {
        self.warn(
            "whole-milliseconds",
            "The output has times in whole milliseconds: shorter ones are taken for half of one.",
        );
    }

    /// The mean alone is known, as of a rate of transactions.
    pub(super) fn of_mean(&mut self, mean: Nanos, count: u64) {
        self.counted = Counted { sent: count, asked: count, received: count, ..Counted::default() };
        self.rtt = Some(PartialDistribution { count, mean, ..PartialDistribution::default() }.into());
        self.warn("mean-alone", "The output reports the mean alone: neither the median nor another percentile is known, nor the shortest and the longest.");
    }

    /// The shortest, the mean and the longest are known, and no percentile.
    pub(super) fn of_extremes(&mut self, figures: PartialDistribution) {
        self.rtt = Some(figures.into());
        self.warn("extremes-alone", "The output reports the shortest, the mean and the longest round trip alone: neither the median nor another percentile is known.");
    }

    /// The run, called `NAME:LINE`.
    pub(super) fn imported(mut self, name: &str) -> Box<Imported> {
        if self.rtt.take_if(|rtt| !is_possible(rtt)).is_some() {
            (self.mad, self.iqr) = (None, None);
            self.warn("contradictory-times", "The output's times contradict each other: a percentile is above a higher one, or the mean beyond the extremes. They are left out.");
        }
        let mut run = run_of_events(&format!("{name}:{}", self.line), self.kind, &self.events());
        (run.started, run.finished) = (self.started, self.started.map(|from| from + self.elapsed));
        run.host = None;
        Box::new(Imported { tool: self.tool, version: self.version, line: self.line, run })
    }

    fn events(&self) -> Vec<Event> {
        let ends = EgressEnds {
            local: self.local.unwrap_or(NOWHERE),
            remote: self.remote.unwrap_or(NOWHERE),
            seen_as: None,
            peer: None,
            far_wait: None,
        };
        let mut events = Vec::new();
        if let Some(protocol) = self.protocol {
            let (plan, ends) = (self.plan(protocol, ends.remote), vec![ends.clone()]);
            let begun = LatencyStarted { wall: WallTime::default(), plan, ends, host: Host::default() };
            events.push(Event::LatencyStarted(Box::new(begun)));
        }
        if self.counted.sent > 0 || self.rtt.is_some() {
            let result = LatencyResult {
                egress_paths: vec![self.egress_result(ends)],
                floor: None,
                noise: HostNoise::default(),
                cpu_share: 0.0,
            };
            events.push(Event::Latency(Box::new(result)));
        }
        events.extend(self.path.iter().map(|path| Event::Path(Box::new(path.clone()))));
        events.extend(self.warnings.iter().cloned().map(Event::Warning));
        let outcome = match &self.failed {
            Some(reason) => Outcome::Failed { reason: reason.clone() },
            None => Outcome::Completed,
        };
        events.push(Event::Finished(Finished { wall: WallTime::default(), elapsed: self.elapsed, outcome }));
        events
    }

    fn egress_result(&self, ends: EgressEnds) -> EgressResult {
        EgressResult {
            label: self.label.clone(),
            host: self.host.clone(),
            ends,
            elapsed: self.elapsed,
            counted: self.counted,
            warm_up: Nanos::ZERO,
            warm_up_count: 0,
            level: None,
            rtt: self.rtt,
            service: None,
            mad: self.mad,
            iqr: self.iqr,
            percentiles: self.of_trips.percentiles.clone(),
            mean: self.of_trips.mean,
            histogram: self.of_trips.histogram.clone(),
            wire: None,
            one_way: None,
            outliers: self.of_trips.outliers.clone(),
            silence: self.silence,
            outages: Vec::new(),
            shifts: Vec::new(),
            spoiled_from_percent: None,
            sent_rate: PacketRate::from_count(self.counted.sent, self.elapsed),
            received_rate: None,
        }
    }

    fn plan(&self, protocol: LatencyProtocol, remote: SocketAddr) -> LatencyPlan {
        let target = Target { host: self.host.clone(), address: remote };
        LatencyPlan {
            egress_paths: vec![EgressPath {
                label: self.label.clone(),
                target,
                bind: None,
                port: None,
                device: None,
            }],
            protocol,
            mode: self.mode,
            transport: self.transport,
            size: self.size,
            sizes: None,
            burst: 1,
            compare: false,
            rate: self.rate,
            reply_every: 1,
            end: End::Time(self.elapsed),
            warm_up: None,
            timeout: None,
            interval: Nanos::ZERO,
            wait: WaitMode::Block,
            wait_reason: String::new(),
            tos: 0,
            busy_poll: None,
            socket: SocketSetup::default(),
            cpu: None,
            wire_times: false,
            multicast_ttl: None,
            connect_timeout: Nanos::ZERO,
            load: None,
            explain: Nanos::ZERO,
        }
    }
}

/// Can these be figures of the same times? A mean may be printed more roughly than the extremes.
fn is_possible(rtt: &Distribution) -> bool {
    let PartialDistribution { count, min, mean, p50, p90, p99, p999, p9999, max, .. } = (*rtt).into();
    let roughly = |time: Nanos| time.0 / 50;
    count == 0
        || [min, p50, p90, p99, p999, p9999, max].into_iter().flatten().is_sorted()
            && min.is_none_or(|min| mean.0 >= min.0 - roughly(min))
            && max.is_none_or(|max| mean.0 <= max.0.saturating_add(roughly(max)))
}

/// An address that no output reported.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
const PERCENTS: [f64; 7] = [25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99];
const MOST_OUTLIERS: usize = 16;

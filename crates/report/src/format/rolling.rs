//! Figures of a test so far, for a request while it runs (SIGUSR1). They are folded from the intervals and take the
//! same memory however long the test lasts.

use model::event::Event;
use model::latency::{EgressSample, LatencySample};
use model::plan::Direction;
use model::sample::{IntervalSample, Role};
use model::units::{BitRate, Bytes, Nanos, count, percent};

/// The sums of a running test.
#[derive(Debug, Default)]
pub struct Rolling {
    end: Nanos,
    up: Flow,
    down: Flow,
    labels: Vec<String>,
    egress_paths: Vec<Trips>,
}

impl Rolling {
    /// Takes what happens; of other events than intervals it knows nothing.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Sample(sample) if !sample.omitted => self.streams(sample),
            Event::LatencyStarted(begun) => {
                self.labels = begun.plan.egress_paths.iter().map(|egress| egress.label.clone()).collect();
            }
            Event::LatencySample(sample) => self.trips(sample),
            _ => {}
        }
    }

    fn streams(&mut self, sample: &IntervalSample) {
        self.end = self.end.max(sample.end);
        for (direction, flow) in [(Direction::Up, &mut self.up), (Direction::Down, &mut self.down)] {
            for (role, end) in [(Role::Sender, &mut flow.sent), (Role::Receiver, &mut flow.received)] {
                let rows =
                    || sample.streams.iter().filter(|row| (row.direction, row.role) == (direction, role));
                if rows().next().is_some() {
                    end.add(rows().map(|row| row.bytes).sum(), sample.end.saturating_sub(sample.start));
                }
                for udp in rows().filter_map(|row| row.udp.as_ref()).filter(|_| role == Role::Receiver) {
                    let (lost, arrived) = flow.datagrams.unwrap_or_default();
                    flow.datagrams = Some((lost + udp.lost, arrived + udp.datagrams));
                }
                let tcp = rows().filter_map(|row| row.tcp.as_ref()).filter(|_| role == Role::Sender);
                for tcp in tcp {
                    flow.retransmits = Some(flow.retransmits.unwrap_or(0) + tcp.retransmits);
                }
            }
        }
    }

    fn trips(&mut self, sample: &LatencySample) {
        self.end = self.end.max(sample.end);
        self.egress_paths.resize_with(self.egress_paths.len().max(sample.egress_paths.len()), Trips::default);
        self.egress_paths.iter_mut().zip(&sample.egress_paths).for_each(|(trips, egress)| trips.add(egress));
    }

    /// A line for each direction or path; empty before the first interval.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let flows = [("up", &self.up), ("down", &self.down)];
        let flows = flows.into_iter().filter_map(|(name, flow)| Some(format!("{name} {}", flow.line()?)));
        let label = |index: usize| self.labels.get(index).filter(|label| !label.is_empty());
        let egress_paths = self.egress_paths.iter().enumerate().map(|(index, trips)| match label(index) {
            Some(label) => format!("{label}: {}", trips.line()),
            None => trips.line(),
        });
        flows.chain(egress_paths).map(|line| format!("so far, {}: {line}", self.end)).collect()
    }
}

/// One direction.
#[derive(Debug, Default)]
struct Flow {
    sent: Rates,
    received: Rates,
    /// Datagrams lost and arrived, as the receiver counts them.
    datagrams: Option<(u64, u64)>,
    retransmits: Option<u64>,
}

impl Flow {
    /// The bytes that arrived, where the receiver reports them while it runs, or else those sent.
    fn line(&self) -> Option<String> {
        let (rates, word) = match (self.received.time, self.sent.time) {
            (Nanos::ZERO, Nanos::ZERO) => return None,
            (Nanos::ZERO, _) => (&self.sent, "sent"),
            _ => (&self.received, "received"),
        };
        let mean = BitRate::from_bytes(rates.bytes, rates.time);
        let mut line =
            format!("{mean} {word} ({} to {} in an interval), {}", rates.least, rates.most, rates.bytes);
        if let Some((lost, arrived)) = self.datagrams {
            let share = lost as f64 / (lost + arrived).max(1) as f64;
            line.push_str(&format!(", {} lost ({})", count(lost, "datagram"), percent(share)));
        }
        if let Some(retransmits) = self.retransmits {
            line.push_str(&format!(", {}", count(retransmits, "retransmit")));
        }
        Some(line)
    }
}

/// The counters of one end of a direction.
#[derive(Debug, Default)]
struct Rates {
    bytes: Bytes,
    time: Nanos,
    least: BitRate,
    most: BitRate,
}

impl Rates {
    fn add(&mut self, bytes: Bytes, time: Nanos) {
        let rate = BitRate::from_bytes(bytes, time);
        self.least = if self.time == Nanos::ZERO { rate } else { self.least.min(rate) };
        self.most = self.most.max(rate);
        self.bytes += bytes;
        self.time += time;
    }
}

/// The round trips of a path.
#[derive(Debug, Default)]
struct Trips {
    count: u64,
    lost: u64,
    /// The sum of all, in nanoseconds.
    sum: u128,
    least: Option<Nanos>,
    most: Nanos,
    /// The highest 99th percentile of an interval that has a hundred.
    worst_p99: Option<Nanos>,
}

impl Trips {
    fn add(&mut self, egress: &EgressSample) {
        self.lost += egress.lost;
        let Some(rtt) = egress.rtt.filter(|rtt| rtt.count > 0) else { return };
        self.count += rtt.count;
        self.sum += u128::from(rtt.mean.0) * u128::from(rtt.count);
        self.least = Some(self.least.map_or(rtt.min, |least| least.min(rtt.min)));
        self.most = self.most.max(rtt.max);
        self.worst_p99 = self.worst_p99.max((rtt.count >= 100).then_some(rtt.p99));
    }

    fn line(&self) -> String {
        let Trips { count, lost, .. } = self;
        let Some(least) = self.least else { return format!("no round trip, {lost} lost") };
        let mean = Nanos((self.sum / u128::from(*count)) as u64);
        let worst =
            self.worst_p99.map(|p99| format!(", p99 at most {p99} in an interval")).unwrap_or_default();
        format!("RTT {mean} mean, {least} to {}{worst}, {count} round trips, {lost} lost", self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sample::{Side, StreamSample, UdpCounters};
    use model::stats::distribution::Distribution;

    fn interval(second: u64, role: Role, bytes: u64) -> Event {
        let udp = UdpCounters { datagrams: 9, lost: 1, ..UdpCounters::default() };
        let row = StreamSample {
            stream: 0,
            direction: Direction::Up,
            role,
            bytes: Bytes(bytes),
            tcp: None,
            udp: Some(udp),
        };
        Event::Sample(IntervalSample {
            side: Side::Local,
            start: Nanos::from_secs(second),
            end: Nanos::from_secs(second + 1),
            omitted: false,
            streams: vec![row],
        })
    }

    #[test]
    fn a_receiver_that_reports_is_believed() {
        let mut rolling = Rolling::default();
        assert_eq!(rolling.lines(), Vec::<String>::new());
        for (second, bytes) in [(0, 1_000_000), (1, 3_000_000)] {
            rolling.event(&interval(second, Role::Sender, 2 * bytes));
        }
        assert!(
            rolling.lines()[0].contains("up 32.0 Mbit/s sent (16.0 Mbit/s to 48.0 Mbit/s"),
            "{:?}",
            rolling.lines()
        );
        for (second, bytes) in [(0, 1_000_000), (1, 3_000_000)] {
            rolling.event(&interval(second, Role::Receiver, bytes));
        }
        let line = &rolling.lines()[0];
        assert!(line.contains("up 16.0 Mbit/s received (8.00 Mbit/s to 24.0 Mbit/s"), "{line}");
        assert!(line.starts_with("so far, 2.00 s: ") && line.contains("2 datagrams lost (10.0 %)"), "{line}");
    }

    #[test]
    fn round_trips_are_weighed_by_their_number() {
        let mut rolling = Rolling::default();
        for (count, time) in [(100, 10), (300, 30)] {
            let time = Nanos::from_micros(time);
            let rtt = Distribution {
                count,
                min: time,
                mean: time,
                p99: time,
                max: time,
                ..Distribution::default()
            };
            let egress = EgressSample { sent: count, rtt: Some(rtt), lost: 1 };
            let end = Nanos::from_secs(1);
            rolling.event(&Event::LatencySample(LatencySample {
                start: Nanos::ZERO,
                end,
                load: None,
                egress_paths: vec![egress],
            }));
        }
        let line = &rolling.lines()[0];
        assert!(line.contains("RTT 25.0 µs mean, 10.0 µs to 30.0 µs, p99 at most 30.0 µs"), "{line}");
        assert!(line.contains("400 round trips, 2 lost"), "{line}");
    }
}

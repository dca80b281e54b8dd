//! The rows of a test while it runs: what the receiver counted, which the other end reports a moment later.

use super::intervals;
use super::lines::lines;
use crate::format::Style;
use model::plan::{Plan, ProtocolName};
use model::sample::{IntervalSample, Side};

/// An interval of this end waits for that of the other, and until the next interval at most.
#[derive(Debug, Default)]
pub struct LiveRows {
    near: Option<IntervalSample>,
    far: Option<IntervalSample>,
}

impl LiveRows {
    /// The rows that are complete with this sample: one for each direction, as they stand in the document.
    pub fn rows(&mut self, sample: &IntervalSample, plan: &Plan, style: &Style) -> String {
        match sample.side {
            Side::Local => {
                let before = self.rest(plan, style);
                self.near = Some(sample.clone());
                // The other end of other protocols reports nothing before the test is over.
                let now = match plan.protocol {
                    ProtocolName::Native => self.both(plan, style),
                    _ => self.rest(plan, style),
                };
                before + &now
            }
            Side::Peer => {
                self.far = Some(sample.clone());
                self.both(plan, style)
            }
        }
    }

    /// The rows of an interval of which the other end has reported nothing.
    pub fn rest(&mut self, plan: &Plan, style: &Style) -> String {
        self.near.take().map(|near| lines(&intervals::rows(&[near], plan), style)).unwrap_or_default()
    }

    /// The rows of an interval that both ends have measured.
    fn both(&mut self, plan: &Plan, style: &Style) -> String {
        let is_same = |near: &&IntervalSample| {
            self.far.as_ref().is_some_and(|far| intervals::is_same_interval(near, far))
        };
        if self.near.as_ref().filter(is_same).is_none() {
            return String::new();
        }
        let both: Vec<IntervalSample> = [self.near.take(), self.far.take()].into_iter().flatten().collect();
        lines(&intervals::rows(&both, plan), style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::{Direction, LocalOptions, Target, TestSpec, Transport};
    use model::sample::{Role, StreamSample, UdpCounters};
    use model::units::{Bytes, Nanos};

    fn plan(protocol: ProtocolName) -> Plan {
        let target = Target { host: "far".into(), address: ([192, 0, 2, 20], 5210).into() };
        Plan { target, protocol, test: TestSpec::new(Transport::Udp), local: LocalOptions::default() }
    }

    /// An interval of a second, a millisecond late at the far end.
    fn sample(side: Side, second: u64, megabytes: u64) -> IntervalSample {
        let (role, late) = match side {
            Side::Local => (Role::Sender, Nanos::ZERO),
            Side::Peer => (Role::Receiver, Nanos::from_millis(1)),
        };
        let udp = Some(UdpCounters { datagrams: 9, lost: 7_748, ..UdpCounters::default() });
        let bytes = Bytes(megabytes * 1_000_000);
        let row = StreamSample { stream: 0, direction: Direction::Up, role, bytes, tcp: None, udp };
        let [start, end] = [second, second + 1].map(|second| Nanos::from_secs(second) + late);
        IntervalSample { side, start, end, omitted: false, streams: vec![row] }
    }

    #[test]
    fn a_row_is_the_receivers_where_it_reports() {
        let (plan, style) = (plan(ProtocolName::Native), Style::default());
        let mut live = LiveRows::default();
        let mut row = |side, second, megabytes| live.rows(&sample(side, second, megabytes), &plan, &style);
        assert_eq!(row(Side::Local, 0, 4), "", "the receiver has not reported yet");
        let first = row(Side::Peer, 0, 3);
        assert!(
            first.contains("24.0 Mbit/s") && first.contains("7\u{a0}748") && !first.contains("sent"),
            "{first}"
        );
        // The report of the second one is missing.
        assert_eq!(row(Side::Local, 1, 4), "");
        let second = row(Side::Local, 2, 5);
        assert!(second.contains("32.0 Mbit/s") && second.ends_with("sent\n"), "{second}");
        assert!(live.rest(&plan, &style).contains("40.0 Mbit/s"));
        assert_eq!(live.rest(&plan, &style), "");
    }

    #[test]
    fn other_protocols_wait_for_no_report() {
        let mut live = LiveRows::default();
        let row = live.rows(&sample(Side::Local, 0, 4), &plan(ProtocolName::Iperf3), &Style::default());
        assert!(row.ends_with("sent\n"), "{row}");
    }
}

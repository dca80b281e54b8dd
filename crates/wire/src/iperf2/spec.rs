//! Conversions between iPerf2's messages and `model`: a request from a test and a test from a request, a report from the figures
//! of this end and a stream's figures from a report.

use super::{Amount, Rate, Request, ServerReport, Traffic, TransitReport};
use crate::Sent;
use crate::stamp::Clock;
use model::plan::{Direction, Directions, End, TestSpec, Transport};
use model::sample::{Role, StreamResult, Transit, UdpCounters};
use model::units::{BitRate, Bytes};

impl Request {
    /// The request for this test. iPerf2 counts bytes for each stream, and knows neither blocks nor omitted time:
    /// [`TestSpec::omit`] has no effect. Without a rate UDP runs at iPerf2's default of 2^20 bit/s, as with `iperf -u`.
    #[must_use]
    pub fn of_test(test: &TestSpec) -> Request {
        let each = |all: u64| Amount::Bytes(Bytes(all.div_ceil(u64::from(test.streams.max(1)))));
        let request = Request::new(test.transport);
        let usual = if test.transport == Transport::Tcp { TCP_WRITE } else { 0 };
        let length = test.length.unwrap_or(usual);
        Request {
            traffic: match test.directions {
                Directions::Up => Traffic::Forward,
                Directions::Down => Traffic::Reverse,
                Directions::Both => Traffic::FullDuplex,
            },
            streams: test.streams,
            length: test.length.unwrap_or(0),
            amount: match test.end {
                End::Time(time) => Amount::Time(time),
                End::Bytes(bytes) => each(bytes.0),
                End::Blocks(blocks) => each(blocks.saturating_mul(length.into())),
            },
            rate: match (test.bitrate, test.transport) {
                (Some(rate), _) => Some(Rate::Bits(rate)),
                (None, Transport::Udp) => Some(Rate::Bits(DEFAULT_UDP_RATE)),
                (None, Transport::Tcp) => None,
            },
            tos: test.tos,
            fq_rate: test.fq_rate,
            ..request
        }
    }

    /// The test of one flow of this request: one stream, since each flow is a test by itself, and two with
    /// [`Traffic::FullDuplex`], on one socket. A flow back is a test of its own.
    #[must_use]
    pub fn test(&self) -> TestSpec {
        let length = if self.length == 0 { self.sending(Vec::new()).length } else { self.length };
        TestSpec {
            directions: match self.traffic {
                Traffic::Forward | Traffic::Dual | Traffic::Tradeoff => Directions::Up,
                Traffic::Reverse => Directions::Down,
                Traffic::FullDuplex => Directions::Both,
            },
            end: match self.amount {
                Amount::Time(time) => End::Time(time),
                Amount::Bytes(bytes) => End::Bytes(bytes),
            },
            length: Some(length).filter(|length| *length > 0),
            bitrate: match self.rate {
                Some(Rate::Bits(rate)) => Some(rate),
                Some(Rate::Packets(packets)) => Some(BitRate(packets.saturating_mul(u64::from(length) * 8))),
                None => None,
            },
            tos: self.tos,
            congestion: self.congestion.clone(),
            fq_rate: self.fq_rate,
            ..TestSpec::new(self.transport)
        }
    }
}

impl ServerReport {
    /// The figures of a stream that this end has received, for
    /// [`FlowUpdate::Measured`](crate::work::in_band::FlowUpdate::Measured). `clock` is this end's: it converts the stream's transit times, taken on the monotonic clock, into those between two wall clocks.
    #[must_use]
    pub fn of_stream(result: &StreamResult, clock: Clock) -> ServerReport {
        let udp = result.udp.clone().unwrap_or_default();
        let offset = clock.wall.0 as i64 - clock.mono.0 as i64;
        let transit = udp.transit.map(|transit| TransitReport {
            min_ns: transit.min_ns.saturating_add(offset),
            max_ns: transit.max_ns.saturating_add(offset),
            mean_ns: transit.mean_ns.saturating_add(offset),
            count: u32::try_from(udp.datagrams).unwrap_or(u32::MAX),
        });
        ServerReport {
            bytes: result.total_bytes.0,
            elapsed: result.elapsed,
            lost: udp.lost,
            reordered: udp.reordered,
            datagrams: udp.last_sequence,
            jitter: udp.jitter,
            transit,
        }
    }

    /// The server's figures of a stream, from its report and from the data this end sent, in datagrams of `length` bytes. The
    /// server counts each end that was sent as a datagram: received as data, lost as loss. Here it is neither.
    #[must_use]
    pub fn stream_result(&self, sent: Sent, length: u32) -> StreamResult {
        let ends = self.datagrams.saturating_sub(sent.datagrams);
        let lost = self.lost.saturating_sub(ends.saturating_sub(1));
        let arrived = self.datagrams.min(sent.datagrams).saturating_sub(lost);
        // The reported bytes are not used: of a datagram longer than its own -l the server reads, and counts, a part.
        let bytes = Bytes(arrived.saturating_mul(length.into()));
        let transit = |transit: TransitReport| Transit {
            min_ns: transit.min_ns,
            mean_ns: transit.mean_ns,
            max_ns: transit.max_ns,
        };
        StreamResult {
            stream: sent.stream,
            direction: Direction::Up,
            role: Role::Receiver,
            elapsed: self.elapsed,
            bytes,
            total_bytes: bytes,
            tcp: None,
            udp: Some(UdpCounters {
                datagrams: arrived,
                lost: sent.datagrams - arrived,
                reordered: self.reordered,
                jitter: self.jitter,
                transit: self.transit.map(transit),
                last_sequence: self.datagrams.min(sent.datagrams),
                ..UdpCounters::default()
            }),
        }
    }
}

/// Rate of `iperf -u` without `-b`.
const DEFAULT_UDP_RATE: BitRate = BitRate(1 << 20);
/// iPerf2's default length of a TCP write.
const TCP_WRITE: u32 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::{MonoTime, WallTime};
    use model::units::Nanos;
    use proptest::prelude::*;

    fn report(lost: u64, datagrams: u64) -> ServerReport {
        ServerReport { bytes: 1470 * (datagrams - lost), lost, datagrams, ..ServerReport::default() }
    }

    fn udp(report: ServerReport, sent: u64) -> (u64, u64, u64) {
        let sent = Sent { stream: 0, bytes: sent * 1470, datagrams: sent };
        let result = report.stream_result(sent, 1470);
        let udp = result.udp.expect("UDP");
        (udp.datagrams, udp.lost, result.bytes.0)
    }

    /// A report of 2.1.8 on 851 datagrams and one end.
    #[test]
    fn the_end_is_no_data() {
        assert_eq!(udp(report(0, 852), 851), (851, 0, 851 * 1470));
        assert_eq!(udp(report(3, 852), 851), (848, 3, 848 * 1470));
        assert_eq!(udp(report(3, 855), 851), (851, 0, 851 * 1470), "three ends were lost before one came");
    }

    #[test]
    fn a_report_that_lies_does_no_harm() {
        assert_eq!(udp(report(0, 1), 851), (1, 850, 1470));
        let lie = ServerReport { bytes: 1, lost: u64::MAX, datagrams: u64::MAX, ..ServerReport::default() };
        assert_eq!(udp(lie, 851), (0, 851, 0));
    }

    #[test]
    fn transit_times_become_those_of_wall_clocks() {
        let clock = Clock { mono: MonoTime(1_000), wall: WallTime(50_000) };
        let transit = Some(Transit { min_ns: -49_000, mean_ns: -48_000, max_ns: -47_000 });
        let counters = UdpCounters { datagrams: 10, last_sequence: 10, transit, ..UdpCounters::default() };
        let mut result = report(0, 10).stream_result(Sent { stream: 0, bytes: 0, datagrams: 10 }, 0);
        result.udp = Some(counters);
        let transit = TransitReport { min_ns: 0, mean_ns: 1000, max_ns: 2000, count: 10 };
        assert_eq!(ServerReport::of_stream(&result, clock).transit, Some(transit));
    }

    #[test]
    fn tests_and_requests_are_the_same_thing() {
        for transport in [Transport::Tcp, Transport::Udp] {
            for directions in [Directions::Up, Directions::Down, Directions::Both] {
                for end in [End::Time(Nanos::from_secs(3)), End::Bytes(Bytes(1_000_000))] {
                    let bitrate = Some(BitRate(5_000_000));
                    let test = TestSpec {
                        directions,
                        end,
                        bitrate,
                        length: Some(1000),
                        tos: 16,
                        ..TestSpec::new(transport)
                    };
                    assert_eq!(Request::of_test(&test).test(), test);
                }
            }
        }
        let test = TestSpec {
            end: End::Blocks(10),
            streams: 4,
            length: Some(1000),
            ..TestSpec::new(Transport::Tcp)
        };
        assert_eq!(Request::of_test(&test).amount, Amount::Bytes(Bytes(2500)));
    }

    proptest! {
        #[test]
        fn any_report_is_some_result(
            bytes: u64, lost: u64, reordered: u64, datagrams: u64, sent: u64, length in 0_u32..65_536,
        ) {
            let report = ServerReport { bytes, lost, reordered, datagrams, ..ServerReport::default() };
            let result = report.stream_result(Sent { stream: 0, bytes: 0, datagrams: sent }, length);
            let udp = result.udp.expect("UDP");
            prop_assert_eq!(udp.datagrams + udp.lost, sent);
        }
    }
}

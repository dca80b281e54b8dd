//! The events of a throughput test from what both ends count in each interval: every result is the sum of its intervals.

use model::event::{Connected, EndResult, Event, Finished, Outcome, Probe, Started, Warning};
use model::host::{Host, Nic};
use model::plan::{Direction, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::sample::{
    CpuUse, DataPath, IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, StreamSample,
    TcpCounters, UdpCounters,
};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};

/// A test of one transport; its intervals are seconds.
pub(crate) struct Throughput {
    pub(crate) test: TestSpec,
    pub(crate) probes: Vec<Probe>,
    pub(crate) warnings: Vec<Warning>,
    /// What this end counts in each second; those of the omitted time first.
    pub(crate) local: Vec<Vec<StreamSample>>,
    pub(crate) local_end: SideResult,
    /// Absent: its result never came.
    pub(crate) peer_end: Option<SideResult>,
    /// Path MTU of the streams as the kernel knows it.
    pub(crate) path_mtu: Option<u32>,
    pub(crate) outcome: Outcome,
}

impl Throughput {
    /// Of what this end and the other count in each second, of which `omit` of the test leaves the first out.
    pub(crate) fn new(
        test: TestSpec,
        local: Vec<Vec<StreamSample>>,
        peer: Vec<Vec<StreamSample>>,
    ) -> Throughput {
        let omitted = (test.omit.0 / Nanos::from_secs(1).0) as usize;
        let end = |seconds: &[Vec<StreamSample>], process, datapath| SideResult {
            streams: results(seconds.get(omitted..).unwrap_or_default()),
            cpu: cpu(process),
            datapath,
            ..SideResult::default()
        };
        let counted = local.len().saturating_sub(omitted) as u64;
        let whole = End::Time(Nanos::from_secs(counted));
        Throughput {
            test: TestSpec { end: if counted > 0 { whole } else { test.end }, ..test },
            probes: Vec::new(),
            warnings: Vec::new(),
            local_end: end(&local, 0.42, DataPath::default()),
            peer_end: Some(end(&peer, 0.87, DataPath::default())),
            local,
            path_mtu: Some(1500),
            outcome: Outcome::Completed,
        }
    }

    pub(crate) fn with(mut self, bend: impl FnOnce(&mut Throughput)) -> Throughput {
        bend(&mut self);
        self
    }

    /// Over a link of 10 Gbit/s.
    pub(crate) fn over_a_link(self) -> Throughput {
        self.with(|test| test.probes.push(link()))
    }

    pub(crate) fn peer_mut(&mut self) -> &mut SideResult {
        self.peer_end.as_mut().expect("a test whose peer reports")
    }

    /// All that the engine reports of it, with `more` of the same kind before the end.
    pub(crate) fn events(self, more: Vec<Event>) -> Vec<Event> {
        let wall = WallTime(STARTED);
        let mut events = vec![Event::Connected(self.connected()), self.started()];
        events.extend(self.warnings.into_iter().map(Event::Warning));
        events.extend(samples(&self.test, &self.local).map(Event::Sample));
        let results = [(Side::Local, Some(self.local_end)), (Side::Peer, self.peer_end)];
        events.extend(results.into_iter().filter_map(|(side, end)| {
            let result = EndResult { side, result: end?, output_text: None, output_json: None };
            Some(Event::Result(result))
        }));
        events.extend(self.probes.into_iter().map(Event::Probe));
        events.extend(more);
        let elapsed = Nanos::from_secs(self.local.len() as u64) + Nanos::from_millis(250);
        events.push(Event::Finished(Finished { wall: wall + elapsed, elapsed, outcome: self.outcome }));
        events
    }

    fn connected(&self) -> Connected {
        let target = Target { host: "far.example".into(), address: ([192, 0, 2, 20], 5210).into() };
        let local = LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() };
        Connected {
            wall: WallTime(STARTED),
            plan: Plan { target, protocol: ProtocolName::Native, test: self.test.clone(), local },
            local: ([192, 0, 2, 10], 40_000).into(),
            remote: ([192, 0, 2, 20], 5210).into(),
            session: "s".into(),
            control_mss: None,
            host: host("near", false),
            peer: Some(host("far", true)),
        }
    }

    fn started(&self) -> Event {
        let info = |row: &StreamSample| StreamInfo {
            stream: row.stream,
            direction: row.direction,
            role: row.role,
            local: ([192, 0, 2, 10], 40_001 + row.stream as u16).into(),
            remote: ([192, 0, 2, 20], 5210).into(),
            socket: 5 + row.stream as i32,
            mss: None,
            path_mtu: self.path_mtu,
            send_buffer: Bytes(0),
            receive_buffer: Bytes(0),
            congestion: None,
        };
        let streams = self.local.first().into_iter().flatten().map(info).collect();
        Event::Started(Started { wall: WallTime(STARTED), streams })
    }
}

/// A TCP stream's second at its sender: bytes handed over and retransmits.
pub(crate) fn tcp_sent(stream: u32, direction: Direction, bytes: u64, retransmits: u64) -> StreamSample {
    let segments = bytes.div_ceil(MSS) + retransmits;
    let tcp = TcpCounters {
        retransmits,
        acknowledged: Bytes(bytes - bytes / 1_000),
        cwnd: Bytes(1_200_000),
        max_cwnd: Bytes(1_400_000),
        send_window: Bytes(6_000_000),
        max_send_window: Bytes(6_000_000),
        rtt: Nanos::from_micros(1_200),
        rttvar: Nanos::from_micros(80),
        min_rtt: Nanos::from_micros(310),
        mean_rtt: Nanos::from_micros(1_250),
        max_rtt: Nanos::from_micros(1_900),
        send_mss: MSS as u32,
        path_mtu: 1500,
        reordering: 3,
        data_segments: segments,
        segment_bytes: Bytes(bytes + retransmits * MSS),
        busy: Nanos::from_secs(1),
        timestamps: true,
        ..TcpCounters::default()
    };
    StreamSample { stream, direction, role: Role::Sender, bytes: Bytes(bytes), tcp: Some(tcp), udp: None }
}

/// A TCP stream's second at its receiver.
pub(crate) fn tcp_received(stream: u32, direction: Direction, bytes: u64) -> StreamSample {
    let tcp = TcpCounters {
        receive_mss: MSS as u32,
        data_segments: bytes.div_ceil(MSS),
        segment_bytes: Bytes(bytes),
        timestamps: true,
        ..TcpCounters::default()
    };
    StreamSample { stream, direction, role: Role::Receiver, bytes: Bytes(bytes), tcp: Some(tcp), udp: None }
}

/// A UDP stream's second at one of its ends.
pub(crate) fn udp(
    (stream, direction): (u32, Direction),
    role: Role,
    length: u64,
    counters: UdpCounters,
) -> StreamSample {
    let bytes = Bytes(counters.datagrams * length);
    StreamSample { stream, direction, role, bytes, tcp: None, udp: Some(counters) }
}

/// The link's speed, as it was found.
pub(crate) fn link() -> Probe {
    Probe::Link { rate: BitRate(10_000_000_000), source: "eth0".into() }
}

pub(crate) fn cpu(process: f64) -> CpuUse {
    let thread = process - 0.02;
    CpuUse {
        process,
        user: 0.1,
        system: process - 0.1,
        busiest_thread: thread,
        threads: vec![thread],
        softirq: 0.25,
        busiest_softirq: 0.2,
        busiest_cpu: 0.6,
        cpus: 8,
        ..CpuUse::default()
    }
}

/// A test of this transport, direction and number of streams.
pub(crate) fn spec(transport: Transport, directions: model::plan::Directions, streams: u32) -> TestSpec {
    TestSpec { directions, streams, ..TestSpec::new(transport) }
}

fn samples(test: &TestSpec, seconds: &[Vec<StreamSample>]) -> impl Iterator<Item = IntervalSample> {
    let omitted = test.omit.0 / Nanos::from_secs(1).0;
    seconds.iter().enumerate().map(move |(number, streams)| {
        let (number, omitted) = (number as u64, omitted);
        let second = if number < omitted { number } else { number - omitted };
        IntervalSample {
            side: Side::Local,
            start: Nanos::from_secs(second),
            end: Nanos::from_secs(second + 1),
            omitted: number < omitted,
            streams: streams.clone(),
        }
    })
}

/// The streams' sums over these seconds; gauges are the last ones.
fn results(seconds: &[Vec<StreamSample>]) -> Vec<StreamResult> {
    let first = seconds.first().into_iter().flatten();
    first
        .map(|row| {
            let own: Vec<&StreamSample> =
                seconds.iter().flatten().filter(|sample| sample.stream == row.stream).collect();
            let bytes = own.iter().map(|sample| sample.bytes).sum();
            StreamResult {
                stream: row.stream,
                direction: row.direction,
                role: row.role,
                elapsed: Nanos::from_secs(seconds.len() as u64),
                bytes,
                total_bytes: bytes,
                tcp: own.iter().filter_map(|sample| sample.tcp.clone()).reduce(tcp_together),
                udp: own.iter().filter_map(|sample| sample.udp.clone()).reduce(udp_together),
            }
        })
        .collect()
}

fn tcp_together(sum: TcpCounters, next: TcpCounters) -> TcpCounters {
    TcpCounters {
        retransmits: sum.retransmits + next.retransmits,
        acknowledged: Bytes(sum.acknowledged.0 + next.acknowledged.0),
        data_segments: sum.data_segments + next.data_segments,
        segment_bytes: Bytes(sum.segment_bytes.0 + next.segment_bytes.0),
        busy: sum.busy + next.busy,
        ..next
    }
}

fn udp_together(sum: UdpCounters, next: UdpCounters) -> UdpCounters {
    UdpCounters {
        datagrams: sum.datagrams + next.datagrams,
        lost: sum.lost + next.lost,
        late: sum.late + next.late,
        duplicates: sum.duplicates + next.duplicates,
        reordered: sum.reordered + next.reordered,
        socket_drops: sum.socket_drops + next.socket_drops,
        send_drops: sum.send_drops + next.send_drops,
        ..next
    }
}

pub(crate) fn host(name: &str, is_virtual: bool) -> Host {
    Host {
        name: name.into(),
        version: "pathmeter 0.1.0".into(),
        kernel: "Linux 6.18.0 x86_64".into(),
        cpu: "Example CPU".into(),
        cpus: 8,
        spare_cpu: Some(1),
        clock_source: "tsc".into(),
        congestion: "cubic".into(),
        nic: Some(Nic {
            name: "eth0".into(),
            driver: Some("example".into()),
            mtu: 1500,
            link_bps: (!is_virtual).then_some(BitRate(10_000_000_000)),
            offloads: vec!["tso".into(), "gro".into()],
            is_virtual,
            addresses: Vec::new(),
        }),
    }
}

/// When every test began.
const STARTED: u64 = 1_785_587_400_000_000_000;
const MSS: u64 = 1448;

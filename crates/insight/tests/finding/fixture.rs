//! Runs made from events, for the tests of findings and verdicts: a healthy test, to be bent in one place.

use model::event::{Connected, EndResult, Event, Finished, Outcome, Probe, Started};
use model::host::{Host, Nic};
use model::limit::LoadProbing;
use model::path::{FragmentDelivery, FragmentShape, FragmentTest, PathDirection, PathResult, SizeProbe};
use model::plan::{Direction, Directions, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::run::Run;
use model::sample::{
    CpuUse, DataPath, IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, TcpCounters,
    UdpCounters,
};
use model::stats::distribution::Distribution;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_insight::run_of_events;
use std::net::SocketAddr;

/// Ten seconds of one stream up, at 1.2 Gbit/s of UDP or TCP, without a mark on it.
pub(crate) struct Fixture {
    pub(crate) plan: Plan,
    pub(crate) probes: Vec<Probe>,
    /// The path in the test's direction.
    pub(crate) path: Option<PathDirection>,
    pub(crate) outcome: Outcome,
    /// The observations of a decision phase.
    pub(crate) load: Option<LoadProbing>,
    /// The intervals that this end reported.
    pub(crate) intervals: Vec<IntervalSample>,
    /// The end that sends.
    pub(crate) sender: SideResult,
    /// The end that receives; absent: its result never came.
    pub(crate) receiver: Option<SideResult>,
}

impl Fixture {
    pub(crate) fn udp() -> Fixture {
        let mut fixture = Fixture::new(Transport::Udp);
        fixture.plan.test.length = Some(1472);
        fixture.plan.test.bitrate = Some(BitRate(1_177_600_000));
        *fixture.sent() = UdpCounters { datagrams: DATAGRAMS, ..UdpCounters::default() };
        fixture.deliver(DATAGRAMS);
        fixture
    }

    pub(crate) fn tcp() -> Fixture {
        let mut fixture = Fixture::new(Transport::Tcp);
        let tcp = TcpCounters {
            acknowledged: Bytes(DATAGRAMS * 1472),
            max_send_window: Bytes(6_000_000),
            min_rtt: Nanos::from_millis(10),
            mean_rtt: Nanos::from_millis(11),
            send_mss: 1448,
            data_segments: 1_016_575,
            busy: Nanos::from_secs(10),
            timestamps: true,
            ..TcpCounters::default()
        };
        fixture.sender.streams[0].tcp = Some(tcp);
        fixture
    }

    fn new(transport: Transport) -> Fixture {
        let target = Target { host: "far".into(), address: address("192.0.2.7:5210") };
        let plan = Plan {
            target,
            protocol: ProtocolName::Native,
            test: TestSpec::new(transport),
            local: LocalOptions::default(),
        };
        let mut receiver = end(Role::Receiver);
        receiver.datapath.receive_buffer = Bytes(212_992);
        Fixture {
            plan,
            probes: Vec::new(),
            path: None,
            outcome: Outcome::Completed,
            load: None,
            intervals: Vec::new(),
            sender: end(Role::Sender),
            receiver: Some(receiver),
        }
    }

    /// Sends at the largest rate.
    pub(crate) fn unlimited(mut self) -> Fixture {
        self.plan.test.bitrate = None;
        self
    }

    pub(crate) fn with(mut self, bend: impl FnOnce(&mut Fixture)) -> Fixture {
        bend(&mut self);
        self
    }

    pub(crate) fn sent(&mut self) -> &mut UdpCounters {
        self.sender.streams[0].udp.get_or_insert_default()
    }

    pub(crate) fn received(&mut self) -> &mut UdpCounters {
        self.receive_end().streams[0].udp.get_or_insert_default()
    }

    pub(crate) fn tcp_counters(&mut self) -> &mut TcpCounters {
        self.sender.streams[0].tcp.as_mut().expect("a TCP fixture")
    }

    pub(crate) fn receive_end(&mut self) -> &mut SideResult {
        self.receiver.as_mut().expect("a fixture with a receiver")
    }

    /// Delivers so many datagrams; the others are lost.
    pub(crate) fn deliver(&mut self, datagrams: u64) {
        let (length, sent) = (u64::from(self.plan.test.length.expect("a length")), self.sent().datagrams);
        *self.received() = UdpCounters { datagrams, lost: sent - datagrams, ..UdpCounters::default() };
        self.sender.streams[0].bytes = Bytes(sent * length);
        self.receive_end().streams[0].bytes = Bytes(datagrams * length);
    }

    /// Datagrams of this size, which do not fit the path.
    pub(crate) fn large(mut self, payload: u32, arrived: u64) -> Fixture {
        self.plan.test.length = Some(payload);
        self.deliver(arrived);
        self
    }

    /// Ten probes of a size, and what they say of the path together with those before.
    pub(crate) fn size(mut self, payload: u32, fragmented: bool, received: u32) -> Fixture {
        let direction = self.path.get_or_insert_default();
        if fragmented {
            direction.fragments.tests.push(in_pieces(payload, received));
        } else {
            direction.sizes.push(SizeProbe { size: payload + 28, sent: 10, received });
            direction.max_udp_payload = Some(payload).filter(|_| received > 0);
        }
        let crossed = direction.fragments.tests.iter().any(|test| test.received > 0);
        direction.fragments.delivery = match (crossed, direction.max_udp_payload) {
            (true, _) => FragmentDelivery::Pass,
            (false, Some(_)) => FragmentDelivery::AllDropped,
            (false, None) => FragmentDelivery::Unknown,
        };
        self
    }

    pub(crate) fn interval(mut self, sample: IntervalSample) -> Fixture {
        self.intervals.push(sample);
        self
    }

    pub(crate) fn probe(mut self, probe: Probe) -> Fixture {
        self.probes.push(probe);
        self
    }

    pub(crate) fn link(self, rate: u64) -> Fixture {
        self.probe(Probe::Link { rate: BitRate(rate), source: "--link".into() })
    }

    /// The document of the test.
    pub(crate) fn run(self) -> Run {
        run_of_events("1", "throughput", &self.events())
    }

    /// The same test in the other direction.
    pub(crate) fn down(mut self) -> Run {
        self.plan.test.directions = Directions::Down;
        for row in self.sender.streams.iter_mut().chain(self.receiver.iter_mut().flat_map(|r| &mut r.streams))
        {
            row.direction = Direction::Down;
        }
        self.run()
    }

    fn events(self) -> Vec<Event> {
        let up = self.plan.test.directions == Directions::Up;
        let (ours, theirs) = if up { (Side::Local, Side::Peer) } else { (Side::Peer, Side::Local) };
        let mut events = vec![Event::Connected(connected(&self.plan)), Event::Started(started())];
        events.extend(self.intervals.into_iter().map(Event::Sample));
        events.push(result(ours, self.sender));
        events.extend(self.receiver.map(|receiver| result(theirs, receiver)));
        events.extend(self.probes.into_iter().map(Event::Probe));
        events.extend(self.path.map(|direction| {
            let (up, down) = if up { (Some(direction), None) } else { (None, Some(direction)) };
            Event::Path(Box::new(PathResult { up, down, ..PathResult::default() }))
        }));
        events.extend(self.load.map(|load| Event::LoadProbing(Box::new(load))));
        events.push(Event::Finished(Finished {
            wall: WallTime(20_000_000_000),
            elapsed: Nanos::from_secs(10),
            outcome: self.outcome,
        }));
        events
    }
}

/// Ten datagrams that the sender's kernel cut in six.
pub(crate) fn in_pieces(payload: u32, received: u32) -> FragmentTest {
    FragmentTest {
        shape: FragmentShape::ByKernel,
        payload,
        pieces: 6,
        sent: 10,
        received,
        pieces_received: Some(u64::from(received) * 6),
        largest_piece: (received > 0).then_some(1500),
    }
}

/// Sent in every UDP fixture.
pub(crate) const DATAGRAMS: u64 = 1_000_000;

fn end(role: Role) -> SideResult {
    let row = StreamResult {
        stream: 0,
        direction: Direction::Up,
        role,
        elapsed: Nanos::from_secs(10),
        bytes: Bytes(DATAGRAMS * 1472),
        total_bytes: Bytes(DATAGRAMS * 1472),
        tcp: None,
        udp: None,
    };
    let cpu = CpuUse {
        process: 0.5,
        busiest_thread: 0.4,
        threads: vec![0.4],
        softirq: 0.2,
        busiest_softirq: 0.2,
        busiest_cpu: 0.6,
        preemptions: 10,
        cpus: 4,
        ..CpuUse::default()
    };
    let datapath = DataPath { gso_segments: 64, ..DataPath::default() };
    SideResult { streams: vec![row], cpu, datapath, ..SideResult::default() }
}

fn connected(plan: &Plan) -> Connected {
    let nic = Nic { name: "eth0".into(), mtu: 1500, ..Nic::default() };
    Connected {
        wall: WallTime(10_000_000_000),
        plan: plan.clone(),
        local: address("192.0.2.1:40000"),
        remote: plan.target.address,
        session: "s".into(),
        control_mss: None,
        host: Host { name: "near".into(), nic: Some(nic), ..Host::default() },
        peer: None,
    }
}

fn started() -> Started {
    let stream = StreamInfo {
        stream: 0,
        direction: Direction::Up,
        role: Role::Sender,
        local: address("192.0.2.1:40001"),
        remote: address("192.0.2.7:5210"),
        socket: 5,
        mss: None,
        path_mtu: Some(1500),
        send_buffer: Bytes(212_992),
        receive_buffer: Bytes(212_992),
        congestion: None,
    };
    Started { wall: WallTime(10_000_000_000), streams: vec![stream] }
}

fn result(side: Side, result: SideResult) -> Event {
    Event::Result(EndResult { side, result, output_text: None, output_json: None })
}

/// An idle RTT of this median, in milliseconds.
pub(crate) fn idle_rtt(milliseconds: u64, lost: u64) -> Probe {
    let at = |ms| Nanos::from_millis(ms);
    let rtt = Distribution {
        stddev: Nanos::ZERO,
        p9999: Nanos::ZERO,
        count: 100 - lost,
        min: at(milliseconds),
        p50: at(milliseconds),
        p90: at(milliseconds),
        p99: at(milliseconds + 1),
        p999: at(milliseconds + 1),
        max: at(milliseconds + 1),
        mean: at(milliseconds),
        ..Distribution::default()
    };
    Probe::IdleRtt { transport: Transport::Udp, rtt, lost }
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address and port")
}

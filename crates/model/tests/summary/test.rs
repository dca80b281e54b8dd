//! A test's events from raw counters: a row for each stream of each end.

use pathmeter_model::event::{Connected, EndResult, Event, Probe, Started};
use pathmeter_model::host::Host;
use pathmeter_model::plan::{
    Direction, Directions, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use pathmeter_model::sample::{Role, Side, SideResult, StreamInfo, StreamResult, TcpCounters, UdpCounters};
use pathmeter_model::summary::{DirectionSummary, Summary};
use pathmeter_model::time::WallTime;
use pathmeter_model::units::{BitRate, Bytes, Nanos};

/// A test between this end and a peer.
pub(crate) struct Test {
    pub(crate) spec: TestSpec,
    /// Where the peer is.
    pub(crate) address: &'static str,
    /// MTU of the path as the kernel knows it.
    pub(crate) path_mtu: Option<u32>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) local: SideResult,
    pub(crate) peer: Option<SideResult>,
}

impl Test {
    pub(crate) fn new(transport: Transport, directions: Directions) -> Test {
        Test {
            spec: TestSpec { directions, ..TestSpec::new(transport) },
            address: "192.0.2.7:5210",
            path_mtu: None,
            probes: Vec::new(),
            local: SideResult::default(),
            peer: Some(SideResult::default()),
        }
    }

    /// A stream as its sender and its receiver counted it.
    pub(crate) fn stream(mut self, direction: Direction, sent: Counted, received: Counted) -> Test {
        let up = direction == Direction::Up;
        let (sender, receiver) = (Role::Sender, Role::Receiver);
        let (near, far) =
            if up { ((sender, sent), (receiver, received)) } else { ((receiver, received), (sender, sent)) };
        let stream = self.local.streams.len() as u32;
        self.local.streams.push(near.1.row(stream, direction, near.0));
        self.peer_mut().streams.push(far.1.row(stream, direction, far.0));
        self
    }

    pub(crate) fn peer_mut(&mut self) -> &mut SideResult {
        self.peer.as_mut().expect("a test whose peer reports")
    }

    pub(crate) fn clock(mut self, offset_ns: i64, error: u64) -> Test {
        self.probes.push(Probe::ClockOffset { offset_ns, error: Nanos(error), exchanges: 40 });
        self
    }

    pub(crate) fn link(mut self, rate: u64) -> Test {
        self.probes.push(Probe::Link { rate: BitRate(rate), source: "--link".into() });
        self
    }

    /// The summary of both directions, the same whether probes come before the results or after them.
    pub(crate) fn summary(&self) -> Summary {
        let opening = [self.connected(), self.started()];
        let probes: Vec<Event> = self.probes.iter().cloned().map(Event::Probe).collect();
        let results = [(Side::Local, Some(&self.local)), (Side::Peer, self.peer.as_ref())];
        let results: Vec<Event> =
            results.into_iter().filter_map(|(side, end)| Some(result(side, end?))).collect();
        let first = Summary::from_events(opening.iter().chain(&probes).chain(&results));
        let last = Summary::from_events(opening.iter().chain(results.iter().rev()).chain(&probes));
        assert_eq!(first, last);
        first
    }

    pub(crate) fn direction(&self, direction: Direction) -> DirectionSummary {
        self.summary().direction(direction).expect("a direction with rows").clone()
    }

    fn connected(&self) -> Event {
        let address = self.address.parse().expect("an address and port");
        let plan = Plan {
            target: Target { host: "far".into(), address },
            protocol: ProtocolName::Native,
            test: self.spec.clone(),
            local: LocalOptions::default(),
        };
        Event::Connected(Connected {
            wall: WallTime(1),
            plan,
            local: ([192, 0, 2, 1], 40_000).into(),
            remote: address,
            session: "s".into(),
            control_mss: None,
            host: Host::default(),
            peer: None,
        })
    }

    fn started(&self) -> Event {
        let stream = StreamInfo {
            stream: 0,
            direction: Direction::Up,
            role: Role::Sender,
            local: ([192, 0, 2, 1], 40_001).into(),
            remote: ([192, 0, 2, 7], 5210).into(),
            socket: 5,
            mss: None,
            path_mtu: self.path_mtu,
            send_buffer: Bytes(0),
            receive_buffer: Bytes(0),
            congestion: None,
        };
        Event::Started(Started { wall: WallTime(1), streams: vec![stream] })
    }
}

/// Counters of one end for a stream.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    pub(crate) bytes: u64,
    pub(crate) elapsed: Nanos,
    pub(crate) tcp: Option<TcpCounters>,
    pub(crate) udp: Option<UdpCounters>,
}

impl Counted {
    /// A number of bytes in a number of milliseconds.
    pub(crate) fn bytes(bytes: u64, millis: u64) -> Counted {
        Counted { bytes, elapsed: Nanos::from_millis(millis), ..Counted::default() }
    }

    /// Datagrams of 1000 bytes in ten seconds.
    pub(crate) fn datagrams(counters: UdpCounters) -> Counted {
        Counted { udp: Some(counters.clone()), ..Counted::bytes(counters.datagrams * 1000, 10_000) }
    }

    pub(crate) fn tcp(self, counters: TcpCounters) -> Counted {
        Counted { tcp: Some(counters), ..self }
    }

    fn row(self, stream: u32, direction: Direction, role: Role) -> StreamResult {
        StreamResult {
            stream,
            direction,
            role,
            elapsed: self.elapsed,
            bytes: Bytes(self.bytes),
            total_bytes: Bytes(self.bytes),
            tcp: self.tcp,
            udp: self.udp,
        }
    }
}

fn result(side: Side, end: &SideResult) -> Event {
    Event::Result(EndResult { side, result: end.clone(), output_text: None, output_json: None })
}

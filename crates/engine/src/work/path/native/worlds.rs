//! Random worlds on a simulated path: the findings after a test name the reason that was built in, and no other.

use super::DirectionSearch;
use super::simulated::{INTERFACE, Router, Simulated};
use model::event::{Connected, EndResult, Event, Finished, Outcome};
use model::explain::{Answer, Explanation, Hypothesis};
use model::finding::Severity;
use model::host::Host;
use model::path::{BlackHoleCause, PathDirection, PathMethod, PathResult, RouteMtu, Unknown};
use model::plan::{Direction, Directions, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::reach::{NeighbourChange, NeighbourState, NextHop, Reach};
use model::run::Run;
use model::sample::{Role, Side, SideResult, Silence, StreamResult, TcpCounters, UdpCounters};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A thing that is wrong in a world, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Packets above a size vanish without a message.
    Silent(u32),
    /// Packets above a size are refused, and senders are notified.
    Reported(u32),
    /// A router cuts packets that forbid it.
    ClearsDf(u32),
    /// Packets of some sizes vanish.
    Hole(u32, u32),
    /// The sender's route is configured with an MTU.
    Route(u32),
    /// The sender's route keeps packets below what vanishes.
    RouteBelow(u32),
    /// Packets with the mark of the test vanish.
    Mark,
    /// Segments that an offload joined vanish.
    Joined,
    /// The receiving program does not read.
    Unread,
    /// A box removes window scaling.
    Unscaled,
    /// Datagrams arrive with wrong checksums.
    Checksum,
    /// The receiver's kernel has no memory for fragments.
    Memory,
    /// The line loses packets of every size.
    Loss,
    /// Packets of more than so many bytes vanish, and of those just below it one in twenty is lost.
    Partial(u32, u32),
    /// The receiver's own firewall drops packets above a size.
    Filter(u32),
    /// The path was down to the end.
    Down,
    /// Packets above a size are refused behind a NAT that does not translate what the messages quote.
    Untranslated(u32),
    /// The next hop stops answering in mid test.
    DeadNeighbour,
    /// Some further flows take a leg on which packets above a size vanish.
    Leg(u32),
}

/// A path and the test that ran over it.
#[derive(Clone, Copy, Debug)]
struct World {
    fault: Fault,
    transport: Transport,
    direction: Direction,
    /// The router of the two at which it is.
    hop: usize,
    /// The router sets the TTL of packets, which hides where they end and changes no reason.
    sets_ttl: bool,
    ipv6: bool,
    /// A round trip takes long: probes go side by side.
    is_long: bool,
    /// The state of the random numbers by which a router loses packets.
    random: u64,
    /// A policer before the first router: bits per second, and bytes that pass at once.
    policer: Option<(f64, f64)>,
}

/// Findings that name a reason, each of which would be wrong in a world with another.
const REASONS: &[&str] = &[
    "mtu-black-hole",
    "tcp-blackhole",
    "mtu-hole",
    "df-ignored",
    "route-mtu",
    "mark-dropped",
    "joined-segments-dropped",
    "receiver-stalled",
    "window-scaling-removed",
    "checksum-errors",
    "reassembly-failed",
    "fragments-dropped",
    "mtu-discovery-wrong",
    "stale-path-mtu",
    "path-loss",
    "size-dependent-loss",
    "tcp-crippled",
    "paths-differ",
    "outage",
    "conntrack-drops",
    "quotes-untranslated",
    "neighbour-failed",
];

impl World {
    /// The findings that must be there, and all that may be called a reason.
    fn truth(&self) -> BTreeSet<&'static str> {
        let tcp = self.transport == Transport::Tcp;
        let found: &[&'static str] = match self.fault {
            Fault::None | Fault::Reported(_) => &[],
            Fault::Silent(_) | Fault::Filter(_) => &["mtu-black-hole"],
            Fault::ClearsDf(_) => &["df-ignored"],
            Fault::Hole(..) => &["mtu-hole"],
            Fault::Route(_) | Fault::RouteBelow(_) => &["route-mtu"],
            Fault::Mark => &["mark-dropped"],
            Fault::Joined if tcp => &["joined-segments-dropped"],
            Fault::Unread if tcp => &["receiver-stalled"],
            Fault::Unscaled if tcp => &["window-scaling-removed"],
            Fault::Joined | Fault::Unread | Fault::Unscaled => &[],
            Fault::Checksum => &["checksum-errors"],
            Fault::Memory if !tcp => &["reassembly-failed"],
            Fault::Memory => &[],
            Fault::Loss => &["path-loss"],
            Fault::Partial(..) => &["mtu-black-hole"],
            Fault::Down => &["outage"],
            Fault::Leg(_) => &["paths-differ"],
            Fault::Untranslated(_) => &["mtu-black-hole", "quotes-untranslated"],
            Fault::DeadNeighbour => &["neighbour-failed"],
        };
        found.iter().copied().collect()
    }

    fn network(&self) -> Simulated {
        let mut routers = [[Router::default(); 2]; 2];
        let at = usize::from(self.direction == Direction::Down);
        let is_behind_nat = matches!(self.fault, Fault::Untranslated(_));
        let router = &mut routers[at][if is_behind_nat { 1 } else { self.hop }];
        match self.fault {
            Fault::Silent(limit) => (router.limit, router.silent) = (Some(limit), true),
            Fault::RouteBelow(limit) => (router.limit, router.silent) = (Some(limit), true),
            Fault::Reported(limit) | Fault::Untranslated(limit) => router.limit = Some(limit),
            Fault::ClearsDf(limit) => (router.limit, router.clears_df) = (Some(limit), true),
            Fault::Hole(first, last) => router.hole = Some((first, last)),
            Fault::Partial(limit, width) => {
                (router.limit, router.silent) = (Some(limit), true);
                router.loses = Some((limit - width + 1, 50));
            }
            _ => {}
        }
        router.sets_ttl = self.sets_ttl;
        let mut network = Simulated::new(self.ipv6, routers);
        (network.random, network.is_long) = (self.random, self.is_long);
        (network.policer, network.keeps_quotes) = (self.policer, is_behind_nat);
        if let Fault::Filter(limit) = self.fault {
            network.receiver_limit = Some(limit);
        }
        if let Fault::Route(mtu) | Fault::RouteBelow(mtu) = self.fault {
            let network_name = "default".to_owned();
            let route =
                RouteMtu { mtu, is_locked: false, network: network_name, gateway: None, interface: None };
            network.observed[at].route_mtu = Some(route);
            network.observed[at].cached_mtu = Some(mtu);
        }
        network
    }

    /// The path MTU in this direction, and those of further flows that take a leg of their own.
    fn search(&self) -> (PathDirection, Vec<Unknown>) {
        let mut network = self.network();
        let found = DirectionSearch::find(&mut network, self.direction, None, &[self.packet()]);
        let (mut one_way, unknown) = found.expect("it is simulated");
        if let Fault::Leg(limit) = self.fault {
            // One of the further flows takes the small leg for certain.
            let small = |flow: u64| flow == 0 || self.random >> flow & 1 == 1;
            for flow in 0..4 {
                let fault = if small(flow) { Fault::Silent(limit) } else { Fault::None };
                let mut network = World { fault, ..*self }.network();
                let size = DirectionSearch::size(&mut network, self.direction, &one_way);
                one_way.other_flows.extend(size.expect("it is simulated"));
            }
        }
        (one_way, unknown)
    }

    /// Whole packets of the test: as large as what the sender believes in.
    fn packet(&self) -> u32 {
        match self.fault {
            Fault::Route(mtu) | Fault::RouteBelow(mtu) | Fault::Reported(mtu) => mtu,
            Fault::Hole(first, last) => first.midpoint(last),
            _ => INTERFACE,
        }
    }

    /// Whether the test's packets arrive at the receiver's socket, all, half or none of them.
    fn arrived(&self) -> f64 {
        match self.fault {
            Fault::Silent(_) | Fault::Filter(_) | Fault::Partial(..) | Fault::Hole(..) => 0.0,
            Fault::Untranslated(_) => 0.0,
            Fault::DeadNeighbour => 0.4,
            Fault::Mark | Fault::Down => 0.0,
            Fault::Memory if self.transport == Transport::Udp => 0.0,
            Fault::Joined | Fault::Unread if self.transport == Transport::Tcp => 0.1,
            Fault::Loss | Fault::Checksum => 0.9,
            _ => 1.0,
        }
    }

    fn plan(&self) -> Plan {
        let target = Target { host: "far".into(), address: ([10, 71, 0, 9], 5210).into() };
        let directions = if self.direction == Direction::Up { Directions::Up } else { Directions::Down };
        let mut test = TestSpec { directions, ..TestSpec::new(self.transport) };
        if self.transport == Transport::Udp {
            test.length = Some(if self.fault == Fault::Memory { 32_768 } else { self.packet() - 28 });
            test.bitrate = Some(BitRate(10_000_000));
        }
        if self.fault == Fault::Mark {
            test.tos = 0xb8;
        }
        Plan { target, protocol: ProtocolName::Native, test, local: LocalOptions::default() }
    }

    /// The measurements of both ends.
    fn ends(&self) -> [SideResult; 2] {
        let arrived = (SENT as f64 * self.arrived()) as u64;
        let row = |role, count: u64| StreamResult {
            stream: 0,
            direction: self.direction,
            role,
            elapsed: Nanos::from_secs(10),
            bytes: Bytes(count * u64::from(self.packet() - 52)),
            total_bytes: Bytes(count * u64::from(self.packet() - 52)),
            tcp: None,
            udp: None,
        };
        let (mut sent, mut received) = (row(Role::Sender, SENT), row(Role::Receiver, arrived));
        let is_unread = self.fault == Fault::Unread && self.transport == Transport::Tcp;
        let since = match self.fault {
            Fault::DeadNeighbour => Some(DIES),
            _ => (arrived == 0 || is_unread).then_some(Nanos::ZERO),
        };
        let silence =
            since.map(|at| Silence { at, length: LENGTH.saturating_sub(at), ended: false, missing: None });
        match self.transport {
            Transport::Tcp => {
                sent.tcp = Some(self.tcp(arrived));
                received.tcp = Some(TcpCounters { silence, ..TcpCounters::default() });
            }
            Transport::Udp => {
                let udp = |datagrams| UdpCounters { datagrams, ..UdpCounters::default() };
                sent.udp = Some(udp(SENT));
                received.udp = Some(UdpCounters { lost: SENT - arrived, silence, ..udp(arrived) });
            }
        }
        let end = |row| SideResult { streams: vec![row], ..SideResult::default() };
        let (mut sender, mut receiver) = (end(sent), end(received));
        for end in [&mut sender, &mut receiver] {
            end.datapath.window_scaling = Some(true);
        }
        match self.fault {
            Fault::Checksum => {
                receiver.kernel.udp_checksum_errors = SENT - arrived;
                receiver.kernel.tcp_checksum_errors = SENT - arrived;
            }
            Fault::Memory => {
                receiver.kernel.fragments_received = SENT * 23;
                receiver.kernel.reassembly_failures = SENT;
            }
            Fault::ClearsDf(_) => {
                (receiver.kernel.fragments_received, receiver.kernel.reassembled) = (2 * SENT, SENT);
            }
            _ => {}
        }
        [sender, receiver]
    }

    fn tcp(&self, arrived: u64) -> TcpCounters {
        let again = match self.fault {
            Fault::Joined => SENT - arrived,
            Fault::Loss | Fault::Checksum => SENT - arrived,
            Fault::Silent(_) | Fault::Filter(_) | Fault::Partial(..) | Fault::Hole(..) => 4,
            Fault::Mark | Fault::Down | Fault::Untranslated(_) | Fault::DeadNeighbour => 4,
            _ => 0,
        };
        TcpCounters {
            retransmits: again,
            data_segments: SENT,
            acknowledged: Bytes(arrived * 1448),
            send_mss: self.packet() - 52,
            path_mtu: self.packet(),
            timestamps: true,
            send_window: Bytes(if self.fault == Fault::Unread { 0 } else { 65_535 }),
            max_send_window: Bytes(65_535),
            window_scaling: Some(self.fault != Fault::Unscaled),
            mean_rtt: Nanos::from_millis(1),
            min_rtt: Nanos::from_millis(1),
            busy: Nanos::from_secs(10),
            receive_window_limited: Nanos::from_secs(if self.fault == Fault::Unread { 9 } else { 0 }),
            ..TcpCounters::default()
        }
    }

    /// The answers of probes that are no search for sizes.
    fn explanation(&self) -> Explanation {
        let held = |id: &str, holds: bool| Hypothesis {
            id: id.into(),
            direction: self.direction,
            answer: if holds { Answer::Holds } else { Answer::Refuted },
            why: None,
            evidence: BTreeMap::new(),
            elapsed: Nanos::ZERO,
            packets: 0,
        };
        let tcp = self.transport == Transport::Tcp;
        let hypotheses = vec![
            held("mark-dropped", self.fault == Fault::Mark),
            held("joined-segments", tcp && self.fault == Fault::Joined),
        ];
        Explanation { hypotheses, ..Explanation::default() }
    }

    fn run(&self) -> Run {
        let [sender, receiver] = self.ends();
        let ends = if self.direction == Direction::Up { [sender, receiver] } else { [receiver, sender] };
        if self.fault == Fault::DeadNeighbour {
            let mut events = events(self.plan(), ends, None, Explanation::default());
            events.push(Event::Reach(Box::new(dead_neighbour())));
            return insight::run_of_events("1", "throughput", &events);
        }
        let (one_way, unknown) = self.search();
        let mut path = PathResult { method: PathMethod::Native, unknown, ..PathResult::default() };
        *path.direction_mut(self.direction) = Some(one_way);
        insight::run_of_events("1", "throughput", &events(self.plan(), ends, Some(path), self.explanation()))
    }
}

/// A test of TCP in both directions at once, over a path with a fault of its own in each.
fn both_directions([up, down]: [World; 2]) -> Run {
    let mut path = PathResult { method: PathMethod::Native, ..PathResult::default() };
    for world in [up, down] {
        let (one_way, unknown) = world.search();
        *path.direction_mut(world.direction) = Some(one_way);
        path.unknown.extend(unknown);
    }
    let [up_sender, up_receiver] = up.ends();
    let [down_sender, down_receiver] = down.ends();
    // Kernel counters are those of what an end receives.
    let end = |sender: SideResult, receiver: SideResult| {
        let streams = [sender.streams, receiver.streams].concat();
        SideResult { streams, ..receiver }
    };
    let plan = Plan { test: TestSpec { directions: Directions::Both, ..up.plan().test }, ..up.plan() };
    let hypotheses = [up.explanation().hypotheses, down.explanation().hypotheses].concat();
    let explanation = Explanation { hypotheses, ..Explanation::default() };
    let ends = [end(up_sender, down_receiver), end(down_sender, up_receiver)];
    insight::run_of_events("1", "throughput", &events(plan, ends, Some(path), explanation))
}

/// The next hop answers until [`DIES`], and is given up three seconds later.
fn dead_neighbour() -> Reach {
    let change = |at, state| NeighbourChange { at, state };
    let given_up = DIES + Nanos::from_secs(3);
    let changes = [change(DIES, NeighbourState::Probe), change(given_up, NeighbourState::Failed)];
    let states = (NeighbourState::Reachable, NeighbourState::Failed);
    let hop = ([10, 71, 0, 1].into(), "eth0".into(), false);
    Reach { next_hops: vec![NextHop::judge(hop, states, &changes, LENGTH)], ..Reach::default() }
}

/// The events of a test: of this end and of the far one.
fn events(
    plan: Plan,
    [here, there]: [SideResult; 2],
    path: Option<PathResult>,
    explanation: Explanation,
) -> Vec<Event> {
    let address = |port: u16| ([10, 71, 0, 1], port).into();
    let connected = Connected {
        wall: WallTime(0),
        plan,
        local: address(1),
        remote: address(2),
        session: String::new(),
        control_mss: None,
        host: Host::default(),
        peer: None,
    };
    let result =
        |side, result| Event::Result(EndResult { side, result, output_text: None, output_json: None });
    let wall = WallTime(20_000_000_000);
    let finished = Finished { wall, elapsed: Nanos::from_secs(10), outcome: Outcome::Completed };
    let ends =
        [Event::Connected(connected), result(Side::Local, here), result(Side::Peer, there)].into_iter();
    let found = path.map(|path| Event::Path(Box::new(path)));
    ends.chain(found).chain([Event::Explained(Box::new(explanation)), Event::Finished(finished)]).collect()
}

fn fault() -> impl Strategy<Value = Fault> {
    let size = 600_u32..1_490;
    prop_oneof![
        2 => Just(Fault::None),
        2 => size.clone().prop_map(Fault::Silent),
        1 => size.clone().prop_map(Fault::Reported),
        2 => size.clone().prop_map(Fault::ClearsDf),
        2 => (700_u32..1_480, 8_u32..60).prop_map(|(first, width)| Fault::Hole(first, (first + width).min(1_495))),
        1 => size.clone().prop_map(Fault::Route),
        1 => size.clone().prop_map(Fault::RouteBelow),
        2 => size.prop_map(Fault::Filter),
        1 => Just(Fault::Mark),
        1 => Just(Fault::Joined),
        1 => Just(Fault::Unread),
        1 => Just(Fault::Unscaled),
        1 => Just(Fault::Checksum),
        1 => Just(Fault::Memory),
        1 => Just(Fault::Loss),
        1 => Just(Fault::Down),
        1 => (600_u32..1_490).prop_map(Fault::Leg),
        1 => (600_u32..1_490).prop_map(Fault::Untranslated),
        1 => Just(Fault::DeadNeighbour),
        1 => (1_000_u32..1_490, 6_u32..60).prop_map(|(limit, width)| Fault::Partial(limit, width)),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let transport = prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)];
    let direction = prop_oneof![Just(Direction::Up), Just(Direction::Down)];
    let of_world =
        (fault(), transport, direction, 0_usize..2, prop::bool::weighted(0.1), any::<u64>(), any::<bool>());
    of_world.prop_map(|(fault, transport, direction, hop, sets_ttl, random, is_long)| World {
        fault,
        transport,
        direction,
        hop,
        sets_ttl,
        ipv6: false,
        is_long,
        random,
        policer: None,
    })
}

fn reasons(run: &Run) -> BTreeSet<&str> {
    run.findings.iter().map(|finding| finding.id.as_str()).filter(|id| REASONS.contains(id)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_reason_that_was_built_in_is_found_and_no_other(world in world()) {
        let run = world.run();
        let mut found = reasons(&run);
        if matches!(world.fault, Fault::Partial(..)) {
            // In one look of twenty none of 60 packets is lost.
            found.remove("size-dependent-loss");
        }
        prop_assert_eq!(found, world.truth(), "{:#?}", run.findings);
        let one_way = run.summary.path.as_ref().and_then(|path| path.in_direction(world.direction));
        let cause = one_way.and_then(|one_way| one_way.black_hole).map(|hole| hole.cause);
        let is_filter = matches!(world.fault, Fault::Filter(_));
        prop_assert_eq!(cause == Some(BlackHoleCause::ReceiverFilter), is_filter, "{:?}", cause);
        for finding in run.findings.iter().filter(|finding| REASONS.contains(&finding.id.as_str())) {
            prop_assert!(finding.direction.is_none_or(|direction| direction == world.direction));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_direction_has_its_own_reason(up in world(), down in world()) {
        // The mark is the plan's, and so of both directions.
        prop_assume!(up.fault != Fault::Mark && down.fault != Fault::Mark);
        // A dead neighbour ends both directions.
        prop_assume!(up.fault != Fault::DeadNeighbour && down.fault != Fault::DeadNeighbour);
        let worlds = [(up, Direction::Up), (down, Direction::Down)]
            .map(|(world, direction)| World { transport: Transport::Tcp, direction, ..world });
        let run = both_directions(worlds);
        let mut found = reasons(&run);
        if worlds.iter().any(|world| matches!(world.fault, Fault::Partial(..))) {
            found.remove("size-dependent-loss");
        }
        let [up, down] = worlds.map(|world| world.truth());
        prop_assert_eq!(found, up.union(&down).copied().collect(), "{:#?}", run.findings);
        for finding in run.findings.iter().filter(|finding| REASONS.contains(&finding.id.as_str())) {
            let Some(direction) = finding.direction else { continue };
            let truth = if direction == Direction::Up { &up } else { &down };
            let may_be = truth.contains(finding.id.as_str()) || finding.id == "size-dependent-loss";
            prop_assert!(may_be, "{direction}: {:#?}", run.findings);
        }
    }
}

/// The sizes are those that were built in.
#[test]
fn sizes_are_named_to_the_byte() {
    let found = |fault| {
        let (transport, direction) = (Transport::Udp, Direction::Down);
        let world = World {
            fault,
            transport,
            direction,
            hop: 1,
            sets_ttl: false,
            ipv6: false,
            is_long: false,
            random: 7,
            policer: None,
        };
        let run = world.run();
        run.summary.path.and_then(|path| path.down).expect("it was looked at")
    };
    for (first, last) in [(1_469, 1_476), (1_473, 1_475), (700, 800)] {
        let one_way = found(Fault::Hole(first, last));
        let [hole] = one_way.holes.as_slice() else { panic!("{:?}", one_way.holes) };
        assert_eq!(((hole.first, hole.last), one_way.path_mtu), ((first, last), Some(INTERFACE)));
    }
    let cut = found(Fault::ClearsDf(1_400));
    let pieces = cut.cut_despite_df.expect("a router cuts");
    assert_eq!((cut.path_mtu, pieces.first, pieces.last), (Some(1_400), 1_401, INTERFACE));
    assert_eq!((pieces.largest_piece, cut.black_hole), (1_396, None));
}

/// The sizes of which some are lost are named, about to the byte.
#[test]
fn sizes_that_lose_some_are_named() {
    let (transport, direction) = (Transport::Udp, Direction::Up);
    let fault = Fault::Partial(1_450, 10);
    let mut near = 0;
    for random in 0..20 {
        let world = World {
            fault,
            transport,
            direction,
            hop: 0,
            sets_ttl: false,
            ipv6: false,
            is_long: false,
            random,
            policer: None,
        };
        let one_way = world.run().summary.path.and_then(|path| path.up).expect("it was looked at");
        // In one look of twenty none of 60 packets is lost.
        let Some(loss) = one_way.size_dependent_loss else { continue };
        assert_eq!((one_way.path_mtu, loss.size), (Some(1_450), 1_450));
        near += u32::from(loss.from.is_some_and(|from| (1_438..=1_443).contains(&from)));
    }
    assert!(near >= 17, "{near} of 20");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_clean_path_raises_nothing(world in world(), ipv6: bool) {
        let run = World { fault: Fault::None, ipv6, ..world }.run();
        prop_assert!(run.findings.iter().all(|finding| finding.severity < Severity::Warning), "{:#?}", run.findings);
    }
}

/// Policers and short queues of ordinary lines.
fn policer() -> impl Strategy<Value = (f64, f64)> {
    (5.8..7.7_f64, 3.5..4.8_f64).prop_map(|(rate, burst)| (10_f64.powf(rate), 10_f64.powf(burst)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_limit_of_rate_is_no_limit_of_size(world in world(), policer in policer()) {
        let run = World { fault: Fault::None, policer: Some(policer), ..world }.run();
        prop_assert!(reasons(&run).is_empty(), "{:#?}", run.findings);
        let one_way = run.summary.path.as_ref().and_then(|path| path.in_direction(world.direction));
        prop_assert_eq!(one_way.and_then(|one_way| one_way.path_mtu), Some(INTERFACE));
    }

    #[test]
    fn a_limit_of_size_is_found_behind_one_of_rate(world in world(), size in 600_u32..1_490, policer in policer()) {
        let policer = Some(policer);
        for fault in [Fault::Silent(size), Fault::ClearsDf(size), Fault::Hole(size.min(1_440), size.min(1_440) + 40)] {
            let world = World { fault, policer, ..world };
            let run = world.run();
            prop_assert_eq!(reasons(&run), world.truth(), "{:?} {:#?}", fault, run.findings);
        }
    }
}

/// Time of each test.
const LENGTH: Nanos = Nanos::from_secs(10);
/// When a neighbour stops answering.
const DIES: Nanos = Nanos::from_secs(4);
/// Segments or datagrams of each test.
const SENT: u64 = 2_000;

//! Packet sizes: a run in which each rule must be raised, one in which it must not, and the verdicts.

use crate::fixture::{DATAGRAMS, Fixture, in_pieces};
use crate::rules::{Scenario, find, raises, spares};
use model::event::{Event, Finished, Outcome};
use model::finding::{Severity, Status};
use model::path::advice::Setting;
use model::path::{
    BlackHole, BlackHoleCause, Bound, CutDespiteDf, Discovery, EchoHole, Flow, FlowSize, FragmentDelivery,
    FragmentShape, FragmentTest, Fragments, HopSource, LimitingHop, PathDirection, PathMethod, PathResult,
    RouteMtu, ServiceLimit, SizeHole, SizeLoss, SizeProbe, TcpDirection, TooBig, TracedHop, Unknown, headers,
};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use pathmeter_insight::run_of_events;

fn route(mtu: u32) -> RouteMtu {
    let gateway = Some([10, 7, 1, 2].into());
    RouteMtu { mtu, is_locked: false, network: "default".into(), gateway, interface: Some("e0".into()) }
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    raises("mtu-black-hole", "ICMP is filtered", || hole(BlackHoleCause::IcmpFiltered).run()),
    raises("mtu-black-hole", "two ends of a link disagree", || hole(BlackHoleCause::LinkMismatch).run()),
    raises("mtu-black-hole", "the receiver's own firewall", || hole(BlackHoleCause::ReceiverFilter).run()),
    raises("ttl-rewritten", "no hop behind the first shows", || {
        hole(BlackHoleCause::IcmpFiltered).with(|s| s.up.ttl_rewritten = true).run()
    }),
    raises("quotes-untranslated", "errors about packets that are too large quote another sender", || {
        hole(BlackHoleCause::IcmpFiltered).with(|s| s.up.untranslated = 3).run()
    }),
    raises("mtu-black-hole", "IPv6", || {
        Sizes::for_mtu(true, 1400).with(|s| s.up.black_hole = Some(band(BlackHoleCause::Unknown))).run()
    }),
    raises("mtu-black-hole", "one hop reports its limit, another is silent", || partial().run()),
    raises("mtu-black-hole", "IPv6's routers report less than its hosts believe", || {
        Sizes::for_mtu(true, 1200).run()
    }),
    raises("mtu-black-hole", "echo requests above a size stay without a reply", || echoed(false).run()),
    raises("mtu-black-hole", "of small ones, and nothing shows that they arrive", || small_echo(false).run()),
    spares("mtu-black-hole", "a filter of large echo is likely", || small_echo(true).run()),
    raises("echo-filtered", "requests above 1000 bytes arrive and have no reply", || small_echo(true).run()),
    spares("echo-filtered", "requests above 1400 bytes arrive and have no reply", || echoed(true).run()),
    spares("mtu-black-hole", "IPv4 with less than IPv6 needs, which is reported", || {
        Sizes::for_mtu(false, 1200).run()
    }),
    spares("mtu-black-hole", "the sender is notified", || Sizes::for_mtu(false, 1400).run()),
    spares("mtu-black-hole", "a clean path", || Sizes::clean(false).run()),
    raises("mtu-discovery-wrong", "a size that does not cross", || lies(1450).run()),
    raises("mtu-discovery-wrong", "a size smaller than what crosses", || lies(1280).run()),
    raises("mtu-discovery-wrong", "no size", || lies(0).run()),
    raises("mtu-discovery-wrong", "a message about packets that cross", || forged(552).run()),
    spares("mtu-discovery-wrong", "a hop reports its own limit, a smaller one behind it is silent", || {
        partial().run()
    }),
    raises("mtu-hole", "eight sizes vanish", || {
        let hole = SizeHole { first: 1469, last: 1476, sent: 96 };
        Sizes::clean(false).with(|s| s.up.holes.push(hole)).run()
    }),
    spares("mtu-hole", "a clean path", || Sizes::clean(false).run()),
    raises("df-ignored", "packets of 1401 to 1500 come in pieces", || {
        let cut = CutDespiteDf { first: 1401, last: 1500, largest_piece: 1396 };
        Sizes::for_mtu(false, 1400).with(|s| s.up.cut_despite_df = Some(cut)).run()
    }),
    spares("df-ignored", "the sender is notified", || Sizes::for_mtu(false, 1400).run()),
    spares("mtu-reduced", "a router cuts what forbids it", || {
        let cut = CutDespiteDf { first: 1401, last: 1500, largest_piece: 1396 };
        Sizes::for_mtu(false, 1400)
            .with(|s| s.up.cut_despite_df = Some(cut))
            .with(|s| s.path_direction(Direction::Down).cut_despite_df = Some(cut))
            .run()
    }),
    raises("route-mtu", "a route of 1320 over a path of 1500", || {
        Sizes::clean(false).with(|s| s.up.route_mtu = Some(route(1320))).run()
    }),
    spares("route-mtu", "a route of more than crosses", || {
        hole(BlackHoleCause::Unknown).with(|s| s.up.route_mtu = Some(route(1450))).run()
    }),
    raises("mtu-black-hole", "the sender's route allows more than crosses", || {
        hole(BlackHoleCause::Unknown).with(|s| s.up.route_mtu = Some(route(1450))).run()
    }),
    spares("mtu-black-hole", "the sender's route keeps packets to what crosses", || {
        hole(BlackHoleCause::Unknown).with(|s| s.up.route_mtu = Some(route(1400))).run()
    }),
    spares("stale-path-mtu", "the size was configured", || {
        Sizes::clean(false)
            .with(|s| (s.up.route_mtu, s.up.cached_mtu) = (Some(route(1320)), Some(1320)))
            .run()
    }),
    raises("stale-path-mtu", "another size was configured", || {
        Sizes::clean(false)
            .with(|s| (s.up.route_mtu, s.up.cached_mtu) = (Some(route(1400)), Some(1320)))
            .run()
    }),
    raises("tcp-blackhole", "full segments vanish, datagrams of their size cross", || stalled(1500).run()),
    raises("tcp-blackhole", "the segments of a clamped MSS vanish too", || {
        stalled(1500).with(|s| s.tcp(Direction::Down).mss_received = Some(1300)).run()
    }),
    spares("tcp-blackhole", "packets of their size vanish anyway", || stalled(1400).run()),
    spares("tcp-blackhole", "all of it crossed", || Sizes::clean(false).run()),
    raises("paths-differ", "one of four flows carries 1400", || legs(&[1500, 1400, 1500, 1500]).run()),
    raises("paths-differ", "TCP knew a smaller path", || informed_tcp(1400).run()),
    spares("paths-differ", "all flows carry the same", || legs(&[1500; 4]).run()),
    spares("paths-differ", "another flow was not found out to the byte", || {
        legs(&[1400]).with(|s| s.up.other_flows[0].bound = Bound::AtLeast).run()
    }),
    spares("paths-differ", "TCP's kernel believed so before", || {
        informed_tcp(1400).with(|s| s.up.cached_mtu = Some(1400)).run()
    }),
    spares("paths-differ", "TCP's kernel learnt from a lie about the probes", || {
        informed_tcp(1400).with(|s| s.up.too_big = forged(1400).up.too_big).run()
    }),
    spares("mss-clamped", "routers reported a smaller path to TCP", || informed_tcp(1400).run()),
    spares("stale-path-mtu", "learnt from the messages of this test", || {
        forged(1280).with(|s| s.up.cached_mtu = Some(1280)).run()
    }),
    spares("mtu-discovery-wrong", "two hops with a limit each", || {
        lies(1450).with(|s| s.up.discovery = Discovery::Works).run()
    }),
    raises("fragments-dropped", "all", || delivery(FragmentDelivery::AllDropped).run()),
    raises("fragments-dropped", "the later ones", || delivery(FragmentDelivery::NonFirstDropped).run()),
    raises("fragments-dropped", "the first ones", || delivery(FragmentDelivery::FirstDropped).run()),
    raises("fragments-dropped", "which is not known", || delivery(FragmentDelivery::Dropped).run()),
    raises("fragments-dropped", "those out of order", || delivery(FragmentDelivery::OutOfOrderDropped).run()),
    spares("fragments-dropped", "a box puts them together", || delivery(FragmentDelivery::Reassembled).run()),
    spares("fragments-dropped", "a clean path", || Sizes::clean(true).run()),
    raises("udp-fragmented", "the path takes less than the interface", || {
        Fixture::udp().large(1472, DATAGRAMS).with(|s| s.path = Some(path_direction(false, 1400))).run()
    }),
    spares("udp-fragmented", "the path takes more than the kernel believes", || {
        Fixture::udp().large(8192, DATAGRAMS).with(|s| s.path = Some(path_direction(false, 9000))).run()
    }),
    spares("path-loss", "the datagrams fall in a black hole", || {
        let fixture = Fixture::udp().with(|s| s.deliver(0));
        fixture
            .with(|s| {
                s.path = Some(PathDirection {
                    black_hole: Some(band(BlackHoleCause::Unknown)),
                    ..path_direction(false, 1400)
                })
            })
            .run()
    }),
    raises("path-loss", "smaller datagrams are lost beside a black hole", || {
        let hole = BlackHole { first: 1501, last: 9000, cause: BlackHoleCause::Unknown };
        let fixture = Fixture::udp().with(|s| s.deliver(DATAGRAMS / 2));
        fixture
            .with(|s| s.path = Some(PathDirection { black_hole: Some(hole), ..path_direction(false, 1500) }))
            .run()
    }),
    raises("path-loss", "the path drops fragments, the datagrams were none", || {
        Fixture::udp().size(8192, true, 0).size(1472, false, 10).with(|s| s.deliver(DATAGRAMS / 2)).run()
    }),
    raises("mtu-asymmetric", "1400 and 1300", || asymmetric().run()),
    raises("mtu-asymmetric", "at most 1300 and 1500", || {
        asymmetric()
            .with(|s| s.up.bound = Bound::AtLeast)
            .with(|s| s.path_direction(Direction::Down).bound = Bound::AtMost)
            .run()
    }),
    spares("mtu-asymmetric", "at least 1300 and 1400", || {
        asymmetric().with(|s| s.path_direction(Direction::Down).bound = Bound::AtLeast).run()
    }),
    spares("mtu-asymmetric", "one way is not known", || asymmetric().with(|s| s.down = None).run()),
    raises("mss-clamped", "1460 becomes 1338", || clamp(1460, 1338).run()),
    raises("mss-clamped", "segments smaller than anything explains", || segments(1200).run()),
    spares("mss-clamped", "the MSS arrives as it left", || clamp(1460, 1460).run()),
    spares("mss-clamped", "loopback, where segments are half a window", || clamp(65_495, 32_780).run()),
    spares("mss-clamped", "full segments with timestamps", || segments(1448).run()),
    spares("mss-clamped", "the kernel starts small to find the size", || {
        segments(1200).with(|s| s.tcp(Direction::Up).mtu_probing = Some(2)).run()
    }),
    spares("mss-clamped", "the kernel believes in a smaller path", || {
        segments(1200).with(|s| s.up.cached_mtu = Some(1252)).run()
    }),
    raises("mtu-reduced", "a tunnel on the path", || Sizes::for_mtu(false, 1420).run()),
    raises("mtu-reduced", "jumbo frames end", || {
        Sizes::clean(false).with(|s| s.up.interface_mtu = Some(9000)).run()
    }),
    spares("mtu-reduced", "a clean path", || Sizes::clean(false).run()),
    spares("mtu-reduced", "a black hole, which explains it all", || hole(BlackHoleCause::IcmpFiltered).run()),
    spares("mtu-reduced", "larger packets were not tried", || {
        Sizes::for_mtu(false, 1420).with(|s| s.both(|one_way| one_way.bound = Bound::AtLeast)).run()
    }),
    raises("stale-path-mtu", "the kernel believes 1400 of a path of 1500", || cached(1400).run()),
    spares("stale-path-mtu", "the kernel believes what is true", || cached(1500).run()),
    spares("stale-path-mtu", "the true size is not known", || {
        cached(1400).with(|s| s.up.bound = Bound::AtMost).run()
    }),
    raises("path-changed", "what crossed no longer does", || {
        Sizes::clean(false).with(|s| s.up.changed = true).run()
    }),
    spares("path-changed", "a path that stays", || Sizes::for_mtu(false, 1400).run()),
    raises("size-dependent-loss", "a tenth of the large ones", || lossy(0.1).run()),
    spares("size-dependent-loss", "small ones are lost as often", || lossy(0.001).run()),
    raises("service-limit", "fragments are not answered", || service(Some(1472), Some(1473)).run()),
    raises("service-limit", "a limit below the path's", || service(Some(1024), Some(1025)).run()),
    raises("service-limit", "a limit of its own above", || service(Some(4096), Some(4097)).run()),
    raises("service-limit", "no answer at all", || service(None, Some(64)).run()),
    spares("service-limit", "all are answered", || service(Some(4096), None).run()),
];

/// A run about packet sizes, to be bent in one place.
struct Sizes {
    up: PathDirection,
    down: Option<PathDirection>,
    service: Option<ServiceLimit>,
    unknown: Vec<Unknown>,
    echo_hole: Option<EchoHole>,
    outcome: Outcome,
}

impl Sizes {
    /// Both directions carry packets of this size; the interfaces have 1500.
    fn for_mtu(ipv6: bool, mtu: u32) -> Sizes {
        let down = Some(path_direction(ipv6, mtu));
        Sizes {
            up: path_direction(ipv6, mtu),
            down,
            service: None,
            unknown: Vec::new(),
            echo_hole: None,
            outcome: Outcome::Completed,
        }
    }

    fn clean(ipv6: bool) -> Sizes {
        let tcp = |mss| TcpDirection {
            mss_sent: Some(mss),
            mss_received: Some(mss),
            largest_segment: Some(mss - 12),
            segments: Some(60),
            timestamps: true,
            mtu_probing: Some(0),
            ..TcpDirection::default()
        };
        let mss = if ipv6 { 1440 } else { 1460 };
        Sizes::for_mtu(ipv6, 1500).with(|s| s.both(|direction| direction.tcp = Some(tcp(mss))))
    }

    fn with(mut self, bend: impl FnOnce(&mut Sizes)) -> Sizes {
        bend(&mut self);
        self
    }

    fn both(&mut self, bend: impl Fn(&mut PathDirection)) {
        bend(&mut self.up);
        self.down.iter_mut().for_each(bend);
    }

    fn path_direction(&mut self, direction: Direction) -> &mut PathDirection {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => self.down.get_or_insert_default(),
        }
    }

    fn tcp(&mut self, direction: Direction) -> &mut TcpDirection {
        self.path_direction(direction).tcp.get_or_insert_default()
    }

    fn run(self) -> Run {
        let is_native = self.service.is_none();
        let result = PathResult {
            method: PathMethod::Native,
            up: Some(self.up).filter(|_| is_native),
            down: self.down.filter(|_| is_native),
            service: self.service,
            echo_hole: self.echo_hole,
            unknown: self.unknown,
            elapsed: Nanos::from_millis(900),
            packets: 120,
        };
        let finished = Finished { wall: WallTime(2), elapsed: Nanos::from_nanos(1), outcome: self.outcome };
        run_of_events("1", "mtu", &[Event::Path(Box::new(result)), Event::Finished(finished)])
    }
}

fn path_direction(ipv6: bool, mtu: u32) -> PathDirection {
    let hop = LimitingHop { address: "10.71.1.1".parse().ok(), ttl: Some(2), found_by: HopSource::TooBig };
    let reduced = mtu < 1500;
    PathDirection {
        ipv6,
        interface_mtu: Some(1500),
        cached_mtu: Some(1500),
        path_mtu: Some(mtu),
        bound: Bound::Exact,
        max_udp_payload: Some(mtu - headers(ipv6)),
        limiting_hop: reduced.then_some(hop),
        discovery: if reduced { Discovery::Works } else { Discovery::NotNeeded },
        fragments: Fragments { delivery: FragmentDelivery::Pass, tests: vec![in_pieces(8192, 10)] },
        sizes: vec![SizeProbe { size: mtu, sent: 3, received: 3 }],
        ..PathDirection::default()
    }
}

fn band(cause: BlackHoleCause) -> BlackHole {
    BlackHole { first: 1401, last: 1500, cause }
}

/// 1401 to 1500 vanish up.
fn hole(cause: BlackHoleCause) -> Sizes {
    Sizes::for_mtu(false, 1400).with(|s| {
        s.down = Some(path_direction(false, 1500));
        (s.up.black_hole, s.up.discovery, s.up.cached_mtu) = (Some(band(cause)), Discovery::Silent, None);
        s.tcp(Direction::Up).mtu_probing = Some(0);
    })
}

fn lies(reported: u32) -> Sizes {
    let too_big = TooBig { size: 1500, mtu: reported, from: "10.71.1.1".parse().ok(), count: 3 };
    Sizes::for_mtu(false, 1400).with(|s| (s.up.discovery, s.up.too_big) = (Discovery::Lies, vec![too_big]))
}

/// The path carries all sizes, and a message reports another.
fn forged(reported: u32) -> Sizes {
    let too_big = TooBig { size: 1500, mtu: reported, from: "10.71.1.1".parse().ok(), count: 3 };
    Sizes::clean(false).with(|s| (s.up.discovery, s.up.too_big) = (Discovery::Lies, vec![too_big]))
}

/// Hop 1 reports its 1400, hop 2 lets 1300 through and reports nothing.
fn partial() -> Sizes {
    let too_big = TooBig { size: 1500, mtu: 1400, from: "10.71.1.1".parse().ok(), count: 3 };
    Sizes::for_mtu(false, 1300).with(|s| {
        (s.up.discovery, s.up.too_big) = (Discovery::Partial, vec![too_big]);
        s.up.limiting_hop = Some(LimitingHop {
            address: "10.71.12.2".parse().ok(),
            ttl: Some(2),
            found_by: HopSource::Trace,
        });
        s.up.black_hole = Some(BlackHole { first: 1301, last: 1400, cause: BlackHoleCause::IcmpFiltered });
    })
}

fn echoed(requests_arrive: bool) -> Sizes {
    Sizes::for_mtu(true, 1400).with(|s| {
        s.both(|direction| (direction.bound, direction.discovery) = (Bound::AtLeast, Discovery::Unknown));
        s.echo_hole = Some(EchoHole { first: 1401, last: 1500, requests_arrive });
    })
}

/// Echo requests above 1000 bytes have no reply, where packets of 1500 bytes cross up.
fn small_echo(requests_arrive: bool) -> Sizes {
    Sizes::clean(false).with(|s| {
        let down = s.down.get_or_insert_with(Default::default);
        (down.path_mtu, down.bound) = (Some(1000), Bound::AtLeast);
        s.echo_hole = Some(EchoHole { first: 1001, last: 1500, requests_arrive });
    })
}

/// Packets of `mtu` bytes cross in each direction, and a connection with an MSS of 1460 stalls.
fn stalled(mtu: u32) -> Sizes {
    Sizes::clean(false).with(|s| {
        s.both(|direction| direction.path_mtu = Some(mtu));
        let tcp = s.tcp(Direction::Up);
        (tcp.stalled, tcp.retransmits, tcp.largest_segment) = (true, Some(4), None);
    })
}

fn flow(transport: Transport, port: u16) -> Flow {
    Flow { transport, from: ([10, 71, 1, 2], port).into(), to: ([10, 71, 2, 2], 5210).into() }
}

/// Path MTUs of further flows.
fn legs(sizes: &[u32]) -> Sizes {
    let other = |(port, mtu): (u16, &u32)| FlowSize {
        flow: flow(Transport::Udp, port),
        path_mtu: *mtu,
        bound: Bound::Exact,
    };
    Sizes::clean(false).with(|s| {
        s.up.flow = Some(flow(Transport::Udp, 40_000));
        s.up.other_flows = (40_001..).zip(sizes).map(other).collect();
    })
}

/// The segments are as small as the path MTU that TCP went by.
fn informed_tcp(mtu: u32) -> Sizes {
    legs(&[]).with(|s| {
        let tcp = s.tcp(Direction::Up);
        (tcp.path_mtu, tcp.largest_segment) = (Some(mtu), Some(mtu - 52));
        tcp.flow = Some(flow(Transport::Tcp, 50_000));
    })
}

fn delivery(delivery: FragmentDelivery) -> Sizes {
    let reversed = FragmentTest { shape: FragmentShape::Reversed, ..in_pieces(1000, 0) };
    let in_order = if delivery == FragmentDelivery::OutOfOrderDropped { 10 } else { 0 };
    let tests = vec![in_pieces(8192, in_order), reversed];
    Sizes::clean(false).with(|s| s.up.fragments = Fragments { delivery, tests })
}

fn asymmetric() -> Sizes {
    Sizes::for_mtu(false, 1400).with(|s| s.down = Some(path_direction(false, 1300)))
}

/// The SYN up leaves with one MSS and arrives with another.
fn clamp(sent: u32, received: u32) -> Sizes {
    Sizes::clean(false).with(|s| {
        (s.tcp(Direction::Up).mss_sent, s.tcp(Direction::Up).mss_received) = (Some(sent), Some(received));
        s.tcp(Direction::Down).largest_segment = Some(received - 12);
    })
}

/// The largest segment up.
fn segments(largest: u32) -> Sizes {
    Sizes::clean(false).with(|s| s.tcp(Direction::Up).largest_segment = Some(largest))
}

fn cached(mtu: u32) -> Sizes {
    Sizes::clean(false).with(|s| s.up.cached_mtu = Some(mtu))
}

fn lossy(large: f64) -> Sizes {
    let loss = SizeLoss { small: 0.001, large, size: 1472, from: None };
    Sizes::clean(false).with(|s| s.up.size_dependent_loss = Some(loss))
}

fn service(payload: Option<u32>, silent: Option<u32>) -> Sizes {
    let sizes = [64, 1472, 1473].map(|size| SizeProbe {
        size,
        sent: 3,
        received: if payload.is_some_and(|most| size <= most) { 3 } else { 0 },
    });
    let limit = ServiceLimit {
        port: 5683,
        payload,
        silent,
        fragmented_from: 1473,
        refused: None,
        sizes: sizes.into(),
    };
    Sizes::clean(false).with(|s| s.service = Some(limit))
}

fn verdict(sizes: Sizes) -> (Status, String) {
    let verdict = sizes.run().verdict;
    (verdict.status, verdict.text)
}

#[test]
fn a_clean_path_raises_nothing() {
    for ipv6 in [false, true] {
        assert_eq!(Sizes::clean(ipv6).run().findings, []);
    }
}

#[test]
fn sizes_that_are_bounds_are_printed_as_bounds() {
    let run = asymmetric()
        .with(|s| s.up.bound = Bound::AtLeast)
        .with(|s| s.path_direction(Direction::Down).bound = Bound::AtMost)
        .run();
    let title = &find(&run, "mtu-asymmetric").unwrap().title;
    assert!(title.ends_with("packets of at least 1400 bytes up, of at most 1300 down"), "{title}");
}

#[test]
fn the_verdict_of_a_clean_path_is_what_crosses() {
    let text = "Packets of up to 1500 bytes cross in each direction, UDP payloads of 1472. Nothing on the path takes less than \
                the interfaces send; larger datagrams cross in fragments.";
    assert_eq!(verdict(Sizes::clean(false)), (Status::Ok, text.to_owned()));
}

#[test]
fn the_verdict_of_a_tunnel_names_hop_reason_and_payload() {
    let text = "Packets of up to 1420 bytes cross in each direction, UDP payloads of 1392. Hop 2 (10.71.1.1) limits it and notifies \
                senders (1420 = 1500 − 80: WireGuard over IPv6 or with the default of wg-quick); the same holds down. \
                Keep datagrams to 1392 bytes of payload (`-l 1392`); TCP adapts by itself.";
    assert_eq!(verdict(Sizes::for_mtu(false, 1420)), (Status::Ok, text.to_owned()));
}

#[test]
fn the_verdict_of_a_black_hole_names_band_cause_and_cure() {
    let (status, text) = verdict(hole(BlackHoleCause::IcmpFiltered));
    assert_eq!(status, Status::Problem);
    let expected = "Packets of up to 1400 bytes cross up (UDP payloads of 1372), of up to 1500 bytes down (1472). \
                    Packets of 1401 to 1500 bytes (UDP payloads of 1373 to 1472) vanish up without a message: hop 2 \
                    (10.71.1.1) cannot pass them on, and its ICMP messages do not reach this host. Let ICMP type 3 \
                    code 4 (fragmentation needed) through at the firewalls on the path, so that it reaches this host; \
                    until then keep to packets of 1400 bytes: `ip link set dev INTERFACE mtu 1400` at this host, UDP \
                    payloads of 1372 (`-l 1372`).";
    assert_eq!(text, expected);
}

#[test]
fn a_black_hole_states_what_tcp_and_larger_datagrams_do() {
    let advice = |bend: fn(&mut Sizes)| {
        let run = hole(BlackHoleCause::IcmpFiltered).with(bend).run();
        find(&run, "mtu-black-hole").unwrap().advice.clone()
    };
    let default = advice(|_| ());
    assert!(default.contains("Datagrams of more than 1472 bytes cross nevertheless"), "{default}");
    assert!(default.contains("`sysctl -w net.ipv4.tcp_mtu_probing=1` there"), "{default}");
    let stalled =
        advice(|s| (s.tcp(Direction::Up).stalled, s.tcp(Direction::Up).mtu_probing) = (true, Some(1)));
    assert!(
        stalled.contains("stalls (it did in this test) for some seconds and then finds the size"),
        "{stalled}"
    );
    let saved = advice(|s| s.tcp(Direction::Up).mtu_probing = Some(2));
    assert!(saved.contains("finds the size by itself (`net.ipv4.tcp_mtu_probing` is 2)"), "{saved}");
    let clamped = advice(|s| s.tcp(Direction::Down).mss_received = Some(1360));
    assert!(clamped.contains("TCP is not hit: its MSS of 1360 keeps its packets to 1400 bytes"), "{clamped}");
    let batches = advice(|s| s.tcp(Direction::Up).largest_segment = Some(1448));
    assert!(batches.contains("TCP crossed in this test with segments of 1448 bytes"), "{batches}");
    let link = find(&hole(BlackHoleCause::LinkMismatch).run(), "mtu-black-hole").unwrap().advice.clone();
    assert!(link.contains("set to 1400 or to 1396"), "{link}");
    let no_fragments = advice(|s| s.up.fragments.delivery = FragmentDelivery::AllDropped);
    assert!(!no_fragments.contains("cross nevertheless"), "{no_fragments}");
}

#[test]
fn the_silent_one_of_two_limits_is_named_and_the_honest_one_is_not() {
    let run = partial().run();
    let found = find(&run, "mtu-black-hole").unwrap();
    let title = "Packets of 1301 to 1400 bytes (UDP payloads of 1273 to 1372) vanish up without a message: hop 2 (10.71.12.2) \
                 cannot pass them on, and its ICMP messages do not reach this host";
    assert_eq!(found.title, title);
    assert!(found.advice.contains("10.71.1.1 limits too, to 1400 bytes, and reports it"), "{}", found.advice);
    assert!(!found.advice.contains("cross nevertheless"), "{}", found.advice);
}

#[test]
fn a_link_too_small_for_ipv6_is_reported_to_be_one_and_no_interface_loses_ipv6() {
    let silent = |s: &mut Sizes| {
        s.up.discovery = Discovery::Silent;
        s.up.black_hole = Some(BlackHole { first: 1201, last: 1500, cause: BlackHoleCause::Unknown });
    };
    for run in [Sizes::for_mtu(true, 1200).run(), Sizes::for_mtu(true, 1200).with(silent).run()] {
        let found = find(&run, "mtu-black-hole").unwrap();
        assert!(
            found.title.contains("takes less than the 1280 bytes that IPv6 needs (RFC 8200)"),
            "{}",
            found.title
        );
        assert!(found.advice.contains("as RFC 8200 section 5 demands"), "{}", found.advice);
        let all = run.findings.iter().map(|finding| &finding.advice).chain([&run.verdict.text]);
        assert!(all.clone().all(|text| !text.contains("ip link set")), "{all:?}");
        assert!(run.advice.iter().all(|one| one.setting != Setting::InterfaceMtu), "{:#?}", run.advice);
    }
    let v4 = hole(BlackHoleCause::IcmpFiltered).with(|s| {
        s.up.path_mtu = Some(500);
        s.up.black_hole = Some(BlackHole { first: 501, last: 1500, cause: BlackHoleCause::IcmpFiltered });
    });
    let advice = find(&v4.run(), "mtu-black-hole").unwrap().advice.clone();
    assert!(advice.contains("mtu 500` at this host (which takes IPv6 from it: that needs 1280)"), "{advice}");
}

#[test]
fn echo_alone_does_not_show_the_direction_and_the_verdict_reports_it() {
    let run = echoed(false).run();
    let found = find(&run, "mtu-black-hole").unwrap();
    assert_eq!((found.direction, found.severity), (None, Severity::Warning));
    assert!(run.verdict.text.contains("vanish up or down"), "{}", run.verdict.text);
    assert!(run.verdict.text.contains("1400 bytes and perhaps more"), "{}", run.verdict.text);
    let replies = echoed(true).run();
    assert_eq!(find(&replies, "mtu-black-hole").unwrap().direction, Some(Direction::Down));
    assert_eq!(replies.verdict.status, Status::Degraded);
}

#[test]
fn a_message_about_packets_that_cross_is_no_reason_for_a_smaller_mtu() {
    let run = forged(552).run();
    let found = find(&run, "mtu-discovery-wrong").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    assert_eq!(
        found.title,
        "10.71.1.1 reports that no more than 552 bytes cross up, though packets of 1500 do"
    );
    assert!(found.advice.contains("`ip route flush cache` there makes it forget"), "{}", found.advice);
    assert!(!found.advice.contains("ip link set"), "{}", found.advice);
}

#[test]
fn a_stalled_connection_states_what_crosses_and_which_flow_it_was() {
    let sizes = stalled(1500).with(|s| {
        s.up.flow = Some(flow(Transport::Udp, 40_000));
        (s.tcp(Direction::Up).flow, s.tcp(Direction::Up).smaller_mss) =
            (Some(flow(Transport::Tcp, 50_000)), Some(1200));
    });
    let run = sizes.run();
    let found = find(&run, "tcp-blackhole").unwrap();
    let title = "TCP's full segments, packets of 1500 bytes, do not cross up, though UDP packets of 1500 bytes do: the \
                 connection stalled after 4 retransmits; with an MSS of 1200 all of it crossed";
    assert_eq!((found.severity, found.title.as_str()), (Severity::Problem, title));
    assert_eq!(found.evidence["stalled_flow"], "TCP 10.71.1.2:50000 to 10.71.2.2:5210");
    assert!(found.advice.contains("tcp option maxseg size set 1200"), "{}", found.advice);
    assert_eq!(run.verdict.status, Status::Problem);
}

#[test]
fn flows_that_differ_are_counted_and_the_least_is_advised() {
    let run = legs(&[1500, 1400, 1500, 1400]).run();
    let found = find(&run, "paths-differ").unwrap();
    let title = "Flows between the two hosts take paths of different size up: 1500 bytes in 3 of 5, 1400 bytes in 2 of 5, \
                 distinguished by their ports";
    assert_eq!(found.title, title);
    assert!(found.advice.contains("UDP payloads of 1372 (`-l 1372`)"), "{}", found.advice);
    let payload = run.advice.iter().find(|one| one.setting == Setting::UdpPayload).unwrap();
    assert_eq!(payload.value, 1372);
}

#[test]
fn fragments_lost_degrade_a_run_about_sizes_and_break_a_test_that_needs_them() {
    let run = delivery(FragmentDelivery::AllDropped).run();
    assert_eq!(run.verdict.status, Status::Degraded);
    let title = "Fragments do not cross the path up: 0 of 10 datagrams sent in fragments arrived, while those of up to \
                 1472 bytes sent whole did, and the receiver's kernel saw none of their 60 fragments";
    assert_eq!(find(&run, "fragments-dropped").unwrap().title, title);
    let test = Fixture::udp().large(8192, 0).size(8192, true, 0).size(1472, false, 10).run();
    assert_eq!(find(&test, "fragments-dropped").unwrap().severity, Severity::Problem);
    let azure = delivery(FragmentDelivery::OutOfOrderDropped).run();
    let title = "Fragments cross up only in order: 10 of 10 datagrams cut in order arrived, 0 of 10 whose first \
                 fragment came last";
    assert_eq!(find(&azure, "fragments-dropped").unwrap().title, title);
}

#[test]
fn a_clamp_that_fits_is_a_remark_and_one_that_costs_a_warning() {
    let clamped = |mtu, received| {
        let sizes = clamp(1460, received).with(|s| s.both(|one_way| one_way.path_mtu = Some(mtu)));
        find(&sizes.run(), "mss-clamped").unwrap().clone()
    };
    assert_eq!(clamped(1400, 1360).severity, Severity::Info);
    assert_eq!(clamped(1500, 1452).severity, Severity::Info, "a margin of eight bytes");
    let costly = clamped(1500, 1338);
    assert_eq!(costly.severity, Severity::Warning);
    assert_eq!(costly.direction, Some(Direction::Up));
    let title = "A box on the path up changes the MSS of TCP's SYN from 1460 to 1338: packets down have at most 1378 \
                 bytes, though 1500 cross";
    assert_eq!(costly.title, title);
    assert!(costly.advice.contains("It would give 0.462 % more goodput"), "{}", costly.advice);
    let short = clamped(1300, 1338);
    assert_eq!(short.severity, Severity::Warning);
    assert!(short.advice.contains("set it to 1260"), "{}", short.advice);
}

#[test]
fn nothing_found_out_is_void_and_states_why() {
    let unknown = |s: &mut Sizes| {
        s.both(|one_way| {
            (one_way.path_mtu, one_way.bound, one_way.max_udp_payload) = (None, Bound::Unknown, None)
        });
        let why = "no probe was answered over ICMP, UDP and TCP: run `pathmeter serve` there".to_owned();
        s.unknown = vec![Unknown { direction: None, what: "path MTU".into(), why }];
    };
    let text =
        "Nothing was found out: no probe was answered over ICMP, UDP and TCP: run `pathmeter serve` there.";
    assert_eq!(verdict(Sizes::for_mtu(false, 1500).with(unknown)), (Status::Void, text.to_owned()));
    let failed = Outcome::Failed { reason: "connect to far: refused".into() };
    let text = "Nothing was found out: connect to far: refused.";
    assert_eq!(
        verdict(Sizes::for_mtu(false, 1500).with(unknown).with(|s| s.outcome = failed)),
        (Status::Void, text.to_owned())
    );
    let text = "Nothing was found out: the service at UDP port 5683 answered none of 9 datagrams.";
    assert_eq!(verdict(service(None, Some(64))), (Status::Void, text.to_owned()));
    assert_eq!(run_of_events("1", "mtu", &[]).verdict.text, "Nothing was found out: no probe was answered.");
}

#[test]
fn a_service_is_reported_by_its_limit() {
    let (status, text) = verdict(service(Some(1472), Some(1473)));
    assert_eq!(status, Status::Degraded);
    let expected = "The service at UDP port 5683 answers payloads of up to 1472 bytes and is silent from 1473 on: \
                    this host cuts these into fragments, which are lost or not accepted. Send at most 1472 bytes in a \
                    datagram.";
    assert_eq!(text, expected);
    let text = "UDP port 5683 answers payloads of up to 4096 bytes; no larger ones were tried.";
    assert_eq!(verdict(service(Some(4096), None)), (Status::Ok, text.to_owned()));
}

#[test]
fn one_way_is_reported_as_one_way() {
    let (status, text) = verdict(Sizes::clean(false).with(|s| s.down = None));
    assert_eq!(status, Status::Ok);
    let start =
        "Packets of up to 1500 bytes cross up (UDP payloads of 1472); the direction down is not known.";
    assert!(text.starts_with(start), "{text}");
}

/// A far end may report any number.
#[test]
fn sizes_of_any_size_are_borne() {
    for number in [0, 1, u32::MAX] {
        let lie = |direction: &mut PathDirection| {
            (direction.interface_mtu, direction.cached_mtu, direction.path_mtu) =
                (Some(number), Some(u32::MAX - number), Some(number));
            direction.black_hole =
                Some(BlackHole { first: number, last: number, cause: BlackHoleCause::IcmpFiltered });
            direction.max_udp_payload = None;
            direction.sizes[0] = SizeProbe { size: number, sent: number, received: number };
            for test in &mut direction.fragments.tests {
                (test.sent, test.received, test.pieces, test.payload) = (number, number, number, number);
                test.pieces_received = Some(u64::from(number));
            }
            direction.fragments.delivery = FragmentDelivery::AllDropped;
            let tcp = direction.tcp.get_or_insert_default();
            (tcp.mss_sent, tcp.mss_received, tcp.largest_segment) = (Some(1460), Some(number), Some(number));
        };
        for ipv6 in [false, true] {
            let run = Sizes::clean(ipv6).with(|s| s.both(lie)).run();
            assert!(run.verdict.text.ends_with('.'), "{}", run.verdict.text);
            assert!(run.findings.iter().all(|finding| !finding.title.contains("NaN")), "{:#?}", run.findings);
            assert!(
                run.findings.iter().all(|finding| !finding.advice.contains("NaN")),
                "{:#?}",
                run.findings
            );
        }
    }
}

/// Packets vanish at the last hop, since the receiver's own interface is smaller than its network.
#[test]
fn a_receivers_own_interface_is_named() {
    let hop = |ttl| TracedHop { ttl, address: Some([192, 0, 2, ttl].into()), large: true, small: true };
    let run = |limit: u8, crosses: u32| {
        let run = hole(BlackHoleCause::LinkMismatch).with(|s| {
            s.up.path_mtu = Some(crosses);
            s.up.black_hole.as_mut().unwrap().first = crosses + 1;
            s.up.hops = vec![hop(1), hop(2)];
            let address = Some([192, 0, 2, limit].into());
            s.up.limiting_hop = Some(LimitingHop { address, ttl: Some(limit), found_by: HopSource::Trace });
            s.path_direction(Direction::Down).interface_mtu = Some(1400);
        });
        let run = run.run();
        run.findings.into_iter().find(|finding| finding.id == "mtu-black-hole").unwrap()
    };
    for crosses in [1400, 1404] {
        let found = run(2, crosses);
        assert!(found.title.contains("the interface of the far host has an MTU of 1400"), "{}", found.title);
        assert!(
            found.advice.contains("mtu 1500` there") && !found.advice.contains("1404"),
            "{}",
            found.advice
        );
    }
    for other in [run(1, 1400), run(2, 1405), run(2, 1399)] {
        assert!(!other.title.contains("interface of the far host"), "{}", other.title);
    }
}

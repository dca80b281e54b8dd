//! Every pair of faults on a simulated path: what is found, where, why and what is advised agree with what was built.

use super::simulated::{INTERFACE, Router, Simulated};
use super::*;
use model::event::Event;
use model::finding::Finding;
use model::path::advice::Setting;
use model::path::{PathMethod, PathResult, TcpDirection};
use model::run::Run;
use proptest::prelude::*;

/// A path and what is wrong with it.
#[derive(Clone, Debug)]
struct Faults {
    ipv6: bool,
    /// A round trip takes long: probes go side by side.
    is_long: bool,
    /// The routers up and down, nearest to the sender first.
    routers: [[Router; 2]; 2],
    /// Largest packet of TCP that each direction lets through.
    tcp_limit: [Option<u32>; 2],
    /// The MSS to which a box holds the SYN of each direction.
    clamp: [Option<u32>; 2],
}

impl Faults {
    fn limits(&self, at: usize) -> Vec<u32> {
        self.routers[at].iter().filter_map(|router| router.limit).collect()
    }

    fn mtu(&self, at: usize) -> u32 {
        self.limits(at).into_iter().min().unwrap_or(INTERFACE)
    }

    /// The first router that does not pass on what is just too large.
    fn limiter(&self, at: usize) -> Option<usize> {
        let mtu = self.mtu(at);
        self.routers[at].iter().position(|router| router.limit == Some(mtu))
    }

    fn headers(&self) -> u32 {
        if self.ipv6 { 60 } else { 40 }
    }

    /// MSS of the SYN of a direction, as it left and as it arrives.
    fn mss(&self, at: usize) -> (u32, u32) {
        let own = INTERFACE - self.headers();
        (own, self.clamp[at].map_or(own, |clamp| clamp.min(own)))
    }

    /// The packets that full segments make.
    fn full_segment(&self, at: usize) -> u32 {
        self.mss(1 - at).1 + self.headers()
    }

    fn tcp(&self, at: usize) -> TcpDirection {
        let (sent, received) = self.mss(at);
        let packet = self.full_segment(at);
        let stalled = packet > self.mtu(at) || self.tcp_limit[at].is_some_and(|limit| packet > limit);
        TcpDirection {
            mss_sent: Some(sent),
            mss_received: Some(received),
            largest_segment: (!stalled).then(|| packet - self.headers() - 12),
            segments: Some(60),
            retransmits: Some(if stalled { 4 } else { 0 }),
            path_mtu: Some(INTERFACE),
            timestamps: true,
            stalled,
            mtu_probing: Some(0),
            ..TcpDirection::default()
        }
    }

    fn run(&self) -> Run {
        let mut path = Simulated::new(self.ipv6, self.routers);
        path.is_long = self.is_long;
        let mut result = PathResult { method: PathMethod::Native, ..PathResult::default() };
        for (at, direction) in [Direction::Up, Direction::Down].into_iter().enumerate() {
            let (mut one_way, unknown) = DirectionSearch::find(&mut path, direction, None, &[]).unwrap();
            one_way.tcp = Some(self.tcp(at));
            *result.direction_mut(direction) = Some(one_way);
            result.unknown.extend(unknown);
        }
        insight::run_of_events("1", "mtu", &[Event::Path(Box::new(result))])
    }
}

fn router(ipv6: bool) -> impl Strategy<Value = Router> {
    let least = if ipv6 { 600_u32 } else { 300 };
    (
        prop::option::weighted(0.6, least..INTERFACE),
        any::<bool>(),
        prop::option::weighted(0.1, 68_u32..=INTERFACE),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(limit, silent, lie, untraceable, drops_fragments, sets_ttl)| Router {
            limit,
            silent,
            lie: lie.filter(|lie| Some(*lie) != limit),
            untraceable,
            drops_fragments,
            sets_ttl,
            ..Router::default()
        })
}

fn faults() -> impl Strategy<Value = Faults> {
    any::<bool>().prop_flat_map(|ipv6| {
        let directions = [[router(ipv6), router(ipv6)], [router(ipv6), router(ipv6)]];
        let tcp = || prop::option::weighted(0.3, 1300_u32..INTERFACE);
        let clamp = || prop::option::weighted(0.3, 1100_u32..1460);
        let parts = (directions, [tcp(), tcp()], [clamp(), clamp()], any::<bool>());
        parts.prop_map(move |(routers, tcp_limit, clamp, is_long)| Faults {
            ipv6,
            is_long,
            routers,
            tcp_limit,
            clamp,
        })
    })
}

fn about<'a>(run: &'a Run, id: &str, direction: Direction) -> Option<&'a Finding> {
    run.findings.iter().find(|finding| finding.id == id && finding.direction == Some(direction))
}

/// Size, hop, band and cause of one direction.
fn check_direction(faults: &Faults, run: &Run, direction: Direction) {
    let at = usize::from(direction == Direction::Down);
    let one_way = run.summary.path.as_ref().and_then(|path| path.in_direction(direction)).unwrap();
    let (mtu, limiter) = (faults.mtu(at), faults.limiter(at));
    assert_eq!((one_way.path_mtu, one_way.bound), (Some(mtu), Bound::Exact));
    let Some(limiter) = limiter else {
        assert_eq!(
            (one_way.discovery, &one_way.limiting_hop, one_way.black_hole),
            (Discovery::NotNeeded, &None, None)
        );
        return;
    };
    let routers = &faults.routers[at];
    assert!(!one_way.ttl_rewritten || routers.iter().any(|router| router.sets_ttl));
    let address = Simulated::new(faults.ipv6, faults.routers).address(at, limiter);
    match &one_way.limiting_hop {
        Some(hop) if hop.found_by == HopSource::Trace => {
            // Ahead of the last hop that answers large packets lies none; behind it is the link that is too small.
            assert_eq!((hop.address, hop.ttl), (Some(address), u8::try_from(limiter + 1).ok()));
        }
        Some(hop) => {
            assert!(one_way.too_big.iter().any(|reply| reply.from == hop.address && reply.mtu == mtu))
        }
        None => {
            let hides = |router: &Router| router.untraceable || router.sets_ttl;
            assert!(routers.iter().any(hides), "it answers a trace");
        }
    }
    if routers.iter().any(|router| router.lie.is_some()) {
        return;
    }
    let reported =
        routers[..limiter].iter().filter(|router| !router.silent).filter_map(|router| router.limit).min();
    let hole = routers[limiter].silent.then(|| (mtu + 1, reported.unwrap_or(INTERFACE)));
    assert_eq!(one_way.black_hole.map(|hole| (hole.first, hole.last)), hole);
    let fragments = routers.iter().any(|router| router.drops_fragments);
    if let Some(hole) = one_way.black_hole.filter(|_| !faults.ipv6 && !fragments) {
        assert_eq!(hole.cause, BlackHoleCause::IcmpFiltered);
    }
}

/// Which findings are raised of one direction, and which router they accuse.
fn check_findings(faults: &Faults, run: &Run, direction: Direction) {
    let at = usize::from(direction == Direction::Down);
    let (mtu, routers) = (faults.mtu(at), &faults.routers[at]);
    let found = |id: &str| about(run, id, direction);
    let limiter = faults.limiter(at).map(|at| routers[at]);
    let path = Simulated::new(faults.ipv6, faults.routers);
    let liars: Vec<String> = (0..2)
        .filter(|hop| routers[*hop].lie.is_some())
        .map(|hop| path.address(at, hop).to_string())
        .collect();
    if let Some(wrong) = found("mtu-discovery-wrong") {
        let accused = wrong.evidence["told_by_address"].as_str().unwrap();
        assert!(liars.iter().any(|liar| liar == accused), "{accused} is honest: {}", wrong.title);
    }
    let lied_to = limiter.is_some_and(|router| !router.silent && router.lie.is_some());
    let by_chance = routers.iter().any(|router| router.lie == Some(mtu));
    assert!(!lied_to || by_chance || found("mtu-discovery-wrong").is_some(), "no finding names the liar");
    if liars.is_empty() {
        let too_small = faults.ipv6 && mtu < 1280;
        let silent = limiter.is_some_and(|router| router.silent);
        assert_eq!(found("mtu-black-hole").is_some(), silent || too_small);
    }
    let drops = routers.iter().any(|router| router.drops_fragments);
    assert_eq!(found("fragments-dropped").is_some(), drops);
    let packet = faults.full_segment(at);
    let by_protocol = packet <= mtu && faults.tcp_limit[at].is_some_and(|limit| packet > limit);
    assert_eq!(found("tcp-blackhole").is_some(), by_protocol);
    let (sent, received) = faults.mss(at);
    assert_eq!(found("mss-clamped").is_some(), sent != received);
    assert!(found("paths-differ").is_none());
}

/// The advised size crosses, and takes IPv6 from no interface that has it.
fn check_advice(faults: &Faults, run: &Run) {
    let mtu = faults.mtu(0).min(faults.mtu(1));
    let payload = run.advice.iter().find(|one| one.setting == Setting::UdpPayload).unwrap();
    assert_eq!(payload.value, mtu - model::path::headers(faults.ipv6));
    for one in run.advice.iter().filter(|one| one.setting == Setting::InterfaceMtu) {
        assert!(one.value == mtu && !(faults.ipv6 && mtu < 1280), "{one:?}");
    }
    if faults.ipv6 && mtu < 1280 {
        let sentences = run.findings.iter().map(|finding| &finding.advice).chain([&run.verdict.text]);
        let small = (600..1280).map(|size| format!("mtu {size}`"));
        let texts: Vec<&String> = sentences.filter(|text| text.contains("ip link set")).collect();
        let bare =
            |text: &&&String| small.clone().any(|set| text.contains(&set)) && !text.contains("takes IPv6");
        assert!(!texts.iter().any(|text| bare(&text)), "{texts:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn two_faults_are_each_reported_as_what_they_are(faults in faults()) {
        let run = faults.run();
        for direction in [Direction::Up, Direction::Down] {
            check_direction(&faults, &run, direction);
            check_findings(&faults, &run, direction);
        }
        check_advice(&faults, &run);
    }
}

#[test]
fn a_further_flow_is_searched_only_where_it_differs() {
    let limited = |limit| {
        let router = Router { limit: Some(limit), ..Router::default() };
        Simulated::new(false, [[router, Router::default()]; 2])
    };
    let (known, _) = DirectionSearch::find(&mut limited(1400), Direction::Up, None, &[]).unwrap();
    for limit in [1400, 1399, 1450, 576] {
        let size = DirectionSearch::size(&mut limited(limit), Direction::Up, &known).unwrap().unwrap();
        assert_eq!((size.path_mtu, size.bound), (limit, Bound::Exact));
    }
}

#[test]
fn an_honest_hop_before_a_liar_is_not_accused() {
    let honest = Router { limit: Some(645), ..Router::default() };
    let liar = Router { limit: Some(300), lie: Some(68), ..Router::default() };
    let faults = Faults {
        ipv6: false,
        is_long: false,
        routers: [[honest, liar], [Router::default(); 2]],
        tcp_limit: [None; 2],
        clamp: [None; 2],
    };
    let run = faults.run();
    let wrong = about(&run, "mtu-discovery-wrong", Direction::Up).unwrap();
    assert_eq!(wrong.evidence["told_by_address"], "10.71.0.2", "{}", wrong.title);
}

/// Probes of a long path go side by side. Together with opening a session, in four round trips, and a little TCP, in seven, which goes
/// beside all that follows the size, this is what a run takes.
#[test]
fn a_long_path_is_looked_at_in_few_round_trips() {
    // Round trips until all is known: of a path that carries all, and of one with a black hole.
    // A link may drop larger packets also where they may be cut.
    for (limit, is_link, most) in [(None, false, 2), (Some(1400), false, 5), (Some(1400), true, 5)] {
        for ipv6 in [false, true] {
            let hole = limit.filter(|_| is_link).map(|limit| (limit + 1, INTERFACE));
            let router =
                Router { limit: limit.filter(|_| !is_link), hole, silent: true, ..Router::default() };
            for direction in [Direction::Up, Direction::Down] {
                let mut path = Simulated::new(ipv6, [[router, Router::default()]; 2]);
                path.is_long = true;
                // The far end's facts are known from the session that opened first.
                let wanted = (path.observed[usize::from(direction == Direction::Down)].clone(), None);
                let found = DirectionSearch::find_and_report(&mut path, direction, wanted, &[], &mut |_| {});
                assert_eq!(found.unwrap().0.path_mtu, Some(limit.unwrap_or(INTERFACE)));
                // The far end as the sender is asked what it knows afterwards.
                let most = most + u32::from(direction == Direction::Down);
                assert!(
                    path.round_trips <= most,
                    "{direction}, {limit:?}, IPv6 {ipv6}: {} round trips",
                    path.round_trips
                );
            }
        }
    }
}

/// A long path is found to be what a short one is.
#[test]
fn a_long_path_is_judged_as_a_short_one() {
    for (limit, silent, drops_fragments) in
        [(None, false, false), (Some(1400), true, false), (Some(1400), false, true), (Some(500), true, false)]
    {
        for ipv6 in [false, true] {
            let limit = limit.map(|limit: u32| limit.max(if ipv6 { 1100 } else { 68 }));
            let router = Router { limit, silent, drops_fragments, ..Router::default() };
            for direction in [Direction::Up, Direction::Down] {
                let found = [false, true].map(|is_long| {
                    let mut path = Simulated::new(ipv6, [[router, Router::default()]; 2]);
                    path.is_long = is_long;
                    let (mut found, unknown) =
                        DirectionSearch::find(&mut path, direction, None, &[]).unwrap();
                    found.sizes.clear();
                    found.too_big.clear();
                    (found, unknown)
                });
                assert_eq!(found[0], found[1], "{limit:?} {silent} {drops_fragments} {ipv6} {direction}");
            }
        }
    }
}

/// The receiver's own firewall is no black hole of the path, and no router is its place.
#[test]
fn packets_that_a_receivers_firewall_drops_are_known_by_its_counters() {
    for (ipv6, is_long) in [(false, false), (false, true), (true, false), (true, true)] {
        for direction in [Direction::Up, Direction::Down] {
            let look = |undelivered: Option<u64>| {
                let mut path = Simulated::new(ipv6, [[Router::default(); 2]; 2]);
                (path.is_long, path.receiver_limit) = (is_long, Some(1400));
                path.observed.iter_mut().for_each(|end| end.undelivered = undelivered);
                DirectionSearch::find(&mut path, direction, None, &[]).unwrap().0
            };
            let found = look(Some(7));
            let hole = found.black_hole.unwrap();
            assert_eq!((hole.first, hole.cause), (1401, BlackHoleCause::ReceiverFilter), "{ipv6} {is_long}");
            // Datagrams that are cut by hand are larger over IPv6, and dropped when they are whole again.
            let fragments = if ipv6 { FragmentDelivery::Unknown } else { FragmentDelivery::Pass };
            assert_eq!((found.limiting_hop, found.fragments.delivery), (None, fragments));
            // An old server does not count them.
            assert_ne!(look(None).black_hole.unwrap().cause, BlackHoleCause::ReceiverFilter);
        }
    }
}

/// A busy host counts pieces after the datagrams behind them have arrived: they belong to no later test.
#[test]
fn pieces_that_are_counted_late_are_waited_for() {
    for (drops, wanted) in [(false, FragmentDelivery::Pass), (true, FragmentDelivery::SmallDropped)] {
        for direction in [Direction::Up, Direction::Down] {
            let router = Router { drops_pieces_below: if drops { 200 } else { 0 }, ..Router::default() };
            let mut path = Simulated::new(false, [[router; 2]; 2]);
            path.counts_late = 4;
            let found = DirectionSearch::find(&mut path, direction, None, &[]).unwrap().0;
            assert_eq!(found.fragments.delivery, wanted, "{direction}: {:#?}", found.fragments);
        }
    }
}

/// The last piece of a kernel's datagram is small too: that none becomes whole does not mean that all pieces are dropped.
#[test]
fn small_pieces_that_are_dropped_are_not_all() {
    for (is_long, below) in [(false, 600), (false, 1_000), (true, 600)] {
        for direction in [Direction::Up, Direction::Down] {
            let router = Router { drops_pieces_below: below, ..Router::default() };
            let mut path = Simulated::new(false, [[router; 2]; 2]);
            path.is_long = is_long;
            let fragments = DirectionSearch::find(&mut path, direction, None, &[]).unwrap().0.fragments;
            assert_eq!(fragments.delivery, FragmentDelivery::SmallDropped, "{direction}: {fragments:#?}");
        }
    }
}

#[test]
fn pieces_of_one_test_that_was_lost_are_what_is_left() {
    let test = |shape, pieces, received| FragmentTest {
        shape,
        payload: 1000,
        pieces,
        sent: 5,
        received,
        pieces_received: None,
        largest_piece: None,
    };
    let counts = |received: [u32; 3], counted| {
        let mut tests = [
            test(FragmentShape::ByKernel, 3, received[0]),
            test(FragmentShape::InOrder, 2, received[1]),
            test(FragmentShape::Reversed, 2, received[2]),
        ];
        count_pieces(&mut tests, counted);
        tests.map(|test| test.pieces_received)
    };
    assert_eq!(counts([0, 5, 5], Some(25)), [Some(5), Some(10), Some(10)], "the last pieces alone");
    assert_eq!(counts([5, 5, 5], Some(35)), [Some(15), Some(10), Some(10)]);
    assert_eq!(counts([0, 5, 0], Some(20)), [None, Some(10), None]);
    assert_eq!(counts([0, 5, 0], Some(35)), [Some(15), Some(10), Some(10)], "every piece came");
    assert_eq!(counts([0, 0, 0], Some(0)), [Some(0); 3]);
    assert_eq!(counts([0, 5, 5], None), [None; 3]);
}

//! Runs about packet sizes made by hand, from events: findings, advice and verdict are those of the rules.

use insight::run_of_events;
use model::event::{Event, Finished, Outcome};
use model::host::{Host, Nic};
use model::path::{
    BlackHole, BlackHoleCause, Bound, Discovery, FragmentDelivery, FragmentShape, FragmentTest, Fragments,
    HopSource, LimitingHop, PathDirection, PathMethod, PathPlan, PathResult, PathStarted, ServiceLimit,
    ServicePlan, SizeLoss, SizeProbe, Syn, TcpDirection, TooBig, Unknown, headers,
};
use model::plan::{Direction, LocalOptions, Target};
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;

/// Every run about packet sizes, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("mtu_clean", clean()),
        ("mtu_black_hole", black_hole()),
        ("mtu_fragments", fragments()),
        ("mtu_asymmetric", asymmetric()),
        ("mtu_foreign", foreign()),
        ("mtu_service", service()),
        ("mtu_void", void()),
    ]
}

/// 1500 in each direction, and nothing to report.
fn clean() -> Run {
    let found = PathResult {
        up: Some(path_direction(false, 1500)),
        down: Some(path_direction(false, 1500)),
        ..native()
    };
    run(plan(), found, Outcome::Completed)
}

/// 1400 up, with ICMP filtered, so that TCP stalls; the SYN up is clamped, which keeps segments small down only.
fn black_hole() -> Run {
    let sizes = [(576, 3), (1280, 3), (1396, 3), (1400, 3), (1401, 0), (1403, 0), (1404, 0), (1500, 0)];
    let mut up = PathDirection {
        discovery: Discovery::Silent,
        black_hole: Some(BlackHole { first: 1401, last: 1500, cause: BlackHoleCause::IcmpFiltered }),
        limiting_hop: hop("10.71.1.1", 1, HopSource::Trace),
        sizes: probes(&sizes),
        ..path_direction(false, 1400)
    };
    up.fragments.tests.push(test(FragmentShape::MayBeCut, 1472, 2, 10, Some(1396)));
    up.tcp =
        Some(TcpDirection { stalled: true, retransmits: Some(7), mss_received: Some(1338), ..tcp(1460) });
    let found = PathResult { up: Some(up), down: Some(path_direction(false, 1500)), ..native() };
    run(plan(), found, Outcome::Completed)
}

/// Fragments do not cross up; down they do in order only.
fn fragments() -> Run {
    let none = |shape, payload, pieces| test(shape, payload, pieces, 0, None);
    let up = vec![
        none(FragmentShape::ByKernel, 2944, 3),
        none(FragmentShape::InOrder, 1000, 2),
        none(FragmentShape::Reversed, 1000, 2),
        none(FragmentShape::FirstAlone, 504, 1),
        none(FragmentShape::RestAlone, 496, 1),
    ];
    let down = vec![
        test(FragmentShape::ByKernel, 2944, 3, 10, Some(1500)),
        test(FragmentShape::InOrder, 1000, 2, 10, Some(524)),
        FragmentTest { pieces_received: Some(10), ..none(FragmentShape::Reversed, 1000, 2) },
    ];
    let mut found = PathResult {
        up: Some(path_direction(false, 1500)),
        down: Some(path_direction(false, 1500)),
        ..native()
    };
    let set = |direction: &mut Option<PathDirection>, delivery, tests| {
        direction.get_or_insert_default().fragments = Fragments { delivery, tests };
    };
    set(&mut found.up, FragmentDelivery::AllDropped, up);
    set(&mut found.down, FragmentDelivery::OutOfOrderDropped, down);
    run(plan(), found, Outcome::Completed)
}

/// IPv6 through a tunnel up and another down; an old path MTU is remembered, large packets are lost oftener.
fn asymmetric() -> Run {
    let reported =
        |mtu| TooBig { size: 1500, mtu, from: "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1".parse().ok(), count: 3 };
    let up = PathDirection {
        limiting_hop: hop("2001:db8:aaaa:bbbb:cccc:dddd:eeee:1", 3, HopSource::TooBig),
        discovery: Discovery::Works,
        too_big: vec![reported(1420)],
        sizes: probes(&[(1280, 3), (1420, 3), (1421, 0), (1500, 0)]),
        cached_mtu: Some(1280),
        ..path_direction(true, 1420)
    };
    let down = PathDirection {
        limiting_hop: hop("2001:db8:aaaa:bbbb:cccc:dddd:eeee:2", 7, HopSource::TooBig),
        discovery: Discovery::Lies,
        too_big: vec![reported(1400)],
        sizes: probes(&[(1280, 3), (1399, 2), (1400, 0), (1480, 0), (1500, 0)]),
        size_dependent_loss: Some(SizeLoss { small: 0.002, large: 0.11, size: 1399, from: None }),
        ..path_direction(true, 1399)
    };
    let found = PathResult { up: Some(up), down: Some(down), ..native() };
    let mut plan = PathPlan { encap: Some("wireguard6".into()), ..plan() };
    plan.target.address = ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x20], 5210).into();
    run(plan, found, Outcome::Completed)
}

/// No pathmeter at the far end: the forward path, by ICMP.
fn foreign() -> Run {
    let up = PathDirection {
        cached_mtu: Some(1492),
        limiting_hop: hop("192.0.2.1", 1, HopSource::TooBig),
        discovery: Discovery::Works,
        too_big: vec![TooBig { size: 1500, mtu: 1492, from: "192.0.2.1".parse().ok(), count: 2 }],
        fragments: Fragments::default(),
        sizes: probes(&[(576, 3), (1492, 3), (1493, 0), (1500, 0)]),
        tcp: Some(TcpDirection { mss_sent: Some(1460), ..TcpDirection::default() }),
        ..path_direction(false, 1492)
    };
    let unknown = |what: &str, why: &str| Unknown {
        direction: Some(Direction::Down),
        what: what.into(),
        why: why.into(),
    };
    let found = PathResult {
        method: PathMethod::Icmp,
        up: Some(up),
        unknown: vec![
            unknown("path MTU", "replies may be cut on the path; it takes `pathmeter serve` at the far end"),
            unknown(
                "fragments",
                "fragments of large replies are visible with CAP_NET_RAW only: `setcap cap_net_raw+ep pathmeter`",
            ),
        ],
        packets: 23,
        ..native()
    };
    run(PathPlan { method: PathMethod::Icmp, ..plan() }, found, Outcome::Completed)
}

/// A service that answers no fragments.
fn service() -> Run {
    let limit = ServiceLimit {
        port: 5683,
        payload: Some(1472),
        silent: Some(1473),
        fragmented_from: 1473,
        refused: None,
        sizes: probes(&[(64, 3), (512, 3), (1472, 3), (1473, 0), (2048, 0), (4096, 0)]),
    };
    let service_plan = ServicePlan {
        port: 5683,
        payload: b"ping".into(),
        fill: b'x',
        reply: Vec::new(),
        timeout: Nanos::from_millis(500),
        largest: 4096,
    };
    let found = PathResult { method: PathMethod::Udp, service: Some(limit), packets: 18, ..native() };
    run(PathPlan { service: Some(service_plan), ..plan() }, found, Outcome::Completed)
}

/// Nothing answers.
fn void() -> Run {
    let why = "nothing came back by ICMP, UDP and TCP; start `pathmeter serve` at the far end, or let ICMP echo through";
    let unknown = vec![Unknown { direction: None, what: "path MTU".into(), why: why.into() }];
    let up = PathDirection { interface_mtu: Some(1500), ..PathDirection::default() };
    let found = PathResult { method: PathMethod::Auto, up: Some(up), unknown, packets: 18, ..native() };
    run(PathPlan { method: PathMethod::Auto, ..plan() }, found, Outcome::Completed)
}

/// What `measure` found before its tests: fragments do not cross up.
pub(crate) fn measured() -> PathResult {
    let mut up = path_direction(false, 1500);
    let tests = vec![test(FragmentShape::ByKernel, 4000, 3, 0, None)];
    up.fragments = Fragments { delivery: FragmentDelivery::AllDropped, tests };
    PathResult { up: Some(up), down: Some(path_direction(false, 1500)), ..native() }
}

/// The same run with this number in every place.
pub(crate) fn of_size(mut run: Run, number: u32) -> Run {
    let Some(found) = &mut run.summary.path else { return run };
    found.packets = u64::from(number);
    for direction in [&mut found.up, &mut found.down].into_iter().flatten() {
        (direction.path_mtu, direction.interface_mtu, direction.cached_mtu) =
            (Some(number), Some(number), Some(number));
        direction.black_hole =
            Some(BlackHole { first: number, last: number, cause: BlackHoleCause::Unknown });
        direction
            .sizes
            .iter_mut()
            .for_each(|probe| (probe.size, probe.sent, probe.received) = (number, number, number));
        direction.size_dependent_loss =
            Some(SizeLoss { small: f64::MAX, large: f64::MAX, size: number, from: None });
        for test in &mut direction.fragments.tests {
            (test.payload, test.pieces, test.sent, test.received) = (number, number, number, number);
        }
        let tcp = direction.tcp.get_or_insert_default();
        (tcp.mss_sent, tcp.mss_received, tcp.largest_segment) = (Some(number), Some(0), Some(number));
    }
    if let Some(service) = &mut found.service {
        (service.payload, service.silent, service.fragmented_from) = (Some(number), Some(number), number);
        service.sizes.iter_mut().for_each(|probe| probe.size = number);
    }
    run.advice.iter_mut().for_each(|one| one.value = number);
    run
}

fn native() -> PathResult {
    PathResult {
        method: PathMethod::Native,
        elapsed: Nanos::from_millis(912),
        packets: 148,
        ..PathResult::default()
    }
}

fn plan() -> PathPlan {
    PathPlan {
        target: Target { host: "far.example".into(), address: ([192, 0, 2, 20], 5210).into() },
        method: PathMethod::Native,
        largest: None,
        service: None,
        encap: None,
        local: LocalOptions::default(),
    }
}

fn run(plan: PathPlan, found: PathResult, outcome: Outcome) -> Run {
    let native = plan.method == PathMethod::Native && plan.service.is_none();
    let peer = native.then(|| host("far"));
    let begun = PathStarted { wall: WallTime(1_785_587_400_000_000_000), plan, host: host("near"), peer };
    let finished =
        Finished { wall: WallTime(1_785_587_401_000_000_000), elapsed: Nanos::from_secs(1), outcome };
    let events =
        [Event::PathStarted(Box::new(begun)), Event::Path(Box::new(found)), Event::Finished(finished)];
    run_of_events("20260801-123000-ab12", "mtu", &events)
}

fn host(name: &str) -> Host {
    let nic = Nic { name: "eth0".into(), mtu: 1500, is_virtual: true, ..Nic::default() };
    Host { name: name.into(), version: "pathmeter 0.1.0".into(), cpus: 8, nic: Some(nic), ..Host::default() }
}

/// Packets of up to this size cross, fragments too.
fn path_direction(ipv6: bool, mtu: u32) -> PathDirection {
    let payload = mtu - headers(ipv6);
    PathDirection {
        ipv6,
        interface_mtu: Some(1500),
        cached_mtu: Some(1500),
        path_mtu: Some(mtu),
        bound: Bound::Exact,
        max_udp_payload: Some(payload),
        discovery: Discovery::NotNeeded,
        fragments: Fragments {
            delivery: FragmentDelivery::Pass,
            tests: vec![test(FragmentShape::ByKernel, 2944, 3, 10, Some(mtu))],
        },
        tcp: Some(tcp(if ipv6 { 1440 } else { 1460 })),
        sizes: probes(&[(576, 3), (mtu, 3)]),
        ..PathDirection::default()
    }
}

fn tcp(mss: u32) -> TcpDirection {
    TcpDirection {
        mss_sent: Some(mss),
        mss_received: Some(mss),
        syn: Some(Syn {
            mss: Some(mss),
            window_scale: Some(7),
            sack: true,
            timestamps: true,
            ttl: 62,
            ecn: false,
        }),
        largest_segment: None,
        segments: Some(12),
        retransmits: Some(0),
        timestamps: true,
        stalled: false,
        mtu_probing: Some(0),
        ..TcpDirection::default()
    }
}

fn test(
    shape: FragmentShape,
    payload: u32,
    pieces: u32,
    received: u32,
    largest_piece: Option<u32>,
) -> FragmentTest {
    let pieces_received = Some(u64::from(received) * u64::from(pieces));
    FragmentTest { shape, payload, pieces, sent: 10, received, pieces_received, largest_piece }
}

fn probes(sizes: &[(u32, u32)]) -> Vec<SizeProbe> {
    let probe = |&(size, received): &(u32, u32)| SizeProbe { size, sent: 3, received };
    sizes.iter().map(probe).collect()
}

fn hop(address: &str, ttl: u8, found_by: HopSource) -> Option<LimitingHop> {
    Some(LimitingHop { address: address.parse().ok(), ttl: Some(ttl), found_by })
}

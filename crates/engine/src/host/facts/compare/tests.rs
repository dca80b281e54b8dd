//! Readings made by hand, for what no machine of the tests has; and this host's own.

use super::*;
use linux::cgroup::CpuQuota;
use linux::netlink::{Bond, Link, LinkStatistics, PauseFrames, WifiPeer};
use linux::nic::{Bus, LinkMode, Nic, PacketClock};
use model::units::BitRate;

fn interface(change: impl FnOnce(&mut Interface)) -> Interface {
    let nic = Nic {
        link: Link { index: 2, name: "eth0".into(), mtu: 1500, ..Link::default() },
        addresses: Vec::new(),
        driver: Some("ena".into()),
        speed: None,
        mode: LinkMode::default(),
        offloads: vec![Offload::Tso, Offload::Gso, Offload::Gro],
        packet_clock: PacketClock::Kernel,
        coalescing: None,
        is_virtual: false,
    };
    let mut interface = Interface {
        nic,
        members: Vec::new(),
        counters: Vec::new(),
        pause: None,
        qdiscs: Vec::new(),
        wifi: Vec::new(),
        bus: None,
        threads: BTreeMap::new(),
    };
    change(&mut interface);
    interface
}

fn reading(interface: Interface) -> Reading {
    Reading { interfaces: vec![interface], ..Reading::default() }
}

/// The facts of an interface that changed from one to the other, but for its MTU.
fn moved(before: impl FnOnce(&mut Interface), after: impl FnOnce(&mut Interface)) -> Vec<HostFact> {
    let mut found = facts(&reading(interface(before)), &reading(interface(after)));
    found.retain(|fact| fact.name != FactName::InterfaceMtu);
    found
}

fn fact(name: FactName, of: &str, value: f64) -> HostFact {
    HostFact::new(name, of, value)
}

#[test]
fn what_did_not_move_is_no_fact() {
    assert_eq!(moved(|_| {}, |_| {}), []);
    let quiet = facts(&Reading::default(), &Reading::default());
    assert_eq!(quiet, []);
    let other = interface(|one| one.nic.link.index = 3);
    assert_eq!(facts(&reading(interface(|_| {})), &reading(other)), [], "the route changed");
}

#[test]
fn quotas_firewalls_and_tables_are_compared_by_their_names() {
    let quota =
        |group: &str, periods, throttled| CpuQuota { group: group.into(), cpus: 0.5, periods, throttled };
    let before = Reading {
        quotas: vec![quota("/a", 100, 10), quota("/b", 5, 0)],
        firewall: BTreeMap::from([("filter input".into(), 7)]),
        conntrack_drops: 3,
        throttled: Some(4),
        ..Reading::default()
    };
    let after = Reading {
        quotas: vec![quota("/a", 200, 100), quota("/new", 9, 9)],
        firewall: BTreeMap::from([("filter input".into(), 9), ("lw in".into(), 5)]),
        conntrack_drops: 8,
        conntrack: Some((65_000, 65_536)),
        throttled: Some(6),
        frequency: Some(("powersave".into(), 800_000_000, 3_200_000_000)),
        buffers: vec![("net.ipv4.tcp_rmem", 212_992)],
        ..Reading::default()
    };
    let wanted = [
        fact(FactName::ConntrackDrops, "", 5.0),
        fact(FactName::ConntrackTable, "", 65_000.0).of_whole(65_536.0),
        fact(FactName::CpuQuota, "/a", 0.9).of_whole(0.5),
        fact(FactName::FirewallDrops, "filter input", 2.0),
        fact(FactName::FirewallDrops, "lw in", 5.0),
        fact(FactName::CpuFrequency, "powersave", 8e8).of_whole(3.2e9),
        fact(FactName::CpuThrottled, "", 2.0),
        fact(FactName::BufferLimit, "net.ipv4.tcp_rmem", 212_992.0),
    ];
    assert_eq!(facts(&before, &after), wanted);
}

#[test]
fn counters_of_the_link_become_facts_with_what_they_are_a_part_of() {
    let counted = |received, missed, crc| LinkStatistics {
        rx_packets: received,
        rx_missed: missed,
        rx_fifo: 1,
        rx_crc: crc,
        collisions: crc,
        ..LinkStatistics::default()
    };
    let found = moved(
        |one| {
            (one.nic.link.statistics, one.pause) =
                (counted(1_000, 5, 0), Some(PauseFrames { received: 3, sent: 0 }))
        },
        |one| {
            (one.nic.link.statistics, one.pause) =
                (counted(21_000, 405, 2), Some(PauseFrames { received: 9, sent: 4 }));
            one.nic.link.carrier_losses = Some(1);
        },
    );
    let wanted = [
        fact(FactName::RingDrops, "eth0", 400.0).of_whole(20_000.0),
        fact(FactName::LineErrors, "eth0", 2.0).of_whole(20_000.0),
        fact(FactName::HalfDuplex, "eth0", 2.0),
        fact(FactName::CarrierLosses, "eth0", 1.0),
        fact(FactName::PauseReceived, "eth0", 6.0),
        fact(FactName::PauseSent, "eth0", 4.0),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn the_discipline_at_the_root_is_the_one_that_counts() {
    let tbf = |packets, overlimits, drops| QdiscStatistics {
        kind: "tbf".into(),
        packets,
        overlimits,
        drops,
        rate: Some(BitRate(42_000_000)),
        is_root: true,
        ..QdiscStatistics::default()
    };
    let below = QdiscStatistics { kind: "bfifo".into(), drops: 9, ..QdiscStatistics::default() };
    let found = moved(
        |one| one.qdiscs = vec![below.clone(), tbf(100, 50, 0)],
        |one| one.qdiscs = vec![below.clone(), tbf(20_100, 9_050, 12)],
    );
    let wanted = [
        fact(FactName::QueueHeld, "tbf of eth0", 9_000.0).of_whole(20_000.0),
        fact(FactName::QueueRate, "tbf of eth0", 42e6),
        fact(FactName::QueueDrops, "tbf of eth0", 12.0).of_whole(20_000.0),
    ];
    assert_eq!(found, wanted);
    // A discipline that held nothing back has no rate that matters.
    let idle = moved(|one| one.qdiscs = vec![tbf(100, 50, 0)], |one| one.qdiscs = vec![tbf(200, 50, 0)]);
    assert_eq!(idle, []);
}

#[test]
fn counters_of_a_drivers_queues_are_added_up_and_unknown_ones_left_out() {
    let counted = |stops: [u64; 2], exceeded| {
        vec![
            ("queue_0_tx_queue_stop".to_owned(), stops[0]),
            ("queue_1_tx_queue_stop".to_owned(), stops[1]),
            ("bw_out_allowance_exceeded".to_owned(), exceeded),
            ("queue_0_rx_cnt".to_owned(), exceeded),
        ]
    };
    let found =
        moved(|one| one.counters = counted([1, 2], 14_368), |one| one.counters = counted([4, 7], 15_314));
    let wanted = [
        fact(FactName::CloudAllowance, "bw_out_allowance_exceeded of eth0 (ena)", 946.0),
        fact(FactName::DriverStops, "queue_N_tx_queue_stop of eth0 (ena)", 8.0),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn hardware_reports_how_it_is_set_up() {
    let found = moved(
        |_| {},
        |one| {
            let (speed, best) = (Some(BitRate(100_000_000)), Some(BitRate(1_000_000_000)));
            one.nic.mode = LinkMode { speed, best };
            one.nic.offloads = vec![Offload::Gso];
            one.bus = Some(Bus { name: "PCIe 2.5 GT/s x1".into(), rate: BitRate(2_000_000_000), best: None });
        },
    );
    let wanted = [
        fact(FactName::LinkSpeed, "eth0", 1e8).of_whole(1e9),
        fact(FactName::Bus, "PCIe 2.5 GT/s x1 of eth0", 2e9),
        fact(FactName::OffloadsOff, "tso, gro of eth0", 2.0),
    ];
    assert_eq!(found, wanted);
    let virtual_one = moved(|_| {}, |one| (one.nic.offloads, one.nic.is_virtual) = (Vec::new(), true));
    assert_eq!(virtual_one, [], "what a virtual device leaves undone costs nothing");
}

#[test]
fn bonds_wifi_and_tunnels_are_found() {
    let member = |index, sent| Link {
        index,
        statistics: LinkStatistics { tx_bytes: sent, ..LinkStatistics::default() },
        ..Link::default()
    };
    let bond = Some(Bond { mode: 4, hash: 0 });
    let found = moved(
        |one| (one.nic.link.bond, one.members) = (bond, vec![member(7, 50), member(8, 60)]),
        |one| (one.nic.link.bond, one.members) = (bond, vec![member(7, 1_050), member(8, 70)]),
    );
    assert_eq!(found, [fact(FactName::BondMember, "eth0 (layer2)", 1_000.0).of_whole(1_010.0)]);

    let station = |packets, retries| {
        let rate = Some(BitRate(86_000_000));
        vec![WifiPeer { signal_dbm: Some(-71), tx_rate: rate, tx_packets: packets, tx_retries: retries }]
    };
    let found = moved(|one| one.wifi = station(100, 10), |one| one.wifi = station(1_100, 310));
    let wanted = [
        fact(FactName::WifiSignal, "eth0", -71.0),
        fact(FactName::WifiRate, "eth0", 86e6),
        fact(FactName::WifiRetries, "eth0", 300.0).of_whole(1_000.0),
    ];
    assert_eq!(found, wanted);
    let access_point = moved(|_| {}, |one| one.wifi = [station(9, 1), station(8, 2)].concat());
    assert_eq!(access_point, [], "which of the stations it is is not known");

    let tunnel = |time: u64| {
        let mut device = interface(|one| one.nic.link.kind = Some("tun".into()));
        device.threads = BTreeMap::from([(71, Nanos::from_millis(time)), (72, Nanos::ZERO)]);
        Reading { at: model::time::MonoTime(1_000_000 * time), ..reading(device) }
    };
    let found = facts(&tunnel(100), &tunnel(1_100));
    let shares: Vec<&HostFact> = found.iter().filter(|fact| fact.name == FactName::Tunnel).collect();
    assert_eq!(shares, [&fact(FactName::Tunnel, "eth0 (tun)", 1.0)]);
}

#[test]
fn this_host_is_read_and_has_the_settings_of_tcp() {
    let mut before = super::super::FactsBefore::start(Some(std::net::Ipv4Addr::LOCALHOST.into()));
    let found = before.since();
    let buffers: Vec<&str> =
        found.iter().filter(|fact| fact.name == FactName::BufferLimit).map(|fact| fact.of.as_str()).collect();
    assert_eq!(buffers, ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"], "{found:?}");
    assert!(
        found.iter().all(|fact| fact.name != FactName::InterfaceMtu),
        "loopback is not an interface of a path: {found:?}"
    );
    assert_eq!(before.since(), [], "what was read is used once");
}

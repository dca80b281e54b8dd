//! Devices, neighbours, routes, queueing disciplines and offloads, made in namespaces and checked by the system's own tools.
//!
//! Making namespaces needs root or user namespaces; without either each test here reports on stderr that it is skipped. The
//! same holds for functions that this kernel lacks: the error must name the lack. Functions that many kernels lack are tested
//! in a virtual machine, by `crates/pathmeter/tests/vm/devices.rs`.

mod cable;

use cable::{Cable, arrives, six, tool, v4, v6};
use packet::NeighbourState;
use pathmeter_linux::OsError;
use pathmeter_linux::namespace::Namespace;
use pathmeter_linux::netlink::{
    Encap, Neighbour, NeighbourChanges, Netem, Network, Qdisc, RouteSpec, Tbf, VxlanSpec, WireguardSpec,
    configure_wireguard,
};
use pathmeter_linux::nft::firewall_drops;
use pathmeter_linux::nic::{self, Nic, Offload};
use pathmeter_linux::tap::Tap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use units::{BitRate, Bytes, Nanos};

/// The cable, or `None` after saying why not: only for want of permission.
fn cable() -> Option<Cable> {
    match Cable::build() {
        Ok(cable) => Some(cable),
        Err(error) if error.errno() == Some(libc::EPERM) => {
            skip::skip(format!("needs CAP_SYS_ADMIN: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether it was made; false, loudly, when this kernel lacks it.
#[track_caller]
fn made(result: Result<(), OsError>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) if error.is_unsupported() => {
            skip::skip(format!("this kernel lacks it: {error}"));
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_bridge_forwards_at_once_between_its_ports() {
    let Some(cable) = cable() else { return };
    let other = Namespace::new().expect("one more namespace");
    let [mut here, mut there] = cable.networks();
    // here -- (eth0 there br0 port) -- other
    there.delete_address("eth0", v4(0, 2), 24).expect("it has this address");
    there.add_bridge("br0").expect("the bridge is made");
    there.add_veth("port", "eth0", &other).expect("a second cable");
    for port in ["eth0", "port"] {
        there.set_master(port, Some("br0")).expect("it becomes a port");
        there.set_up(port).expect("it goes up");
    }
    there.set_up("br0").expect("it goes up");
    let mut end = other.run(Network::open).expect("it opens").expect("netlink opens");
    end.set_up("eth0").expect("it goes up");
    end.add_address("eth0", v4(0, 3), 24).expect("an address");
    assert!(arrives((&cable.here, v4(0, 1)), (&other, v4(0, 3))));
    assert_eq!(there.link("port").expect("it is there").master, there.link("br0").ok().map(|br| br.index));
    there.set_master("port", None).expect("it is freed");
    assert_eq!(there.link("port").expect("it is there").master, None);
    here.delete_link("eth0").expect("the cable can go");
    let error = there.set_master("eth0", Some("br0")).expect_err("it is gone");
    assert!(error.to_string().contains("eth0") && !error.is_unsupported(), "{error}");
}

#[test]
fn a_vxlan_carries_packets() {
    let Some(cable) = cable() else { return };
    for (outer, id) in [(v4 as fn(u8, u8) -> IpAddr, 7), (v6, 8)] {
        for (mut network, [local, remote]) in cable.networks().into_iter().zip([[1, 2], [2, 1]]) {
            let name = format!("vxlan{id}");
            // Two devices on one port must be of one family.
            let port = 4780 + u16::try_from(id).expect("it is small");
            let spec = VxlanSpec { id, local: outer(0, local), remote: outer(0, remote), port };
            if !made(network.add_vxlan(&name, &spec)) {
                return;
            }
            network.set_up(&name).expect("it goes up");
            network.add_address(&name, v4(id.try_into().expect("small"), local), 24).expect("an address");
        }
        let net = id.try_into().expect("small");
        let shown = tool(&cable.here, &format!("ip -d link show vxlan{id}"));
        assert!(shown.contains(&format!("id {id} remote {} local {}", outer(0, 2), outer(0, 1))), "{shown}");
        assert!(shown.contains(&format!("dstport {}", 4780 + id)), "{shown}");
        assert!(arrives((&cable.here, v4(net, 1)), (&cable.there, v4(net, 2))), "vxlan{id}");
    }
}

#[test]
fn segment_routing_carries_ipv4_as_a_tunnel_would() {
    let Some(cable) = cable() else { return };
    for (end, mut network, [own, far]) in [&cable.here, &cable.there]
        .into_iter()
        .zip(cable.networks())
        .zip([[1, 2], [2, 1]])
        .map(|((a, b), c)| (a, b, c))
    {
        end.set_sysctl("net/ipv6/conf/all/seg6_enabled", "1").expect("SRv6 has its switch");
        end.set_sysctl("net/ipv6/conf/eth0/seg6_enabled", "1").expect("SRv6 has its switch");
        end.set_sysctl("net/ipv4/conf/all/rp_filter", "0").expect("it has a switch");
        end.set_sysctl("net/ipv4/conf/eth0/rp_filter", "0").expect("it has a switch");
        end.set_sysctl("net/ipv4/ip_forward", "1").expect("it has a switch");
        end.set_sysctl("net/ipv6/conf/all/forwarding", "1").expect("it has a switch");
        network.add_address("lo", v4(6, own), 32).expect("an address");
        let to = RouteSpec {
            to: Some((v4(6, far), 32)),
            device: Some("eth0".into()),
            mtu: Some(1460),
            encap: Some(Encap::Seg6 { segments: vec![six(v6(far, far))] }),
            ..RouteSpec::default()
        };
        if !made(network.add_route_spec(&to)) {
            return;
        }
        let segment =
            RouteSpec { to: Some((v6(far, far), 128)), via: Some(v6(0, far)), ..RouteSpec::default() };
        network.add_route_spec(&segment).expect("the segment has a route");
        let decapsulate = RouteSpec {
            to: Some((v6(own, own), 128)),
            device: Some("eth0".into()),
            encap: Some(Encap::EndDx4 { next_hop: Ipv4Addr::UNSPECIFIED }),
            ..RouteSpec::default()
        };
        network.add_route_spec(&decapsulate).expect("it takes packets out");
        let again = network.add_route_spec(&to).expect_err("it is there");
        assert_eq!(again.errno(), Some(libc::EEXIST), "{again}");
    }
    let shown = tool(&cable.here, "ip -4 route show 10.98.6.2");
    assert!(shown.contains("encap seg6 mode encap.red segs 1 [ fd98:0:0:2::2 ]"), "{shown}");
    assert!(shown.contains("mtu 1460"), "{shown}");
    let shown = tool(&cable.here, "ip -6 route show fd98:0:0:1::1");
    assert!(shown.contains("encap seg6local action End.DX4 nh4 0.0.0.0"), "{shown}");
    assert!(arrives((&cable.here, v4(6, 1)), (&cable.there, v4(6, 2))));
}

#[test]
fn routes_are_made_as_given() {
    let Some(cable) = cable() else { return };
    let [mut network, _] = cable.networks();
    for (net, gateway) in [((v4(7, 0), 24), v4(0, 2)), ((v6(7, 0), 64), v6(0, 2))] {
        let spec = RouteSpec { to: Some(net), via: Some(gateway), mtu: Some(1300), ..RouteSpec::default() };
        network.add_route_spec(&spec).expect("it is made");
        let direction = network.route_to(net.0).expect("there is a route");
        assert_eq!((direction.gateway, direction.mtu), (Some(gateway), Some(1300)));
        let default = RouteSpec { via: Some(gateway), ..RouteSpec::default() };
        network.add_route_spec(&default).expect("it is made");
        let elsewhere = if net.0.is_ipv4() { v4(9, 1) } else { v6(9, 1) };
        assert_eq!(network.route_to(elsewhere).expect("there is a route").gateway, Some(gateway));
    }
    let mixed = RouteSpec { to: Some((v4(8, 0), 24)), via: Some(v6(0, 2)), ..RouteSpec::default() };
    let error = network.add_route_spec(&mixed).expect_err("families differ").to_string();
    assert!(
        error.contains("10.98.8.0/24 via fd98::2: network and gateway are of different families"),
        "{error}"
    );
    assert!(network.add_route_spec(&RouteSpec::default()).is_err());
}

#[test]
fn a_macvtap_and_a_tap_have_files() {
    let Some(cable) = cable() else { return };
    let [mut network, _] = cable.networks();
    if made(network.add_macvtap("macvtap0", "eth0")) {
        let shown = tool(&cable.here, "ip -d link show macvtap0");
        assert!(shown.contains("macvtap mode bridge"), "{shown}");
        network.set_up("macvtap0").expect("it goes up");
        let tap = cable.here.run(|| Tap::of_macvtap("macvtap0", true)).expect("it opens");
        // Rootless, the device file belongs to somebody else.
        if let Err(error) = &tap {
            let refused = matches!(error.errno(), Some(libc::EPERM | libc::EACCES));
            assert!(refused && !pathmeter_linux::privilege::is_root(), "{error}");
        }
    }
    let tap = cable.here.run(|| Tap::open("tap0", true)).expect("it opens");
    let tap = match tap {
        Err(error) if error.is_unsupported() => {
            skip::skip(format!("this kernel lacks it: {error}"));
            return;
        }
        other => other.expect("the tap is made"),
    };
    let taken = cable.here.run(|| Tap::open("tap0", true)).expect("it opens").expect_err("the name is taken");
    assert!(taken.to_string().starts_with("make tap tap0: "), "{taken}");
    let long = cable.here.run(|| Tap::open("a-name-of-20-letters", true)).expect("it opens");
    assert_eq!(long.expect_err("it is too long").errno(), Some(libc::ENAMETOOLONG));
    network.set_up("tap0").expect("it goes up");
    let before = network.link("tap0").expect("it is there").statistics.rx_packets;
    let mut file = std::fs::File::from(tap.into_fd());
    // A virtio header of zeros, then a frame to a group without members, of an experimental type.
    let mut frame = vec![0; 12 + 60];
    frame[12..18].fill(0xff);
    frame[18] = 2;
    frame[24..26].copy_from_slice(&[0x88, 0xb5]);
    assert_eq!(file.write(&frame).expect("the tap takes it"), frame.len());
    let after = network.link("tap0").expect("it is there").statistics;
    assert_eq!(after.rx_packets, before + 1);
    drop(file);
    assert!(network.link("tap0").is_err(), "it goes with its file");
}

#[test]
fn neighbours_are_listed_watched_and_set() {
    let Some(cable) = cable() else { return };
    let [mut here, mut there] = cable.networks();
    let mut changes = cable.here.run(NeighbourChanges::open).expect("it opens").expect("netlink opens");
    there.set_mac("eth0", [2, 0, 0, 0, 0, 9]).expect("a hardware address");
    let known = |network: &mut Network, address| {
        let all = network.neighbours().expect("they are listed");
        all.into_iter().find(|neighbour| neighbour.address == address)
    };
    for (from, to) in [(v4(0, 1), v4(0, 2)), (v6(0, 1), v6(0, 2))] {
        assert_eq!(known(&mut here, to), None);
        assert!(arrives((&cable.here, from), (&cable.there, to)));
        let entry = known(&mut here, to).expect("it was asked");
        assert_eq!((entry.mac, entry.state), (Some([2, 0, 0, 0, 0, 9]), NeighbourState::Reachable));
        // No host has this address.
        let absent = if to.is_ipv4() { v4(0, 77) } else { v6(0, 77) };
        let sender = cable.here.run(|| UdpSocket::bind((from, 0))).expect("it opens").expect("it binds");
        sender.send_to(b"?", (absent, 9)).expect("it is queued");
        let mut reported: Vec<Neighbour> = Vec::new();
        for _ in 0..50 {
            reported.extend(changes.next(Nanos::from_millis(200)).expect("changes are reported"));
            if reported
                .iter()
                .any(|change| change.address == absent && change.state == NeighbourState::Failed)
            {
                break;
            }
        }
        assert!(
            reported.iter().any(|change| change.address == to && change.mac == entry.mac),
            "{reported:?}"
        );
        assert!(
            reported.iter().any(|change| change.address == absent && change.state == NeighbourState::Failed),
            "{reported:?}"
        );
        here.add_neighbour("eth0", absent, [2, 0, 0, 0, 0, 7]).expect("it is set");
        let set = known(&mut here, absent).expect("it is there");
        assert_eq!((set.mac, set.state), (Some([2, 0, 0, 0, 0, 7]), NeighbourState::Permanent));
    }
}

#[test]
fn links_get_names_and_go_down() {
    let Some(cable) = cable() else { return };
    let [mut network, _] = cable.networks();
    network.set_down("eth0").expect("it goes down");
    network.set_name("eth0", "lan").expect("it is renamed");
    let link = network.link("lan").expect("it is there");
    assert!(!link.is_up && network.link("eth0").is_err());
    network.set_mac("lan", [2, 1, 2, 3, 4, 5]).expect("a hardware address");
    assert_eq!(network.link("lan").expect("it is there").mac, Some([2, 1, 2, 3, 4, 5]));
    let error = network.set_mac("lan", [1, 1, 2, 3, 4, 5]).expect_err("a group has no interface");
    assert!(!error.is_unsupported(), "{error}");
}

#[test]
fn a_token_bucket_holds_and_counts() {
    let Some(cable) = cable() else { return };
    let [mut network, _] = cable.networks();
    let tbf = Tbf { rate: BitRate(10_000_000), burst: Bytes(2000), limit: Bytes(5000) };
    network.set_qdiscs("eth0", &[Qdisc::Tbf(tbf)]).expect("it is set");
    let shown = tool(&cable.here, "tc qdisc show dev eth0");
    assert!(shown.contains("tbf") && shown.contains("rate 10Mbit burst 2000b"), "{shown}");
    // Ten frames of 1042 bytes at once: one or two leave, five at most wait.
    let sender = cable.here.run(|| UdpSocket::bind((v4(0, 1), 0))).expect("it opens").expect("it binds");
    assert!(arrives((&cable.here, v4(0, 1)), (&cable.there, v4(0, 2))));
    for _ in 0..200 {
        sender.send_to(&[0; 1000], (v4(0, 2), 9)).expect("the datagram is taken");
    }
    let found = network.qdiscs("eth0").expect("they are listed");
    let bucket = found.iter().find(|qdisc| qdisc.kind == "tbf").expect("it is there");
    assert!(bucket.drops > 0 && bucket.packets > 0, "{found:?}");
    assert!(bucket.overlimits > 0 && bucket.is_root, "{found:?}");
    assert_eq!(bucket.rate, Some(tbf.rate));

    // Faster than 32 bits of bytes per second say, and with room in packets.
    let fast = Tbf { rate: BitRate(40_000_000_000), burst: Bytes(100_000), limit: Bytes(1_000_000) };
    network.set_qdiscs("eth0", &[Qdisc::Tbf(fast), Qdisc::Pfifo(17)]).expect("they are set");
    let shown = tool(&cable.here, "tc qdisc show dev eth0");
    let found = network.qdiscs("eth0").expect("they are listed");
    let roots = found.iter().filter(|qdisc| qdisc.is_root).map(|qdisc| (qdisc.kind.as_str(), qdisc.rate));
    assert_eq!(roots.collect::<Vec<_>>(), [("tbf", Some(fast.rate))]);
    assert!(shown.contains("rate 40Gbit") && shown.contains("pfifo 2: parent 1:1 limit 17p"), "{shown}");
    network.set_qdiscs("eth0", &[Qdisc::Bfifo(Bytes(12345))]).expect("it takes their place");
    let shown = tool(&cable.here, "tc qdisc show dev eth0");
    assert!(shown.contains("bfifo 1: root refcnt") && shown.contains("12345b"), "{shown}");
    network.delete_qdiscs("eth0").expect("it is taken away");
    assert_eq!(network.delete_qdiscs("eth0").expect_err("nothing is left").errno(), Some(libc::ENOENT));
}

#[test]
fn what_this_kernel_lacks_is_reported_as_that() {
    let Some(cable) = cable() else { return };
    let [mut network, _] = cable.networks();
    let netem = Netem {
        delay: Nanos::from_millis(20),
        jitter: Nanos::ZERO,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        limit: 555,
        rate: None,
    };
    let tbf = Tbf { rate: BitRate(10_000_000), burst: Bytes(2000), limit: Bytes(5000) };
    for (what, outcome) in [
        ("vlan", network.add_vlan("eth0.9", "eth0", 9)),
        ("ip6tnl", network.add_ipip6("tun0", six(v6(0, 1)), six(v6(0, 2)))),
        ("wireguard", network.add_wireguard("wg0")),
        ("netem", network.set_qdiscs("eth0", &[Qdisc::Tbf(tbf), Qdisc::Netem(netem)])),
    ] {
        let Err(error) = outcome else { continue };
        assert!(error.is_unsupported() && error.to_string().contains(what), "{what}: {error}");
        if what == "wireguard" {
            let spec = WireguardSpec { private_key: [1; 32], port: 51820, peer: None };
            let error = cable.here.run(|| configure_wireguard("wg0", &spec)).expect("it opens");
            assert!(error.expect_err("there is none").is_unsupported());
        }
        if what == "netem" {
            let left = tool(&cable.here, "tc qdisc show dev eth0");
            assert!(!left.contains("tbf"), "nothing is left in place: {left}");
        }
    }
}

#[test]
fn a_driver_has_counters_of_its_own() {
    let Some(cable) = cable() else { return };
    let counters = |name: &'static str| cable.here.run(move || nic::driver_counters(name)).expect("it opens");
    let found = counters("eth0");
    let shown = tool(&cable.here, "ethtool -S eth0");
    let peer = found.iter().find(|(name, _)| name == "peer_ifindex").expect("veth counts this");
    assert!(shown.contains(&format!("peer_ifindex: {}\n", peer.1)), "{shown}");
    assert_eq!(found.len(), shown.lines().skip(1).count(), "{shown}");
    assert_eq!((counters("lo"), counters("no-such-link")), (Vec::new(), Vec::new()));
}

#[test]
fn what_the_firewall_drops_is_counted() {
    let Some(cable) = cable() else { return };
    for rule in ["table inet lw", "chain inet lw in { type filter hook input priority 0; }"] {
        tool(&cable.there, &format!("nft add {rule}"));
    }
    tool(&cable.there, "nft add rule inet lw in udp dport 9 counter drop");
    tool(&cable.there, "nft add rule inet lw in udp dport 10 counter accept");
    let sender = cable.here.run(|| UdpSocket::bind((v4(0, 1), 0))).expect("it opens").expect("it binds");
    for port in [9, 9, 9, 10] {
        sender.send_to(&[0; 100], (v4(0, 2), port)).expect("the datagram is taken");
    }
    assert!(arrives((&cable.here, v4(0, 1)), (&cable.there, v4(0, 2))));
    let dropped = cable.there.run(firewall_drops).expect("it opens");
    assert_eq!(dropped.into_iter().collect::<Vec<_>>(), [("lw in".to_owned(), 3)]);
}

#[test]
fn offloads_are_switched() {
    let Some(cable) = cable() else { return };
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro, Offload::UdpSegmentation] {
        for on in [false, true] {
            cable
                .here
                .run(|| nic::set_offload("eth0", offload, on))
                .expect("it opens")
                .expect("it is switched");
            let nic = cable.here.run(|| Nic::named("eth0")).expect("it opens").expect("it is there");
            assert_eq!(nic.has(offload), on, "{offload:?}");
        }
    }
    cable
        .here
        .run(|| nic::set_offload("eth0", Offload::Tso, false))
        .expect("it opens")
        .expect("it is switched");
    let shown = tool(&cable.here, "ethtool -k eth0");
    assert!(
        shown.contains("tx-tcp-segmentation: off") && shown.contains("tx-tcp6-segmentation: off"),
        "{shown}"
    );
    let error = cable.here.run(|| nic::set_offload("eth0", Offload::Lro, true)).expect("it opens");
    assert!(error.as_ref().is_err_and(OsError::is_unsupported), "{error:?}");
    let error = cable.here.run(|| nic::set_offload("no-such-link", Offload::Gro, true)).expect("it opens");
    assert!(error.as_ref().is_err_and(|error| !error.is_unsupported()), "{error:?}");
}

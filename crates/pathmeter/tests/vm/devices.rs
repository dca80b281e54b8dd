//! Devices that a kernel may lack: made by our own netlink messages and looked at with the system's tools, inside a virtual
//! machine, whose kernel has them.

use super::cable::{Cable, arrives, six, tool, v4, v6};
use linux::netlink::{Netem, Network, Qdisc, Tbf, WireguardPeer, WireguardSpec, configure_wireguard};
use model::units::{BitRate, Bytes, Nanos};

#[test]
#[ignore = "a virtual machine runs it: a_machine_takes_orders_and_loads_what_its_network_needs"]
fn a_vlan_has_its_id() {
    let cable = Cable::build().expect("this is root of a machine of its own");
    for (mut network, host) in cable.networks().into_iter().zip([1, 2]) {
        network.add_vlan("eth0.9", "eth0", 9).expect("the kernel has it");
        network.set_up("eth0.9").expect("it goes up");
        network.add_address("eth0.9", v4(9, host), 24).expect("an address");
    }
    assert!(tool(&cable.here, "ip -d link show eth0.9").contains("802.1Q id 9"));
    assert!(arrives((&cable.here, v4(9, 1)), (&cable.there, v4(9, 2))));
}

#[test]
#[ignore = "a virtual machine runs it: a_machine_takes_orders_and_loads_what_its_network_needs"]
fn ipv4_passes_in_ipv6() {
    let cable = Cable::build().expect("this is root of a machine of its own");
    for (mut network, [local, remote]) in cable.networks().into_iter().zip([[1, 2], [2, 1]]) {
        network.add_ipip6("tun0", six(v6(0, local)), six(v6(0, remote))).expect("the kernel has it");
        network.set_up("tun0").expect("it goes up");
        network.add_address("tun0", v4(5, local), 24).expect("an address");
    }
    let shown = tool(&cable.here, "ip -d link show tun0");
    assert!(shown.contains("ipip6") && shown.contains("encaplimit none"), "{shown}");
    assert_eq!(cable.networks()[0].link("tun0").expect("it is there").mtu, 1460, "40 bytes less than 1500");
    assert!(arrives((&cable.here, v4(5, 1)), (&cable.there, v4(5, 2))));
}

#[test]
#[ignore = "a virtual machine runs it: a_machine_takes_orders_and_loads_what_its_network_needs"]
fn a_wireguard_tunnel_carries_packets() {
    let cable = Cable::build().expect("this is root of a machine of its own");
    let spec = |host, peer| WireguardSpec { private_key: [host; 32], port: 51820, peer };
    let mut keys = Vec::new();
    for (end, host) in [(&cable.here, 1), (&cable.there, 2)] {
        let mut network = end.run(Network::open).expect("it opens").expect("netlink opens");
        network.add_wireguard("wg0").expect("the kernel has it");
        keys.push(
            end.run(|| configure_wireguard("wg0", &spec(host, None))).expect("it opens").expect("it is set"),
        );
        network.add_address("wg0", v4(4, host), 24).expect("an address");
        network.set_up("wg0").expect("it goes up");
    }
    assert_ne!(keys[0], keys[1]);
    for (end, host, far) in [(&cable.here, 1, 2_u8), (&cable.there, 2, 1)] {
        let endpoint = (v6(0, far), 51820).into();
        let peer = Some(WireguardPeer { public_key: keys[usize::from(far) - 1], endpoint });
        let key =
            end.run(|| configure_wireguard("wg0", &spec(host, peer))).expect("it opens").expect("it is set");
        assert_eq!(key, keys[usize::from(host) - 1], "the key stays");
    }
    assert!(arrives((&cable.here, v4(4, 1)), (&cable.there, v4(4, 2))));
}

#[test]
#[ignore = "a virtual machine runs it: a_machine_takes_orders_and_loads_what_its_network_needs"]
fn the_network_emulator_does_as_configured() {
    let cable = Cable::build().expect("this is root of a machine of its own");
    let [mut network, _] = cable.networks();
    let netem = Netem {
        delay: Nanos::from_millis(20),
        jitter: Nanos::from_millis(3),
        loss: 0.25,
        duplicate: 0.01,
        reorder: 0.02,
        limit: 555,
        rate: Some(BitRate(8_000_000)),
    };
    let tbf = Tbf { rate: BitRate(10_000_000), burst: Bytes(2000), limit: Bytes(5000) };
    network.set_qdiscs("eth0", &[Qdisc::Tbf(tbf), Qdisc::Netem(netem)]).expect("the kernel has it");
    let shown = tool(&cable.here, "tc qdisc show dev eth0");
    for part in [
        "netem 2: parent 1:1 limit 555",
        "delay 20ms",
        "3ms",
        "loss 25%",
        "duplicate 1%",
        "reorder 2%",
        "rate 8Mbit",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

//! Real interfaces taken into a lab, and given back. A namespace stands for the host, another for the box between.

use crate::{can_build, run};
use linux::namespace::Namespace;
use linux::netlink::{Link, Network, RouteSpec};
use pathmeter_lab::build::Lab;
use pathmeter_lab::error::LabError;
use pathmeter_lab::shipped::SHIPPED;
use pathmeter_lab::topology::Topology;
use std::net::IpAddr;

/// Two interfaces of `host`, of names that no other run has, lead to `the_box`, which forwards.
fn host_and_box(names: [&str; 2]) -> (Namespace, Namespace) {
    let (host, the_box) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    for setting in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
        the_box.set_sysctl(setting, "1").unwrap();
    }
    let ports = [("lan", "192.0.2.1", "2001:db8:1::1"), ("wan", "198.51.100.1", "2001:db8:2::1")];
    for (name, (port, v4, v6)) in names.into_iter().zip(ports) {
        host.run(|| Network::open()?.add_veth(name, port, &the_box)).unwrap().unwrap();
        the_box
            .run(|| {
                let mut network = Network::open()?;
                network.set_up(port)?;
                network.add_address(port, v4.parse().unwrap(), 24)?;
                network.add_address(port, v6.parse().unwrap(), 64)
            })
            .unwrap()
            .unwrap();
    }
    (host, the_box)
}

fn deck(names: [&str; 2]) -> Topology {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "external-deck").unwrap();
    let text = shipped.text.replace("enp1s0", names[0]).replace("enp2s0", names[1]);
    Topology::parse("deck.toml", &text).unwrap()
}

fn links(namespace: &Namespace) -> Vec<Link> {
    namespace.run(|| Network::open()?.links()).unwrap().unwrap()
}

#[test]
fn an_interface_is_taken_and_given_back_as_it_was() {
    if !can_build() {
        return;
    }
    let names = [0, 1].map(|number| format!("r{number}x{}", std::process::id()));
    let names = [names[0].as_str(), names[1].as_str()];
    let (host, _box) = host_and_box(names);
    let own: IpAddr = "203.0.113.7".parse().unwrap();
    let prepared = host.run(|| {
        let mut network = Network::open()?;
        network.set_mtu(names[0], 1600)?;
        network.set_up(names[0])?;
        network.add_address(names[0], own, 24)
    });
    prepared.unwrap().unwrap();
    let before = links(&host);

    let lab = host.run(|| Lab::build(&deck(names))).unwrap().unwrap();
    assert!(links(&host).iter().all(|link| link.is_loopback), "both are away");
    for far in ["198.51.100.2", "2001:db8:2::2"] {
        let ping = run(&lab, "client", &format!("ping -c 1 -W 10 {far}"));
        assert!(ping.succeeded(), "through the box: {ping:?}");
    }
    drop(lab);
    let after = links(&host);
    for (was, is) in before.iter().zip(&after) {
        assert_eq!((&was.name, was.mtu, was.mac, was.is_up), (&is.name, is.mtu, is.mac, is.is_up));
    }
    assert_eq!(before.len(), after.len());
    let addresses = host.run(|| Network::open()?.addresses()).unwrap().unwrap();
    assert!(addresses.iter().any(|entry| entry.address == own && entry.prefix == 24), "{addresses:?}");
}

#[test]
fn one_that_the_host_needs_is_refused() {
    if !can_build() {
        return;
    }
    let names = [0, 1].map(|number| format!("d{number}x{}", std::process::id()));
    let names = [names[0].as_str(), names[1].as_str()];
    let (host, _box) = host_and_box(names);
    let routed = host.run(|| {
        let mut network = Network::open()?;
        network.set_up(names[1])?;
        network.add_address(names[1], "203.0.113.7".parse().unwrap(), 24)?;
        let via = Some("203.0.113.1".parse().unwrap());
        network.add_route_spec(&RouteSpec { via, ..RouteSpec::default() })
    });
    routed.unwrap().unwrap();
    let refused = |names| host.run(|| Lab::build(&deck(names))).unwrap().unwrap_err();
    let error = refused(names);
    assert!(matches!(&error, LabError::Interface { interface, .. } if interface == names[1]), "{error}");
    assert!(error.to_string().contains("default route"), "{error}");
    // The first one had been taken already.
    let there = links(&host);
    assert!(names.iter().all(|name| there.iter().any(|link| link.name == *name)), "{there:?}");
    let error = refused([names[0], "nosuch0"]);
    assert!(error.to_string().contains("interface nosuch0: there is none of that name"), "{error}");
}

//! The topologies that come with the program: each is built here or reports the features it lacks, and matches its file.

use crate::{CPUS, can_build, run};
use pathmeter_lab::build::Lab;
use pathmeter_lab::command::Ended;
use pathmeter_lab::error::LabError;
use pathmeter_lab::shipped::{SHIPPED, Shipped};
use pathmeter_lab::topology::{NodePlace, Topology};
use std::net::IpAddr;
use std::sync::PoisonError;
use std::thread;

#[test]
fn each_is_built_or_reports_its_lacks() {
    if !can_build() {
        return;
    }
    let _busy = CPUS.lock().unwrap_or_else(PoisonError::into_inner);
    // They mostly wait for packets that do not come: all at once takes as long as the slowest.
    let built: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> =
            SHIPPED.iter().map(|shipped| scope.spawn(|| matches_its_file(shipped))).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    for certain in ["direct", "bridge", "forward", "two-routers", "nat44", "vxlan", "ipip6", "black-hole"] {
        assert!(built.iter().any(|name| name == certain), "{certain} is not among {built:?}");
    }
}

/// Its name, when it was built here.
fn matches_its_file(shipped: &Shipped) -> Option<String> {
    let topology = shipped.topology().unwrap();
    // Machines have tests of their own, and the interfaces of real ones are not here.
    if topology.nodes.iter().any(|node| node.place != NodePlace::Namespace) {
        return None;
    }
    match Lab::build(&topology) {
        Ok(lab) => {
            answers(&lab, &topology);
            Some(topology.name)
        }
        Err(LabError::NotOnThisKernel { node, .. }) => {
            assert!(topology.nodes.iter().any(|known| known.name == node), "{node}");
            None
        }
        Err(other) => panic!("{}: {other}", topology.name),
    }
}

fn answers(lab: &Lab, topology: &Topology) {
    for ipv6 in [false, true] {
        let Some(far) = far_end(topology, ipv6) else { continue };
        let reachable = topology.expect.reachable[usize::from(ipv6)];
        let ping = run(lab, &topology.from, &format!("ping {} {far}", timeout(reachable)));
        assert_eq!(ping.succeeded(), reachable, "{} {far}: {ping:?}", topology.name);
        let path_mtu = topology.expect.path_mtu[usize::from(ipv6)];
        if let (true, Some([up, down])) = (reachable, path_mtu)
            && up == down
        {
            exact(lab, topology, far, up);
        }
    }
}

/// A packet of the path MTU crosses, and none larger by a byte.
fn exact(lab: &Lab, topology: &Topology, far: IpAddr, mtu: u32) {
    let headers = if far.is_ipv6() { 48 } else { 28 };
    for (size, crosses) in [(mtu, true), (mtu + 1, false)] {
        let ping = format!("ping {} -M do -s {} {far}", timeout(crosses), size - headers);
        let ping = run(lab, &topology.from, &ping);
        assert_eq!(ping.end == Ended::Code(0), crosses, "{} {far}, {size} bytes: {ping:?}", topology.name);
    }
}

/// Several packets where one must come, for some links lose some; and a long wait only there.
fn timeout(comes: bool) -> &'static str {
    if comes { "-c 4 -i 0.1 -W 10" } else { "-c 1 -W 0.5" }
}

fn far_end(topology: &Topology, ipv6: bool) -> Option<IpAddr> {
    let to = topology.nodes.iter().find(|node| node.name == topology.to)?;
    to.addresses.iter().map(|entry| entry.address).find(|address| address.is_ipv6() == ipv6)
}

#[test]
fn a_tunnel_without_ip6tnl_costs_no_hop_and_reports_its_mtu() {
    if !can_build() {
        return;
    }
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "ipip6").unwrap();
    let lab = Lab::build(&shipped.topology().unwrap()).unwrap();
    let carried = lab.notes().iter().filter(|note| note.contains("SRv6")).count();
    assert!(carried == 0 || carried == 2, "{:?}", lab.notes());
    let far = run(&lab, "client", "ping -c 1 -W 1 -t 3 198.51.100.2");
    assert!(far.succeeded(), "client, B4, AFTR, server: two hops forward. {far:?}");
    let near = run(&lab, "client", "ping -c 1 -W 1 -t 2 198.51.100.2");
    assert!(!near.succeeded(), "{near:?}");
    let large = run(&lab, "client", "ping -c 1 -W 1 -M do -s 1433 198.51.100.2");
    let output = String::from_utf8(large.stdout).unwrap();
    assert!(output.contains("From 192.0.2.1") && output.contains("mtu = 1460"), "{output}");
}

#[test]
fn two_of_the_same_live_side_by_side() {
    if !can_build() {
        return;
    }
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "forward").unwrap();
    let topology = shipped.topology().unwrap();
    let labs = std::thread::scope(|scope| {
        let build = || scope.spawn(|| Lab::build(&topology).unwrap());
        [build(), build()].map(|thread| thread.join().unwrap())
    });
    let [one, other] = labs;
    assert!(run(&one, "client", "ping -c 1 -W 1 198.51.100.2").succeeded());
    drop(one);
    assert!(run(&other, "client", "ping -c 1 -W 1 198.51.100.2").succeeded());
}

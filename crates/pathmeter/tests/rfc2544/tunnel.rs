//! One end of a tunnel of IPv4 in IPv6, made by hand of SRv6's routes, which on the wire is the same.

use super::device::{LITTLE, steps, turn};
use super::net::{ip, may_make_networks};
use super::support::{Running, pathmeter};
use serde_json::Value;
use std::process::Command;

/// A port, the tunnel's end and a port behind it, in a namespace each; removed on drop.
struct Made([String; 3]);

impl Made {
    fn new() -> Made {
        let made = Made(["n", "d", "f"].map(|end| format!("pathmeter-tunnel-{}-{end}", std::process::id())));
        let [near, device, far] = &made.0;
        for ns in &made.0 {
            ip(&["netns", "add", ns]);
        }
        for (port, address, ns) in [("lan", "198.18.0.1/24", near), ("wan", "2001:db8:12::1/64", far)] {
            ip(&["-n", device, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns]);
            ip(&["-n", device, "address", "add", address, "dev", port, "nodad"]);
            ip(&["-n", device, "link", "set", port, "up"]);
            ip(&["-n", ns, "link", "set", "eth0", "up"]);
        }
        for setting in [
            "net.ipv4.ip_forward=1",
            "net.ipv6.conf.all.forwarding=1",
            "net.ipv6.conf.all.seg6_enabled=1",
            "net.ipv6.conf.wan.seg6_enabled=1",
            "net.ipv4.conf.all.rp_filter=0",
            "net.ipv4.conf.wan.rp_filter=0",
        ] {
            let set = Command::new("ip").args(["netns", "exec", device, "sysctl", "-qw", setting]).status();
            assert!(set.expect("ip starts").success(), "sysctl {setting}");
        }
        let inside = |argv: &str| ip(&[&["-n", device], &argv.split(' ').collect::<Vec<_>>()[..]].concat());
        inside("sr tunsrc set 2001:db8:12::1");
        inside("route add 198.19.0.0/16 encap seg6 mode encap.red segs 2001:db8:12::2 dev wan");
        inside("-6 route add 2001:db8:12::9/128 encap seg6local action End.DX4 nh4 198.18.0.2 dev lan");
        made
    }

    /// Starts a benchmark at 1000 frames/s at most, few enough for every queue on the path.
    fn start(&self, argv: &[&str]) -> Running {
        let [near, far] = [&self.0[0], &self.0[2]].map(|ns| format!("{ns}/eth0"));
        let all = ["rfc2544", &near, &far];
        // The device's own address answers for the end of its tunnel, which is no host.
        let gateways = ["--gateway", "198.18.0.1,198.19.0.1,2001:2::1,2001:db8:12::1"];
        Running::start(pathmeter(
            None,
            &[&all[..], &LITTLE, &gateways, &["--tests", "loss", "--json"], argv].concat(),
        ))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for ns in &self.0 {
            Command::new("ip").args(["netns", "delete", ns]).status().ok();
        }
    }
}

#[test]
fn an_end_of_a_tunnel_is_tested_between_ports() {
    if !may_make_networks("an_end_of_a_tunnel_is_tested_between_ports") {
        return;
    }
    let _turn = turn();
    let made = Made::new();
    let argv =
        ["--tunnel", "2001:db8:12::2,2001:db8:12::9", "--both", "--frame", "64,1478,1518", "--link", "1G"];
    let report = made.start(&argv).end().code(0).json();
    let device = &report["devices"][0];
    assert_eq!(device["ports"][0]["tunnel"], Value::Null);
    assert_eq!(device["ports"][1]["tunnel"]["remote"], "2001:db8:12::9");
    assert_eq!(report["setup"]["encaps"], "ipip6");
    let rows = device["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2, "1518 bytes have no room in the tunnel: {device:#}");
    assert!(device["notes"].to_string().contains("40 of them the tunnel's) allows: IPv4 1518"), "{device:#}");
    for (row, size) in rows.iter().zip([64.0, 1478.0]) {
        let line_rate = row["line_rate_pps"].as_f64().expect("it is known");
        assert!(
            (line_rate - 1e9 / ((size + 60.0) * 8.0)).abs() < 0.01,
            "the tunnel's frames are longer: {row:#}"
        );
        let steps = steps(row);
        assert!(steps.iter().all(|(sent, came)| *sent > 100 && sent == came), "{steps:?}");
    }
    // A tunnel with another end than the device's: nothing comes back out of it.
    let wrong = ["--tunnel", "2001:db8:12::2,2001:db8:12::8", "--reverse", "--frame", "64"];
    made.start(&wrong).end().code(3).prints("whether its tunnel has the two ends that were given");
}

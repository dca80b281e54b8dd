//! Paths with faults, made of network namespaces: lost fragments, lost UDP, lost TCP, a lost link, no IPv6.

pub(super) use super::net::{Net, SERVER};

use super::net::{ip, may_make_networks};
use super::support::{Running, pathmeter};
use serde_json::Value;
use std::process::Command;

#[test]
fn the_demo_finds_its_own_fault() {
    if !may_make_networks("the_demo_finds_its_own_fault") {
        return;
    }
    let ended = Running::start(pathmeter(None, &["demo", "--quick", "--json"])).end().code(0);
    let run = ended.json();
    for direction in ["up", "down"] {
        let found = finding(&run, "fragments-dropped", direction);
        assert_eq!(found["evidence"]["working_payload_bytes"], 1472, "{found:#}");
        assert_eq!(run["summary"]["path"][direction]["max_udp_payload"], 1472);
    }
    assert!(run["verdict"]["text"].as_str().unwrap().contains("1472 bytes in each direction"));
    assert!(ended.stderr.contains("The router's own count"), "{}", ended.stderr);
}

#[test]
fn udp_whose_fragments_are_dropped_is_explained_with_the_payload_that_works() {
    let Some(net) = Net::new("udp_whose_fragments_are_dropped") else { return };
    net.drop(&net.client, "ip frag-off & 0x3fff != 0");
    net.drop(&net.server, "ip frag-off & 0x3fff != 0");
    let server = net.serve(&["--iperf3"]);
    for (argv, directions) in [(&[][..], &["up"][..]), (&["-R"], &["down"]), (&["--bidir"], &["up", "down"])]
    {
        let test = [&["throughput", SERVER, "-u", "-l", "8192", "-b", "20M", "-t", "500ms", "--json"], argv]
            .concat();
        let ended = net.client(&test).code(0).prints("To explain this result: which packet sizes cross");
        let run = ended.json();
        for direction in directions {
            assert_eq!(run["summary"][direction]["received"]["datagrams"], 0);
            let found = finding(&run, "fragments-dropped", direction);
            assert_eq!(found["evidence"]["working_payload_bytes"], 1472, "{found:#}");
            assert!(found["advice"].as_str().unwrap().contains("-l 1472"));
        }
        assert_eq!(run["verdict"]["status"], "problem");
    }
    // The payload that works does work, and needs no explanation.
    let ended = net.client(&["throughput", SERVER, "-u", "-l", "1472", "-b", "20M", "-t", "1s", "--json"]);
    assert!(!ended.stderr.contains("To explain"), "{}", ended.stderr);
    assert!(ended.code(0).json()["summary"]["up"]["received"]["datagrams"].as_u64().unwrap() > 0);
    // iPerf3's servers answer no probes of ours, but the host's kernel answers echo requests in fragments.
    let argv =
        ["throughput", SERVER, "--protocol", "iperf3", "-u", "-l", "8192", "-b", "20M", "-t", "1s", "--json"];
    let run = net.client(&argv).code(0).json();
    let found = finding(&run, "fragments-dropped", "up");
    assert_eq!(found["evidence"]["working_payload_bytes"], 1472, "{found:#}");
    assert!(found["title"].as_str().unwrap().contains("datagrams sent in fragments arrived"), "{found:#}");
    server.stop();
}

#[test]
fn fragments_that_cross_are_no_fault() {
    let Some(net) = Net::new("fragments_that_cross_are_no_fault") else { return };
    let _server = net.serve(&[]);
    let run = net.client(&["throughput", SERVER, "-u", "-l", "8192", "-b", "20M", "-t", "500ms", "--json"]);
    let run = run.code(0).json();
    assert!(find(&run, "fragments-dropped", "up").is_none(), "{:#}", run["findings"]);
    assert_eq!(finding(&run, "udp-fragmented", "up")["evidence"]["path_payload_bytes"], 1472);
}

/// Datagrams from even ports vanish, as those that take a dead link of several.
#[test]
fn flows_that_are_dropped_whole_are_named_and_others_measured() {
    let Some(net) = Net::new("flows_that_are_dropped_whole_are_named_and_others_measured") else { return };
    net.drop(&net.server, "udp sport & 1 == 0");
    let _server = net.serve(&[]);
    let args = ["throughput", SERVER, "-u", "-b", "1M", "-P", "8", "-t", "300ms", "--json"];
    let run = net.client(&args).code(0).json();
    assert_eq!(run["summary"]["up"]["streams"].as_array().unwrap().len(), 8);
    let findings = run["findings"].as_array().unwrap();
    let dead = findings.iter().find(|finding| finding["id"] == "dead-flows").expect("some are dropped");
    assert_eq!(
        (&dead["severity"], &dead["evidence"]["opened_streams_count"]),
        (&"warning".into(), &8.into())
    );
}

#[test]
fn udp_that_is_blocked_while_tcp_works() {
    let Some(net) = Net::new("udp_that_is_blocked_while_tcp_works") else { return };
    net.drop(&net.server, "meta l4proto udp");
    let _server = net.serve(&[]);
    let ended = net.client(&["throughput", SERVER, "-u", "-b", "10M", "-t", "1s"]).code(3);
    ended.prints("UDP to 10.77.0.2:5210 gets no answer").prints("firewall").prints("allow UDP port 5210");
    let ended =
        net.client(&["measure", SERVER, "--quick", "--json"]).code(0).prints("going on with TCP alone");
    let run = ended.json();
    assert_eq!(run["tests"].as_array().unwrap().len(), 2, "TCP up and down");
    assert_eq!(run["verdict"]["status"], "problem");
    assert!(run["findings"].as_array().unwrap().iter().any(|f| f["id"] == "udp-unreachable"));
    assert!(run["verdict"]["text"].as_str().unwrap().contains("UDP"), "{}", run["verdict"]);
}

#[test]
fn tcp_that_is_dropped_reports_it_in_time() {
    let Some(net) = Net::new("tcp_that_is_dropped_reports_it_in_time") else { return };
    net.drop(&net.server, "tcp dport 5210");
    let _server = net.serve(&[]);
    let ended = net.client(&["measure", SERVER, "--connect-timeout", "1s"]).code(3);
    ended.prints("10.77.0.2:5210 does not answer on TCP port 5210").prints("firewalls");
    net.client(&["throughput", "10.99.0.1"])
        .code(3)
        .prints("this host has no route to 10.99.0.1")
        .prints("`ip rule`");
}

#[test]
fn a_link_that_goes_down_during_a_test() {
    let Some(net) = Net::new("a_link_that_goes_down_during_a_test") else { return };
    let server = net.serve(&[]);
    for argv in [&["-b", "20M"][..], &["-u", "-b", "20M", "-R"]] {
        let all = [&["throughput", SERVER, "-t", "100s", "-i", "100ms"], argv].concat();
        let client = Running::start(pathmeter(Some(&net.client), &all));
        client.wait_for("bit/s");
        ip(&["-n", &net.server, "link", "set", "eth0", "down"]);
        let ended = client.end().code(3).prints("10.77.0.2:5210");
        assert!(ended.stdout.contains("Details: -v"), "{}", ended.stdout);
        ip(&["-n", &net.server, "link", "set", "eth0", "up"]);
        // Neighbour requests that failed before must not fail new clients.
        ip(&["-n", &net.client, "neighbour", "flush", "dev", "eth0"]);
    }
    net.client(&["throughput", SERVER, "-n", "1M", "--connect-timeout", "20s"]).code(0);
    server.stop();
}

#[test]
fn a_host_without_ipv6_is_served_and_serves() {
    let Some(net) = Net::new("a_host_without_ipv6_is_served_and_serves") else { return };
    for ns in [&net.client, &net.server] {
        for which in ["all", "default", "lo", "eth0"] {
            let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
            let done =
                Command::new("ip").args(["netns", "exec", ns, "sh", "-c", "echo 1 > $0", &path]).status();
            assert!(done.unwrap().success(), "{path}");
        }
    }
    let server = Running::start(pathmeter(Some(&net.server), &["serve"]));
    server.wait_for("listening on");
    server.wait_for("open to everyone who can reach this host");
    for argv in [&["-n", "1M"][..], &["-u", "-b", "10M", "-n", "200K", "-R"]] {
        let run = net.client(&[&["throughput", SERVER, "--json"], argv].concat()).code(0).json();
        assert_ne!(run["verdict"]["status"], "void");
    }
    net.client(&["throughput", "2001:db8::1", "--connect-timeout", "1s"]).code(3).prints("2001:db8::1");
    net.client(&["serve", "--bind", "::1"]).code(2).prints("::1");
    server.signal("TERM");
    server.end().code(0);
}

#[test]
fn families_are_chosen_and_measured_apart() {
    let Some(net) = Net::new("families_are_chosen_and_measured_apart") else { return };
    for (ns, address) in [(&net.client, "2001:db8::1/64"), (&net.server, "2001:db8::2/64")] {
        ip(&["-n", ns, "address", "add", address, "dev", "eth0", "nodad"]);
    }
    let server = Running::start(pathmeter(Some(&net.server), &["serve"]));
    server.wait_for("listening on");
    let run = net.client(&["measure", "2001:db8::2", "--quick", "--json"]).code(0).json();
    assert_eq!(
        run["summary"]["path"]["up"]["max_udp_payload"], 1452,
        "40 bytes of IPv6 and 8 of UDP less than 1500"
    );
    assert_eq!(run["summary"]["path"]["down"]["max_udp_payload"], 1452);
    let run = net.client(&["measure", SERVER, "--quick", "--json"]).code(0).json();
    assert_eq!(run["summary"]["path"]["up"]["max_udp_payload"], 1472);
}

fn find<'a>(run: &'a Value, id: &str, direction: &str) -> Option<&'a Value> {
    run["findings"].as_array().expect("a list").iter().find(|f| f["id"] == id && f["direction"] == direction)
}

fn finding<'a>(run: &'a Value, id: &str, direction: &str) -> &'a Value {
    find(run, id, direction).unwrap_or_else(|| panic!("no {id} {direction}: {:#}", run["findings"]))
}

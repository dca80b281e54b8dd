//! Hosts joined by a link: both families, marked packets, translated addresses, multicast groups; and a host without
//! privilege.

use super::common::{PATIENT, counts, number, only_egress};
use super::net::{Net, SERVER, ip};
use super::support::{Ended, Running, Server, pathmeter, skip};
use serde_json::Value;
use std::process::Command;

const SERVER_V6: &str = "2001:db8::2";
const GROUP: &str = "239.1.2.3";

#[test]
fn round_trips_over_a_link_in_both_families() {
    let Some(net) = dual("round_trips_over_a_link") else { return };
    let server = everywhere(&net, &[]);
    for host in [SERVER, SERVER_V6] {
        for argv in
            [&["--udp"][..], &["--tcp"], &["--udp", "-m", "1400", "--mode", "under-load", "--rate", "2k"]]
        {
            let run = measured(&net, &[&[host, "-n", "150"], argv].concat());
            let names = ["sent", "received", "far_received", "lost"];
            assert_eq!(counts(only_egress(&run), names), [150, 150, 150, 0], "{host} {argv:?}");
            assert_eq!(only_egress(&run)["ends"]["seen_as"], only_egress(&run)["ends"]["local"], "{host}");
        }
        // The kernel begins to time packets when it next has time for it.
        let timed = (0..10).map(|_| only_egress(&measured(&net, &[host, "-t", "2s"]))["wire"].clone());
        let wire = timed.into_iter().find(|wire| wire["rtt_ns"]["count"].as_u64() > Some(0));
        let wire = wire.expect("the kernel times a link's packets");
        assert!(number(&wire["rtt_ns"], "max") <= number(&wire["application_ns"], "max"), "{wire:#}");
    }
    // Both as two ways of one run.
    let run = measured(&net, &[SERVER, SERVER_V6, "-n", "50"]);
    let remotes = run["summary"]["ways"].as_array().unwrap().iter().map(|egress| &egress["ends"]["remote"]);
    assert_eq!(remotes.collect::<Vec<_>>(), ["10.77.0.2:5210", "[2001:db8::2]:5210"]);
    end(server);
}

#[test]
fn packets_carry_their_mark_there_and_back() {
    let Some(net) = dual("packets_carry_their_mark") else { return };
    let server = everywhere(&net, &[]);
    for ns in [&net.client, &net.server] {
        net.nft(
            ns,
            "table inet marks {\nchain arriving {\ntype filter hook prerouting priority -300;\n\
             ip dscp ef counter\nip6 dscp ef counter\nip dscp cs1 counter\nip6 dscp cs1 counter\n}\n}\n",
        );
    }
    for (family, host) in [SERVER, SERVER_V6].iter().enumerate() {
        for (mark, argv) in [(0, ["--dscp", "ef"]), (1, ["--tos", "0x20"])] {
            for transport in ["--udp", "--tcp"] {
                let before = [marked(&net.server), marked(&net.client)];
                let run =
                    measured(&net, &[&[host, "-n", "40", "--no-wire-times", transport][..], &argv].concat());
                assert_eq!(counts(only_egress(&run), ["received"]), [40]);
                assert_eq!(run["summary"]["warnings"], Value::Array(Vec::new()), "{argv:?}");
                let after = [marked(&net.server), marked(&net.client)];
                for (end, name) in ["server", "client"].iter().enumerate() {
                    let counter = 2 * mark + family;
                    let observed = after[end][counter] - before[end][counter];
                    assert!(observed >= 40, "{host} {transport} {argv:?}: {observed} marked at the {name}");
                }
            }
        }
    }
    end(server);
}

#[test]
fn translated_addresses_are_reported() {
    let Some(net) = Net::new("translated_addresses_are_reported") else { return };
    ip(&["-n", &net.client, "address", "add", "10.77.0.9/24", "dev", "eth0"]);
    net.nft(
        &net.client,
        "table ip translate {\nchain leaving {\ntype nat hook postrouting priority 100;\n\
         ip saddr 10.77.0.9 masquerade\n}\n}\n",
    );
    let server = net.serve(&[]);
    for transport in ["--udp", "--tcp"] {
        let run = measured(&net, &[SERVER, "-n", "50", transport, "--via", "nat=10.77.0.9", "--via", "eth0"]);
        for (index, (local, observed)) in
            [("10.77.0.9:", "10.77.0.1:"), ("10.77.0.1:", "10.77.0.1:")].iter().enumerate()
        {
            let egress = &run["summary"]["ways"][index];
            let [local_end, observed_end] =
                ["local", "seen_as"].map(|end| egress["ends"][end].as_str().unwrap());
            assert!(local_end.starts_with(local), "{transport}: {local_end}");
            assert!(observed_end.starts_with(observed), "{transport}: {observed_end}");
            assert_eq!(counts(egress, ["sent", "received", "far_received"]), [50; 3], "{transport}");
        }
    }
    server.stop();
}

#[test]
fn groups_are_answered_by_our_server_and_by_sockperf() {
    let Some(net) = Net::new("groups_are_answered") else { return };
    for ns in [&net.client, &net.server] {
        ip(&["-n", ns, "route", "add", "239.0.0.0/8", "dev", "eth0"]);
    }
    for bind in [&[][..], &["--bind", SERVER]] {
        let server = everywhere(&net, &[&["--sockperf=11111", "--group", GROUP], bind].concat());
        assert_group(&net);
        // A request to the host itself is answered, too.
        let run = measured(&net, &["--protocol", "sockperf", SERVER, "-n", "40"]);
        assert_eq!(counts(only_egress(&run), ["sent", "received"]), [40; 2]);
        end(server);
    }
    if Command::new("sockperf").arg("--version").output().is_err() {
        return skip("groups_are_answered", "it needs sockperf: `apt-get install sockperf`");
    }
    for argv in [&[][..], &["--force-unicast-reply"]] {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &net.server, "sockperf", "sr", "-i", GROUP, "-p", "11111"]);
        command.args(argv);
        let server = Running::start(command);
        server.wait_for_output("to block on socket");
        assert_group(&net);
    }
    // A group without members, and one for a protocol that has none.
    let quick = ["latency", GROUP, "--protocol", "sockperf", "-n", "3", "--timeout", "200ms"];
    net.client(&quick).code(3).prints("no reply").prints(GROUP);
    net.client(&["latency", GROUP]).code(2).prints("multicast").prints("--protocol sockperf");
    ip(&["-n", &net.client, "route", "del", "239.0.0.0/8", "dev", "eth0"]);
    net.client(&quick).code(2).prints(GROUP).prints("route");
    net.client(&["serve", "--group", "10.1.1.1", "--sockperf"])
        .code(2)
        .prints("10.1.1.1")
        .prints("224.0.0.0");
    net.client(&["serve", "--group", GROUP]).code(2).prints("--sockperf");
}

#[test]
fn what_takes_privilege_is_reported_and_left_out_without() {
    let server = Server::start(&[]);
    let host = server.host();
    let argv = ["latency", &host, "-n", "60", "--busy-poll", "77us", "--dscp", "cs7", "--json"];
    let binary = env!("CARGO_BIN_EXE_pathmeter");
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", binary]);
    if Command::new("setpriv").arg("--version").output().is_err() {
        return skip("what_takes_privilege", "it needs setpriv(1), of util-linux");
    }
    let root = linux::privilege::Capabilities::of_this_thread()
        .is_ok_and(|rights| rights.has(linux::privilege::Capability::NetAdmin));
    let command = if root { with(command, &argv) } else { pathmeter(None, &argv) };
    let run = Running::start(with(command, &PATIENT)).end().code(0).json();
    // Not every kernel refuses it.
    for warning in run["summary"]["warnings"].as_array().unwrap() {
        assert_eq!(warning["id"], "busy-poll-refused", "{warning}");
        assert!(warning["text"].as_str().unwrap().contains("CAP_NET_ADMIN"), "{warning}");
    }
    assert_eq!(counts(only_egress(&run), ["sent", "received", "lost"]), [60, 60, 0]);
    server.stop();
}

/// Forty messages to the group come back, each once.
#[track_caller]
fn assert_group(net: &Net) {
    for mode in ["ping-pong", "under-load"] {
        let run = measured(net, &["--protocol", "sockperf", GROUP, "-n", "40", "--mode", mode]);
        let names = ["sent", "received", "lost", "duplicates"];
        assert_eq!(
            counts(only_egress(&run), names),
            [40, 40, 0, 0],
            "{mode}: {:#}",
            only_egress(&run)["counted"]
        );
    }
}

/// Two joined hosts with addresses of both families.
fn dual(test: &str) -> Option<Net> {
    let net = Net::new(test)?;
    for (ns, address) in [(&net.client, "2001:db8::1/64"), (&net.server, "2001:db8::2/64")] {
        ip(&["-n", ns, "address", "add", address, "dev", "eth0", "nodad"]);
    }
    Some(net)
}

/// `pathmeter serve` at the server's end, on every address.
fn everywhere(net: &Net, argv: &[&str]) -> Running {
    let server = Running::start(pathmeter(Some(&net.server), &[&["serve"], argv].concat()));
    server.wait_for("pathmeter's own protocol");
    server
}

#[track_caller]
fn end(server: Running) -> Ended {
    server.signal("TERM");
    server.end().code(0)
}

/// `pathmeter latency` at the client's end, patient and successful.
#[track_caller]
fn measured(net: &Net, argv: &[&str]) -> Value {
    net.client(&[&["latency"], argv, &PATIENT, &["--json"]].concat()).code(0).json()
}

/// Packets that arrived here with each mark: EF over IPv4 and IPv6, then CS1.
#[track_caller]
fn marked(ns: &str) -> [u64; 4] {
    let listed =
        Command::new("ip").args(["netns", "exec", ns, "nft", "list", "table", "inet", "marks"]).output();
    let text = String::from_utf8(listed.unwrap().stdout).unwrap();
    let counted = text.split("counter packets ").skip(1);
    let counts = counted.map(|rest| rest.split(' ').next().unwrap().parse().unwrap());
    counts.collect::<Vec<u64>>().try_into().unwrap_or_else(|_| panic!("{text}"))
}

fn with(mut command: Command, argv: &[&str]) -> Command {
    command.args(argv);
    command
}

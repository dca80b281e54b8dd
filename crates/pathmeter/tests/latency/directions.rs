//! The direction of losses, of every protocol and in each mode, held against the counters of the packet filter that dropped
//! the packets.

use super::common::only_egress;
use super::net::{Net, SERVER};
use super::support::{Running, pathmeter};
use serde_json::Value;
use std::process::Command;

/// A protocol, and whether its far end or its replies say how many messages came.
struct Spoken {
    name: &'static str,
    counts: bool,
}

const PROTOCOLS: [Spoken; 4] = [
    Spoken { name: "native", counts: true },
    Spoken { name: "stamp", counts: true },
    Spoken { name: "twamp", counts: true },
    Spoken { name: "sockperf", counts: false },
];

/// Bytes of a message.
const SIZE: usize = 200;
const UDP_HEADER: usize = 8;

#[test]
fn losses_are_reported_in_the_direction_in_which_they_were() {
    let Some(net) = Net::new("losses_are_reported_in_the_direction") else { return };
    let server = Running::start(pathmeter(Some(&net.server), &["serve", "--stamp", "--twamp", "--sockperf"]));
    server.wait_for("pathmeter's own protocol");
    for protocol in PROTOCOLS {
        for mode in ["ping-pong", "under-load"] {
            for (direction, ns) in [&net.server, &net.client].into_iter().enumerate() {
                // Messages and their replies are of this size; what sets the session up is not.
                let rules = format!(
                    "table inet lossy {{\nchain arriving {{\ntype filter hook prerouting priority -300;\n\
                     udp length {} numgen inc mod 7 == 3 counter drop\n}}\n}}\n",
                    SIZE + UDP_HEADER
                );
                net.nft(ns, &rules);
                let size = SIZE.to_string();
                let args = ["latency", SERVER, "--protocol", protocol.name, "--mode", mode, "--size", &size];
                let more = ["--rate", "800", "-n", "105", "--timeout", "400ms", "--warm-up", "0", "--json"];
                let run = net.client(&[&args[..], &more].concat()).code(0).json();
                let dropped = dropped(ns);
                net.nft(ns, "delete table inet lossy\n");
                let counted = &only_egress(&run)["counted"];
                let name = format!("{} {mode} {direction}: {dropped} {counted:#}", protocol.name);
                // One in seven of 105; the filter also dropped some of those that time the wire before the test.
                let lost = counted["lost"].as_u64().expect("it is counted");
                assert_eq!(lost, 15, "{name}");
                assert!((lost..lost + 8).contains(&dropped), "{name}");
                let mut expected = [Some(0), Some(0)];
                expected[direction] = Some(lost);
                let reported = [&counted["lost_up"], &counted["lost_down"]].map(Value::as_u64);
                assert_eq!(reported, if protocol.counts { expected } else { [None; 2] }, "{name}");
            }
        }
    }
    server.signal("TERM");
    server.end().code(0);
}

/// Packets that the filter of this host dropped.
#[track_caller]
fn dropped(ns: &str) -> u64 {
    let listed =
        Command::new("ip").args(["netns", "exec", ns, "nft", "list", "table", "inet", "lossy"]).output();
    let text = String::from_utf8(listed.unwrap().stdout).unwrap();
    let (_, rest) = text.split_once("counter packets ").expect("it has a counter");
    rest.split(' ').next().unwrap().parse().unwrap()
}

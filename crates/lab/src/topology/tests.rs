//! Invalid files, and the errors that they give.

use super::*;
use proptest::prelude::*;
use std::fmt::Write;

/// A right one, from which each wrong one differs by a few words.
const RIGHT: &str = r#"title = "A router, a switch and a tunnel"

[nodes.client]
addresses.eth0 = ["192.0.2.2/24", "2001:db8:1::2/64"]
routes = ["default via 192.0.2.1", "default via 2001:db8:1::1"]

[nodes.router]
forwards = true
addresses.near = ["192.0.2.1/24", "2001:db8:1::1/64"]
addresses.far = ["198.51.100.1/24", "2001:db8:2::1/64"]

[nodes.bridge]
devices.br0 = { bridge = ["left", "right"] }

[nodes.server]
addresses.eth0 = ["198.51.100.2/24", "2001:db8:2::2/64"]
routes = ["default via 198.51.100.1", "default via 2001:db8:2::1"]

[[links]]
ends = ["client:eth0", "router:near"]
mtu = 1500

[[links]]
ends = ["router:far", "bridge:left"]
rate = "100M"
delay = "10ms"
queue = "50ms"

[[links]]
ends = ["bridge:right", "server:eth0"]

[expect]
path-mtu = 1500
findings = ["bufferbloat"]
"#;

/// The fault, the text replaced, and its replacement.
const WRONG: &[(&str, &str, &str)] = &[
    ("no TOML", "[nodes.client]", "[nodes.client"),
    ("a table twice", "[nodes.bridge]", "[nodes.router]"),
    ("a key mistyped", "forwards = true", "forward = true"),
    ("a key that is like none", "forwards = true", "colour = \"red\""),
    ("a key of a link mistyped", "delay =", "dealy ="),
    ("an unknown section", "[expect]", "[expected]"),
    ("no title", "title =", "# title ="),
    ("a number for a text", "\"A router, a switch and a tunnel\"", "7"),
    ("a text for a truth", "forwards = true", "forwards = \"yes\""),
    ("an unknown node", "\"router:far\"", "\"ruoter:far\""),
    ("an end without a device", "\"router:far\"", "\"router\""),
    ("an unknown port", "[\"left\", \"right\"]", "[\"left\", \"rigth\"]"),
    ("a port twice", "[\"left\", \"right\"]", "[\"left\", \"left\"]"),
    ("an end twice", "\"bridge:right\", ", "\"bridge:left\", "),
    ("a long name", "\"bridge:right\", ", "\"bridge:interface-number-2\", "),
    ("a name that cannot be", "\"bridge:right\", ", "\"bridge:a b\", "),
    ("an address of an unknown device", "addresses.near", "addresses.naer"),
    ("no prefix", "\"192.0.2.2/24\"", "\"192.0.2.2\""),
    ("no address", "\"192.0.2.2/24\"", "\"192.0.2/24\""),
    ("a prefix too long", "\"192.0.2.2/24\"", "\"192.0.2.2/33\""),
    ("the network itself", "\"192.0.2.2/24\"", "\"192.0.2.0/24\""),
    ("an address twice", "\"192.0.2.2/24\"", "\"192.0.2.1/24\""),
    ("another network on the link", "\"192.0.2.2/24\"", "\"203.0.113.2/24\""),
    ("one network on two links", "[\"198.51.100.2/24\", ", "[\"192.0.2.9/24\", "),
    ("overlapping networks", "\"198.51.100.1/24\", ", "\"192.0.2.65/26\", "),
    ("no IPv6 at one end", "[\"198.51.100.2/24\", \"2001:db8:2::2/64\"]", "[\"198.51.100.2/24\"]"),
    ("a gateway on no link", "default via 192.0.2.1", "default via 203.0.113.1"),
    ("a gateway that no node has", "default via 192.0.2.1", "default via 192.0.2.7"),
    ("a route of no words", "default via 192.0.2.1", "default through 192.0.2.1"),
    ("a route with bits behind its prefix", "default via 192.0.2.1", "198.51.100.2/24 via 192.0.2.1"),
    ("a route by an unknown device", "default via 192.0.2.1", "default via 192.0.2.1 dev eth1"),
    ("no route", "routes = [\"default via 192.0.2.1\", ", "routes = ["),
    ("no forwarding", "forwards = true\n", ""),
    ("no link to a node", "[[links]]\nends = [\"bridge:right\", \"server:eth0\"]\n", ""),
    ("a rate too low", "\"100M\"", "\"9k\""),
    ("a rate too high", "\"100M\"", "\"25G\""),
    ("a rate that is none", "\"100M\"", "\"fast\""),
    ("a rate of three directions", "\"100M\"", "[\"1M\", \"2M\", \"3M\"]"),
    ("a queue without a unit", "\"50ms\"", "\"50\""),
    ("a queue too short", "\"50ms\"", "\"100us\""),
    ("a queue for nothing", "rate = \"100M\"\ndelay = \"10ms\"\nqueue = \"50ms\"", "queue = \"9 packets\""),
    ("jitter above delay", "delay = \"10ms\"", "delay = \"1ms\"\njitter = \"2ms\""),
    ("loss above all", "mtu = 1500\n\n", "loss = \"101%\"\n\n"),
    ("loss without a percent", "mtu = 1500\n\n", "loss = \"0.01\"\n\n"),
    ("an MTU out of range", "mtu = 1500\n\n", "mtu = 70000\n\n"),
    ("an MTU too small for IPv6", "mtu = 1500\n\n", "mtu = [1500, 1279]\n\n"),
    ("one hardware address", "mtu = 1500\n\n", "mac = \"02:00:00:00:00:01\"\n\n"),
    ("a setting of something else", "forwards = true", "settings.\"kernel.panic\" = 1"),
    ("a device of no kind", "{ bridge = [\"left\", \"right\"] }", "{ mtu = 1500 }"),
    (
        "a VLAN id out of range",
        "{ bridge = [\"left\", \"right\"] }",
        "{ vlan = { on = \"left\", id = 4095 } }",
    ),
    ("a real interface to nowhere", "mtu = 1500\n\n", "real = \"enp1s0\"\n\n"),
    ("an external node without an interface", "forwards = true", "external = \"Turn forwarding on.\""),
    ("two places", "forwards = true", "vm = true\nexternal = \"x\""),
    ("memory of nothing", "forwards = true", "vm = { memory = \"1KiB\" }\nforwards = true"),
    ("an unknown measuring node", "[nodes.client]", "from = \"clint\"\n[nodes.client]"),
    ("an unknown finding", "\"bufferbloat\"", "\"buffer-bloat\""),
    ("a finding in both directions", "findings =", "absent = [\"bufferbloat\"]\nfindings ="),
    ("an unknown family", "path-mtu = 1500", "reachable = [\"ipv5\"]"),
    (
        "a tool without a command",
        "[expect]",
        "[[tools]]\nname = \"iperf3\"\nserve = \"iperf3 -s '\"\n[expect]",
    ),
    (
        "several at once",
        "rate = \"100M\"\ndelay = \"10ms\"",
        "rate = \"100X\"\ndelay = \"soon\"\nmtuu = 9\nloss = 1",
    ),
];

#[test]
fn faults_are_reported_with_their_place_and_advice() {
    Topology::parse("right.toml", RIGHT).unwrap_or_else(|error| panic!("{error}"));
    let mut report = String::new();
    for (what, from, to) in WRONG {
        assert!(RIGHT.contains(from), "{what}: {from}");
        let error = match Topology::parse("x.toml", &RIGHT.replacen(from, to, 1)) {
            Ok(_) => panic!("{what}: accepted"),
            Err(error) => error,
        };
        writeln!(report, "{what}\n    {}", error.to_string().replace('\n', "\n    ")).unwrap();
    }
    insta::assert_snapshot!(report);
}

#[test]
fn a_loop_of_bridges_is_found_at_the_link_that_closes_it() {
    let text = r#"
title = "Two switches, joined twice"
[nodes.client]
addresses.eth0 = ["192.0.2.1/24"]
[nodes.left]
devices.br0 = { bridge = ["host", "one", "two"] }
[nodes.right]
devices.br0 = { bridge = ["host", "one", "two"] }
[nodes.server]
addresses.eth0 = ["192.0.2.2/24"]
[[links]]
ends = ["client:eth0", "left:host"]
[[links]]
ends = ["left:one", "right:one"]
[[links]]
ends = ["left:two", "right:two"]
[[links]]
ends = ["right:host", "server:eth0"]
"#;
    let error = Topology::parse("loop.toml", text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "loop.toml:16:8: this link closes a loop: bridges `left:br0` and `right:br0` are joined already, and frames would \
         circle for ever; take one link out, or one of its ends out of its bridge"
    );
    // The same cables, one of them into a bridge of its own, are no loop.
    let apart = text.replacen("\"one\", \"two\"] }", "\"one\"] }\ndevices.br1 = { bridge = [\"two\"] }", 1);
    Topology::parse("apart.toml", &apart).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn one_value_is_for_both_directions_and_two_for_each() {
    let text = RIGHT.replacen("rate = \"100M\"", "rate = [\"100M\", \"20M\"]", 1);
    let topology = Topology::parse("asymmetric", &text).unwrap();
    let [down, up] = topology.links[1].sides.each_ref();
    assert_eq!([down.shape.rate, up.shape.rate], [Some(BitRate(100_000_000)), Some(BitRate(20_000_000))]);
    assert_eq!([down.shape.delay, up.shape.delay], [Some(Nanos::from_millis(10)); 2]);
    assert_eq!(down.shape.queue, Some(Queue::Time(Nanos::from_millis(50))));
    assert_eq!([down.mtu, up.mtu], [1500; 2]);
    assert_eq!(topology.name, "asymmetric");
    assert_eq!(topology.expect.path_mtu, [Some([1500; 2]); 2]);
    assert_eq!(topology.expect.reachable, [true; 2]);
}

#[test]
fn a_command_is_words_and_quotes_keep_blanks() {
    let tool = "[[tools]]\nname = \"x\"\nrun = \"ping -c 3 'a b' \\\"\\\"\"\nserve = [\"sleep\", \"9 s\"]\n";
    let topology = Topology::parse("x", &RIGHT.replacen("[expect]", &format!("{tool}[expect]"), 1)).unwrap();
    assert_eq!(topology.tools[0].run, ["ping", "-c", "3", "a b", ""]);
    assert_eq!(topology.tools[0].serve.as_deref(), Some(&["sleep".to_owned(), "9 s".to_owned()][..]));
}

#[test]
fn the_far_end_of_a_tunnel_gives_its_port() {
    let shipped = crate::shipped::text_of("wireguard").unwrap();
    let text = shipped.replacen("remote = \"203.0.113.1\" }", "remote = \"203.0.113.1\", port = 7 }", 1);
    let topology = Topology::parse("wireguard", &text).unwrap();
    let DeviceKind::Wireguard { endpoint, .. } = &topology.nodes[1].devices[0].kind else {
        panic!("the left one")
    };
    assert_eq!(endpoint.to_string(), "203.0.113.2:7");
}

proptest! {
    /// Pieces of files, in any order: whatever it makes of them, it ends with an answer.
    #[test]
    fn arbitrary_text_never_panics(
        noise in any::<String>(),
        lines in prop::collection::vec((0..60_usize, 0..60_usize), 0..60),
        cut in 0..2000_usize,
    ) {
        let _ = Topology::parse("x.toml", &noise);
        let pieces: Vec<&str> = RIGHT.lines().collect();
        let mut text: Vec<&str> = pieces.clone();
        for (from, to) in lines {
            text.swap(from % pieces.len(), to % pieces.len());
        }
        let _ = Topology::parse("x.toml", &text.join("\n"));
        let mut text = RIGHT.to_owned();
        text.insert_str(cut % RIGHT.len(), &noise);
        let _ = Topology::parse("x.toml", &text);
    }
}

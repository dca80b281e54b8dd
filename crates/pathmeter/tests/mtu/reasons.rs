//! Cases of public reports in which a test goes wrong for a reason that its figures alone do not show: the finding names it, and what
//! it explains is counted once.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

/// Runs the program at the client and returns the result, whatever its exit code.
fn result(lab: &Lab, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    lab.run(Node::C, Who::Root, &args).json()
}

fn ids(run: &Value) -> Vec<&str> {
    let findings = run["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["severity"] != "info").map(|one| one["id"].as_str().unwrap()).collect()
}

fn finding<'a>(run: &'a Value, id: &str) -> &'a Value {
    let mut findings = run["findings"].as_array().unwrap().iter();
    findings.find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id}: {:#}", run["findings"]))
}

#[test]
fn a_stall_of_tcp_is_a_black_hole_and_no_outage() {
    let Some(lab) = Lab::new("a_stall_of_tcp") else { return };
    lab.silence();
    lab.middle(1400);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let host = Node::S.address(Family::V4);
    let run = result(&lab, &["throughput", host, "-t", "1200ms"]);
    assert_eq!(ids(&run), ["mtu-black-hole"], "{:#}", run["findings"]);
    let hole = finding(&run, "mtu-black-hole");
    assert_eq!((&hole["direction"], &hole["evidence"]["first_lost_bytes"]), (&"up".into(), &1401.into()));
    assert_eq!(hole["evidence"]["distance_hops"], 1, "{hole:#}");
    let first = &run["summary"]["explanation"]["hypotheses"][0];
    assert_eq!((&first["id"], &first["answer"]), (&"packet-size".into(), &"holds".into()), "{first:#}");
    let bare = lab.run(Node::C, Who::Root, &["throughput", host, "-t", "1200ms", "--no-explain", "--json"]);
    let bare = bare.code(3).json();
    assert_eq!((ids(&bare), &bare["summary"]["explanation"]), (vec!["outage"], &Value::Null));
}

#[test]
fn a_configured_route_is_neither_stale_nor_a_black_hole() {
    let Some(lab) = Lab::new("a_configured_route") else { return };
    for node in [Node::C, Node::S] {
        lab.sh(node, "ip route change $(ip -4 route show default) mtu 1320");
    }
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let host = Node::S.address(Family::V4);
    for limit in [1500, 1320] {
        lab.forward(Node::R1, &format!("ip length > {limit} drop"));
        let run = result(&lab, &["mtu", host]);
        assert_eq!(ids(&run), Vec::<&str>::new(), "{:#}", run["findings"]);
        assert_eq!(finding(&run, "route-mtu")["evidence"]["path_mtu_bytes"], limit, "{:#}", run["findings"]);
    }
}

#[test]
fn packets_that_arrive_in_pieces_did_not_cross_whole() {
    let Some(lab) = Lab::new("packets_that_arrive_in_pieces") else { return };
    lab.nft(
        Node::R1,
        "table ip df {\nchain c {\ntype filter hook prerouting priority 0;\niifname near ip frag-off & 0x4000 != 0 ip \
         frag-off set 0\n}\n}\n",
    );
    lab.sh(Node::R1, "ip route change $(ip -4 route show 10.71.2.0/24) mtu 1400");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let host = Node::S.address(Family::V4);
    let run = result(&lab, &["mtu", host]);
    assert_eq!(ids(&run), ["df-ignored"], "{:#}", run["findings"]);
    assert_eq!(run["summary"]["path"]["up"]["path_mtu"], 1400);
    let run = result(&lab, &["throughput", host, "--udp", "-l", "1472", "-b", "5M", "-t", "1s"]);
    assert_eq!(ids(&run), ["df-ignored"], "{:#}", run["findings"]);
}

#[test]
fn a_hole_between_sizes_that_cross_is_found() {
    let Some(lab) = Lab::new("a_hole_between_sizes") else { return };
    lab.forward(Node::R1, "iifname near ip length 1469-1476 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = result(&lab, &["mtu", Node::S.address(Family::V4)]);
    let hole = &finding(&run, "mtu-hole")["evidence"];
    assert_eq!((&hole["first_lost_bytes"], &hole["last_lost_bytes"]), (&1469.into(), &1476.into()));
    assert_eq!(run["summary"]["path"]["up"]["path_mtu"], 1500);
}

#[test]
fn memory_for_fragments_is_the_receivers_and_not_the_paths() {
    let Some(lab) = Lab::new("memory_for_fragments") else { return };
    lab.sysctl(Node::S, "net/ipv4/ipfrag_low_thresh", "20000");
    lab.sysctl(Node::S, "net/ipv4/ipfrag_high_thresh", "24000");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let host = Node::S.address(Family::V4);
    let run = result(&lab, &["throughput", host, "--udp", "-l", "32768", "-b", "50M", "-t", "1s"]);
    assert_eq!(ids(&run), ["reassembly-failed", "udp-fragmented"], "{:#}", run["findings"]);
    assert_eq!(finding(&run, "reassembly-failed")["evidence"]["reassembly_memory_bytes"], 24_000);
}

#[test]
fn joined_segments_that_are_dropped_are_no_loss() {
    let Some(lab) = Lab::new("joined_segments") else { return };
    lab.forward(Node::R1, "iifname near meta l4proto tcp meta length > 1500 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = result(&lab, &["throughput", Node::S.address(Family::V4), "-t", "1200ms"]);
    assert_eq!(ids(&run), ["joined-segments-dropped"], "{:#}", run["findings"]);
}

#[test]
fn nothing_after_the_handshake_is_named() {
    let Some(lab) = Lab::new("nothing_after_the_handshake") else { return };
    lab.forward(Node::R1, "iifname near tcp flags & syn == 0 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let ended = lab.run(Node::C, Who::Root, &["throughput", Node::S.address(Family::V4), "-t", "1s"]);
    ended.code(3).prints("nothing that this host sent afterwards was acknowledged");
}

#[test]
fn an_option_that_is_removed_is_no_clamp() {
    let Some(lab) = Lab::new("an_option_that_is_removed") else { return };
    lab.forward(Node::R1, "tcp flags & syn == syn reset tcp option maxseg");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let host = Node::S.address(Family::V4);
    let run = result(&lab, &["mtu", host]);
    let title = finding(&run, "mss-clamped")["title"].as_str().unwrap();
    assert!(title.contains("removes the MSS option"), "{title}");
    let run = result(&lab, &["throughput", host, "-t", "500ms"]);
    assert!(ids(&run).contains(&"mss-clamped"), "{:#}", run["findings"]);
}

#[test]
fn connections_that_open_late_are_named() {
    let Some(lab) = Lab::new("connections_that_open_late") else { return };
    let _server = lab.serve(Node::S, Who::Root, &["--http=8080"]);
    // The control connection is let through, and the first SYN of the next second is too.
    lab.forward(
        Node::R1,
        "iifname near tcp flags & (syn | ack) == syn limit rate over 1/second burst 2 packets drop",
    );
    let run = result(&lab, &["throughput", Node::S.address(Family::V4), "-P", "4", "-t", "500ms"]);
    let is_named = |run: &Value| {
        let warnings = run["summary"]["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|one| one["id"] == "syn-retransmitted"), "{warnings:#?}");
    };
    is_named(&run);
    let url = format!("http://{}:8080/bytes/100k", Node::S.address(Family::V4));
    is_named(&result(&lab, &["transfer", &url, "-n", "6"]));
}

#[test]
fn messages_whose_mark_is_dropped_have_that_reason() {
    let Some(lab) = Lab::new("messages_whose_mark_is_dropped") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    lab.forward(Node::R1, "iifname near ip dscp ef drop");
    let host = Node::S.address(Family::V4);
    let error = lab.run(Node::C, Who::Root, &["latency", host, "-t", "300ms", "--dscp", "ef"]).code(3).stderr;
    assert!(error.contains("packets with the mark of this test (DSCP 46) are dropped"), "{error}");
}

#[test]
fn a_window_that_one_end_misreads_is_a_problem() {
    let Some(lab) = Lab::new("a_window_that_one_end_misreads") else { return };
    lab.forward(Node::R1, "iifname far tcp flags & (syn | ack) == (syn | ack) reset tcp option window");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = result(&lab, &["throughput", Node::S.address(Family::V4), "-t", "500ms", "--no-explain"]);
    let found = finding(&run, "window-scaling-removed");
    assert_eq!(found["severity"], "problem", "{found:#}");
}

//! The counts of a capture, against those of the kernels at both ends.

use super::hosts::{Hosts, Sent, V4, V6, largest_flow, number, of_size, packets, packets_of};

#[test]
fn every_tcp_segment_is_counted_though_offloads_join_them() {
    let Some(hosts) = Hosts::new("every_tcp_segment_is_counted") else { return };
    let _server = hosts.serve();
    for (host, headers) in [(V4, 52), (V6, 72)] {
        for direction in ["up", "down"] {
            let look = || (Sent::by(&hosts.net.client), Sent::by(&hosts.net.server));
            let before = look();
            let mut args = vec!["throughput", host, "-n", "20M", "-b", "400M", "--capture"];
            args.extend(Some("-R").filter(|_| direction == "down"));
            let run = hosts.run(&args);
            let after = look();
            let packets = packets(&run);
            let context = format!("{host} {direction}: {packets:#}");
            assert_eq!(packets["interface"], "eth0");
            // The kernels count every segment they send, however it is handled below.
            assert_eq!(packets_of(packets, "tcp", "up"), after.0.since(before.0).segments, "{context}");
            assert_eq!(packets_of(packets, "tcp", "down"), after.1.since(before.1).segments, "{context}");
            let data = &largest_flow(packets, "tcp")[direction];
            assert!(number(&data["super_packets"]) > 0, "offloads were on: {context}");
            assert!(of_size(data, 1500) * (1500 - headers) > 19_000_000, "{context}");
            let largest = data["sizes"].as_array().unwrap().last().unwrap();
            assert_eq!(largest["to"], 1500, "{context}");
            // The counts of TCP_INFO without a capture; the stream's opening comes before it begins to count.
            let reported = &run["summary"][direction]["segments"];
            let counted = number(&data["with_payload"]);
            let sent = number(&reported["sent"]);
            assert!(sent == counted || sent + 1 == counted, "{reported:#} {context}");
            let mean = reported["mean_payload"].as_f64().unwrap();
            let captured = number(&data["payload"]) as f64 / counted as f64;
            assert!((mean - captured).abs() < 1.0, "{reported:#} {context}");
        }
    }
}

#[test]
fn datagrams_sent_many_at_once_are_counted_one_by_one() {
    let Some(hosts) = Hosts::new("datagrams_sent_many_at_once") else { return };
    let _server = hosts.serve();
    for (host, headers) in [(V4, 28), (V6, 48)] {
        let args = ["throughput", host, "-u", "-l", "1000", "-n", "10000000", "--capture"];
        let run = hosts.run(&args);
        let packets = packets(&run);
        let flow = &largest_flow(packets, "udp")["up"];
        assert_eq!(of_size(flow, 1000 + headers), 10_000, "{host}: {flow:#}");
        assert_eq!(number(&run["summary"]["up"]["sent"]["datagrams"]), 10_000);
        assert!(number(&flow["super_packets"]) > 0, "GSO was on: {flow:#}");
        assert_eq!(flow["fragments"], 0);
    }
}

#[test]
fn fragments_are_counted_and_belong_to_their_flow() {
    let Some(hosts) = Hosts::new("fragments_are_counted") else { return };
    let _server = hosts.serve();
    for (host, sizes) in [(V4, [(1500, 2), (1068, 1)]), (V6, [(1496, 2), (1160, 1)])] {
        let before = Sent::by(&hosts.net.client);
        let args = ["throughput", host, "-u", "-l", "4000", "-n", "4000000", "-b", "50M", "--capture"];
        let run = hosts.run(&args);
        let created = Sent::by(&hosts.net.client).since(before).fragments;
        let packets = packets(&run);
        let flow = largest_flow(packets, "udp");
        // Probes of the size that works follow a test in fragments, after the capture has ended.
        assert_eq!(flow["up"]["fragments"], 3000, "{host}: {flow:#}");
        assert!(created >= 3000);
        assert_eq!(packets["up"]["fragments"], 3000, "all of them have a flow: {packets:#}");
        assert_eq!(flow["remote_port"], 5210);
        for (size, each) in sizes {
            assert_eq!(of_size(&flow["up"], size), 1000 * each, "{host}, {size}: {flow:#}");
        }
    }
}

#[test]
fn loopback_is_not_counted_twice() {
    let Some(hosts) = Hosts::new("loopback_is_not_counted_twice") else { return };
    let _server = super::support::Server::at(Some(&hosts.net.client), "::", &[]);
    for host in ["127.0.0.1", "::1"] {
        let before = Sent::by(&hosts.net.client);
        let run = hosts.run(&["throughput", host, "-n", "5M", "-b", "200M", "--capture"]);
        let sent = Sent::by(&hosts.net.client).since(before).segments;
        let packets = packets(&run);
        assert_eq!(packets["interface"], "lo");
        let counted = packets_of(packets, "tcp", "up") + packets_of(packets, "tcp", "down");
        assert_eq!(counted, sent, "{host}: {packets:#}");
        let flow = largest_flow(packets, "tcp");
        assert_eq!(flow["remote_port"], 5210, "who opens a connection speaks up: {flow:#}");
        assert!(number(&flow["up"]["payload"]) >= 5_000_000);
    }
}

#[test]
fn measure_and_latency_count_too_and_nothing_is_captured_unasked() {
    let Some(hosts) = Hosts::new("measure_and_latency_count_too") else { return };
    let _server = hosts.serve();
    let run = hosts.run(&["latency", V4, "-t", "500ms", "--capture"]);
    let flow = largest_flow(packets(&run), "udp");
    let messages = number(&run["summary"]["rtt_ns"]["count"]);
    assert!(number(&flow["up"]["packets"]) >= messages && number(&flow["down"]["packets"]) >= messages);
    let run = hosts.run(&["measure", V4, "--quick", "--capture"]);
    let packets = packets(&run);
    assert!(packets_of(packets, "udp", "down") > 0 && packets_of(packets, "tcp", "up") > 0, "{packets:#}");
    let run = hosts.run(&["throughput", V4, "-t", "200ms"]);
    assert!(run["summary"]["packets"].is_null());
    assert!(run["summary"]["up"]["segments"]["received"].is_u64(), "{:#}", run["summary"]["up"]);
}

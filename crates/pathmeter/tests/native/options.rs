//! Every option of `pathmeter throughput` over our own protocol, and its place in the result.

use super::support::{Server, run};
use serde_json::{Value, json};

#[test]
fn tcp_bytes_are_exact_at_both_ends_in_every_direction() {
    let server = Server::start(&[]);
    for direction in [&[][..], &["-R"], &["--bidir"]] {
        for streams in ["1", "3"] {
            let run = server.measured(&[&["-n", "7000001", "-P", streams], direction].concat());
            for name in directions_with_streams(&run) {
                let figures = &run["summary"][name];
                assert_eq!(figures["sent"]["bytes"], json!(7_000_001), "{direction:?} -P {streams} {name}");
                assert_eq!(
                    figures["received"]["bytes"],
                    json!(7_000_001),
                    "{direction:?} -P {streams} {name}"
                );
                assert_eq!(streams_of(figures), streams.parse::<usize>().unwrap());
            }
            assert_ends_agree(&run);
            assert_ne!(run["verdict"]["status"], "void");
        }
    }
}

#[test]
fn udp_bytes_are_exact_at_the_sender_and_add_up_at_the_receiver() {
    let server = Server::start(&[]);
    for direction in [&[][..], &["-R"], &["--bidir"]] {
        let run = server
            .measured(&[&["-u", "-n", "300000", "-l", "1000", "-b", "20M", "-P", "2"], direction].concat());
        for name in directions_with_streams(&run) {
            let figures = &run["summary"][name];
            assert_eq!(figures["sent"]["bytes"], json!(300_000), "{direction:?} {name}");
            assert_accounted(figures);
        }
    }
}

#[test]
fn times_and_omitted_times() {
    let server = Server::start(&[]);
    for args in [
        &["-t", "600ms"][..],
        &["-t", "600ms", "-O", "300ms", "-R"],
        &["-u", "-b", "5M", "-t", "600ms", "-O", "300ms", "--bidir"],
    ] {
        let run = server.measured(&[args, &["-i", "200ms"]].concat());
        let omits = args.contains(&"-O");
        let rows = run["intervals"].as_array().unwrap();
        assert_eq!(rows.iter().any(|row| row["omitted"] == json!(true)), omits, "{args:?}");
        for name in directions_with_streams(&run) {
            assert!(run["summary"][name]["received"]["bytes"].as_u64().unwrap() > 0, "{args:?} {name}");
        }
        for row in streams_at(&run, "local").iter().chain(&streams_at(&run, "peer")) {
            let (counted, total) = (row["bytes"].as_u64().unwrap(), row["total_bytes"].as_u64().unwrap());
            assert!(counted <= total && (counted < total || !omits), "{args:?}: {row}");
        }
        assert_ends_agree(&run);
    }
}

#[test]
fn a_rate_is_kept_and_every_datagram_accounted_for() {
    let server = Server::start(&[]);
    for direction in ["--udp", "-uR"] {
        let run = server.measured(&[direction, "-b", "8M", "-l", "1000", "-n", "500000"]);
        let figures = &run["summary"][directions_with_streams(&run)[0]];
        assert_eq!(figures["sent"]["datagrams"], 500, "{figures:#}");
        // The first goes at time zero, the last 499 ms later. A host that is short of time takes longer, never less.
        let took = figures["seconds"].as_f64().unwrap();
        assert!(took >= 0.499, "{figures:#}");
        assert_accounted(figures);
        let run = server.measured(&[direction, "-b", "8M", "-l", "1000", "-t", "500ms"]);
        let sent = run["summary"][directions_with_streams(&run)[0]]["sent"]["datagrams"].as_u64().unwrap();
        assert!((1..=501).contains(&sent), "{sent} sent");
    }
    let run = server.measured(&["-b", "8M", "-l", "10000", "-t", "1s"]);
    let sent = run["summary"]["up"]["sent"]["bytes"].as_u64().unwrap();
    assert!(sent <= 1_020_000, "TCP keeps the rate too: {sent}");
}

#[test]
fn what_the_sockets_are_asked_for_stands_in_the_result() {
    let server = Server::start(&[]);
    let run = server.measured(&["-n", "3M", "-M", "1000"]);
    assert!(run["summary"]["up"]["mss"].as_u64().unwrap() <= 1000, "{}", run["summary"]["up"]["mss"]);
    for direction in [&[][..], &["-R"]] {
        let run = server.measured(&[&["-n", "3M", "--congestion", "reno"], direction].concat());
        assert_eq!(run["summary"][directions_with_streams(&run)[0]]["congestion"], "reno", "{direction:?}");
    }
    let run = server.measured(&["-n", "1M", "--dscp", "ef"]);
    assert_eq!(run["work"]["throughput"]["test"]["tos"], json!(46 << 2));
    let run = server.measured(&["-u", "-n", "1M", "-b", "50M", "-l", "1200", "--tos", "0x10", "-R"]);
    assert_eq!(run["work"]["throughput"]["test"]["tos"], json!(0x10));
    let run = server.measured(&["-n", "3M", "-w", "64KiB", "--nodelay", "-l", "4000"]);
    assert_eq!(run["work"]["throughput"]["test"]["window"], json!(65536));
    assert_eq!(run["summary"]["up"]["received"]["bytes"], json!(3 << 20));
    let refused = server.throughput(&["-n", "1M", "--congestion", "nonesuch"]).code(2);
    refused.prints("--congestion nonesuch: this host does not have it").prints("cubic");
}

#[test]
fn methods_to_move_data() {
    let server = Server::start(&[]);
    for args in [
        &["-n", "20M", "-Z"][..],
        &["-n", "20M", "-Z", "-R"],
        &["-n", "20M", "--receive-discard"],
        &["-n", "20M", "--receive-discard", "-R"],
        &["-n", "20M", "-Z", "--receive-discard", "--bidir", "-P", "2"],
        &["-n", "5M", "-l", "1"],
        &["-n", "20M", "--affinity", "0"],
        &["-n", "20M", "--wait", "block", "-R"],
    ] {
        // One byte a write is slow, so fewer of them.
        let args: Vec<&str> =
            args.iter().map(|w| if args.contains(&"1") && *w == "5M" { "20K" } else { w }).collect();
        let run = server.measured(&args);
        for name in directions_with_streams(&run) {
            let figures = &run["summary"][name];
            assert_eq!(figures["sent"]["bytes"], figures["received"]["bytes"], "{args:?} {name}");
        }
        assert_ends_agree(&run);
    }
}

#[test]
fn datagrams_with_and_without_offload() {
    let server = Server::start(&[]);
    for args in [
        &["-l", "1400"][..],
        &["-l", "1400", "--no-gso"],
        &["-l", "16"],
        &["-l", "16", "--no-gso"],
        &["-l", "65507"],
    ] {
        for direction in [&[][..], &["-R"]] {
            let run = server.measured(&[&["-u", "-b", "30M", "-t", "300ms"], args, direction].concat());
            let figures = &run["summary"][directions_with_streams(&run)[0]];
            assert!(figures["received"]["datagrams"].as_u64().unwrap() > 0, "{args:?} {direction:?}");
            assert_accounted(figures);
            let sender = if direction.is_empty() { "local" } else { "peer" };
            let segments = run["summary"][sender]["datapath"]["gso_segments"].as_u64().unwrap();
            assert!(segments <= 1 || !args.contains(&"--no-gso"), "{args:?}: {segments} segments");
        }
    }
}

#[test]
fn families_and_local_addresses() {
    let server = Server::start(&[]);
    for args in [
        &["-4"][..],
        &["--bind", "127.0.0.1"],
        &["--bind", "127.0.0.2", "-u", "-b", "10M"],
        &["--device", "lo"],
    ] {
        let run = server.measured(&[&["-n", "200K"], args].concat());
        assert!(run["summary"]["up"]["received"]["bytes"].as_u64().unwrap() > 0, "{args:?}");
    }
    server.throughput(&["-6"]).code(2).prints("127.0.0.1 is not an IPv6 address");
    server
        .throughput(&["--bind", "192.0.2.77"])
        .code(2)
        .prints("--bind 192.0.2.77: this host has no such address");
    server.throughput(&["--device", "nonesuch0"]).code(2).prints("--device nonesuch0: No such device");
    let both = Server::at(None, "::", &[]);
    both.process.wait_for("open to everyone who can reach this host");
    let port = both.port.to_string();
    for args in [["::1", "-6"], ["127.0.0.1", "-4"], ["localhost", "-4"]] {
        for transport in [&["-n", "200K"][..], &["-n", "200K", "-u", "-b", "20M", "-R"]] {
            let ended = run(&[&["throughput", args[0], "-p", &port, args[1], "--json"], transport].concat());
            let run = ended.code(0).json();
            assert!(run["verdict"]["status"] != "void", "{args:?} {}", run["verdict"]);
        }
    }
}

#[test]
fn affinity_beyond_this_host_is_refused() {
    let server = Server::start(&[]);
    server.throughput(&["-n", "1M", "--affinity", "4095"]).code(2).prints("--affinity 4095");
}

/// The directions that have figures.
fn directions_with_streams(run: &Value) -> Vec<&'static str> {
    ["up", "down"].into_iter().filter(|direction| !run["summary"][*direction].is_null()).collect()
}

fn streams_of(figures: &Value) -> usize {
    figures["streams"].as_array().unwrap().len()
}

fn streams_at(run: &Value, end: &str) -> Vec<Value> {
    run["summary"][end]["streams"].as_array().unwrap().clone()
}

/// Each received datagram is counted once, and each that was sent was received or dropped by the receiver's buffer: the
/// loopback loses none.
fn assert_accounted(figures: &Value) {
    let loss = |place: &str| figures["loss"][place].as_u64().unwrap();
    let received = figures["received"]["datagrams"].as_u64().unwrap();
    assert_eq!((loss("path"), loss("sender")), (0, 0), "{figures:#}");
    assert_eq!(figures["sent"]["datagrams"].as_u64().unwrap(), received + loss("receiver"), "{figures:#}");
}

/// TCP: what one end sent on a stream the other received, omitted time included.
fn assert_ends_agree(run: &Value) {
    if run["work"]["throughput"]["test"]["transport"] != "tcp" {
        return;
    }
    for (mine, theirs) in streams_at(run, "local").iter().zip(streams_at(run, "peer")) {
        assert_eq!((&mine["stream"], &mine["total_bytes"]), (&theirs["stream"], &theirs["total_bytes"]));
    }
}

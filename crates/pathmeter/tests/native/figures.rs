//! Figures of a test against what is known from elsewhere: the kernel's own counters, and a path that treats datagrams
//! as their numbers say.

use super::lab::{Net, SERVER};
use super::net::ip;
use super::relay::{Delivery, Relay};
use super::support::{Running, Server, pathmeter, run, skip};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// 10 of 200 datagrams are lost, the last one too; 8 come twice; 6 come after their successor.
#[test]
fn numbered_datagrams_are_counted_under_their_own_names() {
    let server = Server::start(&[]);
    let relay = Relay::to(server.port, |number| match number {
        n if n % 20 == 0 => Delivery::Lost,
        n if n % 25 == 7 => Delivery::Twice,
        n if n % 33 == 11 => Delivery::AfterTheNext,
        _ => Delivery::Once,
    });
    for direction in ["up", "down"] {
        let run = through(&relay, direction, 0);
        assert_eq!(run["summary"][direction]["received"]["datagrams"], 190, "{direction}: {run:#}");
        assert_eq!(
            run["summary"][direction]["received"]["bytes"], 19_000,
            "{direction}: what came twice counts once"
        );
        assert_eq!(run["summary"][direction]["sent"]["datagrams"], 200, "{direction}");
        assert_eq!(counted(&run, direction), [10, 0, 0, 6, 8, 0], "{direction}: {:#}", run["summary"]);
        assert_eq!(run["summary"][direction]["streams"][0]["lost"], 10, "{direction}");
    }
    server.stop();
}

/// Two ways of unequal length: what comes by the longer one after the datagram of the last number is not lost.
#[test]
fn what_comes_after_the_last_number_is_not_lost() {
    let server = Server::start(&[]);
    let relay = Relay::to(server.port, |number| match number {
        150 | 190 | 199 => Delivery::Behind(Duration::from_millis(120)),
        _ => Delivery::Once,
    });
    for direction in ["up", "down"] {
        let is_brief = |_| {
            let run = through(&relay, direction, 0);
            let figures = &run["summary"][direction];
            assert_eq!(figures["received"]["datagrams"], 200, "{direction}: {run:#}");
            assert_eq!(counted(&run, direction), [0, 0, 0, 3, 0, 0], "{direction}: {figures:#}");
            // 20 ms, as long as the flow itself: what is overtaken takes none of its time.
            figures["seconds"].as_f64().unwrap() < 0.1
        };
        // A busy host may hold the flow itself up, but not each time.
        assert!((0..4).any(is_brief), "{direction}: it took as long as what was overtaken each time");
    }
    server.stop();
}

/// A number far ahead, which was never sent, moves the window of remembered numbers: a duplicate from before it cannot be
/// distinguished from a first arrival.
#[test]
fn datagrams_from_before_the_window_are_late() {
    let server = Server::start(&[]);
    let relay = Relay::to(server.port, |number| match number {
        200 => Delivery::ThenAgain { ahead: (1 << 20) + 2, again: &[1, 2, 3, 4, 5] },
        _ => Delivery::Once,
    });
    for direction in ["up", "down"] {
        // More came than was sent, which makes the result void.
        let run = through(&relay, direction, 4);
        assert_eq!(counted(&run, direction)[3..], [0, 3, 2], "{direction}: {:#}", run["summary"]);
    }
    server.stop();
}

/// 200 datagrams, which all fit any socket's buffer at once: none is lost but by the relay.
#[track_caller]
fn through(relay: &Relay, direction: &str, code: i32) -> Value {
    let argv =
        ["throughput", &relay.host, "-u", "-l", "100", "-n", "20000", "-b", "8M", "--no-gso", "--json"];
    let reverse: &[&str] = if direction == "down" { &["-R"] } else { &[] };
    run(&[&argv[..], reverse].concat()).code(code).json()
}

/// Loss of the path, the receiver and the sender, reordered, duplicates, late.
fn counted(run: &Value, direction: &str) -> [u64; 6] {
    let figures = &run["summary"][direction];
    let loss = ["path", "receiver", "sender"].map(|place| count(&figures["loss"][place]));
    let [path, receiver, sender] = loss;
    let [reordered, duplicates, late] = ["reordered", "duplicates", "late"].map(|key| count(&figures[key]));
    [path, receiver, sender, reordered, duplicates, late]
}

/// One of sixteen datagrams is dropped on the path by its number; a receiver that stands still overflows; both at once.
/// The kernel counts each.
#[test]
fn loss_is_reported_where_it_happened() {
    let Some(net) = Net::new("loss_is_reported_where_it_happened") else { return };
    let server = net.serve(&[]);
    let (client, far) = (net.client.clone(), net.server.clone());
    for (direction, stands, drops, argv) in [
        ("up", true, false, &["-l", "1000", "-b", "50M", "--no-gso"][..]),
        ("up", true, true, &["-l", "1000", "-b", "50M", "--no-gso"]),
        ("down", false, true, &["-l", "1000", "-b", "50M", "--no-gso", "-R"]),
        ("down", true, true, &["-l", "1000", "-b", "50M", "--no-gso", "-R"]),
        ("up", true, false, &["-l", "200", "-b", "540M"]),
    ] {
        let at = if direction == "up" { &far } else { &client };
        net.nft(at, if drops { ONE_OF_SIXTEEN } else { NO_RULES });
        let before = overflowed(at);
        let all = ["throughput", SERVER, "-u", "-t", "100s", "-i", "100ms"];
        // A small buffer overflows soon; the one a receiver takes otherwise does not.
        let buffer: &[&str] = if stands { &["-w", "128KiB"] } else { &[] };
        let all = [&all[..], &["--format", "ndjson"], buffer, argv].concat();
        let test = Running::start(pathmeter(Some(&client), &all));
        test.wait_for_output("\"sample\"");
        let receiver = if direction == "up" { server.process.pid() } else { test.pid() };
        if stands {
            signal("STOP", receiver);
            until(|| overflowed(at) - before >= 50);
            signal("CONT", receiver);
        } else {
            until(|| dropped(at) >= 50);
        }
        test.signal("INT");
        let ended = test.end().code(0);
        let run: Value = serde_json::from_str(ended.stdout.lines().last().expect("output")).unwrap();
        let case = format!("{direction} {argv:?}, stands {stands}, drops {drops}: {:#}", run["summary"]);

        let sender = if direction == "up" { "local" } else { "peer" };
        // A super-packet leaves and arrives as one, and is dropped as one.
        let piece = count(&run["summary"][sender]["datapath"]["gso_segments"]).max(1);
        assert_eq!(piece == 1, argv.contains(&"--no-gso"), "{case}");
        let receiver = if direction == "up" { "peer" } else { "local" };
        assert_eq!(run["summary"][receiver]["datapath"]["gro"], !argv.contains(&"--no-gso"), "{case}");
        let path = if drops { dropped(at) } else { 0 };
        let overflow = (overflowed(at) - before) * piece;
        assert_eq!(counted(&run, direction), [path, overflow, 0, 0, 0, 0], "{case}");
        assert!(path > 0 || !drops, "{case}");
        assert!(overflow > 0 || !stands, "{case}");
        let figures = &run["summary"][direction];
        let [sent, received] = ["sent", "received"].map(|key| count(&figures[key]["datagrams"]));
        assert_eq!(sent, received + path + overflow, "{case}");
    }
    server.stop();
}

/// The sender's own queue is full: what it drops never was on the path. With a drop on the path besides, each has its own.
#[test]
fn what_the_senders_queue_drops_is_the_senders() {
    let Some(net) = Net::new("what_the_senders_queue_drops_is_the_senders") else { return };
    let server = net.serve(&[]);
    for (direction, drops, argv) in [("up", false, &[][..]), ("up", true, &[]), ("down", false, &["-R"])] {
        let (sender, receiver) = match direction {
            "up" => (&net.client, &net.server),
            _ => (&net.server, &net.client),
        };
        let shaper = ["qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "20mbit", "burst", "10k"];
        let tc = [&["netns", "exec", sender, "tc"], &shaper[..], &["limit", "30k"]].concat();
        if !Command::new("ip").args(tc).status().is_ok_and(|done| done.success()) {
            return skip(
                "what_the_senders_queue_drops_is_the_senders",
                "it needs tc(8) and the kernel's tbf",
            );
        }
        net.nft(receiver, if drops { ONE_OF_SIXTEEN } else { NO_RULES });
        let before = udp_counter(sender, "SndbufErrors");
        let all =
            ["throughput", SERVER, "-u", "-t", "500ms", "-l", "1000", "-b", "60M", "--no-gso", "--json"];
        let run = net.client(&[&all[..], argv].concat()).code(0).json();
        let queue = udp_counter(sender, "SndbufErrors") - before;
        let path = if drops { dropped(receiver) } else { 0 };
        let case = format!("{direction}, drops {drops}: {:#}", run["summary"]);
        assert!(queue > 100 && (path > 0) == drops, "{queue} in the queue, {path} on the path, {case}");
        assert_eq!(counted(&run, direction), [path, 0, queue, 0, 0, 0], "{case}");
    }
    server.stop();
}

const NO_RULES: &str = "flush ruleset\n";
/// By the number's last four bits: the UDP header, two bytes of stream, six of number.
const ONE_OF_SIXTEEN: &str = "flush ruleset
table ip path {
    counter dropped {}
    chain arriving {
        type filter hook prerouting priority -450;
        udp length 1008 @th,124,4 3 counter name dropped drop
    }
}
";

fn dropped(ns: &str) -> u64 {
    let listed = inside(ns, &["nft", "-j", "list", "counters"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    count(&listed["nftables"][1]["counter"]["packets"])
}

fn overflowed(ns: &str) -> u64 {
    udp_counter(ns, "RcvbufErrors")
}

/// A counter of UDP in a namespace, by the kernel's name.
fn udp_counter(ns: &str, name: &str) -> u64 {
    let file = inside(ns, &["cat", "/proc/net/snmp"]);
    let mut rows = file.lines().filter_map(|line| line.strip_prefix("Udp: ")).map(str::split_whitespace);
    let (names, values) = (rows.next().expect("names"), rows.next().expect("values"));
    let found = names.zip(values).find(|(known, _)| *known == name);
    found.expect("the kernel counts it").1.parse().unwrap()
}

fn inside(ns: &str, argv: &[&str]) -> String {
    let output = Command::new("ip").args(["netns", "exec", ns]).args(argv).output().expect("ip starts");
    assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", name, &pid.to_string()]).status();
    assert!(sent.expect("there is a shell").success(), "kill -{name} {pid}");
}

#[track_caller]
fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The rate of TCP behind a token bucket: the bucket lets through what its rate and burst allow, and counts it.
#[test]
fn the_goodput_of_tcp_is_what_a_shaper_lets_through() {
    let Some(net) = Net::new("the_goodput_of_tcp_is_what_a_shaper_lets_through") else { return };
    ip(&["netns", "exec", &net.client, "ethtool", "-K", "eth0", "tso", "off", "gso", "off"]);
    let argv = ["netns", "exec", &net.client, "tc", "qdisc", "add", "dev", "eth0", "root"];
    let bucket = ["tbf", "rate", "40mbit", "burst", "16k", "limit", "200k"];
    if !Command::new("ip").args(argv).args(bucket).status().is_ok_and(|status| status.success()) {
        return skip("the_goodput_of_tcp_is_what_a_shaper_lets_through", "no token bucket filter (sch_tbf)");
    }
    let server = net.serve(&[]);
    // The load that finds the limit would cross the shaper, too.
    let argv = ["throughput", SERVER, "-t", "1s", "--json", "--no-explain"];
    for streams in [1, 3] {
        let before = shaped(&net.client);
        let begun = Instant::now();
        let run = net.client(&[&argv[..], &["-P", &streams.to_string()]].concat());
        let took = begun.elapsed().as_secs_f64();
        let crossed = (shaped(&net.client) - before) as f64;
        let run = run.code(0).json();
        let up = &run["summary"]["up"];

        let of_streams: u64 = up["streams"].as_array().unwrap().iter().map(|s| count(&s["bytes"])).sum();
        let (bytes, seconds) = (count(&up["received"]["bytes"]), up["seconds"].as_f64().unwrap());
        assert_eq!((of_streams, up["streams"].as_array().unwrap().len()), (bytes, streams), "{up:#}");
        let goodput = count(&up["goodput_bps"]) as f64;
        assert!((goodput - bytes as f64 * 8.0 / seconds).abs() <= 1.0, "{up:#}");
        assert!((1.0..took).contains(&seconds), "asked for 1 s, ran in {took} s: {up:#}");

        // All that crossed, also after the end, is data but for what was sent twice, handshakes and the dialogue.
        let ended = run["summary"]["peer"]["streams"].as_array().unwrap().iter();
        let data = ended.map(|s| count(&s["total_bytes"])).sum::<u64>() as f64 / PAYLOAD_SHARE;
        let again = count(&up["retransmits"]) as f64 * 1514.0;
        assert!(bytes as f64 / PAYLOAD_SHARE <= data && data <= crossed, "{data} of {crossed}: {up:#}");
        assert!(crossed <= data + again + 100e3, "{data} and {again} of {crossed}: {up:#}");
        // The bucket cannot have let through more while the test ran.
        let most = (40e6 * took + BURST * 8.0) * PAYLOAD_SHARE / seconds;
        assert!(goodput <= most, "{goodput} of at most {most}: {up:#}");
        let wire = count(&up["wire_bps"]) as f64;
        assert!((wire - goodput / 1448.0 * 1538.0).abs() <= 2.0, "preamble to gap: {up:#}");
    }
    server.stop();
}

/// TCP payload with timestamps in a frame of 1514 bytes, which is what the bucket counts.
const PAYLOAD_SHARE: f64 = 1448.0 / 1514.0;
/// Bytes of the bucket.
const BURST: f64 = 16384.0;

/// Bytes that have left the bucket.
fn shaped(ns: &str) -> u64 {
    let listed = inside(ns, &["tc", "-s", "-j", "qdisc", "show", "dev", "eth0"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    count(&listed[0]["bytes"])
}

#[track_caller]
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a count: {value}"))
}

/// No wait here takes longer, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(60);

//! Command lines and the plans or refusals they become.

use crate::arguments::{Cli, Command};
use crate::request::Asks;
use clap::Parser;
use engine::error::{Failure, Kind};
use engine::request::{Host, resolve};
use engine::run;
use model::plan::{Directions, End, Plan, TestSpec, Transport, Wait};
use model::units::{BitRate, Bytes, Nanos};

fn plan(line: &str) -> Result<Plan, Failure> {
    let argv = format!("pathmeter throughput {line}");
    let cli = Cli::try_parse_from(argv.split_whitespace()).expect("clap takes it");
    let Command::Throughput(args) = cli.command else { panic!("another command") };
    let plan = args.request().and_then(|asked| resolve(&asked, &Host::here().with_path_mtu(1500)));
    match plan.map_err(|error| error.failure().expect("a refusal with its reason").clone())? {
        run::Plan::Throughput(plan) => Ok(*plan),
        other => panic!("another plan: {other:?}"),
    }
}

#[test]
fn defaults_are_filled() {
    let plan = plan("127.0.0.1").expect("a plain line");
    assert_eq!(plan.target.address.to_string(), "127.0.0.1:5210");
    assert_eq!(plan.test, TestSpec::new(Transport::Tcp));
    assert_eq!(plan.local.interval, Nanos::from_secs(1));
    assert_eq!(plan.local.connect_timeout, Some(Nanos::from_secs(5)));
    assert_eq!(plan.local.wait, Wait::Auto);
}

#[test]
fn udp_has_no_rate_of_its_own_and_fits_one_packet() {
    let test = plan("127.0.0.1 --udp").expect("UDP").test;
    assert_eq!((test.transport, test.bitrate, test.length), (Transport::Udp, None, Some(1472)));
    assert_eq!(plan("::1 --udp").expect("UDP").test.length, Some(1452));
    assert_eq!(plan("::1 --udp -b 0").expect("b 0").test.bitrate, None);
    assert_eq!(plan("::1 -u -b 1M").expect("b 1M").test.bitrate, Some(BitRate(1_000_000)));
}

#[test]
fn options_arrive_in_the_plan() {
    let plan = plan(
        "[::1]:99 -R -P 8 -n 1G -O 1 -i 500ms -l 128K -b 10G -M 1400 -w 4M --congestion cubic --dscp ef --nodelay \
         -Z --receive-discard --affinity 0 --device lo -6 --wait spin --link 25G --connect-timeout 2s",
    )
    .expect("all at once");
    assert_eq!(plan.target.address.to_string(), "[::1]:99");
    let test = &plan.test;
    assert_eq!((test.directions, test.streams), (Directions::Down, 8));
    assert_eq!((test.end, test.omit), (End::Bytes(Bytes(1 << 30)), Nanos::from_secs(1)));
    assert_eq!((test.length, test.mss, test.window), (Some(131_072), Some(1400), Some(4 << 20)));
    assert_eq!((test.congestion.as_deref(), test.tos), (Some("cubic"), 0xb8));
    assert!(test.nodelay && test.zero_copy && test.receive_discard && test.offload);
    let local = &plan.local;
    assert_eq!((local.affinity.as_slice(), local.wait), ([0].as_slice(), Wait::Spin));
    assert_eq!((local.device.as_deref(), local.link), (Some("lo"), Some(BitRate(25_000_000_000))));
    assert_eq!(local.connect_timeout, Some(Nanos::from_secs(2)));
}

#[test]
fn each_protocol_has_its_port() {
    assert_eq!(plan("127.0.0.1 --protocol iperf3").expect("iperf3").target.address.port(), 5201);
    assert_eq!(plan("127.0.0.1 --protocol iperf3 -p 7").expect("-p").target.address.port(), 7);
    assert_eq!(plan("127.0.0.1:9 -p 9").expect("both alike").target.address.port(), 9);
}

#[test]
fn conflicts_name_both_options_and_the_fix() {
    for (line, one, other) in [
        ("h --reverse --bidir", "--reverse", "--bidir"),
        ("h -t 5 -n 5", "--time", "--bytes"),
        ("h -u -M 1400", "--mss", "--udp"),
        ("h -u --congestion bbr", "--congestion", "--udp"),
        ("h -u --nodelay", "--nodelay", "--udp"),
        ("h -u -Z", "--zero-copy", "--udp"),
        ("h -u --receive-discard", "--receive-discard", "--udp"),
        ("h --no-gso", "--no-gso", "--udp"),
        ("h --dscp ef --tos 4", "--dscp", "--tos"),
        ("h -4 -6", "-4", "-6"),
        ("h --bind ::1 -4", "--bind ::1", "-4"),
        ("h:1 -p 2", "HOST:1", "--port 2"),
        ("h --protocol iperf3 --token-file x", "--token-file", "--protocol iperf3"),
        ("h --protocol iperf3 -t 1.5", "--time 1.50 s", "--protocol iperf3"),
    ] {
        let failure = plan(line).expect_err(line);
        assert_eq!(failure.kind, Kind::Usage, "{line}");
        let reported = format!("{}\n{}", failure.message, failure.advice.expect("advice"));
        assert!(reported.contains(one) && reported.contains(other), "{line}: {reported}");
    }
}

#[test]
fn limits_are_kept() {
    for (line, named) in [
        ("h -P 0", "--parallel 0"),
        ("h -P 129", "--parallel 129"),
        ("h -u -l 65508", "--length 65508"),
        ("h -u -l 15", "--length 15"),
        ("h -l 0", "--length 0"),
        ("h -l 17M", "--length"),
        ("h -l 2M --protocol iperf3", "--length with --protocol iperf3"),
        ("h -M 87", "--mss 87"),
        ("h -M 32768", "--mss 32768"),
        ("h -w 2G", "--window"),
        ("h -w 0", "--window 0"),
        ("h -t 0 --pairs 2", "--time 0"),
        ("h -t 1000h", "--time 3600000 s"),
        ("h -n 0", "--bytes 0"),
        ("h -O 601", "--omit 601 s"),
        ("h -i 1ms", "--interval 1.00 ms"),
        ("h --link 0", "--link 0"),
        ("h --connect-timeout 0", "--connect-timeout 0"),
    ] {
        let failure = plan(line).expect_err(line);
        assert_eq!(failure.kind, Kind::Usage, "{line}");
        assert!(failure.message.contains(named), "{line}: {}", failure.message);
    }
    for line in ["-P 128", "-t 0", "-u -l 65507", "-u -l 16", "-M 88", "-M 32767", "-i 0", "-i 10ms"] {
        plan(&format!("127.0.0.1 {line}")).unwrap_or_else(|failure| panic!("{line}: {failure}"));
    }
}

#[test]
fn a_host_without_an_address_is_named() {
    let failure = plan("no-such-host.invalid").expect_err("RFC 6761: .invalid never resolves");
    assert_eq!(failure.kind, Kind::Unreachable);
    assert!(failure.message.contains("no-such-host.invalid"), "{}", failure.message);
    let failure = plan("127.0.0.1 -6").expect_err("no IPv6 address");
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.message.contains("127.0.0.1") && failure.message.contains("-6"), "{}", failure.message);
    let failure = plan("::1 --bind 127.0.0.1").expect_err("the other family");
    assert!(failure.message.contains("IPv4"), "{}", failure.message);
}

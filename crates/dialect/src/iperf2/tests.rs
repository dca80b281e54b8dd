//! Command lines and what they become; what is refused.

use super::*;
use crate::iperf2::output::{Iperf2Role, Zone};
use engine::work::iperf2::Back;
use model::plan::{Directions, End, Transport};
use model::units::{BitRate, Bytes, Nanos};
use wire::iperf2::Shape;

fn read(line: &str) -> Result<Request, Fault> {
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse(&args)
}

fn client(line: &str) -> CommandLine {
    match read(line) {
        Ok(Request::Client(line)) => *line,
        other => panic!("{line}: {other:?}"),
    }
}

fn server(line: &str) -> CommandLine {
    match read(line) {
        Ok(Request::Server(line)) => *line,
        other => panic!("{line}: {other:?}"),
    }
}

fn refused(line: &str) -> String {
    match read(line) {
        Err(fault) => refusal(&fault),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_lines_of_the_issue() {
    assert_eq!(server("-s").both.port, 5001);
    let line = client("-c 127.0.0.1 -i 10 -P 10 -t 60 -M 1460");
    let test = &line.client.test;
    assert_eq!((test.streams, test.mss), (10, Some(1460)));
    assert_eq!(test.end, End::Time(Nanos::from_secs(60)));
    assert_eq!(line.both.interval, Some(Nanos::from_secs(10)));
    let plan = line.plan().expect("an address");
    assert_eq!(
        (plan.target.address.to_string(), plan.local.interval),
        ("127.0.0.1:5001".into(), Nanos::from_secs(10))
    );
}

#[test]
fn defaults_are_iperf2s() {
    let line = client("-c h");
    assert_eq!((line.client.test.end, line.both.interval), (End::Time(Nanos::from_secs(10)), None));
    let udp = client("-c h -u").client.test;
    assert_eq!((udp.length, udp.bitrate, udp.offload), (Some(1470), Some(BitRate(1 << 20)), false));
    assert_eq!(client("-c h -u -V").client.test.length, Some(1450));
    assert_eq!(client("-c h -u -b 0").client.test.bitrate, None);
    assert!(client("-c h -u -b 0").client.test.offload);
}

#[test]
fn letters_mean_what_iperf2_means() {
    assert_eq!(client("-c h -u -b 10M").client.test.bitrate, Some(BitRate(10_485_760)));
    assert_eq!(client("-c h -u -b 10m").client.test.bitrate, Some(BitRate(10_000_000)));
    assert_eq!(client("-c h -u -b 100pps").client.extras.packet_rate, Some(100));
    assert_eq!(client("-c h -n 1M -P 2").client.test.end, End::Bytes(Bytes(2 << 20)));
    assert_eq!(client("-c h -w 64K -l 8k").client.test.window, Some(65_536));
    for (text, tos) in [("0x10", 0x10), ("16", 16), ("ef", 0xb8), ("lowdelay", 0x10), ("af11", 0x28)] {
        assert_eq!(client(&format!("-c h -S {text}")).client.test.tos, tos, "{text}");
    }
    assert_eq!(client("-c h --dscp ef").client.test.tos, 0xb8);
    assert_eq!(client("-c h --dscp 0x2e").client.test.tos, 0xb8);
    assert!(client("-c h --skip-rx-copy").client.test.receive_discard);
}

#[test]
fn the_directions_of_a_test() {
    for (option, directions, back) in [
        ("-R", Directions::Down, Back::FullDuplex),
        ("--full-duplex", Directions::Both, Back::FullDuplex),
        ("-d", Directions::Both, Back::Dual),
        ("-r -L 6000", Directions::Both, Back::Tradeoff),
    ] {
        let line = client(&format!("-c h {option}"));
        assert_eq!((line.client.test.directions, line.client.extras.back), (directions, back), "{option}");
    }
    let line = client("-c h --isochronous=30:1m,100k -u --trip-times");
    assert!(matches!(line.client.extras.shape, Shape::Isochronous(Some(frames)) if frames.rate.whole == 30));
    assert!(line.both.shown.enhanced && line.client.extras.trip_times);
    assert!(matches!(client("-c h --burst-size 2M").client.extras.shape, Shape::Bursts(_)));
    let line = client("-c h --bounceback --bounceback-period 0.5");
    assert_eq!(line.client.bounceback, Some(Bounceback { period: 0.5, ..Bounceback::default() }));
    let line = client("-c h --bounceback --bounceback-reply 2K --bounceback-no-quickack");
    let bounceback = Bounceback { reply: Some(2048), quick_ack: false, ..Bounceback::default() };
    assert_eq!(line.client.bounceback, Some(bounceback));
}

#[test]
fn a_server_may_have_many_ports() {
    let line = server("-s -p 5001-5003");
    assert_eq!((line.both.port, line.both.last_port), (5001, Some(5003)));
    let settings = line.settings(Bytes(0)).text(&line.output_options(Iperf2Role::Server, Zone::default()));
    assert!(settings.contains("Server listening on TCP ports 5001-5003"), "{settings}");
}

#[test]
fn options_of_2_2() {
    let line = client("-c h --connect-retry-time 3 --connect-retry-timer 0.5 --utc -F file");
    let extras = &line.client.extras;
    assert_eq!((extras.retry_time, extras.retry_pause), (Nanos::from_secs(3), Some(Nanos::from_millis(500))));
    assert!(line.both.utc);
    assert_eq!(line.client.file.as_deref(), Some(std::path::Path::new("file")));
    assert_eq!(client("-c h -I").client.file.as_deref(), Some(std::path::Path::new("/dev/stdin")));
}

#[test]
fn a_bind_has_a_port_and_a_device() {
    let line = client("-c fe80::1%eth0 -B [fd00::1]:4000");
    assert_eq!((line.client.host.as_deref(), line.both.device.as_deref()), (Some("fe80::1"), Some("eth0")));
    assert_eq!((line.both.bind.as_deref(), line.both.bind_port), (Some("fd00::1"), Some(4000)));
    let line = server("-s -B 10.0.0.1%eth1");
    assert_eq!((line.both.bind.as_deref(), line.both.device.as_deref()), (Some("10.0.0.1"), Some("eth1")));
}

#[test]
fn what_cannot_be_is_refused() {
    for (line, message) in [
        ("", "Usage: iperf"),
        ("--bogus", "unrecognized option '--bogus'"),
        ("-Q", "invalid option -- 'Q'"),
        ("-c", "option requires an argument -- 'c'"),
        ("-c h -s", "client (-c) or a server (-s)"),
        ("-c h -t x", "-t value of 'x' not recognized"),
        ("-c h -P 0", "1 to 128"),
        ("-c h -P x", "-P value of 'x'"),
        ("-c h -f x", "-f value of 'x'"),
        ("-c h -y D", "C is the only style"),
        ("-s -p 99999", "1 to 65535"),
        ("-c h -p 5001-5003", "a range of ports (-p N-M) is a server's"),
        ("-s -p 5003-5001", "N-M with M above N"),
        ("-s -p 5001-5101", "at most 100 ports"),
        ("-s -p 5001-", "1 to 65535"),
        ("-c h -R -d", "mutually exclusive"),
        ("-c h -u -X", "-X or --peer-detect"),
        ("-c h -b 100pps", "pps not supported with TCP"),
        ("-c h -b 1k", "consider setting -l to 125"),
        ("-c h -u -F file", "-F and -I are served by pathmeter for TCP one way"),
        ("-c h -R -I", "-F and -I are served by pathmeter for TCP one way"),
        ("-c h -P 2 -I", "there is one standard input"),
        ("-c h --bounceback-reply 63", "64 to 1048576"),
        ("-c h --connect-retry-timer 0", "--connect-retry-timer value of '0'"),
        ("-c h -T 3", "option -T is of multicast"),
        ("-c h -u -T 256", "0 to 255"),
        ("-c h --fq-rate-step 1m", "need --fq-rate"),
        ("-c h --working-load=both", "up, down or bidir"),
        ("-c h --bounceback-txdelay 1", "delay after the begin of --working-load"),
        ("-c h -u --tcp-write-prefetch 1K", "not supported with -u UDP"),
        ("-c h -b 1m --near-congestion", "--near-congestion and -b rate limited are mutually exclusive"),
        ("-c h -u --near-congestion", "--near-congestion not supported with -u UDP"),
        ("-c h --incr-dstip", "--incr-dstip is not served"),
        ("-s --histograms=100", "a width in micro- or milliseconds"),
        ("-c h -C --histograms", "compatibility mode not supported"),
        ("-c h --omit 1", "--omit is not served"),
        ("-c h --dscp 64", "0 to 63"),
        ("-c h -C -R", "compatibility mode"),
        ("-c h -u --permit-key=abcd", "--permit-key not supported with UDP"),
        ("-c h --permit-key=ab", "4 to 128"),
        ("-c h -M 10", "88 to 32767"),
        ("-c h -S 300", "0 to 255"),
        ("-c h --bounceback --bounceback-hold 5", "--bounceback-hold is not served"),
    ] {
        let reported = refused(line);
        assert!(reported.contains(message), "{line}: {reported}");
    }
}

#[test]
fn what_the_other_role_has_is_warned_of() {
    assert_eq!(server("-s -R").warnings, ["WARNING: option -R is not valid for server mode"]);
    assert_eq!(
        server("-s --working-load --no-udp-fin").warnings,
        ["--working-load", "--no-udp-fin"]
            .map(|option| format!("WARNING: option {option} is not valid for server mode"))
    );
    assert!(server("-s -b 1m -P 2").warnings.is_empty(), "options of both");
    assert_eq!(client("-c h -D").warnings, ["WARNING: option -D is not valid for client mode"]);
    assert_eq!(client("-c h more").warnings, ["iperf: ignoring extra argument -- more"]);
    assert_eq!(client("-c h -t 0").warnings.len(), 1);
}

#[test]
fn help_shows_every_served_option() {
    let help = help_text();
    for option in ["--client HOST", "--dualtest", "--enhanced", "--bounceback[=N]", "--daemon"] {
        assert!(help.contains(option), "{option}\n{help}");
    }
    assert!(version_text().starts_with("iperf version 2.1.8"));
    assert!(matches!(read("-h"), Ok(Request::Help)) && matches!(read("-v"), Ok(Request::Version)));
    let rows = || options::ALL.iter().flat_map(|(_, rows)| rows.iter());
    for row in rows() {
        assert_eq!(
            rows().filter(|other| other.usage.name() == row.usage.name()).count(),
            1,
            "{}",
            row.usage.name()
        );
        let same =
            |letter: char| rows().filter(|other| other.usage.letters().any(|own| own == letter)).count();
        assert!(row.usage.letters().all(|letter| same(letter) == 1), "{}", row.usage.0);
    }
}

proptest::proptest! {
    #[test]
    fn no_command_line_panics(args: Vec<String>) {
        let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
        let _ = parse(&args);
    }

    #[test]
    fn no_value_is_beyond_an_answer(value in "[-0-9a-zA-Z.:,%]{0,12}", option in 0_usize..60) {
        let rows: Vec<_> = options::ALL.iter().flat_map(|(_, rows)| rows.iter()).collect();
        let name = rows[option % rows.len()].usage.name();
        let _ = read(&format!("-c h --{name}={value}"));
    }
}

#[test]
fn options_of_2_2_for_load_steps_and_groups() {
    let line =
        client("-c h --fq-rate 1m --fq-rate-step 2m --fq-rate-step-interval 0.5 --tcp-write-prefetch 16K");
    let extras = &line.client.extras;
    assert_eq!(extras.rate_step, Some((BitRate(2_000_000), Nanos::from_millis(500))));
    assert_eq!(extras.unsent_limit, Some(Bytes(16 << 10)));
    let client_line =
        client("-c h --bounceback --trip-times -P 3 --bounceback-request 200 --bounceback-reply 300");
    let bounceback = client_line.client.bounceback.expect("round trips");
    assert!(bounceback.trip_times && bounceback.reply == Some(300));
    assert_eq!((client_line.client.test.streams, client_line.client.test.length), (3, Some(200)));
    assert!(client_line.working_load().is_none());
    let load = client("-c h -u -t 3 --working-load=down,4 --working-load-cca reno").working_load();
    let test = load.expect("a load").client.test;
    assert_eq!((test.transport, test.directions, test.streams), (Transport::Tcp, Directions::Down, 4));
    assert_eq!((test.congestion.as_deref(), test.end), (Some("reno"), End::Time(Nanos::from_secs(3))));
    let both = client("-c h --bounceback --working-load").working_load().expect("a load").client.test;
    assert_eq!((both.directions, both.streams), (Directions::Both, 1));
    assert_eq!(client("-c 239.1.1.1 -u -T 4").client.extras.multicast_hops, Some(4));
    let served = server("-s --test-exchange-timeout 0.5");
    assert_eq!((served.server.timeout, served.warnings.len()), (Some(Nanos::from_millis(500)), 0));
    assert_eq!(server("-s --test-exchange-timeout 60").warnings.len(), 1);
}

#[test]
fn a_group_takes_datagrams_one_way() {
    let refused = |args: &str| client(args).plan().expect_err(args).message;
    assert!(refused("-c 239.1.1.1").contains("is a multicast group, which takes UDP one way"));
    assert!(refused("-c 239.1.1.1 -u -R").contains("one way"));
    client("-c 239.1.1.1 -u").plan().expect("datagrams to a group");
}

#[test]
fn what_is_timed_beside_the_rows_of_every_test() {
    let shape = |micros, count| BinShape { width: Nanos::from_micros(micros), count };
    let plain = client("-c h --histograms");
    assert!(plain.both.shown.enhanced && plain.client.extras.timing.writes);
    assert_eq!(plain.client.extras.timing.delays, Some(shape(100, 100_000)));
    assert_eq!(plain.client.test.length, Some(128 << 10), "writes that are timed are of iPerf2's length");
    // One that receives has delays to count, and no writes.
    let down = client("-c h -R --trip-times --histograms=2m,500,1,99.9");
    assert_eq!(
        (down.client.extras.timing.writes, down.client.extras.timing.delays),
        (false, Some(shape(2000, 500)))
    );
    let percentiles = down.output_options(Iperf2Role::Client, Zone::default()).percentiles;
    assert_eq!((percentiles.low, percentiles.high), (1.0, 99.9));
    assert!(!client("-c h -u --histograms").client.extras.timing.writes);
    assert!(client("-c h --tcp-write-times").client.extras.timing.writes);
    assert_eq!(client("-c h --near-congestion").client.extras.timing.rtt_part, Some(0.5));
    assert_eq!(client("-c h --near-congestion=0.25").client.extras.timing.rtt_part, Some(0.25));
    let served = server("-s -u --histograms=50u --jitter-histograms=10");
    let settings = served.settings(Bytes(0)).timed;
    assert_eq!((settings.delays, settings.jitter), (Some(shape(50, 100_000)), Some(shape(10, 1_000_000))));
    assert_eq!(client("-c h --jitter-histograms").warnings.len(), 1, "it is a server's");
}

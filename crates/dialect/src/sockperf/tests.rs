//! Command lines as they are typed.

use super::*;
use crate::sockperf::output::{Bins, End, Version};
use proptest::prelude::*;

fn args(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn run(line: &str) -> (SockperfJob, Vec<String>) {
    match parse(&args(line)) {
        Ok(Request::Run(job, notes)) => (*job, notes),
        other => panic!("{line}: {other:?}"),
    }
}

fn client(line: &str) -> (Both, Client) {
    match run(line).0 {
        SockperfJob { both, role: Role::Client(client) } => (both, client),
        job => panic!("{line}: {job:?}"),
    }
}

fn server(line: &str) -> (Both, Server) {
    match run(line).0 {
        SockperfJob { both, role: Role::Server(server) } => (both, server),
        job => panic!("{line}: {job:?}"),
    }
}

fn refused(line: &str) -> String {
    match parse(&args(line)) {
        Err(fault) => {
            assert_eq!(fault.code, 1, "{line}");
            fault.to_string()
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn place(host: &str, port: u16, tcp: bool) -> Places {
    Places::One(SocketSpec { host: Some(host.into()), port, tcp, source: None })
}

#[test]
fn the_command_lines_of_the_field() {
    let (both, sr) = server("sr --tcp -i 127.0.0.1 -p 12345");
    assert_eq!((both.places, both.nodelay, both.call), (place("127.0.0.1", 12_345, true), true, "recvfrom"));
    assert_eq!((sr.max, sr.threads, sr.silent, sr.gaps), (65_507, 1, false, false));
    let (both, pp) = client("ping-pong -i 127.0.0.1 --tcp -m 350 -t 5 -p 12345 --full-rtt");
    assert_eq!((both.places, both.nodelay, both.spin), (place("127.0.0.1", 12_345, true), true, false));
    let expected =
        RequestedTest { full_rtt: true, size: 350, end: End::Seconds(5), ..RequestedTest::default() };
    assert_eq!((pp.asked, pp.largest), (expected, 1_048_575));
}

#[test]
fn the_defaults_of_each_mode() {
    let mode = |line: &str| {
        let (both, client) = client(line);
        let RequestedTest { mode, rate, reply_every, size, burst, end, .. } = client.asked;
        (mode, rate, reply_every, size, burst, end, both.nodelay)
    };
    let second = End::Seconds(1);
    assert_eq!(mode("pp"), (Mode::PingPong, None, 1, 14, 1, second, true));
    assert_eq!(mode("ul"), (Mode::UnderLoad, Some(10_000), 100, 14, 1, second, true));
    assert_eq!(mode("tp"), (Mode::Throughput, None, 1 << 30, 14, 1, second, false));
    assert_eq!(mode("pb --data-file x"), (Mode::Playback, Some(10_000), 100, 14, 1, second, true));
    assert!(client("tp --tcp --tcp-avoid-nodelay").0.nodelay);
    assert!(!client("pp --tcp --tcp-avoid-nodelay").0.nodelay);
    let (both, _) = client("pp");
    assert_eq!(both.places, Places::One(SocketSpec { host: None, port: 11_111, tcp: false, source: None }));
    assert_eq!((both.multicast.ttl, both.multicast.loopback, both.warm_up), (2, false, true));
}

#[test]
fn every_form_of_a_value() {
    for line in [
        "pp -m 350",
        "pp -m350",
        "pp -m=350",
        "pp --msg-size 350",
        "pp --msg-size=350",
        "pp -m 0x15e",
        "pp -m=0536",
    ] {
        assert_eq!(client(line).1.asked.size, 350, "{line}");
    }
    for line in ["ul --mps 5", "ul --pps=5"] {
        assert_eq!(client(line).1.asked.rate, Some(5), "{line}");
    }
    assert_eq!(client("ul --mps=max").1.asked.rate, None);
    for line in ["pp --ip=host", "pp --addr host", "pp -ihost", "pp -i [host]"] {
        assert_eq!(client(line).0.places, place("host", 11_111, false), "{line}");
    }
}

#[test]
fn every_option_of_both_versions_is_known() {
    let (both, pp) = client(
        "pp -i ::1 -p 7 --tcp -a 10 --tos 0x28 --mc-rx-if 1 --mc-tx-ip 10.0.0.1 --mc-loopback-enable --mc-ttl 9 \
         --mc-source-filter 10.0.0.2 --uc-reuseaddr --lls 50 --buffer-size 9000 --nonblocked --recv_looping_num 4 \
         --dontwarmup --pre-warmup-wait 3 --daemonize --no-rdtsc --rate-limit 1000 --tcp-skip-blocking-send \
         --sender-affinity 0,2-3 --receiver-affinity 1 --full-log f.csv --giga-size --increase_output_precision \
         --tcp_nb_connect_timeout_ms 100 --srv-num 1 -n 5 --client_port 9 --client_ip 10.0.0.3 -m 100 -r 7 \
         --data-integrity --ci_sig_level 95 --histogram 1:2:3 --as-version 3.7",
    );
    assert_eq!(
        (both.tos, both.busy_poll, both.buffer, both.pacing),
        (0x28, Some(Nanos::from_micros(50)), Some(9000), Some(1000))
    );
    assert_eq!((both.multicast.ttl, both.multicast.receive.as_deref()), (9, Some("1")));
    assert_eq!((both.pause, both.activity), (Nanos::from_secs(3), Some(Activity::Dots(10))));
    assert!(both.spin && both.daemon && both.skip_blocking_send && both.reuse_address && !both.warm_up);
    assert_eq!((pp.asked.end, pp.asked.range, pp.asked.confidence), (End::Observations(5), 7, 95));
    assert_eq!(pp.asked.histogram, Some(Bins { width: 1, low: 2, high: 3 }));
    assert_eq!((pp.asked.version, both.version), (Version::V3_7, Version::V3_7));
    assert_eq!(pp.bind, (Some("10.0.0.3".into()), Some(9)));
    assert_eq!(pp.sender_cpus, Some(CpuList(vec![0, 2, 3])));
    assert_eq!(pp.connect_timeout, Nanos::from_millis(100));
    let (_, sr) = server(
        "server -f feed -F p --threads-num 2 --cpu-affinity 1 --force-unicast-reply --dont-reply -m 70000 -g",
    );
    assert_eq!((sr.max, sr.threads, sr.silent, sr.unicast_reply, sr.gaps), (70_000, 2, true, true, true));
    assert_eq!(server("sr -m 20").1.max, 65_507);
    let (both, pb) = client("pb -f feed --reply-every 3 --data-file play.csv -A 5");
    assert_eq!((both.places, both.call), (Places::Feed("feed".into()), "epoll"));
    assert_eq!((pb.asked.reply_every, pb.playback), (3, Some("play.csv".into())));
}

#[test]
fn what_is_taken_without_effect_is_reported() {
    for option in [
        "--load-vma",
        "--load-xlio=lib",
        "--vmazcopyread",
        "--zcopyread",
        "--set-sock-accl",
        "--dummy-send=max",
        "--timeout 5",
        "--timeout=-1",
        "-d",
    ] {
        let (_, notes) = run(&format!("pp {option}"));
        assert_eq!(notes.len(), 1, "{option}: {notes:?}");
        let name = option.split(['=', ' ']).next().unwrap_or_default();
        assert!(notes[0].starts_with(&format!("{name} is ignored: ")), "{notes:?}");
    }
    assert_eq!(run("sr --vmarxfiltercb").1.len(), 1);
    assert_eq!(run("pp --no-rdtsc").1.len(), 0);
}

#[test]
fn what_cannot_be_is_refused() {
    for (line, message) in [
        ("nonsense", "no subcommand 'nonsense'"),
        ("pp -i", "Option -i should have an argument"),
        ("pp -i -p 5", "Option -i should have an argument"),
        ("pp --tcp=yes", "Option --tcp should not have an argument"),
        ("pp -p 5 -p 6", "Option -p should not be repeatable"),
        ("ul --mps 5 --pps 6", "Option --pps should not be repeatable"),
        ("pp word", "unknown option or word: word"),
        ("pp --msg 5", "unknown option or word: --msg"),
        ("ul -n 5", "unknown option or word: -n"),
        ("sr -t 5", "unknown option or word: -t"),
        ("pp -g", "unknown option or word: -g"),
        ("pp -t 0", "'-t' Invalid duration: 0"),
        ("pp -t x", "'-t' Invalid duration: x"),
        ("pp -b 0", "'-b' Invalid burst size: 0"),
        ("pp -m 13", "'-m' Invalid message size: 13"),
        ("pp -m 65508", "'-m' Invalid message size: 65508 (max: 65507)"),
        ("pp --tcp -m 1048576", "'-m' Invalid message size: 1048576"),
        ("sr -m 1048576", "'-m' Invalid message size: 1048576"),
        ("pp -p 0", "'-p' Invalid port: 0"),
        ("pp -i /tmp/socket", "Unix socket"),
        ("pp -f x -i y", "-f conflicts with -i,-p"),
        ("pp -f x --tcp", "--tcp conflicts with -f"),
        ("pp -f x --client_port 5", "--client_port conflicts with -f"),
        ("pp -F e", "-F must be used with feed file"),
        ("pp -f x -F q", "Invalid muliply io"),
        ("pp -f x -F x", "not served"),
        ("pp -n 5 -t 5", "-n conflicts with -t,--mps"),
        ("pp --data-integrity -b 2", "--data-integrity conflicts with -b"),
        ("pp --recv_looping_num 5", "add --nonblocked"),
        ("pp --tcp_nb_connect_timeout_ms 5", "requires --tcp or -f"),
        ("pp --histogram 0:1:2", "binsize:lowerrange:upperrange"),
        ("pp --histogram 1:2", "binsize:lowerrange:upperrange"),
        ("pp --ci_sig_level 100", "Invalid Significance level: 100"),
        ("pp --srv-num 2", "not served"),
        ("pp --tcp --tls", "exchanges keys by RSA"),
        ("pp --tcp --tls=DHE-RSA-AES128-GCM-SHA256", "finite-field"),
        ("pp --tls=TLS_AES_128_GCM_SHA256", "--tls requires --tcp"),
        ("pb", "--data-file must be used"),
        ("sr --threads-num 2", "must be used with feed file"),
        ("sr -f x -F r --threads-num 2", "incompatible with -F recvfrom"),
        ("sr --tcp --dont-reply", "--tcp conflicts with --dont-reply"),
        ("sr --cpu-affinity x", "expected CPU numbers"),
    ] {
        let fault = refused(line);
        assert!(fault.starts_with("sockperf: ") && fault.contains(message), "{line}: {fault}");
    }
}

#[test]
fn help_and_version() {
    for line in ["", "help", "h", "?", "--help"] {
        assert_eq!(parse(&args(line)), Ok(Request::Help(None)), "{line}");
    }
    assert_eq!(parse(&args("--version")), Ok(Request::Version));
    for line in ["pp --help", "pp -h", "pp -?", "pp -i host --usage"] {
        assert_eq!(parse(&args(line)), Ok(Request::Help(Some(Command::Client(Mode::PingPong)))), "{line}");
    }
    assert!(version_text().starts_with("sockperf, version 3.10-pathmeter."));
    let help = help_text(Some(Command::Server));
    assert!(help.contains("-g, --gap-detection") && !help.contains("--full-rtt"), "{help}");
    assert!(help_text(Some(Command::Client(Mode::PingPong))).contains("-n, --number-of-packets N"));
    assert!(help_text(None).contains("playback (pb)"));
}

proptest! {
    #[test]
    fn no_command_line_panics(args in prop::collection::vec("(pp|ul|tp|pb|sr|-[a-zA-Z?](=?[0-9x:]{0,6})|--[a-z-]{0,12}(=.{0,5})?|.{0,6})", 0..6)) {
        let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
        let _ = parse(&args);
    }
}

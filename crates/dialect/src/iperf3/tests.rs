//! Command lines and what they become; what iPerf3 refuses, in its words.

use super::*;
use model::plan::{Directions, End, Transport};
use model::units::Bytes;

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

#[test]
fn the_lines_of_the_issue() {
    assert_eq!(server("-s").both.port, 5201);
    let line = client("-c 127.0.0.1 -u -b 0 --omit 1 --get-server-output");
    let test = &line.client.test;
    assert_eq!((test.transport, test.bitrate, test.length), (Transport::Udp, None, None));
    assert_eq!(test.omit, Nanos::from_secs(1));
    assert!(line.client.extras.get_server_output && test.offload && !test.wide_counters);
    assert_eq!(client("-c h -u -b 0 --omit 1 --get-server-output -l 1472").client.test.length, Some(1472));
    let line = client("-c 127.0.0.1 -b 0 --omit 1 --get-server-output -P 20");
    assert_eq!((line.client.test.transport, line.client.test.streams), (Transport::Tcp, 20));
    let plan = line.plan().expect("an address");
    assert_eq!(plan.target.address.to_string(), "127.0.0.1:5201");
    assert!(line.extras(None).get_server_output);
}

#[test]
fn values_may_be_attached_bundled_or_abbreviated() {
    let plain = client("-c h -P 20 -t 10 -u");
    for line in [
        "-ch -P20 -t10 -u",
        "-uP20 -c h -t 10",
        "--client=h --parallel 20 --time=10 --udp",
        "--cli h --par 20 --time 10 --udp",
    ] {
        assert_eq!(client(line), plain, "{line}");
    }
    let line = client("-Vd -c h -R");
    assert!(line.both.verbose && line.both.debug == Some(4));
    assert_eq!(client("-c h --debug=2").both.debug, Some(2));
    assert_eq!(client("-c h --timestamps").both.timestamps.as_deref(), Some("%c "));
    assert_eq!(client("-c h --timestamps=%s").both.timestamps.as_deref(), Some("%s"));
    assert_eq!(client("-c h --band 1M").client.test.bitrate, Some(BitRate(1_000_000)));
}

#[test]
fn numbers_follow_the_rules_of_each_option() {
    let test = client("-c h -u -b 100M/10 -l 1K").client.test;
    assert_eq!((test.bitrate, test.burst, test.length), (Some(BitRate(100_000_000)), Some(10), Some(1024)));
    assert!(!test.offload, "a paced test times each datagram");
    let test = client("-c h -n 1M").client.test;
    assert_eq!(test.end, End::Bytes(Bytes(1 << 20)));
    assert_eq!(client("-c h -k 2K").client.test.end, End::Blocks(2048));
    assert_eq!(client("-c h -t 0").client.test.end, End::Time(Nanos::MAX));
    assert_eq!(client("-c h -n 0 -t 5").client.test.end, End::Time(Nanos::from_secs(5)));
    assert_eq!(client("-c h -w 4M").client.test.window, Some(4 << 20));
    assert_eq!(client("-c h -u").client.test.bitrate, Some(BitRate(1_048_576)));
    assert_eq!(client("-c h").client.test.bitrate, None);
    for (line, tos) in [
        ("-S 0x34", 0x34),
        ("-S 064", 0x34),
        ("--dscp ef", 0xb8),
        ("--dscp 0x2e", 0xb8),
        ("--dscp lowdelay", 0x10),
    ] {
        assert_eq!(client(&format!("-c h {line}")).client.test.tos, tos, "{line}");
    }
    assert_eq!(client("-c h -i 0.5").both.local.interval, Nanos::from_millis(500));
    assert_eq!(client("-c h -i 0").both.local.interval, crate::iperf3::output::WHOLE_TEST);
    let line = client("-c h -A 1,3");
    assert_eq!((line.both.local.affinity, line.client.extras.server_affinity), (vec![1], Some(3)));
}

#[test]
fn every_further_option_of_a_client_arrives() {
    let line = client(
        "-c h --bidir -Z -N -C bbr -M 1400 -L 0xfff -4 -T title --extra-data x --udp-counters-64bit --gsro --skip-rx-copy \
         --repeating-payload --dont-fragment --cport 7 --fq-rate 1G --connect-timeout 250 --rcv-timeout 1000 \
         --snd-timeout 2000 --cntl-ka=10/1/3 --json-stream --json-stream-full-output --logfile l --forceflush -I p -f m",
    );
    let test = &line.client.test;
    assert!(test.zero_copy && test.nodelay && test.receive_discard && test.repeating_payload);
    assert!(
        test.dont_fragment
            && test.wide_counters
            && line.client.gsro
            && line.both.ipv4
            && line.both.forceflush
    );
    assert_eq!((test.directions, test.mss, test.flow_label), (Directions::Both, Some(1400), Some(0xfff)));
    assert_eq!((test.congestion.as_deref(), test.fq_rate), (Some("bbr"), Some(BitRate(1_000_000_000))));
    assert_eq!(
        (line.both.local.client_port, line.both.local.connect_timeout),
        (Some(7), Some(Nanos::from_millis(250)))
    );
    assert_eq!(line.both.local.receive_timeout, Some(Nanos::from_secs(1)));
    assert_eq!(line.both.send_timeout, Some(Nanos::from_secs(2)));
    let keepalive =
        Keepalive { idle: Some(Nanos::from_secs(10)), interval: Some(Nanos::from_secs(1)), count: Some(3) };
    assert_eq!(line.both.keepalive, Some(keepalive));
    assert_eq!((line.both.json, line.both.unit), (Json::Stream { document: true }, 'm'));
    assert_eq!(line.warnings.len(), 1, "{:?}", line.warnings);
    let options = line.output_options();
    assert_eq!((options.title.as_deref(), options.extra_data.as_deref()), (Some("title"), Some("x")));
}

#[test]
fn what_is_not_served_is_named() {
    for (line, message) in [
        ("-c h -X a", "-X/--xbind is not served by pathmeter: it is of SCTP alone"),
        ("-c h --nstreams 3", "--nstreams is not served by pathmeter: it is of SCTP alone"),
        ("-c h -u -F file", "cannot transfer file using UDP"),
    ] {
        let fault = refusal(&read(line).expect_err(line));
        assert!(fault.contains(message), "{line}: {fault}");
    }
}

#[test]
fn multipath_tcp_is_tcp() {
    let both = |args: &str| {
        let test = client(args).client.test;
        (test.transport, test.mptcp)
    };
    assert_eq!(both("-c h -m"), (Transport::Tcp, true));
    assert_eq!(both("-c h -u -m"), (Transport::Tcp, true));
    assert_eq!(both("-c h -m -u"), (Transport::Udp, false));
}

#[test]
fn a_file_ends_the_test_where_nothing_else_does() {
    let file = std::env::temp_dir().join(format!("pathmeter-dialect-{}", std::process::id()));
    std::fs::write(&file, [0; 1000]).unwrap();
    let end = |args: &str| {
        let line = client(&format!("-c h -F {} {args}", file.display()));
        (line.client.test.end, line.output_options().file.and_then(|file| file.size))
    };
    let ends = [end(""), end("-t 3"), end("-n 5"), end("-R"), end("--bidir")];
    std::fs::remove_file(&file).unwrap();
    let (whole, time) = (End::Bytes(Bytes(1000)), |seconds| End::Time(Nanos::from_secs(seconds)));
    assert_eq!(
        ends,
        [
            (whole, Some(1000)),
            (time(3), Some(1000)),
            (End::Bytes(Bytes(5)), Some(1000)),
            (time(10), Some(1000)),
            (whole, Some(1000)),
        ]
    );
}

#[test]
fn a_device_follows_a_host() {
    let line = client("-c far%eth0 -B ::1");
    assert_eq!((line.client.host.as_deref(), line.both.local.device.as_deref()), (Some("far"), Some("eth0")));
    let line = client("-c fe80::1%eth0 -B 10.0.0.1%eth1");
    assert_eq!(line.client.host.as_deref(), Some("fe80::1%eth0"));
    assert_eq!(
        (line.both.bind.as_deref(), line.both.local.device.as_deref()),
        (Some("10.0.0.1"), Some("eth1"))
    );
}

#[test]
fn a_server_has_its_options() {
    let line =
        server("-s -1 -D --server-bitrate-limit 1G/2 --server-max-duration 60 --idle-timeout 30 -p 99 -4");
    assert!(line.server.one_off && line.server.daemon);
    assert_eq!(line.server.bitrate_limit, Some((BitRate(1_000_000_000), Nanos::from_secs(2))));
    assert_eq!(line.policy().max_time, Some(Nanos::from_secs(60)));
    assert_eq!(line.policy().max_rate, Some(BitRate(1_000_000_000)));
    assert_eq!(line.listen_address().expect("any").to_string(), "0.0.0.0:99");
    assert_eq!(server("-s").listen_address().expect("any").to_string(), "[::]:5201");
    assert_eq!(server("-s -B 127.0.0.1").listen_address().expect("bound").to_string(), "127.0.0.1:5201");
    let line = server(
        "-s --rsa-private-key-path k --authorized-users-path u --time-skew-threshold 3 --use-pkcs1-padding",
    );
    assert!(line.server.pkcs1 && line.server.skew == Nanos::from_secs(3));
}

#[test]
fn refusals_in_iperf3s_words() {
    for (line, message) in [
        ("", "must either be a client (-c) or server (-s)"),
        ("-s -c h", "cannot be both server and client"),
        ("-c h -s", "cannot be both server and client"),
        ("-s -u", "some option you are trying to set is client only"),
        ("-s --gsro", "some option you are trying to set is client only"),
        ("-c h -1", "some option you are trying to set is server only"),
        ("-c h -R --bidir", "cannot be both reverse and bidirectional"),
        ("-c h --bidir -R", "cannot be both reverse and bidirectional"),
        ("-c h -P 0", "invalid number of parallel streams (min = 1, max = 128)"),
        ("-c h -P 129", "invalid number of parallel streams (min = 1, max = 128)"),
        ("-c h -t 86401", "test duration valid values are 0 to 86400 seconds"),
        ("-c h -t ten", "test duration valid values are 0 to 86400 seconds"),
        ("-c h -t 5 -n 5", "only one test end condition (-t, -n, -k) may be specified"),
        ("-c h -k 5 -n 5", "only one test end condition (-t, -n, -k) may be specified"),
        ("-c h -n 5 -t 5", "only one test end condition (-t, -n, -k) may be specified"),
        ("-c h -l 2M", "block size too large (maximum = 1048576 bytes)"),
        ("-c h -l 5G", "block size too large (maximum = 1048576 bytes)"),
        ("-c h -u -l 15", "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"),
        ("-c h -u -l 65508", "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"),
        ("-c h -w 513M", "socket buffer size too large (maximum = 536870912 bytes)"),
        ("-c h -M 32768", "TCP MSS too large (maximum = 32767 bytes)"),
        ("-c h -O 601", "bogus value for --omit (maximum = 600 seconds)"),
        ("-c h -i 0.05", "invalid report interval (min = 0.1, max = 60 seconds)"),
        ("-c h -b 1X", "invalid unit value or suffix: '1X'"),
        ("-c h -b 1M/1001", "invalid burst count (maximum = 1000)"),
        ("-c h -S 256", "bad TOS value (must be between 0 and 255 inclusive)"),
        ("-c h --dscp 64", "bad DSCP value"),
        ("-c h -p 0", "port number must be between 1 and 65535 inclusive"),
        ("-c h -f x", "bad format specifier (valid formats are in the set [kmgtKMGT])"),
        ("-c h --rcv-timeout 1000", "client receive timeout is valid only in receiving mode"),
        ("-c h --username me", "you must specify a username, password, and path to a valid RSA public key"),
        (
            "-s --authorized-users-path u",
            "you must specify a path to a valid RSA private key and a user credential file",
        ),
        ("-c h --cntl-ka=3/1/3", "control connection Keepalive period"),
        ("-c h --sctp", "no SCTP support available"),
    ] {
        let fault = refusal(&read(line).expect_err(line));
        assert!(fault.starts_with("iperf3: parameter error - "), "{line}: {fault}");
        assert!(fault.contains(message) && fault.contains("\n\nUsage: iperf3"), "{line}: {fault}");
    }
    for (line, message) in [
        ("-c", "option requires an argument -- 'c'"),
        ("-c h -Q", "invalid option -- 'Q'"),
        ("--nope", "unrecognized option '--nope'"),
        ("-c h --udp=1", "option '--udp' doesn't allow an argument"),
        ("-c h --parallel", "option '--parallel' requires an argument"),
        ("-c h --ver", "option '--ver' is ambiguous; possibilities: '--verbose'"),
    ] {
        let fault = refusal(&read(line).expect_err(line));
        assert!(
            fault.starts_with(&format!("iperf3: {message}")) && fault.contains("Usage: iperf3"),
            "{line}: {fault}"
        );
    }
}

#[test]
fn other_words_are_warned_of() {
    assert_eq!(client("-c h extra").warnings, ["'extra' belongs to no option and is ignored"]);
    assert_eq!(client("-c h -- -R").client.test.directions, Directions::Up);
    assert_eq!(read("-c h -v -P 0"), Ok(Request::Version));
    assert_eq!(read("-h"), Ok(Request::Help));
}

#[test]
fn the_role_of_an_option_is_that_of_its_table() {
    for (line, refused) in
        [("-s -R", "client only"), ("-c h -1", "server only"), ("-s -A 0,1", "client only")]
    {
        assert!(refusal(&read(line).unwrap_err()).contains(refused), "{line}");
    }
    assert!(matches!(read("-s --cport 5000 -i 2"), Ok(Request::Server(_))));
}

#[test]
fn names_and_letters_are_unique_and_help_shows_what_is_served() {
    let rows = || options::ALL.into_iter().flat_map(|(_, rows)| rows);
    let mut names: Vec<&str> = rows().map(|row| row.usage.name()).collect();
    let mut letters: Vec<char> = rows().flat_map(|row| row.usage.letters()).collect();
    let (all_names, all_letters) = (names.len(), letters.len());
    names.sort_unstable();
    names.dedup();
    letters.sort_unstable();
    letters.dedup();
    assert_eq!((names.len(), letters.len()), (all_names, all_letters));
    let help = help_text();
    for row in rows().filter(|row| !row.help.is_empty()) {
        assert!(help.contains(&format!("--{}", row.usage.name())), "{}", row.usage.name());
    }
    assert!(version_text().starts_with("iperf 3."));
}

#[test]
fn no_value_is_beyond_an_answer() {
    let digits = "9".repeat(400);
    let odd = [
        "", "-", "+", "é", "0", "0x", "00", "1e400", "-1", "nan", "inf", ".", "/", "//", "1/", "/1/1", ",",
        "%", "a%", "\0",
    ];
    let rows = || options::ALL.into_iter().flat_map(|(_, rows)| rows);
    for value in odd.into_iter().chain([digits.as_str()]) {
        for row in rows() {
            for word in [
                format!("--{}={value}", row.usage.name()),
                format!("-{}{value}", row.usage.letters().next().unwrap_or('c')),
            ] {
                for role in [["-s", ""], ["-c", "h"]] {
                    let args = [role[0], role[1], &word].map(OsString::from);
                    if let Err(fault) = parse(&args) {
                        assert!(refusal(&fault).starts_with("iperf3: "), "{word}");
                    }
                }
            }
        }
    }
}

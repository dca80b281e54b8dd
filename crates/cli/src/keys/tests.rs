//! Keys are options of the command line, and nothing that they leave out differs from the engine's own defaults.

use super::*;
use engine::request::{FarEnd, Frames, Hops, Latency, Measure, Path, Throughput, Transfer};
use model::plan::Transport;

fn ask(command: &str, keys: &[(&str, &str)]) -> Result<Request, String> {
    let keyed = Keyed::named(command).expect("a command of the table");
    let mut reader = keyed.reader();
    let mut given = Given::default();
    for (name, value) in keys {
        given = given.and(&reader.given(keyed.key(name)?, value)?);
    }
    reader.request("far.example", &given).map_err(|error| error.to_string())
}

/// A default is decided once: a command line, a plan and the form without any key ask for what the library asks for.
#[test]
fn a_command_without_options_is_the_request_of_the_library() {
    let far = || FarEnd::named("far.example");
    let usual = [
        ("throughput", Request::Throughput(Box::new(Throughput::to(far())))),
        ("latency", Request::Latency(Box::new(Latency::to(far())))),
        ("mtu", Request::Path(Box::new(Path::to(far())))),
        ("hops", Request::Hops(Box::new(Hops::to(far())))),
        ("measure", Request::Measure(Box::new(Measure::to(far())))),
        (
            "frames",
            Request::Frames(Box::new(Frames { transports: vec![Transport::Udp], ..Frames::to(far()) })),
        ),
        (
            "transfer",
            Request::Transfer(Box::new(Transfer { repetitions: 1, ..Transfer::from_urls(&["far.example"]) })),
        ),
    ];
    assert_eq!(usual.len(), KEYED.len());
    for (command, request) in usual {
        assert_eq!(format!("{:?}", ask(command, &[]).unwrap()), format!("{request:?}"), "{command}");
    }
}

#[test]
fn every_key_is_an_option_of_its_command() {
    for keyed in &KEYED {
        let command = (keyed.options)(Command::new(keyed.command));
        let longs: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        for key in keyed.keys {
            let options: Vec<&str> = match key.form {
                Form::Option | Form::Several => vec![key.name],
                Form::Words(words) => words
                    .iter()
                    .filter_map(|(_, option)| option.strip_prefix("--"))
                    .map(|option| option.split('=').next().unwrap_or_default())
                    .collect(),
                Form::Operand => Vec::new(),
            };
            for option in options {
                assert!(longs.contains(&option), "{}: --{option}", keyed.command);
            }
        }
    }
}

#[test]
fn keys_become_a_request() {
    let keys = [
        ("transport", "udp"),
        ("direction", "both"),
        ("parallel", "4"),
        ("length", "1472"),
        ("no-gso", "true"),
    ];
    let Ok(Request::Throughput(asked)) = ask("throughput", &keys) else { panic!("a request of throughput") };
    let test = &asked.test;
    assert_eq!((test.transport, test.streams, test.length), (Transport::Udp, 4, Some(1472)));
    assert!(!test.offload && test.directions == model::plan::Directions::Both);
    let keys = [("observe", "10.0.0.1, [2001:db8::1]:5211"), ("loaded", "true")];
    let Ok(Request::Latency(asked)) = ask("latency", &keys) else { panic!("a request of latency") };
    assert_eq!((asked.observe.len(), asked.load.map(|load| load.streams)), (2, Some(4)));
    let Ok(Request::Transfer(asked)) = ask("transfer", &[("url", "--file=/etc/passwd")]) else {
        panic!("a request of transfer")
    };
    assert!(asked.urls == ["--file=/etc/passwd"] && asked.body.is_none(), "no option: {asked:?}");
}

#[test]
fn values_and_combinations_that_options_do_not_take_are_refused() {
    for (command, keys, reason) in [
        ("throughput", &[("protocol", "iperf4")][..], "`protocol` cannot be `iperf4`: did you mean `iperf"),
        ("throughput", &[("direction", "left")], "`direction` cannot be `left`"),
        ("throughput", &[("bitrate", "fast")], "`bitrate`: "),
        ("throughput", &[("nodelay", "1")], "`nodelay` must be `true` or `false`"),
        ("throughput", &[("time", "0")], "`time` is 0"),
        ("throughput", &[("time", "1s"), ("bytes", "1M")], "a test ends by time or by amount"),
        ("throughput", &[("pcap", "x.pcapng")], "throughput has no key `pcap`"),
        ("latency", &[("observe", "10.0.0.1")], "were not provided: --loaded"),
        ("latency", &[("time", "1s"), ("count", "9")], "cannot be used with"),
        ("latency", &[("raw", "/tmp/x")], "latency has no key `raw`"),
        ("frames", &[("frame", "64,512")], "`frame` takes one value; several are a list"),
        ("transfer", &[("mtu", "67")], "`mtu`: 67 is not in 68..=65535"),
    ] {
        let refused = ask(command, keys).expect_err(reason);
        assert!(refused.contains(reason), "{keys:?}: {refused}");
    }
}

//! Valid files, and the errors of invalid ones.

use super::*;
use crate::plan::{Cell, PathPlace, Step};
use engine::request::Request;
use model::plan::{End, Transport};
use model::units::{Bytes, Nanos};

/// A right one, from which each wrong one differs by a few words.
const RIGHT: &str = r#"title = "Two paths to one host"
labels = ["nightly", "rtt"]
repetitions = 2

[limits]
time = "30min"
bytes = "10GB"

[paths.cable]
to = "192.0.2.1"
bind = "127.0.0.1"

[paths.lab]
lab = "forward"

[[tests]]
test = "latency"
transport = "tcp"
size = [64, 1400]
expect = "rtt.p99<5ms"

[[tests]]
test = "throughput"
name = "bulk"
paths = ["lab"]
parallel = [1, 4]
bitrate = ["10M", "20M"]
bytes = 1000000
"#;

#[track_caller]
fn faults(replaced: &[(&str, &str)]) -> String {
    let text = replaced.iter().fold(RIGHT.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    Plan::parse("p.toml", &text, &Known::default()).expect_err(&text).to_string()
}

#[test]
fn several_hosts_are_observed_by_one_test() {
    let text = RIGHT.replace("bytes = 1000000", "observe = \"10.0.0.1, [2001:db8::1]:5211\"");
    let plan = Plan::parse("p.toml", &text, &Known::default()).unwrap();
    let Request::Throughput(asked) = &plan.tests[1].variants[0].request else { panic!("it is one") };
    let hosts: Vec<_> = asked.observe.iter().map(|host| (host.host.as_str(), host.port)).collect();
    assert_eq!(hosts, [("10.0.0.1", None), ("2001:db8::1", Some(5211))]);
    assert_eq!(plan.tests[1].variants.len(), 4, "no variable");
}

#[test]
fn a_right_file_is_read() {
    let plan = Plan::parse("dir/p.toml", RIGHT, &Known::default()).unwrap();
    assert_eq!((plan.name.as_str(), plan.repetitions, plan.labels.len()), ("p", 2, 2));
    assert_eq!(
        (plan.limits.time, plan.limits.bytes),
        (Some(Nanos::from_secs(1800)), Some(Bytes(10_000_000_000)))
    );
    assert!(plan.has_labs() && plan.is_of_here());
    let PathPlace::Lab { topology, from, to } = &plan.paths[1].place else { panic!("{:?}", plan.paths[1]) };
    assert_eq!((topology.name.as_str(), from.as_str(), to.as_str()), ("forward", "client", "server"));
    assert_eq!(plan.paths[1].to.host, "198.51.100.2");
}

#[test]
fn a_list_of_values_is_a_variable_and_paths_take_turns() {
    let plan = Plan::parse("p.toml", RIGHT, &Known::default()).unwrap();
    let names: Vec<String> = plan.cells().iter().map(|cell| cell.name()).collect();
    assert_eq!(
        names,
        [
            "cable: latency, size 64",
            "lab: latency, size 64",
            "cable: latency, size 1400",
            "lab: latency, size 1400",
            "lab: bulk, parallel 1, bitrate 10M",
            "lab: bulk, parallel 1, bitrate 20M",
            "lab: bulk, parallel 4, bitrate 10M",
            "lab: bulk, parallel 4, bitrate 20M",
        ]
    );
    let cells = plan.cells();
    let Request::Throughput(bulk) = cells[6].request() else { panic!("the kind of the test") };
    assert_eq!(
        (bulk.test.streams, bulk.test.end, bulk.test.transport),
        (4, End::Bytes(Bytes(1_000_000)), Transport::Tcp)
    );
    assert_eq!(bulk.far.host.host, "198.51.100.2");
    let Request::Latency(pings) = cells[0].request() else { panic!("the kind of the test") };
    assert_eq!((pings.size, pings.transport), (Some(64), Transport::Tcp));
    assert_eq!((pings.hosts[0].host.as_str(), pings.labels[0].as_str()), ("192.0.2.1", "cable"));
    assert_eq!(pings.origin.bind, Some("127.0.0.1".parse().unwrap()));
}

#[test]
fn runs_are_interleaved_unless_blocks_are_asked_for() {
    let mut plan = Plan::parse("p.toml", RIGHT, &Known::default()).unwrap();
    let sequence_of =
        |plan: &Plan| plan.steps().iter().map(|Step { round, cell }| (*round, *cell)).collect::<Vec<_>>();
    let turns = sequence_of(&plan);
    assert_eq!((turns.len(), turns[1], turns[8]), (16, (1, 1), (2, 0)));
    plan.order = RunSequence::Blocks;
    assert_eq!(sequence_of(&plan)[..3], [(1, 0), (2, 0), (1, 1)]);
}

#[test]
fn a_command_line_makes_a_plan_shorter() {
    let plan =
        Plan::parse("p.toml", RIGHT, &Known::default()).unwrap().with(Some(Nanos::from_millis(100)), Some(1));
    assert_eq!(plan.steps().len(), 8);
    let Request::Latency(pings) = plan.cells()[0].request() else { panic!("the kind of the test") };
    assert_eq!(pings.time, Some(Nanos::from_millis(100)));
    let Request::Throughput(bulk) = plan.cells()[4].request() else { panic!("the kind of the test") };
    assert_eq!(bulk.test.end, End::Bytes(Bytes(1_000_000)), "it ends by amount");
}

#[test]
fn faults_are_named_with_their_place_and_advice() {
    for (replaced, expected) in [
        (&[("title", "titel")][..], "p.toml:1:1: unknown key `titel`: did you mean `title`?"),
        (&[("title", "titel")], "p.toml:1:1: `title` is missing: write it such as title = "),
        (
            &[("repetitions = 2", "repetitions = 0")],
            "p.toml:3:15: `repetitions` is 0: it must be from 1 to 1000",
        ),
        (&[("time = \"30min\"", "tiem = \"30min\"")], "p.toml:6:1: unknown key `tiem`: did you mean `time`?"),
        (&[("\"10GB\"", "\"much\"")], "p.toml:7:9: `bytes`: "),
        (
            &[("expect = \"rtt.p99<5ms\"", "observe = \"10.0.0.1\"")],
            "required arguments were not provided: --loaded",
        ),
        (&[("bytes = 1000000", "observe = \"10.0.0.1, a b\"")], "`observe`: expected a name or an address"),
        (&[("bind", "bnid")], "unknown key `bnid`: did you mean `bind`?"),
        (&[("lab = \"forward\"", "labb = \"forward\"")], "unknown key `labb`: did you mean `lab`?"),
        (&[("\"192.0.2.1\"", "\"a b\"")], "`to`: expected a name or an address"),
        (
            &[("lab = \"forward\"", "lab = \"forwrad\"")],
            "no topology is called `forwrad`: did you mean `forward`?",
        ),
        (
            &[("lab = \"forward\"", "lab = \"forward\"\nto = \"servr\"")],
            "forward has no node `servr`: did you mean",
        ),
        (&[("lab = \"forward\"", "lab = \"vm\"")], "is no namespace of this host"),
        (&[("lab = \"forward\"", "lab = \"forward\"\nagent = \"a\"")], "a path begins in one place"),
        (&[("lab = \"forward\"", "agent = \"a\"")], "give `to` or `to-agent`"),
        (&[("bind", "from = \"client\"\nbind")], "`from` goes with `lab`"),
        (&[("rtt.p99<5ms", "rtt.p98<5ms")], "there is no figure `rtt.p98`: did you mean"),
        (
            &[("paths = [\"lab\"]", "paths = [\"lib\"]")],
            "p.toml:22:1: no path is called `lib`; there is `cable` and `lab`",
        ),
        (&[("name = \"bulk\"", "name = \"latency\"")], "two tests are called `latency`"),
        (&[("bytes = 1000000", "bytes = 1000000\ntime = \"1s\"")], "a test ends by time or by amount"),
        (&[("parallel = [1, 4]", "parallel = [1, 400]")], "--parallel 400 is out of range"),
        (&[("parallel = [1, 4]", "parallel = [1, true]")], "p.toml:26:16: `parallel`: "),
        (
            &[("parallel = [1, 4]", "parallel = [1, [4]]")],
            "p.toml:26:16: `parallel` must be a text, a number",
        ),
        (&[("parallel = [1, 4]", "nodelay = 1")], "`nodelay` must be `true` or `false`"),
        (
            &[("parallel = [1, 4]", "protocol = \"iperf4\"")],
            "`protocol` cannot be `iperf4`: did you mean `iperf",
        ),
        (&[("bytes = 1000000", "time = 0")], "`time` is 0, which is until Ctrl-C"),
        (&[("repetitions = 2", "repetitions = = 2")], "p.toml:3:"),
    ] {
        let reported = faults(replaced);
        assert!(reported.contains(expected), "{replaced:?}\n{reported}");
    }
}

#[test]
fn faults_of_keys_are_those_of_options() {
    for (replaced, expected) in [
        (
            &[("test = \"latency\"", "test = \"latenzy\"")][..],
            "`test` cannot be `latenzy`: did you mean `latency`?",
        ),
        (
            &[("size = [64, 1400]", "sise = [64, 1400]")],
            "p.toml:19:1: unknown key `sise`: did you mean `size`?",
        ),
        (&[("[64, 1400]", "[64, \"64\"]")], "`size` has the value 64 twice"),
        (&[("[64, 1400]", "[]")], "`size`: give 1 value or more"),
        (&[("[64, 1400]", "[64, 3]")], "messages of 3 bytes cannot be sent over TCP"),
        (&[("transport = \"tcp\"", "transport = \"sctp\"")], "`transport` cannot be `sctp`"),
    ] {
        let reported = faults(replaced);
        assert!(reported.contains(expected), "{replaced:?}\n{reported}");
    }
}

#[test]
fn every_fault_is_reported_at_once() {
    let reported = faults(&[
        ("titl", "titel"),
        ("bytes = \"10GB\"", "bites = 1"),
        ("parallel = [1, 4]", "parallel = \"x\""),
    ]);
    let lines: Vec<&str> = reported.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(lines, ["p.toml:1:1", "p.toml:1:1", "p.toml:7:1", "p.toml:26:12"], "{reported}");
}

#[test]
fn an_empty_plan_lists_what_is_missing() {
    let reported = Plan::parse("p.toml", "title = \"x\"\n[paths]\n", &Known::default())
        .expect_err("nothing to do")
        .to_string();
    assert!(reported.contains("`tests` is missing"), "{reported}");
    let reported = Plan::parse("p.toml", "title = \"x\"\ntests = []\n[paths]\n", &Known::default())
        .expect_err("nothing")
        .to_string();
    assert!(reported.contains("there is no path") && reported.contains("there is no test"), "{reported}");
}

#[test]
fn a_path_of_an_agent_is_refused_by_its_name() {
    let text = RIGHT.replacen("lab = \"forward\"", "agent = \"ams\"\nto-agent = \"fra\"", 1);
    let plan = Plan::parse("p.toml", &text, &Known::default()).unwrap();
    let refused = plan.paths[1].refused().expect("there is no fleet");
    assert!(refused.starts_with("needs a fleet: agent `ams` to agent `fra`"), "{refused}");
    assert_eq!(plan.paths[0].refused(), None);
}

fn known(agents: &[(&str, Option<&str>)]) -> Known {
    let agent = |(name, address): &(&str, Option<&str>)| {
        let address = address.map(|address| address.parse().expect("an address"));
        ((*name).to_owned(), KnownAgent { address })
    };
    Known { agents: Some(agents.iter().map(agent).collect()), ..Known::default() }
}

/// Those that a coordinator knows are held against the plan, each fault with its place.
#[test]
fn paths_of_agents_are_held_against_those_that_are_there() {
    let known = known(&[("ams", Some("192.0.2.7:5310")), ("fra", None)]);
    let with = |words: &str| RIGHT.replacen("lab = \"forward\"", words, 1);
    let plan = Plan::parse("p.toml", &with("agent = \"fra\"\nto-agent = \"ams\""), &known).unwrap();
    let to = &plan.paths[1].to;
    assert_eq!((to.host.as_str(), to.port, plan.paths[1].refused()), ("192.0.2.7", Some(5310), None));
    for (words, expected) in [
        ("agent = \"amz\"\nto-agent = \"ams\"", "p.toml:14:9: no agent is called `amz`: did you mean `ams`?"),
        ("agent = \"ams\"\nto-agent = \"lon\"", "p.toml:15:12: no agent is called `lon`"),
        ("agent = \"ams\"\nto-agent = \"ams\"", "p.toml:15:12: `ams` to itself is not a path"),
        ("agent = \"ams\"\nto-agent = \"fra\"", "p.toml:15:12: the agent `fra` does not listen"),
    ] {
        let reported = Plan::parse("p.toml", &with(words), &known).expect_err(words).to_string();
        assert!(reported.contains(expected), "{reported}");
    }
}

/// A cell that an agent carries out becomes the same request to its engine as one of this host.
#[test]
fn a_cell_goes_to_an_agent_in_the_words_of_the_file() {
    let text = RIGHT
        .replace("\"192.0.2.1\"", "\"[2001:db8::1]:5211\"\nlink = \"25G\"\nfamily = 6")
        .replace("bind = \"127.0.0.1\"", "bind = \"::1\"\ndevice = \"lo\"\nconnect-timeout = \"7s\"");
    let plan = Plan::parse("p.toml", &text, &Known::default()).unwrap();
    for cell in plan.cells() {
        let (asked, _) = crate::request_of_plan(&cell.as_plan(), None, &Known::default()).unwrap();
        assert_eq!(format!("{asked:?}"), format!("{:?}", cell.request()), "{}", cell.as_plan());
    }
    let time = Some(Nanos::from_secs(1));
    let (short, _) = crate::request_of_plan(&plan.cells()[0].as_plan(), time, &Known::default()).unwrap();
    let Request::Latency(short) = short else { panic!("the kind of the test") };
    assert_eq!(short.time, Some(Nanos::from_secs(1)));
    for (text, expected) in [
        (RIGHT, "carries out no labs"),
        ("title = \"x\"\n[paths.a]\nlab = \"forward\"\n[[tests]]\ntest = \"mtu\"\n", "carries out no labs"),
        (
            "title = \"x\"\n[paths.a]\nto = \"h\"\n[[tests]]\ntest = \"transfer\"\nurl = \"http://h/\"\nmtu = 1400\n",
            "sets an interface's MTU",
        ),
    ] {
        let refused = crate::request_of_plan(text, None, &Known::default()).expect_err(text);
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A name of the configuration stands for its host, link and identity.
/// A pathmeter listens at the port of a path, where probes would vanish in it: a trace by UDP needs a closed one.
#[test]
fn probes_of_hops_by_udp_do_not_go_to_the_port_of_a_pathmeter() {
    let hops = |protocol: &str| {
        let text = format!(
            "title = \"t\"\n[paths.a]\nto = \"192.0.2.1:5300\"\n[[tests]]\ntest = \"hops\"\nprotocol = \"{protocol}\"\n"
        );
        let plan = Plan::parse("p.toml", &text, &Known::default()).unwrap();
        let Request::Hops(asked) = plan.cells()[0].request() else { panic!("{text}") };
        (asked.far.host.port, asked.back_port)
    };
    assert_eq!(hops("udp"), (None, Some(5300)), "the return path is requested there");
    assert_eq!(hops("tcp"), (Some(5300), Some(5210)));
}

#[test]
fn a_target_of_the_configuration_is_a_far_end() {
    let target = Target {
        host: "192.0.2.9:5300".parse().unwrap(),
        security: engine::session::connect::Security { token: None, fingerprint: Some([7; 32]) },
        link: Some(model::units::BitRate(10_000_000_000)),
    };
    let known = Known { targets: [("far".to_owned(), target)].into(), ..Known::default() };
    let plan = Plan::parse("p.toml", &RIGHT.replace("\"192.0.2.1\"", "\"far\""), &known).unwrap();
    let path = &plan.paths[0];
    assert_eq!((path.to.host.as_str(), path.to.port), ("192.0.2.9", Some(5300)));
    assert!(path.security.fingerprint == Some([7; 32]) && path.link.is_some());

    // An agent gets the name, and has the identity itself: no token is ever sent.
    let text =
        "title = \"x\"\n[paths.a]\nagent = \"ams\"\nto = \"far:5301\"\n[[tests]]\ntest = \"latency\"\n";
    let plan = Plan::parse("p.toml", text, &known).unwrap();
    let job = plan.cells()[0].as_plan();
    assert!(job.contains("to = \"far:5301\"") && !job.contains("192.0.2.9"), "{job}");
    let (request, security) = crate::request_of_plan(&job, None, &known).unwrap();
    assert!(security.fingerprint == Some([7; 32]), "{request:?}");
}

/// Paths of agents as one cell, each in the words of its own path.
#[test]
fn paths_that_start_together_are_one() {
    let text = "title = \"x\"\n[paths.a]\nagent = \"ams\"\nto = \"192.0.2.1\"\n[paths.b]\nagent = \"fra\"\nto = \"192.0.2.2\"\n\
                [[tests]]\ntest = \"throughput\"\nstart = \"together\"\nparallel = [1, 4]\n";
    let plan = Plan::parse("p.toml", text, &Known::default()).unwrap();
    let cells = plan.cells();
    let names: Vec<String> = cells.iter().map(|cell| cell.name()).collect();
    assert_eq!(names, ["a + b: throughput, parallel 1", "a + b: throughput, parallel 4"]);
    let crate::PathPlace::Together(paths) = &cells[1].path.place else { panic!("{:?}", cells[1].path) };
    let jobs: Vec<String> = paths.iter().map(|path| Cell { path, ..cells[1] }.as_plan()).collect();
    assert!(
        jobs[0].contains("192.0.2.1") && jobs[1].contains("192.0.2.2") && !jobs[0].contains("together"),
        "{jobs:?}"
    );
    assert!(plan.has_agents() && cells[0].path.refused().is_some(), "it needs a fleet");
    for (from, to, expected) in [
        ("agent = \"fra\"\n", "", "all of which begin at agents"),
        ("parallel", "paths = [\"a\"]\nparallel", "two paths or more"),
        ("parallel", "bytes = \"1MB\"\nparallel", "by the native protocol, for a time"),
        ("parallel", "protocol = \"iperf3\"\nparallel", "by the native protocol, for a time"),
    ] {
        let faulty =
            Plan::parse("p.toml", &text.replace(from, to), &Known::default()).unwrap_err().to_string();
        assert!(faulty.contains(expected), "{faulty}");
    }
}

/// The page has a row for each key of each kind.
#[test]
fn every_key_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plans.md")).unwrap();
    for keyed in &cli::keys::KEYED {
        let heading = format!("### `{}`", keyed.command);
        let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("no section {heading}"));
        let section = section.split("\n##").next().unwrap();
        for key in keyed.keys {
            assert!(section.contains(&format!("| `{}` |", key.name)), "{}: {}", keyed.command, key.name);
        }
    }
}

/// The plans that come with the source are right.
#[test]
fn every_example_is_read() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plans");
    let mut read = 0;
    for file in std::fs::read_dir(examples).unwrap().flatten().map(|entry| entry.path()) {
        // Topologies stand beside the plans that use them.
        if std::fs::read_to_string(&file).unwrap().contains("[[tests]]") {
            Plan::read(&file, &Known::default()).unwrap_or_else(|error| panic!("{error}"));
            read += 1;
        }
    }
    assert!(read >= 4, "{read}");
}

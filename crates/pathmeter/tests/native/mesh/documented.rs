//! The commands of `docs/fleet.md` for three hosts, run as they stand there.

use super::super::net::{ip, may_make_networks};
use super::super::support::{Running, Scratch, pathmeter, skip};
use super::until;
use std::process::Command;

const TEXT: &str = include_str!("../../../../../docs/fleet.md");
const HOSTS: [(&str, &str); 3] = [("ams", "10.92.0.1"), ("fra", "10.92.0.2"), ("lon", "10.92.0.3")];

/// Three namespaces on one switch, which is the first one's; removed on drop.
struct Hosts;

fn ns(host: &str) -> String {
    format!("pathmeter-{}-doc-{host}", std::process::id())
}

impl Hosts {
    fn new() -> Hosts {
        let hosts = Hosts;
        HOSTS.iter().for_each(|(host, _)| ip(&["netns", "add", &ns(host)]));
        let hub = ns(HOSTS[0].0);
        ip(&["-n", &hub, "link", "add", "br0", "type", "bridge"]);
        for (host, _) in &HOSTS[1..] {
            ip(&["-n", &hub, "link", "add", host, "type", "veth", "peer", "name", "br0", "netns", &ns(host)]);
            ip(&["-n", &hub, "link", "set", host, "master", "br0", "up"]);
        }
        for (host, address) in HOSTS {
            ip(&["-n", &ns(host), "address", "add", &format!("{address}/24"), "dev", "br0"]);
            ["br0", "lo"].iter().for_each(|device| ip(&["-n", &ns(host), "link", "set", device, "up"]));
        }
        hosts
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for (host, _) in HOSTS {
            Command::new("ip").args(["netns", "delete", &ns(host)]).status().ok();
        }
    }
}

/// The arguments behind `pathmeter` of each command in the section of three hosts, with the hub's address in the place of its name.
fn commands() -> Vec<Vec<String>> {
    let section = TEXT.split("\n## Three hosts\n").nth(1).expect("the section");
    let block =
        section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("its commands");
    let args_of = |line: &str| -> Vec<String> {
        let line = line.strip_prefix("pathmeter ").expect("one program");
        line.split_whitespace().map(|word| word.replace("hub.example", HOSTS[0].1)).collect()
    };
    block.lines().map(args_of).collect()
}

/// The hosts of this test have one disk: what is started on one of them has this folder.
fn begin(scratch: &Scratch, host: &str, args: &[String]) -> Running {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = pathmeter(Some(&ns(host)), &args);
    command.current_dir(scratch.file("", None));
    Running::start(command)
}

/// Carries out all commands but the one that measures, which is returned, with what runs.
fn set_up(scratch: &Scratch) -> (Vec<Running>, Vec<String>) {
    let (mut running, mut measures) = (Vec::new(), Vec::new());
    for mut args in commands() {
        match [args[0].as_str(), args[1].as_str()] {
            ["mesh", "init"] => {
                begin(scratch, "ams", &args).end().code(0);
                for file in ["fra.agent", "lon.agent"] {
                    let made = scratch.file(&format!("mesh/agents/{file}"), None);
                    std::fs::copy(made, scratch.file(file, None)).unwrap();
                }
            }
            ["mesh", "up"] => {
                running.push(begin(scratch, "ams", &args));
                running.last().unwrap().wait_for("Server is ready");
            }
            ["agent", "run"] => {
                let file = args.last().unwrap().rsplit('/').next().unwrap();
                let host = file.strip_suffix(".agent").unwrap().to_owned();
                args.extend(["--spool".to_owned(), format!("spool-{host}")]);
                running.push(begin(scratch, &host, &args));
                running.last().unwrap().wait_for(&format!("agent {host} of"));
            }
            ["mesh", "run"] => measures = args,
            other => panic!("another command: {other:?}"),
        }
    }
    (running, measures)
}

#[test]
fn three_hosts_are_measured_by_the_commands_of_the_documentation() {
    let test = "three_hosts_are_measured_by_the_commands_of_the_documentation";
    assert!(commands().len() <= 6, "{:?}", commands());
    let program = std::env::var_os("PATHMETER_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    if Command::new(program).arg("--version").output().is_err() {
        return skip(test, "no nats-server");
    }
    if !may_make_networks(test) {
        return;
    }
    let (_hosts, scratch) = (Hosts::new(), Scratch::new("mesh-documented"));
    let (running, mut measures) = set_up(&scratch);
    let join = scratch.file("mesh/agents/coordinator.agent", None);
    let show = ["mesh", "show", "--json", "--join", &join].map(str::to_owned);
    until("three agents are there", || {
        let shown = begin(&scratch, "ams", &show).end();
        shown.code == Some(0) && shown.json()["agents"].as_array().is_some_and(|agents| agents.len() == 3)
    });
    measures.push("--json".to_owned());
    let report = begin(&scratch, "ams", &measures).end().code(0).json();
    let states: Vec<&str> =
        report["cells"].as_array().unwrap().iter().map(|cell| cell["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["done"; 6], "{report}");
    for process in running.into_iter().rev() {
        process.signal("TERM");
        process.end();
    }
}

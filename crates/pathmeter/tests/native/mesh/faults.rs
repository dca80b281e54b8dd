//! Faults of a mesh whose hosts lie in namespaces: NAT between them, a link that is down, and every part killed.

use super::super::net::{ip, may_make_networks, nft};
use super::super::support::{Ended, Running, Scratch, pathmeter, skip};
use super::{spooled, until};
use serde_json::Value;
use std::collections::HashSet;
use std::process::Command;

/// `core` has the server and the coordinator, `fra` is beside it, `ams` and `par` are behind a NAT. Removed on drop.
struct World {
    scratch: Scratch,
    hub: Option<Running>,
}

impl World {
    /// Absent, after saying why, where it cannot be made.
    fn new(test: &str) -> Option<World> {
        let program = std::env::var_os("PATHMETER_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
        if Command::new(program).arg("--version").output().is_err() {
            skip(test, "no nats-server");
            return None;
        }
        may_make_networks(test).then(|| {
            let world = World { scratch: Scratch::new("mesh-faults"), hub: None };
            HOSTS.iter().for_each(|host| ip(&["netns", "add", &ns(host)]));
            world.bridge("core", "10.90.0.1/24");
            world.join("core", "fra", "eth0", "10.90.0.2/24");
            world.join("core", "nat", "out", "10.90.0.3/24");
            world.bridge("nat", "192.168.7.1/24");
            for (host, address) in [("ams", "192.168.7.2/24"), ("par", "192.168.7.3/24")] {
                world.join("nat", host, "eth0", address);
                ip(&["-n", &ns(host), "route", "add", "default", "via", "192.168.7.1"]);
            }
            ip(&["netns", "exec", &ns("nat"), "sysctl", "-qw", "net.ipv4.ip_forward=1"]);
            let hide = "table ip hide {\nchain out {\ntype nat hook postrouting priority 100;\noifname out masquerade\n}\n}\n";
            nft(&ns("nat"), hide);
            world
        })
    }

    /// The bridge of a host, with its address.
    fn bridge(&self, host: &str, address: &str) {
        let ns = ns(host);
        ip(&["-n", &ns, "link", "add", "br0", "type", "bridge"]);
        ip(&["-n", &ns, "address", "add", address, "dev", "br0"]);
        ["br0", "lo"].iter().for_each(|device| ip(&["-n", &ns, "link", "set", device, "up"]));
    }

    /// A link from a host to the bridge of another, whose port has the host's name.
    fn join(&self, bridge: &str, host: &str, device: &str, address: &str) {
        let (ours, theirs) = (ns(host), ns(bridge));
        ip(&["-n", &theirs, "link", "add", host, "type", "veth", "peer", "name", device, "netns", &ours]);
        ip(&["-n", &theirs, "link", "set", host, "master", "br0", "up"]);
        ip(&["-n", &ours, "address", "add", address, "dev", device]);
        [device, "lo"].iter().for_each(|device| ip(&["-n", &ours, "link", "set", device, "up"]));
    }

    fn file(&self, name: &str) -> String {
        self.scratch.file(name, None)
    }

    fn argv(&self, argv: &[&str], user: &str) -> Vec<String> {
        let folder = self.file("mesh");
        let (ca, key) = (format!("{folder}/ca.pem"), format!("{folder}/keys/{user}.seed"));
        // One of the agents may open nothing but HTTPS.
        let url = if user == "par" { "wss://10.90.0.1:8443" } else { "tls://10.90.0.1:4222" };
        let ours = ["--coordinator", url, "--ca", &ca, "--key", &key];
        argv.iter().chain(&ours).map(|word| (*word).to_owned()).collect()
    }

    fn start(&self, host: &str, argv: &[&str], user: &str) -> Running {
        let argv = self.argv(argv, user);
        Running::start(pathmeter(Some(&ns(host)), &argv.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    /// Starts the server, and forgets one that was killed.
    fn serve(&mut self) {
        let folder = self.file("mesh");
        let hub = Running::start(pathmeter(Some(&ns("core")), &["mesh", "up", &folder]));
        hub.wait_for("Server is ready");
        self.hub = Some(hub);
    }

    fn agent(&self, name: &str, argv: &[&str]) -> Running {
        let (spool, token) = (self.file("spool"), format!("{}/mesh.token", self.file("mesh")));
        let own = ["agent", "run", "--name", name, "--spool", &spool, "--token-file", &token];
        let agent = self.start(name, &[&own, argv].concat(), name);
        agent.wait_for(&format!("agent {name} of"));
        agent
    }

    /// A run of the mesh whose results are kept: its words, with a file of results of this name.
    fn begin(&self, results: &str, argv: &[&str]) -> Running {
        let (results, store) = (self.file(results), self.file("runs.db"));
        let own = ["mesh", "run", "--results", &results, "--save", "--store", &store, "--json"];
        self.start("core", &[&own, argv].concat(), "coordinator")
    }

    fn run(&self, results: &str, argv: &[&str]) -> Ended {
        self.begin(results, argv).end()
    }

    /// Waits until the coordinator lists this agent.
    fn wait_for_agent(&self, name: &str) {
        until(&format!("{name} is there"), || {
            let shown = self.start("core", &["mesh", "show"], "coordinator").end();
            shown.stdout.lines().any(|line| line.split_whitespace().next() == Some(name))
        });
    }

    /// How many lines of the spool of `ams` are of this kind.
    fn spooled(&self, word: &str) -> usize {
        spooled(&self.file("spool"), "ams", word)
    }

    /// The outcomes of a file of results, in its order.
    fn outcomes(&self, results: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.file(results)).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| line.get("outcome").cloned()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.take() {
            hub.signal("TERM");
            hub.end();
        }
        for host in HOSTS {
            Command::new("ip").args(["netns", "delete", &ns(host)]).status().ok();
        }
    }
}

/// The namespace of a host.
fn ns(host: &str) -> String {
    format!("pathmeter-{}-mesh-{host}", std::process::id())
}

fn states(report: &Value) -> Vec<(String, String)> {
    let text = |cell: &Value, key: &str| cell[key].as_str().unwrap().to_owned();
    let path = |cell: &Value| format!("{} -> {}", text(cell, "from"), text(cell, "to"));
    report["cells"].as_array().unwrap().iter().map(|cell| (path(cell), text(cell, "state"))).collect()
}

#[test]
fn nat_a_partition_and_the_death_of_every_part_lose_nothing_and_measure_nothing_twice() {
    let Some(mut world) =
        World::new("nat_a_partition_and_the_death_of_every_part_lose_nothing_and_measure_nothing_twice")
    else {
        return;
    };
    let folder = world.file("mesh");
    let init = ["mesh", "init", &folder, "--agent", "ams", "--agent", "fra", "--agent", "par"];
    let at = ["--listen", "10.90.0.1:4222", "--websocket", "10.90.0.1:8443", "--server", "10.90.0.1"];
    Running::start(pathmeter(None, &[&init[..], &at].concat())).end().code(0);
    world.serve();
    world.start("core", &["mesh", "doctor"], "coordinator").end().code(0);
    let mut agents = vec![world.agent("fra", &[])];
    agents.extend(["par", "ams"].map(|name| world.agent(name, &["--no-listen", "--lease", "5s"])));
    ["ams", "fra", "par"].iter().for_each(|name| world.wait_for_agent(name));

    // Behind NAT the agents open the connections of both directions; between two of them there is no path.
    let report = world.run("nat.jsonl", &["-t", "200ms"]).code(0).json();
    let done = |path: &str| (path.to_owned(), "done".to_owned());
    assert_eq!(states(&report), ["ams -> fra", "fra -> ams", "fra -> par", "par -> fra"].map(done));
    assert!(report["notes"][0].as_str().unwrap().contains("ams and par, as neither listens"), "{report}");

    // A link that is down is reported once, after a second attempt, and once when it is up again.
    let reported = world.file("reported");
    let hook = format!("echo \"$PATHMETER_ALERT $PATHMETER_TARGET\" >> {reported}");
    let night = ["--test", "latency", "-t", "200ms", "--agent", "ams", "--agent", "fra", "--alert", &hook];
    ip(&["-n", &ns("core"), "link", "set", "fra", "down"]);
    let report = world.run("cut.jsonl", &night).code(3).json();
    assert_eq!(states(&report), [("ams -> fra".to_owned(), "failed".to_owned())]);
    assert_eq!(world.outcomes("cut.jsonl").len(), 2, "it was measured again before it was reported");
    ip(&["-n", &ns("core"), "link", "set", "fra", "up"]);
    world.wait_for_agent("fra");
    world.run("healed.jsonl", &night).code(0);
    assert_eq!(std::fs::read_to_string(&reported).unwrap(), "unreachable ams -> fra\nreachable ams -> fra\n");

    a_silent_partition_voids_what_was_measured(&world);

    // Server, coordinator and an agent at work are killed at once.
    let begun = || world.spooled("begun");
    let before = begun();
    let coordinator = world.begin("killed.jsonl", &["-t", "1s"]);
    until("ams has begun a run", || begun() > before);
    let hub = world.hub.take().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", hub.pid())).unwrap();
    let server = children.split_whitespace().next().unwrap().to_owned();
    assert!(Command::new("kill").args(["-KILL", &server]).status().unwrap().success());
    agents.pop().unwrap().signal("KILL");
    coordinator.signal("KILL");
    drop(coordinator);
    hub.end();
    world.serve();
    agents.push(world.agent("ams", &["--no-listen"]));
    ["ams", "fra", "par"].iter().for_each(|name| world.wait_for_agent(name));
    let report = world.run("killed.jsonl", &["-t", "1s"]).json();
    let all = states(&report);
    assert_eq!(all.len(), 4, "nothing is lost: {all:?}");
    assert!(all.iter().all(|(_, state)| ["done", "void"].contains(&state.as_str())), "{all:?}");
    // An outcome that the coordinator before had not confirmed comes to this one: it is stored, and not in its matrix.
    let mut outcomes = world.outcomes("killed.jsonl");
    let planned: Vec<&Value> = report["cells"].as_array().unwrap().iter().map(|cell| &cell["run"]).collect();
    outcomes.retain(|one| planned.contains(&&one["run"]));
    let runs: HashSet<&str> = outcomes.iter().map(|one| one["run"].as_str().unwrap()).collect();
    assert_eq!((outcomes.len(), runs.len()), (4, 4), "nothing twice");
    no_two_share_a_host(&outcomes);
    let list = ["history", "--kind", "throughput", "--store", &world.file("runs.db"), "--json"];
    let kept = Running::start(pathmeter(None, &list)).end().code(0).json();
    assert_eq!(kept.as_array().unwrap().len(), 8, "four before and four now");
}

/// An agent whose packets to and from the server are lost, without a word to either, stops by itself; the path that it
/// measures is whole.
fn a_silent_partition_voids_what_was_measured(world: &World) {
    let (begun, finished) = (|| world.spooled("begun"), || world.spooled("finished"));
    let (before, ended) = (begun(), finished());
    let long = ["--test", "latency", "-t", "100s", "--agent", "ams", "--agent", "fra"];
    let coordinator = world.begin("apart.jsonl", &long);
    until("ams has begun a run", || begun() > before);
    let cut = "table inet cut {\nchain out {\ntype filter hook output priority 0;\ntcp dport 4222 drop\n}\n\
               chain in {\ntype filter hook input priority 0;\ntcp sport 4222 drop\n}\n}\n";
    nft(&ns("ams"), cut);
    until("ams has stopped its run", || finished() > ended);
    nft(&ns("ams"), "delete table inet cut\n");
    let report = coordinator.end().code(4).json();
    let cell = &report["cells"][0];
    assert!(cell["state"] == "void" && cell["reason"] == "lease lost", "{cell}");
    let outcomes = world.outcomes("apart.jsonl");
    let time = |key: &str| outcomes[0][key].as_u64().unwrap();
    assert!(time("finished") - time("started") < 60_000_000_000, "it ended before its time: {outcomes:?}");
    world.wait_for_agent("ams");
}

/// One of two runs that share a host ended before the other began.
fn no_two_share_a_host(outcomes: &[Value]) {
    let time = |one: &Value, key: &str| one[key].as_u64().unwrap();
    let hosts = |one: &Value| -> Vec<String> {
        one["title"]
            .as_str()
            .unwrap()
            .split(' ')
            .filter(|word| HOSTS.contains(word))
            .map(str::to_owned)
            .collect()
    };
    for (at, one) in outcomes.iter().enumerate() {
        for other in &outcomes[at + 1..] {
            if hosts(one).iter().any(|host| hosts(other).contains(host)) {
                let apart = time(one, "finished") <= time(other, "started")
                    || time(other, "finished") <= time(one, "started");
                assert!(apart, "two exclusive runs at once:\n{one}\n{other}");
            }
        }
    }
}

const HOSTS: [&str; 5] = ["core", "nat", "fra", "ams", "par"];

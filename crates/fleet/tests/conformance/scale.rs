//! Figures of docs/fleet.md: `cargo test -p pathmeter-fleet --test conformance -- --ignored --nocapture --test-threads=1`.

use super::server::{Cluster, Server, program};
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::agent::{Agent, AgentOptions, Permit, Runner, Task, TaskEnd};
use pathmeter_fleet::broker::nats::Nats;
use pathmeter_fleet::broker::{Broker, Bucket, Expected, Log, Mailbox};
use pathmeter_fleet::clock::{Clock, SystemClock};
use pathmeter_fleet::coordinator::Coordinator;
use pathmeter_fleet::job::{AgentJob, End};
use pathmeter_fleet::lease::{
    About, Acquired, COORDINATOR, Claim, Class, Lease, Renewal, Renewed, Resource, holder,
};
use pathmeter_fleet::mesh::{MeshPlan, RunRequest};
use pathmeter_fleet::results::InMemory;
use pathmeter_fleet::spool::Spool;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const AGENTS: usize = 1000;
const LONG: Nanos = Nanos::from_secs(60);

fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn claim(name: &str, resources: &[String]) -> Claim {
    let holder = holder(COORDINATOR, name);
    let resources = resources.iter().map(Resource::sole).collect();
    Claim {
        group: holder.clone(),
        holder,
        run: String::new(),
        grant: String::new(),
        class: Class::Exclusive,
        resources,
        lifetime: Nanos::from_secs(30),
        about: About::default(),
    }
}

fn quantile(sorted: &[u64], share: f64) -> u64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Resident memory of a process, in KiB.
fn resident(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Resident memory of this process, and of the server.
fn memory(server: &Server) -> [u64; 2] {
    [resident("self"), resident(&server.process().to_string())]
}

fn print_memory(what: &str, before: [u64; 2], after: [u64; 2]) {
    let [client, server] = [0, 1].map(|process| (after[process] - before[process]) / AGENTS as u64);
    print(&format!("{AGENTS} {what}: {server} KiB of the server and {client} KiB of the client for each"));
}

#[test]
#[ignore = "figures of docs/fleet.md, not a check"]
fn a_thousand_agents_on_one_server() {
    program().expect("nats-server");
    let server = Server::start(&["ams"], &[]);
    let coordinator = server.connect("coordinator").expect("a connection");
    coordinator.make_streams(1).expect("streams");
    let before = memory(&server);
    let agents: Vec<Nats> =
        (0..AGENTS).map(|_| server.connect("coordinator").expect("a connection")).collect();
    for (number, agent) in agents.iter().enumerate() {
        let key = format!("a{number}");
        agent
            .put(Bucket::Agents, &key, b"{\"listens\":true}", Expected::Anything, Some(LONG))
            .expect("a report");
    }
    let mut mailboxes: Vec<_> =
        agents.iter().map(|agent| agent.subscribe("pm.go.>").expect("to listen")).collect();
    print_memory("agents", before, memory(&server));
    broadcast(&coordinator, &mut mailboxes, "pm.go.all");
    lease_times(&coordinator);
}

/// When each of those who listen had a message.
fn broadcast(broker: &Nats, mailboxes: &mut [Box<dyn Mailbox>], subject: &str) {
    let ready = Barrier::new(mailboxes.len() + 1);
    let mut arrivals: Vec<u64> = thread::scope(|scope| {
        let waiting: Vec<_> = mailboxes
            .iter_mut()
            .map(|mailbox| {
                let ready = &ready;
                scope.spawn(move || {
                    ready.wait();
                    mailbox.next(LONG).expect("asked").expect("the start");
                    SystemClock.mono()
                })
            })
            .collect();
        ready.wait();
        let sent = SystemClock.mono();
        broker.publish(subject, b"T0").expect("sent");
        waiting.into_iter().map(|waiting| (waiting.join().expect("arrived") - sent).0 / 1000).collect()
    });
    arrivals.sort_unstable();
    print(&format!(
        "broadcast to {}: p50 {} us, max {} us",
        arrivals.len(),
        quantile(&arrivals, 0.5),
        quantile(&arrivals, 1.0)
    ));
}

fn lease_times(broker: &Nats) {
    let clock = || SystemClock.mono();
    let mut times: Vec<u64> = (0..300)
        .map(|number| {
            let resources = [format!("far.a{}", number % 50), format!("far.b{}", number % 50)];
            let begin = SystemClock.mono();
            let acquired =
                Lease::acquire(broker, claim(&format!("run-{number}"), &resources), &clock).expect("asked");
            let time = SystemClock.mono() - begin;
            let Acquired::Held(lease) = acquired else { panic!("it was free") };
            assert!(lease.release(broker).expect("released"));
            time.0 / 1000
        })
        .collect();
    times.sort_unstable();
    print(&format!(
        "lease of two resources: p50 {} us, p99 {} us",
        quantile(&times, 0.5),
        quantile(&times, 0.99)
    ));
}

/// A job that has ended before it began, with fixed bytes.
struct Nothing;

impl Runner for Nothing {
    fn start(&self, _: &AgentJob, _: Option<WallTime>, _: &Arc<Permit>) -> Box<dyn Task> {
        Box::new(Nothing)
    }
}

impl Task for Nothing {
    fn poll(&mut self) -> Option<TaskEnd> {
        let now = SystemClock.wall();
        Some(TaskEnd { started: now, finished: now, ended: SystemClock.mono(), result: Ok("x".repeat(4096)) })
    }
}

/// The loop of `pathmeter agent run`, until all is over.
fn be_agent(number: usize, broker: &Nats, folder: &Path, is_over: &AtomicBool) {
    let spool = Spool::open(&folder.join(format!("{number}.jsonl"))).expect("a spool");
    let options = AgentOptions::named(format!("a{number}"));
    let mut agent = Agent::new(options, broker, &SystemClock, &Nothing, spool).expect("an agent");
    while !is_over.load(Ordering::SeqCst) {
        let due = agent.step().expect("a step");
        agent.rest(due).expect("rest");
    }
}

/// The first rounds of a tournament.
fn rounds(sites: usize, count: usize) -> MeshPlan {
    let sites: Vec<String> = (0..sites).map(|number| format!("a{number}")).collect();
    let begin = SystemClock.mono();
    let mut plan = MeshPlan::new("scale", &sites, None, &[], |a, b| {
        let title = format!("{a} -> {b}");
        let (agent, part, body) = (a.to_owned(), String::new(), String::new());
        let (class, span) = (Class::Exclusive, Nanos::from_secs(60));
        let resources = [a, b].map(|agent| Resource::sole(format!("nic.{agent}"))).into();
        vec![RunRequest { agent, title, part, class, resources, span, body }]
    });
    print(&format!(
        "a mesh of {} sites, {} runs, planned in {} us",
        sites.len(),
        plan.runs(),
        (SystemClock.mono() - begin).0 / 1000
    ));
    plan.rounds.truncate(count);
    plan
}

/// Agents at their loops, one thread and one connection each; a hundred of them are measured, all pairs of a round at once.
#[test]
#[ignore = "figures of docs/fleet.md, not a check"]
fn a_thousand_agents_at_work() {
    program().expect("nats-server");
    let server = Server::start(&["ams"], &[]);
    let coordinator = server.connect("coordinator").expect("a connection");
    coordinator.make_streams(1).expect("streams");
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let before = memory(&server);
    let agents: Vec<Nats> =
        (0..AGENTS).map(|_| server.connect("coordinator").expect("a connection")).collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for (number, broker) in agents.iter().enumerate() {
            let (folder, is_over) = (folder.path(), &is_over);
            let thread = thread::Builder::new().stack_size(512 << 10);
            thread.spawn_scoped(scope, move || be_agent(number, broker, folder, is_over)).expect("a thread");
        }
        let begin = SystemClock.mono();
        while coordinator.keys(Bucket::Agents).map_or(0, |keys| keys.len()) < AGENTS {
            thread::sleep(Duration::from_millis(200));
        }
        print(&format!("{AGENTS} agents are there after {} ms", (SystemClock.mono() - begin).0 / 1_000_000));
        thread::sleep(Duration::from_secs(20));
        print_memory("agents at their loops", before, memory(&server));
        let mut mailboxes: Vec<_> =
            agents.iter().map(|agent| agent.subscribe("pm.skew").expect("to listen")).collect();
        broadcast(&coordinator, &mut mailboxes, "pm.skew");
        let leases = scope.spawn(|| lease_times(&coordinator));
        measure(&coordinator, rounds(100, 20));
        leases.join().expect("measured");
        is_over.store(true, Ordering::SeqCst);
    });
}

fn measure(broker: &Nats, plan: MeshPlan) {
    let (results, runs, count) = (InMemory::default(), plan.runs(), plan.rounds.len());
    let mut sink = results.clone();
    let mut coordinator =
        Coordinator::new("c", broker, &SystemClock, plan, (&mut sink, |_, _| Ok(()))).expect("a coordinator");
    let begin = SystemClock.mono();
    while !coordinator.is_complete() {
        assert!((SystemClock.mono() - begin).0 < 600_000_000_000, "{:#?}", coordinator.ledger());
        let due = coordinator.step().expect("a step");
        coordinator.rest(due).expect("rest");
    }
    let time = SystemClock.mono() - begin;
    let results = results.all();
    let done = results.outcomes.values().filter(|outcome| matches!(outcome.end, End::Done { .. })).count();
    print(&format!(
        "{count} rounds of a mesh of 100 sites, {done} of {runs} runs done: {} ms a round beside the measuring",
        time.0 / 1_000_000 / count as u64
    ));
    assert_eq!(done, runs);
}

/// A cluster of three loses the server that leads the streams, while outcomes are appended and a lease is held.
#[test]
#[ignore = "figures of docs/fleet.md: three servers are more than CI has time for"]
fn a_cluster_that_loses_its_leader_loses_nothing() {
    program().expect("nats-server");
    let mut cluster = Cluster::start();
    let broker = cluster.connect();
    let patient = |what: &mut dyn FnMut() -> Result<(), FleetError>| {
        let end = SystemClock.mono() + LONG;
        while let Err(error) = what() {
            assert!(SystemClock.mono() < end, "{error}");
        }
    };
    patient(&mut || broker.make_streams(3));
    let clock = || -> MonoTime { SystemClock.mono() };
    let resources = ["nic.a".to_owned()];
    let Acquired::Held(mut lease) =
        Lease::acquire(&broker, claim("first", &resources), &clock).expect("asked")
    else {
        panic!("it was free")
    };
    let mut renewal = Renewal::default();
    let mut intruders = 0;
    for number in 0..400 {
        if number == 100 {
            let begin = SystemClock.mono();
            cluster.kill_leader();
            patient(&mut || broker.put(Bucket::Plans, "after", b"", Expected::Anything, None).map(|_| ()));
            print(&format!(
                "writes went on {} ms after the leader was killed",
                (SystemClock.mono() - begin).0 / 1_000_000
            ));
        }
        let id = format!("run-{number}");
        patient(&mut || broker.append(Log::Outcomes, "a", &id, id.as_bytes()).map(|_| ()));
        if number % 20 == 0 {
            let renewed = lease.renew(&broker, &mut renewal, &clock);
            assert!(!matches!(renewed, Ok(Renewed::Lost)), "the lease is lost");
            let other = Lease::acquire(&broker, claim(&format!("other-{number}"), &resources), &clock);
            intruders += usize::from(matches!(other, Ok(Acquired::Held(_))));
        }
    }
    assert!(lease.is_held(clock()), "held through the change of the leader");
    assert_eq!(intruders, 0);
    // The streams' leaders are chosen one by one: the one of the outcomes may be missing still.
    let mut taken = BTreeSet::new();
    patient(&mut || {
        let mut sink = broker.consume(Log::Outcomes, "sink", None, LONG)?;
        while let Some(delivery) = sink.next(Nanos::from_secs(3))? {
            assert!(taken.insert(delivery.data.clone()), "twice");
            broker.done(&delivery)?;
        }
        Ok(())
    });
    assert_eq!(taken.len(), 400);
    print("400 of 400 outcomes, each once; the lease was held by one");
}

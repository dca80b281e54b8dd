//! An agent whose clock is wrong: the loops of an agent in this process, by a clock of their own, for a coordinator that is the program.

use super::super::support::Scratch;
use super::mesh;
use fleet::agent::{Agent, AgentOptions, Measured, Start, Threads};
use fleet::broker::nats::{Authority, Nats, NatsOptions, Reactor};
use fleet::clock::{Clock, SystemClock};
use fleet::job::AgentJob;
use fleet::setup::seed;
use fleet::spool::Spool;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two hours ahead.
struct Ahead;

impl Clock for Ahead {
    fn mono(&self) -> MonoTime {
        SystemClock.mono()
    }

    fn wall(&self) -> WallTime {
        SystemClock.wall() + Nanos::from_secs(7200)
    }
}

/// The agent `ams`, until it is over.
fn be_ahead(nats: &Nats, spool: &Path, is_over: &AtomicBool) {
    let work = |_: &AgentJob, _: &Start| -> Result<Measured, String> { Err("it has begun".to_owned()) };
    let threads = Threads::new(Arc::new(work), Arc::new(Ahead));
    let spool = Spool::open(spool).unwrap();
    let inventory = serde_json::json!({ "leases": 2 });
    let options = AgentOptions { inventory, ..AgentOptions::named("ams") };
    let mut agent = Agent::new(options, nats, &Ahead, &threads, spool).unwrap();
    while !is_over.load(Ordering::SeqCst) {
        let due = agent.step().unwrap();
        agent.rest(due).unwrap();
    }
}

/// Signals the agent that it is over, also when an assertion fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_wrong_clock_is_named_to_the_user() {
    let scratch = Scratch::new("mesh-clock");
    let test = "a_wrong_clock_is_named_to_the_user";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let file = |name: &str| Path::new(&mesh.folder).join(name);
    let options = NatsOptions {
        server: mesh.url.clone(),
        name: "ams".into(),
        seed: Some(seed(&file("keys/ams.seed"), &std::fs::read(file("keys/ams.seed")).unwrap()).unwrap()),
        authority: Some(Authority::read(&file("ca.pem")).unwrap()),
        ..NatsOptions::default()
    };
    let nats = Nats::connect(&Reactor::start().unwrap(), &options).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        scope.spawn(|| be_ahead(&nats, &file("ahead.jsonl"), &is_over));
        let _fra = mesh.agent("fra", &format!("{}/mesh.token", mesh.folder));
        mesh.wait_for(2);
        let message = "ams: its clock is 2 h ahead of this host's";
        let shown = mesh.run(&["mesh", "show"]).code(0);
        assert!(
            shown.stdout.contains(message) && !shown.stdout.contains("fra: its clock"),
            "{}",
            shown.stdout
        );
        let results = scratch.file("night.jsonl", None);
        let night = mesh.run(&["mesh", "run", "--test", "latency", "-t", "100ms", "--results", &results]);
        let night = night.code(4).prints(message);
        // The run that it was to carry out has the reason, too, and so has the document.
        assert!(
            night.stdout.contains("(clock of ams: ") && night.stdout.contains(message),
            "{}",
            night.stdout
        );
        drop(over);
    });
}

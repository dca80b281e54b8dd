//! Agents and a plan that the tests of faulty servers have measured.

use model::units::Nanos;
use pathmeter_fleet::agent::{Agent, AgentOptions, Measured, Start, Threads};
use pathmeter_fleet::broker::nats::Nats;
use pathmeter_fleet::clock::SystemClock;
use pathmeter_fleet::job::{AgentJob, End};
use pathmeter_fleet::lease::{Class, Resource};
use pathmeter_fleet::mesh::{MeshPlan, RunRequest};
use pathmeter_fleet::results::InMemory;
use pathmeter_fleet::spool::Spool;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const AGENTS: [&str; 2] = ["ams", "fra"];
pub(crate) const RUNS: usize = 10;

/// Counts at the agents.
#[derive(Default)]
pub(crate) struct Observation {
    at_work: AtomicUsize,
    /// The runs that were carried out, each time.
    carried_out: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

/// Signals the agents that all is over, when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn plan() -> MeshPlan {
    let sites: Vec<String> = AGENTS.iter().map(ToString::to_string).collect();
    MeshPlan::new("cluster", &sites, None, &[], |a, b| {
        let run = |number: usize| RunRequest {
            agent: a.to_owned(),
            title: format!("run {number}"),
            part: number.to_string(),
            class: Class::Exclusive,
            resources: [a, b].map(|agent| Resource::sole(format!("nic.{agent}"))).into(),
            span: Nanos::from_secs(1),
            body: String::new(),
        };
        (0..RUNS).map(run).collect()
    })
}

/// An agent whose runs take a fifth of a second, until all is over. `each`: what a run does beside.
fn agent(
    name: &str,
    broker: &Nats,
    folder: &Path,
    observed: &Arc<Observation>,
    each: &Arc<dyn Fn() + Send + Sync>,
) {
    let (noted, each) = (Arc::clone(observed), Arc::clone(each));
    let work = move |job: &AgentJob, _: &Start| {
        assert_eq!(noted.at_work.fetch_add(1, Ordering::SeqCst), 0, "two exclusive runs at once");
        std::thread::sleep(Duration::from_millis(200));
        each();
        noted.at_work.fetch_sub(1, Ordering::SeqCst);
        noted.carried_out.lock().expect("whole").push(job.run.clone());
        Ok(Measured { body: "result".into(), span: None })
    };
    let threads = Threads::new(Arc::new(work), Arc::new(SystemClock));
    let spool = Spool::open(&folder.join(format!("{name}.jsonl"))).expect("a spool");
    let agent = Agent::new(AgentOptions::named(name), broker, &SystemClock, &threads, spool);
    let mut agent = agent.expect("an agent");
    while !observed.is_over.load(Ordering::SeqCst) {
        let due = agent.step().expect("a step");
        agent.rest(due).expect("rest");
    }
}

/// Does this while the agents are at their loops, each with its broker.
pub(crate) fn beside_agents(
    brokers: &[Nats],
    folder: &Path,
    observed: &Arc<Observation>,
    each: &Arc<dyn Fn() + Send + Sync>,
    work: impl FnOnce(),
) {
    std::thread::scope(|scope| {
        for (name, broker) in AGENTS.iter().zip(brokers) {
            scope.spawn(move || agent(name, broker, folder, observed, each));
        }
        // Also when an assertion fails: else the agents would be waited for.
        let _over = Over(&observed.is_over);
        work();
    });
}

/// A job that does nothing.
pub(crate) fn nothing() -> Arc<dyn Fn() + Send + Sync> {
    Arc::new(|| {})
}

/// Every run has an outcome, and none was carried out twice.
pub(crate) fn assert_all_done_once(results: &InMemory, observed: &Observation) {
    let results = results.all();
    assert!(results.outcomes.len() == RUNS && results.missed.is_empty(), "{results:?}");
    for outcome in results.outcomes.values() {
        assert!(matches!(outcome.end, End::Done { .. }), "{outcome:?}");
    }
    let mut carried_out = observed.carried_out.lock().expect("whole").clone();
    carried_out.sort_unstable();
    carried_out.dedup();
    let count = observed.carried_out.lock().expect("whole").len();
    assert_eq!((carried_out.len(), count), (RUNS, RUNS), "each once");
}

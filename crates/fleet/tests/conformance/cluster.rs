//! A cluster of three servers that loses its leader while a mesh is measured.

use super::server::{Cluster, program};
use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::agent::{Agent, AgentOptions, Measured, Start, Threads};
use pathmeter_fleet::broker::nats::Nats;
use pathmeter_fleet::clock::SystemClock;
use pathmeter_fleet::coordinator::Coordinator;
use pathmeter_fleet::job::{AgentJob, End};
use pathmeter_fleet::lease::Class;
use pathmeter_fleet::mesh::{MeshPlan, RunRequest, Site};
use pathmeter_fleet::results::InMemory;
use pathmeter_fleet::spool::Spool;
use skip::skip;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const AGENTS: [&str; 2] = ["ams", "fra"];
const RUNS: usize = 10;

/// What happened at the agents.
#[derive(Default)]
struct Observation {
    at_work: AtomicUsize,
    /// The runs that were carried out, each time.
    carried_out: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

/// Tells the agents that all is over, when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn plan() -> MeshPlan {
    let sites: Vec<Site> = AGENTS.iter().map(|name| Site::sole(*name)).collect();
    MeshPlan::new("cluster", &sites, None, &[], |a, _| {
        let run = |number: usize| RunRequest {
            agent: a.agent.clone(),
            title: format!("run {number}"),
            part: number.to_string(),
            class: Class::Exclusive,
            span: Nanos::from_secs(1),
            body: String::new(),
        };
        (0..RUNS).map(run).collect()
    })
}

/// An agent whose runs take a fifth of a second, until all is over.
fn agent(name: &str, broker: &Nats, folder: &Path, observed: &Arc<Observation>) {
    let noted = Arc::clone(observed);
    let work = move |job: &AgentJob, _: &Start| {
        assert_eq!(noted.at_work.fetch_add(1, Ordering::SeqCst), 0, "two exclusive runs at once");
        std::thread::sleep(Duration::from_millis(200));
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

#[test]
fn a_mesh_goes_on_when_the_leader_of_a_cluster_dies() {
    if let Err(why) = program() {
        return skip(why);
    }
    let mut cluster = Cluster::start();
    let broker = cluster.connect();
    let begin = Instant::now();
    while let Err(error) = broker.make_streams(3) {
        assert!(error.is_transient() || matches!(error, FleetError::Server { .. }), "{error}");
        assert!(begin.elapsed().as_secs() < 60, "{error}");
    }
    let (folder, observed) = (tempfile::tempdir().expect("a folder"), Arc::<Observation>::default());
    let brokers = AGENTS.map(|_| cluster.connect());
    let results = InMemory::default();
    let mut sink = results.clone();
    let mut coordinator =
        Coordinator::new("c", &broker, &SystemClock, plan(), &mut sink).expect("a coordinator");
    std::thread::scope(|scope| {
        for (name, broker) in AGENTS.iter().zip(&brokers) {
            let (folder, observed) = (folder.path(), &observed);
            scope.spawn(move || agent(name, broker, folder, observed));
        }
        // Also when an assertion fails: else the agents would be waited for.
        let over = Over(&observed.is_over);
        let mut is_killed = false;
        while !coordinator.is_complete() {
            assert!(begin.elapsed().as_secs() < 180, "{:#?}", coordinator.ledger());
            let due = coordinator.step().expect("a step");
            coordinator.rest(due).expect("rest");
            if results.all().outcomes.len() >= 3 && !is_killed {
                is_killed = true;
                cluster.kill_leader();
            }
        }
        drop(over);
        assert!(is_killed);
    });
    let results = results.all();
    assert!(results.outcomes.len() == RUNS && results.missed.is_empty(), "{results:?}");
    for outcome in results.outcomes.values() {
        assert!(matches!(outcome.end, End::Done { .. }), "the leases were held on: {outcome:?}");
    }
    let mut carried_out = observed.carried_out.lock().expect("whole").clone();
    carried_out.sort_unstable();
    carried_out.dedup();
    let count = observed.carried_out.lock().expect("whole").len();
    assert_eq!((carried_out.len(), count), (RUNS, RUNS), "each once");
}

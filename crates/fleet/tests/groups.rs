//! Groups of runs over real threads and clocks: one start, and what holds it up.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_fleet::agent::{Agent, AgentOptions, Measured, Start, Threads};
use pathmeter_fleet::clock::{Clock, SystemClock};
use pathmeter_fleet::coordinator::Coordinator;
use pathmeter_fleet::group::judge;
use pathmeter_fleet::job::{AgentJob, End, Outcome};
use pathmeter_fleet::lease::{About, Acquired, COORDINATOR, Claim, Class, Lease, Resource, holder};
use pathmeter_fleet::mesh::{MeshPlan, RunRequest};
use pathmeter_fleet::results::InMemory;
use pathmeter_fleet::rounds::Pair;
use pathmeter_fleet::spool::Spool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use world::broker::Local;

const AGENTS: [&str; 3] = ["ams", "fra", "lon"];

/// A host's clocks, of which the wall clock is wrong by this much.
#[derive(Clone, Copy)]
struct Ahead(Nanos);

impl Clock for Ahead {
    fn mono(&self) -> MonoTime {
        SystemClock.mono()
    }

    fn wall(&self) -> WallTime {
        SystemClock.wall() + self.0
    }
}

/// The clock of `lon` is not set.
fn clock_of(agent: &str) -> Ahead {
    Ahead(Nanos::from_secs(if agent == "lon" { 7200 } else { 0 }))
}

/// Runs a coordinator over agents that wait for the start and note when it came, until `until` is true.
fn with_agents(
    broker: &Local,
    plan: MeshPlan,
    until: impl Fn(&Coordinator) -> bool,
) -> (InMemory, Coordinated) {
    let folder = tempfile::tempdir().expect("a folder");
    let results = InMemory::default();
    let is_over = AtomicBool::new(false);
    let group = plan.rounds[0].clone();
    let coordinated = std::thread::scope(|scope| {
        for name in AGENTS {
            let (is_over, spool) = (&is_over, folder.path().join(format!("{name}.jsonl")));
            let broker = broker.clone();
            scope.spawn(move || {
                let clock = clock_of(name);
                let work = move |_: &AgentJob, start: &Start| {
                    assert!(start.is_common());
                    start.wait();
                    let began = clock.wall();
                    let span = Some((began, began + Nanos::from_secs(10)));
                    Ok(Measured { body: "result".into(), span })
                };
                let threads = Threads::new(Arc::new(work), Arc::new(clock));
                let spool = Spool::open(&spool).expect("a spool");
                let options = AgentOptions::named(name);
                let mut agent = Agent::new(options, &broker, &clock, &threads, spool).expect("an agent");
                while !is_over.load(Ordering::SeqCst) {
                    let due = agent.step().expect("a step");
                    agent.rest(due).expect("rest");
                }
            });
        }
        let mut sink = results.clone();
        let mut coordinator = Coordinator::new("c", broker, &SystemClock, plan, (&mut sink, |_, _| Ok(())))
            .expect("a coordinator");
        while !coordinator.is_complete() && !until(&coordinator) {
            let due = coordinator.step().expect("a step");
            coordinator.rest(due).expect("rest");
        }
        is_over.store(true, Ordering::SeqCst);
        let started = coordinator.started(&group[0].job.group).cloned();
        Coordinated { started, group: group.iter().map(|run| run.job.run.clone()).collect() }
    });
    (results, coordinated)
}

struct Coordinated {
    started: Option<pathmeter_fleet::group::Started>,
    group: Vec<String>,
}

fn plan() -> MeshPlan {
    let sites: Vec<String> = AGENTS.iter().map(ToString::to_string).collect();
    let run = |(a, b): (usize, usize)| {
        let request = RunRequest {
            agent: AGENTS[a].into(),
            title: format!("{} -> {}", AGENTS[a], AGENTS[b]),
            part: "up".into(),
            class: Class::Exclusive,
            resources: [a, b].map(|site| Resource::sole(format!("nic.{}", AGENTS[site]))).into(),
            span: Nanos::from_secs(10),
            body: String::new(),
        };
        (Pair::new(a, b).expect("two sites"), request)
    };
    MeshPlan::together("m", &sites, &[], [(0, 1), (1, 2), (2, 0)].map(run).to_vec())
}

/// Pairs of one group share hosts; all begin at the time that was given, and not before, also where a clock is wrong.
#[test]
fn a_group_starts_at_one_time() {
    let (results, coordinated) = with_agents(&Local::default(), plan(), |_| false);
    let started = coordinated.started.expect("it was started");
    let results = results.all();
    let outcomes: Vec<Outcome> = coordinated.group.iter().map(|run| results.outcomes[run].clone()).collect();
    for outcome in &outcomes {
        assert!(matches!(outcome.end, End::Done { .. }) && outcome.token > 0, "{outcome:?}");
        let began = started.offsets[&outcome.agent].at_ours(outcome.started);
        assert!(began >= started.at, "{outcome:?}");
    }
    let report = judge(&started, 3, &outcomes);
    assert!(report.start_skew < Nanos::from_secs(600), "on one clock, whatever lon's shows: {report:?}");
    assert_eq!(report.void.is_none(), report.overlap_share >= 0.9, "{report:?}");
}

/// A host that is in use holds the whole group up; it starts when that is over.
#[test]
fn a_group_waits_for_a_host_that_is_in_use() {
    let broker = Local::default();
    let claim = Claim {
        holder: holder(COORDINATOR, "another"),
        run: String::new(),
        grant: String::new(),
        group: "another".into(),
        class: Class::Exclusive,
        resources: vec![Resource::sole("nic.lon")],
        lifetime: Nanos::from_secs(60),
        about: About::default(),
    };
    let clock = || SystemClock.mono();
    let Acquired::Held(lease) = Lease::acquire(&broker, claim, &clock).expect("asked") else {
        panic!("it was free")
    };
    let released = AtomicBool::new(false);
    let (results, coordinated) = with_agents(&broker, plan(), |coordinator| {
        let mut rows = coordinator.ledger().rows();
        let is_held_up = rows.any(|(_, row)| {
            row.state.reason().is_some_and(|why| why.contains("what it needs is in use: coordinator.another"))
        });
        if is_held_up && !released.swap(true, Ordering::SeqCst) {
            assert!(coordinator.started("any").is_none());
            lease.clone().release(&broker).expect("released");
        }
        false
    });
    assert!(released.load(Ordering::SeqCst), "the group was delayed");
    assert!(coordinated.started.is_some());
    assert_eq!(results.all().outcomes.len(), 3);
}

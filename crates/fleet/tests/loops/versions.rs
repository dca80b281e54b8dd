//! Agents and coordinators of two following versions work together: the messages of the version before, as it wrote and read them.

use super::plan;
use super::world::{Processes, World, coordinator};
use model::units::Nanos;
use pathmeter_fleet::broker::{Broker, Bucket, Expected, Log};
use pathmeter_fleet::clock::Clock;
use pathmeter_fleet::lease::Resource;
use pathmeter_fleet::ledger::{LedgerRow, RunState};
use serde::Deserialize;
use serde_json::json;

/// A job as the version before knew it: what is new to it, it does not see.
#[derive(Debug, Deserialize)]
struct OldJob {
    run: String,
    title: String,
    resources: Vec<Resource>,
    group: String,
    deadline: u64,
    handed_out: u64,
    body: String,
}

/// An outcome as it knew it.
#[derive(Debug, Deserialize)]
struct OldOutcome {
    run: String,
    title: String,
    agent: String,
    end: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    reason: String,
    started: u64,
    finished: u64,
    token: u64,
    attempt: u64,
}

/// The coordinator is of this version, the agent of the one before.
#[test]
fn an_agent_of_the_version_before_is_understood() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = &plan.rounds[0][0];
    let mut sink = world.sink.clone();
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    let name = format!("name.{}", run.agent);
    let instance = json!({ "id": "old", "host": "host" }).to_string();
    let life = Some(Nanos::from_secs(30));
    world.broker.put(Bucket::Leases, &name, instance.as_bytes(), Expected::Absent, life).expect("its name");
    coordinator.step().expect("handed out");
    let mut jobs =
        world.broker.consume(Log::Jobs, &run.agent, Some(&run.agent), Nanos::from_secs(15)).expect("jobs");
    let delivery = jobs.next(Nanos::ZERO).expect("asked").expect("a job");
    let job: OldJob = serde_json::from_slice(&delivery.data).expect("it reads the job");
    assert!(
        job.run == run.job.run && !job.resources.is_empty() && job.group.is_empty() && job.body.is_empty()
    );
    assert!(job.deadline > job.handed_out, "{job:?}");
    let at = world.clock.wall().0;
    let outcome = json!({
        "run": job.run, "title": job.title, "agent": run.agent, "end": "done", "body": "result", "started": at,
        "finished": at, "token": 7, "attempt": 1
    });
    world
        .broker
        .append(Log::Outcomes, &run.agent, &job.run, outcome.to_string().as_bytes())
        .expect("reported");
    coordinator.step().expect("taken");
    assert_eq!(coordinator.ledger().row(&job.run).map(|row| row.state.clone()), Some(RunState::Done));
}

/// The agent is of this version, the coordinator of the one before, which grants no leases: the run is refused for that reason, and a
/// coordinator of this version may hand it out again.
#[test]
fn a_coordinator_of_the_version_before_is_refused_by_name() {
    let world = World::new(2);
    let mut processes = Processes::new(&world);
    let at = world.clock.wall().0;
    let job = json!({
        "run": "r", "title": "s0 -> s1", "class": "exclusive", "resources": [{ "name": "nic.s0", "capacity": 1 }],
        "group": "", "span": 12_000_000_000_u64, "deadline": at + 60_000_000_000, "handed_out": at, "body": ""
    });
    processes.turn(None);
    world.broker.append(Log::Jobs, "s0", "r", job.to_string().as_bytes()).expect("handed out");
    for _ in 0..40 {
        let due = processes.turn(None);
        processes.pass(due);
    }
    let mut outcomes =
        world.broker.consume(Log::Outcomes, "sink", None, Nanos::from_secs(30)).expect("outcomes");
    let delivery = outcomes.next(Nanos::ZERO).expect("asked").expect("an outcome");
    let outcome: OldOutcome = serde_json::from_slice(&delivery.data).expect("it reads the outcome");
    assert_eq!(
        (outcome.run.as_str(), outcome.title.as_str(), outcome.agent.as_str()),
        ("r", "s0 -> s1", "s0")
    );
    assert!(outcome.end == "failed" && outcome.reason.contains("update the coordinator"), "{outcome:?}");
    assert!(outcome.finished >= outcome.started && outcome.token == 0 && outcome.attempt == 1);
    assert!(outcome.body.is_empty());
}

/// Rows of the version before are read.
#[test]
fn rows_of_the_version_before_count() {
    let row = r#"{"title":"t","due":1,"deadline":2,"state":{"state":"missed","reason":"silence"}}"#;
    let row: LedgerRow = serde_json::from_str(row).expect("its row");
    assert_eq!((row.number, row.state.reason()), (0, Some("silence")));
}

//! A mesh whose server was killed: keys that outlive their lifetimes, and a store that is gone.

use super::world::{Processes, World, coordinator};
use super::{DAY, assert_all_done_once, plan};
use model::units::Nanos;
use pathmeter_fleet::agent::{at_work, is_there};
use pathmeter_fleet::coordinator::{Again, Coordinator, Sink};
use pathmeter_fleet::job::{End, Outcome};
use pathmeter_fleet::ledger::RunState;
use pathmeter_fleet::mesh::MeshPlan;

/// After an unclean end of a server no lifetime ends by itself: dead coordinators, agents and their leases are found dead by those who
/// need what they had.
#[test]
fn the_dead_hold_nothing_though_the_server_forgets_their_lifetimes() {
    let world = World::new(3);
    let mut plan = plan(&world, &["up"], 30);
    plan.grace = DAY;
    let carrier: usize = plan.rounds[0][0].agent[1..].parse().expect("a number");
    let (mut sink, mut other) = (world.sink.clone(), world.sink.clone());
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &plan, &mut sink);
    while world.observed.lock().expect("whole").users() == 0 {
        let due = processes.turn(Some(&mut first));
        processes.pass(due);
    }
    // The server is killed, and so are the coordinator and the agent at work, which comes back with its spool.
    world.broker.forget_lifetimes();
    drop(first);
    processes.kill(carrier);
    world.advance(Nanos::from_secs(100));
    assert!(is_there(&world.broker, &world.names[carrier]).expect("asked"), "observed for the first time");
    processes.restart(carrier);
    let begin = world.now();
    let mut second = coordinator(&world, "c2", &plan, &mut other);
    while !second.is_leading() {
        let due = processes.turn(Some(&mut second));
        processes.pass(due);
        assert!((world.now() - begin).0 < 30_000_000_000, "{:?}", second.waits_for());
    }
    processes.run(&mut second, DAY);
    drop(second);
    assert_all_done_once(&world, &plan);

    // One that is gone for good is listed no longer than its lifetime and 5 s after it was observed first, and its name is free.
    processes.kill(carrier);
    let mut namesake = world.namesake(carrier);
    for _ in 0..37 {
        namesake.step().expect("a step");
        at_work(&world.broker).expect("asked");
        world.advance(Nanos::from_secs(1));
    }
    assert_eq!(namesake.failure(), None);
    assert!(at_work(&world.broker).expect("asked").contains(&world.names[carrier]), "it is the namesake");
    drop(namesake);
}

/// Time passes until it is so, at most `seconds`.
#[track_caller]
fn pass_until(
    processes: &mut Processes<'_>,
    coordinator: &mut Coordinator<'_>,
    seconds: u64,
    is_so: impl Fn(&Processes<'_>, &Coordinator<'_>) -> bool,
) {
    let end = processes.world.now() + Nanos::from_secs(seconds);
    while !is_so(processes, coordinator) {
        let due = processes.turn(Some(coordinator));
        processes.pass(due);
        assert!(processes.world.now() < end, "not within {seconds} s: {:#?}", coordinator.ledger());
    }
}

fn measured(world: &World) -> usize {
    world.observed.lock().expect("whole").measured.values().sum()
}

/// How a run stands for the coordinator.
fn state(coordinator: &Coordinator<'_>, run: &str) -> Option<RunState> {
    coordinator.ledger().row(run).map(|row| row.state.clone())
}

/// The server loses its disk in mid-mesh: streams, consumers, jobs, leases and outcomes are made anew by those at work, and the
/// mesh ends. Runs under a lease then are void, and measured again on request.
#[test]
fn a_mesh_goes_on_by_itself_after_the_store_is_lost() {
    let world = World::new(4);
    let mut plan = plan(&world, &["up", "down"], 12);
    plan.grace = DAY;
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c", &plan, &mut sink);
    pass_until(&mut processes, &mut first, 60, |_, _| measured(&world) >= 3);
    world.broker.lose_store();
    pass_until(&mut processes, &mut first, 300, |_, coordinator| coordinator.is_complete());
    drop(first);
    let void = world
        .sink
        .0
        .lock()
        .expect("whole")
        .outcomes
        .values()
        .filter(|one| matches!(one.end, End::Void { .. }))
        .count();
    assert!(void <= 2, "no more than were at work: {void}");
    let mut sink = world.sink.clone();
    let mut again =
        coordinator(&world, "c2", &plan, &mut sink).measuring_again(Again { void: true, failed: false });
    pass_until(&mut processes, &mut again, 300, |_, coordinator| coordinator.is_complete());
    let kept = world.sink.0.lock().expect("whole");
    assert!(
        kept.outcomes.values().all(|one| matches!(one.end, End::Done { .. })) && kept.outcomes.len() == 12
    );
}

/// Outcomes that lay with the server are offered again from the spools.
#[test]
fn outcomes_in_the_spools_are_offered_to_a_new_store() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = plan.rounds[0][0].job.run.clone();
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c", &plan, &mut sink);
    pass_until(&mut processes, &mut first, 60, |_, _| world.observed.lock().expect("whole").users() > 0);
    // The coordinator is gone when it ends, and the outcome is lost with the store.
    drop(first);
    while measured(&world) == 0 {
        let due = processes.turn(None);
        processes.pass(due);
    }
    for _ in 0..3 {
        processes.turn(None);
    }
    world.broker.lose_store();
    world.advance(Nanos::from_secs(20));
    let mut sink = world.sink.clone();
    let mut second = coordinator(&world, "c2", &plan, &mut sink);
    pass_until(&mut processes, &mut second, 60, |_, coordinator| coordinator.is_complete());
    assert_eq!(state(&second, &run), Some(RunState::Done));
    assert_eq!(measured(&world), 1, "it was not measured again");
}

/// Without a store, and so without leadership, a deadline still ends a run, and a whole mesh.
#[test]
fn a_deadline_ends_a_run_also_while_the_server_is_lost() {
    let world = World::new(2);
    let plan = plan(&world, &["up", "down"], 12);
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let cable = &world.cables[0];
    let mut coordinator =
        Coordinator::new("c", cable, &world.clock, plan.clone(), (&mut sink, |_, _| Ok(())))
            .expect("a coordinator");
    pass_until(&mut processes, &mut coordinator, 60, |_, _| {
        world.observed.lock().expect("whole").users() > 0
    });
    world.cut(0, true);
    world.cut(1, true);
    let mut notices = std::collections::BTreeSet::new();
    let end = world.now() + Nanos::from_secs(300);
    while !coordinator.is_complete() {
        let due = processes.turn(Some(&mut coordinator));
        processes.pass(due);
        notices.extend(coordinator.waits_for());
        assert!(world.now() < end, "{:#?}", coordinator.ledger());
    }
    assert_eq!(
        notices.into_iter().collect::<Vec<_>>(),
        ["the NATS server does not answer"],
        "once, and nothing else"
    );
    let kept = world.sink.0.lock().expect("whole");
    for run in plan.all() {
        let row = &kept.missed[&run.job.run];
        assert!(
            row.state.reason().is_some_and(|why| why.contains("the NATS server does not answer")),
            "{row:?}"
        );
    }
}

fn latest(world: &World, run: &str) -> Option<Outcome> {
    world.sink.0.lock().expect("whole").outcomes.get(run).cloned()
}

/// An agent that was killed in a run comes back after the deadline: the run was missed and stays so, with what is known of it, and the
/// next coordinator of the same plan has it measured, as its second attempt.
#[test]
fn what_was_missed_is_measured_by_the_same_command() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = plan.rounds[0][0].job.run.clone();
    let agent: usize = plan.rounds[0][0].agent[1..].parse().expect("a number");
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &plan, &mut sink);
    pass_until(&mut processes, &mut first, 60, |_, _| world.observed.lock().expect("whole").users() > 0);
    processes.kill(agent);
    pass_until(&mut processes, &mut first, 200, |_, coordinator| coordinator.is_complete());
    let missed = state(&first, &run).expect("a row");
    assert!(matches!(&missed, RunState::Missed { .. }), "{missed:?}");
    first.resign().expect("resigned");
    // The agent is back, finds the old job, and the same command begins at once.
    processes.restart(agent);
    let mut sink = world.sink.clone();
    let mut second = coordinator(&world, "c2", &plan, &mut sink);
    pass_until(&mut processes, &mut second, 200, |_, coordinator| coordinator.is_complete());
    assert_eq!(state(&second, &run), Some(RunState::Done));
    assert_eq!(second.ledger().row(&run).map(|row| row.number), Some(2));
    second.resign().expect("resigned");
    assert_eq!((measured(&world), latest(&world, &run).map(|one| one.number)), (1, Some(2)));
}

/// The same when the agent is back before the next command: it reports that it was interrupted, and nothing of clocks.
#[test]
fn an_agent_that_comes_back_late_reports_what_happened() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = plan.rounds[0][0].job.run.clone();
    let agent: usize = plan.rounds[0][0].agent[1..].parse().expect("a number");
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &plan, &mut sink);
    pass_until(&mut processes, &mut first, 60, |_, _| world.observed.lock().expect("whole").users() > 0);
    processes.kill(agent);
    // Its coordinator is killed, too.
    drop(first);
    world.advance(Nanos::from_secs(120));
    processes.restart(agent);
    for _ in 0..30 {
        let due = processes.turn(None);
        processes.pass(due);
    }
    let mut sink = world.sink.clone();
    let mut second = coordinator(&world, "c2", &plan, &mut sink);
    pass_until(&mut processes, &mut second, 200, |_, coordinator| coordinator.is_complete());
    let reported = latest(&world, &run).expect("its report");
    let End::Failed { reason } = &reported.end else { panic!("{reported:?}") };
    assert!(reported.unmeasured && reason.contains("interrupted") && !reason.contains("clock"), "{reason}");
    assert!(matches!(state(&second, &run), Some(RunState::Missed { .. })));
    second.resign().expect("resigned");
    let mut sink = world.sink.clone();
    let mut third = coordinator(&world, "c3", &plan, &mut sink);
    pass_until(&mut processes, &mut third, 200, |_, coordinator| coordinator.is_complete());
    assert_eq!(state(&third, &run), Some(RunState::Done));
}

/// A run that ended for good is measured again only on request, and is known as another attempt.
#[test]
fn failed_runs_are_measured_again_on_demand() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let planned = plan.rounds[0][0].clone();
    let run = planned.job.run.clone();
    let at = world.now();
    let mut sink = world.sink.clone();
    let failed = Outcome {
        run: run.clone(),
        title: planned.job.title.clone(),
        agent: planned.agent.clone(),
        end: End::Failed { reason: "no route".into() },
        started: model::time::WallTime(at.0),
        finished: model::time::WallTime(at.0),
        token: 1,
        attempt: 1,
        number: 1,
        unmeasured: false,
    };
    sink.store(&failed).expect("stored");
    let run_with = |plan: &MeshPlan, again: Again, name: &str| {
        let mut sink = world.sink.clone();
        let mut processes = Processes::new(&world);
        let mut next = coordinator(&world, name, plan, &mut sink).measuring_again(again);
        pass_until(&mut processes, &mut next, 200, |_, coordinator| coordinator.is_complete());
        let state = state(&next, &run).expect("a row");
        next.resign().expect("resigned");
        state
    };
    assert!(matches!(run_with(&plan, Again::default(), "c1"), RunState::Failed { .. }));
    assert_eq!(measured(&world), 0);
    assert_eq!(run_with(&plan, Again { failed: true, void: false }, "c2"), RunState::Done);
    assert_eq!((measured(&world), latest(&world, &run).map(|one| one.number)), (1, Some(2)));
    assert_eq!(run_with(&plan, Again { failed: true, void: true }, "c3"), RunState::Done);
    assert_eq!(measured(&world), 1, "what is done stays");
}

/// The server falls silent while a run is under its lease: it ends in time, and counts, though its end is noticed later.
#[test]
fn what_ended_under_its_lease_counts() {
    let world = World::new(2);
    let mut plan = plan(&world, &["up"], 12);
    plan.grace = DAY;
    let run = plan.rounds[0][0].job.run.clone();
    let agent: usize = plan.rounds[0][0].agent[1..].parse().expect("a number");
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    pass_until(&mut processes, &mut coordinator, 60, |_, _| {
        world.observed.lock().expect("whole").users() > 0
    });
    world.advance(Nanos::from_secs(4));
    processes.turn(Some(&mut coordinator));
    world.advance(Nanos::from_secs(4));
    // Its heartbeat was sent 4 s ago: the lease is held for 6 s more, and the run ends in 4 s. The loop does not look for 30 s.
    world.cut(agent, true);
    processes.turn(Some(&mut coordinator));
    world.advance(Nanos::from_secs(30));
    processes.turn(Some(&mut coordinator));
    world.cut(agent, false);
    pass_until(&mut processes, &mut coordinator, 200, |_, coordinator| coordinator.is_complete());
    assert_eq!(state(&coordinator, &run), Some(RunState::Done));
}

/// A server that was started anew permits no answer to a question of before: the coordinator and the agent go on.
#[test]
fn an_answer_that_is_not_permitted_any_more_ends_neither() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let forgetful =
        world.broker.permitted(|operation, subject| (operation, subject) != ("publish to", "_answers_gone"));
    let mut sink = world.sink.clone();
    let mut coordinator =
        Coordinator::new("c", &forgetful, &world.clock, plan.clone(), (&mut sink, |_, _| Ok(())))
            .expect("a coordinator");
    coordinator.step().expect("it leads");
    world.broker.ask_from("pm.sink", b"[]", "_answers_gone");
    coordinator.step().expect("it goes on");
    let spool = pathmeter_fleet::spool::Spool::open(&world.spool_of(0)).expect("a spool");
    let options = pathmeter_fleet::agent::AgentOptions::named("s0");
    let runner = pathmeter_fleet::agent::Threads::new(
        std::sync::Arc::new(|_, _| Err("nothing is measured".to_owned())),
        std::sync::Arc::new(world.clock.clone()),
    );
    let mut agent = pathmeter_fleet::agent::Agent::new(options, &forgetful, &world.clock, &runner, spool)
        .expect("an agent");
    agent.step().expect("it has its name");
    world.broker.ask_from("pm.cmd.s0", br#""clock""#, "_answers_gone");
    agent.step().expect("it goes on");
}

/// Holds the body of a result, `result of BODY`, against that of its job.
fn same_body(asked: &str, result: &str) -> Result<(), String> {
    if result.ends_with(asked) { Ok(()) } else { Err("it is of another job".to_owned()) }
}

/// The same command with another length of its tests: a late result of before is no forgery, and counts.
#[test]
fn a_late_result_of_a_job_in_other_words_is_no_forgery() {
    let world = World::new(2);
    let mut plan = plan(&world, &["up"], 12);
    let planned = plan.rounds[0][0].clone();
    let row = pathmeter_fleet::ledger::LedgerRow {
        asked: "2 s".into(),
        ..pathmeter_fleet::ledger::LedgerRow::missed(&planned, model::time::WallTime(1), "no word")
    };
    let mut sink = world.sink.clone();
    sink.missed(&planned.job.run, &row).expect("noted");
    plan.rounds[0][0].job.body = "1 s".into();
    let late = |body: &str, number: u32| Outcome {
        run: planned.job.run.clone(),
        title: planned.job.title.clone(),
        agent: planned.agent.clone(),
        end: End::Done { body: format!("result of {body}") },
        started: model::time::WallTime(1),
        finished: model::time::WallTime(2),
        token: 1,
        attempt: 1,
        number,
        unmeasured: false,
    };
    let append = |outcome: &Outcome| {
        let text = serde_json::to_vec(outcome).expect("JSON");
        let body = String::from_utf8_lossy(&text).into_owned();
        use pathmeter_fleet::broker::Broker;
        world
            .broker
            .append(pathmeter_fleet::broker::Log::Outcomes, &planned.agent, &body, &text)
            .expect("sent");
    };
    let coordinator =
        Coordinator::new("c", &world.broker, &world.clock, plan.clone(), (&mut sink, same_body));
    let mut coordinator = coordinator.expect("a coordinator");
    // No such attempt was ever requested.
    append(&late("9 s", 1));
    coordinator.step().expect("a step");
    assert_eq!(coordinator.take_forgeries().len(), 1);
    // Its agent hears that it need not be offered any more.
    use pathmeter_fleet::broker::Broker;
    let question = serde_json::to_vec(&[&planned.job.run]).expect("JSON");
    let mut answer = world.broker.request("pm.sink", &question).expect("asked");
    coordinator.step().expect("a step");
    let answer = answer.next(Nanos::ZERO).expect("answered").expect("an answer");
    assert!(String::from_utf8_lossy(&answer.data).contains(&planned.job.run));
    append(&late("2 s", 1));
    coordinator.step().expect("a step");
    assert!(coordinator.take_forgeries().is_empty());
    assert!(latest(&world, &planned.job.run).is_some_and(|one| one.number == 1));
}

/// The results are lost after the outcome was confirmed, and its agent has not heard that it was stored: it delivers it once more.
#[test]
fn an_outcome_that_was_taken_and_lost_is_delivered_again() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = plan.rounds[0][0].job.run.clone();
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &plan, &mut sink);
    pass_until(&mut processes, &mut first, 60, |_, coordinator| coordinator.is_complete());
    first.resign().expect("resigned");
    {
        let mut kept = world.sink.0.lock().expect("whole");
        let row = pathmeter_fleet::ledger::LedgerRow::missed(
            &plan.rounds[0][0],
            world_now(&world),
            "its line is damaged",
        );
        kept.outcomes.clear();
        kept.missed.insert(run.clone(), row);
    }
    let mut sink = world.sink.clone();
    let mut second = coordinator(&world, "c2", &plan, &mut sink);
    pass_until(&mut processes, &mut second, 30, |_, coordinator| coordinator.is_complete());
    assert_eq!((state(&second, &run), measured(&world)), (Some(RunState::Done), 1));
}

fn world_now(world: &World) -> model::time::WallTime {
    use pathmeter_fleet::clock::Clock;
    world.clock.wall()
}

//! Coordinator and agents in simulated time: nothing lost, nothing measured twice, no resource used beyond its capacity.

mod recovery;
mod versions;
mod world;

use model::units::Nanos;
use pathmeter_fleet::broker::{Broker, Log};
use pathmeter_fleet::clock::Clock;
use pathmeter_fleet::coordinator::Coordinator;
use pathmeter_fleet::job::{End, Outcome};
use pathmeter_fleet::lease::{Class, Resource};
use pathmeter_fleet::ledger::RunState;
use pathmeter_fleet::mesh::{MeshPlan, RunRequest};
use pathmeter_fleet::spool::Spool;
use proptest::prelude::*;
use world::{Processes, World, coordinator};

fn plan(world: &World, parts: &'static [&'static str], seconds: u64) -> MeshPlan {
    plan_of(world, "mesh", Class::Exclusive, (parts, seconds))
}

fn plan_of(
    world: &World,
    name: &str,
    class: Class,
    (parts, seconds): (&'static [&'static str], u64),
) -> MeshPlan {
    MeshPlan::new(name, &world.names, None, &[], |a, b| {
        parts
            .iter()
            .map(|part| RunRequest {
                agent: a.to_owned(),
                title: format!("{a} -> {b}"),
                part: (*part).to_owned(),
                class,
                resources: [a, b].map(|agent| Resource::sole(format!("nic.{agent}"))).into(),
                span: Nanos::from_secs(seconds),
                body: String::new(),
            })
            .collect()
    })
}

/// Every run was measured once, stored once, and is done.
fn assert_all_done_once(world: &World, plan: &MeshPlan) {
    let kept = world.sink.0.lock().expect("whole");
    let observed = world.observed.lock().expect("whole");
    for run in plan.all() {
        let name = &run.job.run;
        assert_eq!(kept.stores.get(name), Some(&1), "{}", run.job.title);
        assert_eq!(observed.measured.get(name), Some(&1), "{}", run.job.title);
        assert!(matches!(kept.outcomes[name].end, End::Done { .. }), "{:?}", kept.outcomes[name]);
    }
}

const DAY: Nanos = Nanos::from_secs(86_400);

/// 9,900 runs of 12 s each in simulated time: the loops add less than 2 % to the tournament's arithmetic.
#[test]
fn a_hundred_sites_take_what_the_tournament_takes() {
    let world = World::new(100);
    let plan = plan(&world, &["up", "down"], 12);
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    processes.run(&mut coordinator, DAY);
    let (taken, planned) = (world.now().0 as f64, plan.duration().0 as f64);
    assert!(taken >= planned && taken < planned * 1.02, "{taken} and {planned}");
    assert_all_done_once(&world, &plan);
}

/// An agent that is not there costs its own runs, with the reason, and no other's.
#[test]
fn an_agent_that_is_not_there_is_the_reason_of_what_is_missed() {
    let world = World::new(4);
    let plan = plan(&world, &["up"], 12);
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    processes.kill(0);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    processes.run(&mut coordinator, DAY);
    for run in plan.rounds.iter().flatten() {
        let state = coordinator.ledger().row(&run.job.run).map(|row| row.state.clone()).expect("expected");
        if run.agent == "s0" {
            let reason = "the agent s0 has not been heard for 30 s".to_owned();
            assert_eq!(state, RunState::Missed { reason });
            assert!(world.sink.0.lock().expect("whole").missed.contains_key(&run.job.run));
        } else {
            assert_eq!(state, RunState::Done);
        }
    }
}

/// An agent that is cut off stops before its lease lapses; its run is void, and reported once it is back.
#[test]
fn an_agent_that_is_cut_off_stops_and_reports_it() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 60);
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    let run = plan.rounds[0][0].clone();
    let agent: usize = run.agent[1..].parse().expect("a number");
    while world.observed.lock().expect("whole").measured.is_empty() && world.now().0 < 5_000_000_000 {
        let due = processes.turn(Some(&mut coordinator));
        processes.pass(due);
    }
    world.cut(agent, true);
    for _ in 0..40 {
        let due = processes.turn(Some(&mut coordinator));
        processes.pass(due);
    }
    assert!(world.sink.0.lock().expect("whole").outcomes.is_empty());
    world.cut(agent, false);
    processes.run(&mut coordinator, DAY);
    let expected = RunState::Void { reason: "lease lost".into() };
    assert_eq!(coordinator.ledger().row(&run.job.run).map(|row| &row.state), Some(&expected));
    assert!(world.observed.lock().expect("whole").measured.is_empty());
}

/// A wrong clock is named: nothing is measured long after it was requested.
#[test]
fn a_wrong_clock_is_named() {
    let mut world = World::new(2);
    world.set_ahead(0, Nanos::from_secs(7200));
    world.set_ahead(1, Nanos::from_secs(7200));
    let plan = plan(&world, &["up"], 12);
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    processes.run(&mut coordinator, DAY);
    let (_, row) = coordinator.ledger().rows().next().expect("a run");
    let reason = row.state.reason().unwrap_or_default();
    assert!(row.state.word() == "missed" && reason.contains("clock of s"), "{row:?}");
}

/// Outcomes that were not taken wait on the agent's disk, and come once when it returns.
#[test]
fn an_old_spool_is_delivered_once() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = plan.rounds[0][0].clone();
    let agent: usize = run.agent[1..].parse().expect("a number");
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    {
        let mut sink = world.sink.clone();
        let mut first = coordinator(&world, "c1", &plan, &mut sink);
        processes.turn(Some(&mut first));
    }
    // The coordinator is dead. The agent measures, loses the network as it ends, and is killed.
    while world.now().0 < 11_000_000_000 {
        let due = processes.turn(None);
        processes.pass(due);
    }
    world.cut(agent, true);
    for _ in 0..10 {
        let due = processes.turn(None);
        processes.pass(due);
    }
    processes.kill(agent);
    world.cut(agent, false);
    world.advance(Nanos::from_secs(3600));
    processes.restart(agent);
    let mut second = coordinator(&world, "c2", &plan, &mut sink);
    processes.run(&mut second, DAY);
    for _ in 0..20 {
        let due = processes.turn(Some(&mut second));
        processes.pass(due);
    }
    assert!(
        processes.agents[agent].as_ref().is_some_and(pathmeter_fleet::agent::Agent::is_idle),
        "the spool is empty"
    );
    drop(second);
    assert_all_done_once(&world, &plan);
}

/// A run that is stopped ends at once, in any phase, leaves nothing behind, and is measured anew when it is requested again.
#[test]
fn what_is_stopped_ends_and_is_measured_anew() {
    // At once after the hand-out; after the first run has begun, while the second waits for its lease.
    for turns in [0, 3] {
        let world = World::new(2);
        let plan = plan(&world, &["up", "down"], 60);
        let (mut sink, mut other) = (world.sink.clone(), world.sink.clone());
        let mut processes = Processes::new(&world);
        let mut first = coordinator(&world, "c1", &plan, &mut sink);
        first.step().expect("handed out");
        for _ in 0..turns {
            let due = processes.turn(Some(&mut first));
            processes.pass(due);
        }
        let users = || world.observed.lock().expect("whole").users();
        let begun = users();
        assert_eq!(begun, usize::from(turns > 0) * 2, "a run uses two hosts");
        first.stop("it was stopped").expect("stopped");
        assert!(first.ledger().is_complete());
        first.resign().expect("resigned");
        for _ in 0..5 {
            let due = processes.turn(None);
            processes.pass(due);
        }
        let left = users();
        assert_eq!(left, 0, "no agent sends any more");
        let is_idle = |agent: &Option<pathmeter_fleet::agent::Agent<'_>>| {
            agent.as_ref().is_some_and(pathmeter_fleet::agent::Agent::is_idle)
        };
        assert!(processes.agents.iter().all(is_idle), "nothing waits, and nothing is to be delivered");
        {
            let kept = world.sink.0.lock().expect("whole");
            let reasons: Vec<_> = kept.missed.values().filter_map(|row| row.state.reason()).collect();
            assert_eq!(reasons, ["it was stopped"; 2]);
        }
        // The same runs, which take less now, so that their deadlines are earlier.
        let mut shorter = plan.clone();
        shorter.rounds.iter_mut().flatten().for_each(|run| run.job.span = Nanos::from_secs(1));
        let mut second = coordinator(&world, "c2", &shorter, &mut other);
        processes.run(&mut second, DAY);
        drop(second);
        assert_all_done_once(&world, &plan);
    }
}

/// Ctrl-C in the first of three rounds: the runs of the others have a row, too, and are measured anew.
#[test]
fn what_was_not_handed_out_has_a_row_when_it_is_stopped() {
    let world = World::new(4);
    let plan = plan(&world, &["up"], 60);
    let (mut sink, mut other) = (world.sink.clone(), world.sink.clone());
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &plan, &mut sink);
    for _ in 0..3 {
        let due = processes.turn(Some(&mut first));
        processes.pass(due);
    }
    first.stop("it was stopped").expect("stopped");
    first.resign().expect("resigned");
    {
        let kept = world.sink.0.lock().expect("whole");
        let count =
            |reason: &str| kept.missed.values().filter(|row| row.state.reason() == Some(reason)).count();
        assert_eq!((count("it was stopped"), count("stopped before it began")), (2, 4), "{:?}", kept.missed);
    }
    let mut second = coordinator(&world, "c2", &plan, &mut other);
    processes.run(&mut second, DAY);
    drop(second);
    assert_all_done_once(&world, &plan);
}

/// Ctrl-C while the server is out of reach: it is no error, every run has its row, and what was measured comes with the next run.
#[test]
fn a_coordinator_is_stopped_while_the_server_is_out_of_reach() {
    for is_long in [false, true] {
        let world = World::new(3);
        let mut plan = plan(&world, &["up"], 10);
        plan.rounds.truncate(2);
        let (mut sink, mut other) = (world.sink.clone(), world.sink.clone());
        let mut processes = Processes::new(&world);
        let first =
            Coordinator::new("c1", &world.cables[2], &world.clock, plan.clone(), (&mut sink, |_, _| Ok(())));
        let mut first = first.expect("a coordinator");
        for _ in 0..3 {
            let due = processes.turn(Some(&mut first));
            processes.pass(due);
        }
        world.cut(2, true);
        // Longer than the lease of the coordinator, which then does not know any more what it handed out.
        if is_long {
            world.advance(Nanos::from_secs(20));
            first.step().expect("it waits");
            assert!(!first.is_leading());
        }
        first.stop("it was stopped").expect("what is out of reach is no error");
        first.resign().expect("the lease lapses by itself");
        let reasons: Vec<String> = {
            let kept = world.sink.0.lock().expect("whole");
            kept.missed.values().filter_map(|row| Some(row.state.reason()?.to_owned())).collect()
        };
        let unreached = reasons.iter().filter(|one| one.contains("while the server could not be reached"));
        assert_eq!((unreached.count(), reasons.len()), (1, 2), "{reasons:?}");
        world.cut(2, false);
        world.advance(Nanos::from_secs(60));
        let mut second = coordinator(&world, "c2", &plan, &mut other);
        processes.run(&mut second, DAY);
        drop(second);
        let kept = world.sink.0.lock().expect("whole");
        assert!(plan.all().all(|run| kept.stores.get(&run.job.run) == Some(&1)), "each once");
    }
}

/// A mesh of background runs does not wait for another mesh, and each coordinator gets the outcomes of its own; two meshes with
/// exclusive runs on the same hosts follow one another.
#[test]
fn coordinators_whose_runs_do_not_exclude_each_other_are_at_work_at_once() {
    let world = World::new(4);
    let heavy = plan(&world, &["up"], 60);
    let light = plan_of(&world, "light", Class::Background, (&["mtu", "hops"], 5));
    let next = plan_of(&world, "next", Class::Exclusive, (&["up"], 60));
    let mut sinks = [world.sink.clone(), world.sink.clone(), world.sink.clone()];
    let [one, two, three] = &mut sinks;
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &heavy, one);
    let mut beside = coordinator(&world, "c2", &light, two);
    let mut second = coordinator(&world, "c3", &next, three);
    while !beside.is_complete() {
        let due = processes.turn(Some(&mut first));
        beside.step().expect("a step");
        second.step().expect("a step");
        assert!(first.is_leading() && beside.is_leading() && !second.is_leading());
        assert!(world.now().0 < 120_000_000_000, "{:#?}", beside.ledger());
        processes.pass(due);
    }
    assert!(!first.is_complete(), "the other one was done before");
    let why = second.waits_for().expect("it waits");
    assert!(why.starts_with("another coordinator is at work, with exclusive runs on nic.s"), "{why}");
    processes.run(&mut first, DAY);
    first.resign().expect("resigned");
    drop(beside);
    processes.run(&mut second, DAY);
    drop(second);
    [&heavy, &light, &next].into_iter().for_each(|plan| assert_all_done_once(&world, plan));
}

/// Runs beside the rounds do not stand before them in the queue of an agent.
#[test]
fn runs_beside_the_rounds_come_a_few_at_a_time() {
    let world = World::new(12);
    let mut plan = plan(&world, &["up"], 12);
    plan.background = plan_of(&world, "mesh", Class::Background, (&["mtu", "hops"], 30)).background;
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    let rounds = plan.rounds.iter().flatten().count();
    while !coordinator.is_complete() {
        let due = processes.turn(Some(&mut coordinator));
        let open = coordinator.ledger().rows().filter(|(_, row)| !row.state.is_final()).count();
        assert!(open <= 12 * 4 + 6, "{open} runs at the agents");
        processes.pass(due);
    }
    assert_eq!(rounds + plan.background.len(), coordinator.ledger().rows().count());
    drop(coordinator);
    assert_all_done_once(&world, &plan);
}

/// The second agent of a name takes no jobs and names the first; it takes over once the first is gone. One that is started again
/// goes on at once.
#[test]
fn two_agents_of_one_name_are_not_at_work_at_once() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let carrier: usize = plan.rounds[0][0].agent[1..].parse().expect("a number");
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    processes.turn(None);
    let mut namesake = world.namesake(carrier);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    while !coordinator.is_complete() {
        let due = processes.turn(Some(&mut coordinator));
        namesake.step().expect("a step");
        let why = namesake.failure().expect("it is refused");
        assert!(why.starts_with(&format!("another agent is called `s{carrier}` and at work")), "{why}");
        processes.pass(due);
    }
    drop(coordinator);
    assert_all_done_once(&world, &plan);
    // Started again after it was killed: its name is its own.
    processes.kill(carrier);
    processes.restart(carrier);
    processes.turn(None);
    let restarted = processes.agents[carrier].as_ref().expect("it is there");
    assert_eq!(restarted.failure(), None);
    namesake.step().expect("a step");
    assert!(namesake.failure().is_some());
    // Killed for good: the name is free after its time.
    processes.kill(carrier);
    world.advance(Nanos::from_secs(31));
    namesake.step().expect("a step");
    assert_eq!(namesake.failure(), None);
    processes.restart(carrier);
    processes.turn(None);
    let late = processes.agents[carrier].as_ref().expect("it is there").failure().expect("it is refused");
    assert!(late.contains("at work on elsewhere"), "{late}");
}

/// An outcome that no coordinator wants is offered less and less often, and after a week put aside, not lost.
#[test]
fn a_result_that_is_not_awaited_is_offered_seldom_and_then_put_aside() {
    let world = World::new(1);
    let time = world.clock.wall();
    let outcome = Outcome {
        run: "of a coordinator that is gone".into(),
        title: "s0 -> s1".into(),
        agent: "s0".into(),
        end: End::Done { body: "result".into() },
        started: time,
        finished: time,
        token: 1,
        attempt: 1,
        number: 1,
        unmeasured: false,
    };
    let mut spool = Spool::open(&world.spool_of(0)).expect("a spool");
    spool.finish(outcome.clone());
    drop(spool);
    let mut agent = world.agent(0);
    let day = |agent: &mut pathmeter_fleet::agent::Agent<'_>| {
        let end = world.now() + DAY;
        while world.now() < end {
            agent.step().expect("a step");
            world.advance(Nanos::from_secs(60));
        }
    };
    (0..6).for_each(|_| day(&mut agent));
    assert!(!agent.is_idle(), "it is still offered");
    (0..2).for_each(|_| day(&mut agent));
    assert!(agent.is_idle());
    let offers = world.cables[0].appends.load(std::sync::atomic::Ordering::SeqCst);
    assert!((6 * 144..8 * 144).contains(&offers), "{offers}: every ten minutes");
    drop(agent);
    let aside = world.spool_of(0).with_extension("lapsed.jsonl");
    let aside = pathmeter_fleet::results::Results::read(&aside).expect("a file of results");
    assert_eq!(aside.outcomes.into_values().collect::<Vec<_>>(), [outcome]);
    // The spool still knows the run, so that a job that is delivered again is not carried out again.
    assert!(Spool::open(&world.spool_of(0)).expect("again").has_finished("of a coordinator that is gone", 1));
}

/// An outcome that the broker never accepted is not put aside, however old, and is offered every few seconds.
#[test]
fn what_the_broker_does_not_take_stays() {
    let world = World::new(1);
    let time = world.clock.wall();
    let end = End::Done { body: "result".into() };
    let (run, title, agent) = ("run".into(), "s0 -> s1".into(), "s0".into());
    let outcome = Outcome {
        run,
        title,
        agent,
        end,
        started: time,
        finished: time,
        token: 1,
        attempt: 1,
        number: 1,
        unmeasured: false,
    };
    Spool::open(&world.spool_of(0)).expect("a spool").finish(outcome);
    let mut agent = world.agent(0);
    world.cut(0, true);
    for _ in 0..8 * 24 * 60 {
        agent.step().expect("a step");
        world.advance(Nanos::from_secs(60));
    }
    world.cut(0, false);
    world.advance(Nanos::from_secs(5));
    agent.step().expect("a step");
    let mut sink = world.broker.consume(Log::Outcomes, "sink", None, Nanos::from_secs(1)).expect("outcomes");
    assert!(sink.next(Nanos::ZERO).expect("asked").is_some(), "within five seconds");
    assert!(!agent.is_idle(), "it is not confirmed");
}

/// One of two coordinators works; when it dies, the other goes on with what is left.
#[test]
fn the_second_coordinator_goes_on() {
    let world = World::new(6);
    let plan = plan(&world, &["up", "down"], 12);
    let (mut sink, mut other) = (world.sink.clone(), world.sink.clone());
    let mut processes = Processes::new(&world);
    let mut first = coordinator(&world, "c1", &plan, &mut sink);
    let mut second = coordinator(&world, "c2", &plan, &mut other);
    while world.now().0 < 30_000_000_000 {
        let due = processes.turn(Some(&mut first));
        second.step().expect("a step");
        assert!(first.is_leading() && !second.is_leading());
        processes.pass(due);
    }
    drop(first);
    processes.run(&mut second, DAY);
    drop(second);
    assert_all_done_once(&world, &plan);
}

/// An agent that reports another's run is not believed, and what no coordinator here awaits stays for another one.
#[test]
fn forged_and_foreign_outcomes_are_not_taken() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 12);
    let run = plan.rounds[0][0].clone();
    let liar = if run.agent == "s0" { "s1" } else { "s0" };
    let outcome = |run: &str, agent: &str| {
        let (started, finished) = (world.clock.wall(), world.clock.wall());
        let end = End::Done { body: "forged".into() };
        let (run, title, agent) = (run.to_owned(), "s0 -> s1".to_owned(), agent.to_owned());
        serde_json::to_vec(&Outcome {
            run,
            title,
            agent,
            end,
            started,
            finished,
            token: 1,
            attempt: 1,
            number: 1,
            unmeasured: false,
        })
        .expect("JSON")
    };
    // By its own name, in the name of the run's agent, and about a run of another mesh.
    let name = run.job.run.as_str();
    for (id, run, agent) in [("1", name, liar), ("2", name, run.agent.as_str()), ("3", "foreign", liar)] {
        world.broker.append(Log::Outcomes, liar, id, &outcome(run, agent)).expect("appended");
    }
    let mut sink = world.sink.clone();
    let mut processes = Processes::new(&world);
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    processes.run(&mut coordinator, DAY);
    drop(coordinator);
    assert_all_done_once(&world, &plan);
    let kept = world.sink.0.lock().expect("whole");
    assert!(matches!(&kept.outcomes[name].end, End::Done { body } if body.starts_with("result of")));
    assert!(!kept.outcomes.contains_key("foreign"));
    world.advance(Nanos::from_secs(3600));
    let mut left =
        world.broker.consume(Log::Outcomes, "another", None, Nanos::from_secs(1)).expect("outcomes");
    let delivery = left.next(Nanos::ZERO).expect("asked").expect("the foreign one");
    assert!(String::from_utf8_lossy(&delivery.data).contains("foreign") && delivery.subject == liar);
    assert_eq!(left.next(Nanos::ZERO).expect("asked"), None, "the forged ones are gone");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Agents and coordinators are killed at any time and come back: every run has one outcome, and no resource two users.
    #[test]
    fn a_kill_loses_nothing_and_measures_nothing_twice(
        kills in proptest::collection::vec((0_usize..7, 1_u64..20), 1..25),
    ) {
        let world = World::new(6);
        let mut plan = plan(&world, &["up"], 12);
        plan.grace = DAY;
        let mut processes = Processes::new(&world);
        let mut kills = kills.into_iter();
        let mut generation = 0;
        let mut next_kill = kills.next();
        let mut is_complete = false;
        while !is_complete {
            generation += 1;
            let mut sink = world.sink.clone();
            let mut leader = coordinator(&world, &format!("c{generation}"), &plan, &mut sink);
            loop {
                let due = processes.turn(Some(&mut leader));
                processes.pass(due);
                is_complete = leader.is_complete();
                prop_assert!(world.now().0 < DAY.0, "{:#?}", leader.ledger());
                let Some((who, after)) = next_kill else {
                    (0..6).for_each(|agent| processes.restart(agent));
                    if is_complete { break }
                    continue;
                };
                if world.now().0 % 20_000_000_000 / 1_000_000_000 < after { continue }
                next_kill = kills.next();
                if who == 6 { break }
                match &processes.agents[who] {
                    Some(_) => processes.kill(who),
                    None => processes.restart(who),
                }
            }
        }
        let kept = world.sink.0.lock().expect("whole");
        let observed = world.observed.lock().expect("whole");
        for run in plan.rounds.iter().flatten() {
            prop_assert_eq!(kept.stores.get(&run.job.run), Some(&1));
            let is_done = matches!(kept.outcomes[&run.job.run].end, End::Done { .. });
            prop_assert!(is_done);
            prop_assert_eq!(observed.measured.get(&run.job.run), Some(&1));
        }
    }
}

/// The title and the agent of a run are those that were planned: an outcome with others is forged, named, and leaves the run
/// missed until its true outcome comes.
#[test]
fn an_outcome_in_anothers_name_is_refused() {
    let world = World::new(2);
    let plan = plan(&world, &["up"], 60);
    let run = plan.rounds[0][0].clone();
    let other = world.names.iter().find(|name| **name != run.agent).expect("two agents").clone();
    let at = world.clock.wall();
    let outcome = |title: &str, agent: &str| Outcome {
        run: run.job.run.clone(),
        title: title.to_owned(),
        agent: agent.to_owned(),
        end: End::Done { body: "a result".into() },
        started: at,
        finished: at,
        token: 1,
        attempt: 1,
        number: 1,
        unmeasured: false,
    };
    let send = |sender: &str, id: &str, outcome: &Outcome| {
        let text = serde_json::to_vec(outcome).expect("JSON");
        world.broker.append(Log::Outcomes, sender, id, &text).expect("sent");
    };
    let mut sink = world.sink.clone();
    let mut coordinator = coordinator(&world, "c", &plan, &mut sink);
    coordinator.step().expect("handed out");
    // Another agent's key changes nothing of the run.
    send(&other, "1", &outcome(&run.job.title, &other));
    coordinator.step().expect("a step");
    let forged: Vec<String> = coordinator.take_forgeries().iter().map(|one| one.text()).collect();
    assert!(
        forged.len() == 1 && forged[0].contains(&format!("agent {other} sent a forged outcome")),
        "{forged:?}"
    );
    assert!(coordinator.ledger().row(&run.job.run).is_some_and(|row| !row.state.is_final()));
    // Its own agent's ends it.
    send(&run.agent, "2", &outcome("fra -> waw", &run.agent));
    coordinator.step().expect("a step");
    assert_eq!(coordinator.take_forgeries().len(), 1);
    let row = coordinator.ledger().row(&run.job.run).expect("a row").clone();
    assert!(
        row.state.reason().is_some_and(|why| why.contains("fra -> waw") && why.contains("forged")),
        "{row:?}"
    );
    assert!(world.sink.0.lock().expect("whole").outcomes.is_empty());
    assert_eq!(world.sink.0.lock().expect("whole").missed[&run.job.run].title, run.job.title);
    // The true result comes late, also to another coordinator, which holds it against the row that was missed.
    send(&run.agent, "3", &outcome("fra -> waw", &run.agent));
    send(&run.agent, "4", &outcome(&run.job.title, &run.agent));
    coordinator.step().expect("a step");
    assert_eq!(world.sink.0.lock().expect("whole").outcomes[&run.job.run].title, run.job.title);
    assert_eq!(coordinator.take_forgeries().len(), 1);
}

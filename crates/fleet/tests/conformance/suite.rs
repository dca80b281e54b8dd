//! The guarantees of both back ends. Each case gets a world and uses keys of its own.

use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::{Appended, Broker, Bucket, Delivery, Expected, Listing, Log, ask};
use pathmeter_fleet::lease::{
    About, Acquired, COORDINATOR, Claim, Class, Granted, Lease, Renewal, Renewed, Resource, free, grant,
    holder, remove_dead,
};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Where the cases run.
pub(crate) trait World: Sync {
    /// A connection of the coordinator.
    fn coordinator(&self) -> Box<dyn Broker>;
    /// A connection with the rights of the agent `ams`.
    fn ams(&self) -> Box<dyn Broker>;
}

/// Every case.
pub(crate) const CASES: &[fn(&dyn World)] = &[
    writes_against_a_revision,
    a_key_lives_as_long_as_it_was_given,
    of_200_contenders_one_wins,
    leases_exclude_and_free_on_release,
    claims_never_overlap,
    a_dead_holders_lease_lapses,
    the_dead_are_removed_however_many,
    work_comes_back_until_it_is_confirmed,
    work_is_shared_by_one_name,
    a_duplicate_is_stored_once,
    requests_are_answered_or_have_no_responder,
    a_broadcast_reaches_all_who_listen,
    what_is_not_permitted_is_named,
    an_agent_has_its_own_name_alone,
    an_agent_holds_its_own_leases_alone,
    a_lease_that_is_freed_by_hand_is_lost_for_that_reason,
];

const LONG: Nanos = Nanos::from_secs(20);

fn clock() -> impl Fn() -> MonoTime {
    let begin = Instant::now();
    move || MonoTime(Nanos::from_duration(begin.elapsed()).0)
}

/// Looks again until it is so; a test that would never end fails.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed().as_secs() < 30, "never: {what}");
        thread::yield_now();
    }
}

fn is_conflict<T>(outcome: Result<T, FleetError>) -> bool {
    matches!(outcome, Err(FleetError::Conflict(_)))
}

fn writes_against_a_revision(world: &dyn World) {
    let (one, other) = (world.coordinator(), world.coordinator());
    let put =
        |broker: &dyn Broker, value: &[u8], expected| broker.put(Bucket::Plans, "cas", value, expected, None);
    assert_eq!(one.get(Bucket::Plans, "cas").expect("read"), None);
    let first = put(&*one, b"1", Expected::Absent).expect("it is absent");
    assert!(is_conflict(put(&*other, b"2", Expected::Absent)), "it is there");
    assert!(is_conflict(put(&*other, b"2", Expected::Revision(first + 7))), "a wrong revision");
    let second = put(&*other, b"2", Expected::Revision(first)).expect("the right revision");
    assert!(second > first);
    assert!(is_conflict(put(&*one, b"3", Expected::Revision(first))), "an old revision");
    let found = one.get(Bucket::Plans, "cas").expect("read").expect("an entry");
    assert_eq!((found.value.as_slice(), found.revision), (&b"2"[..], second));
    assert!(is_conflict(one.remove(Bucket::Plans, "cas", first)), "a stale release");
    assert!(one.keys(Bucket::Plans).expect("keys").contains(&"cas".to_owned()));
    one.remove(Bucket::Plans, "cas", second).expect("the right revision");
    assert!(is_conflict(one.remove(Bucket::Plans, "cas", second)), "it is gone");
    assert_eq!(one.get(Bucket::Plans, "cas").expect("read"), None);
    let third = put(&*one, b"", Expected::Absent).expect("it is absent again");
    assert!(third > second, "revisions grow over removals");
    assert!(put(&*one, b"5", Expected::Anything).expect("anything") > third);
}

fn a_key_lives_as_long_as_it_was_given(world: &dyn World) {
    let broker = world.coordinator();
    let second = Some(Nanos::from_secs(1));
    let put =
        |key: &str, lifetime| broker.put(Bucket::Leases, key, b"x", Expected::Absent, lifetime).expect("new");
    put("brief", second);
    put("stays", None);
    let mut renewed = put("renewed", second);
    until("brief is gone", || {
        let next = broker.put(Bucket::Leases, "renewed", b"x", Expected::Revision(renewed), second);
        renewed = next.expect("a key that is written again lives on");
        broker.get(Bucket::Leases, "brief").expect("read").is_none()
    });
    assert!(broker.get(Bucket::Leases, "stays").expect("read").is_some());
    assert!(is_conflict(broker.put(Bucket::Leases, "brief", b"x", Expected::Revision(1), second)));
    put("brief", second);
}

fn of_200_contenders_one_wins(world: &dyn World) {
    let brokers: Vec<Box<dyn Broker>> = (0..8).map(|_| world.coordinator()).collect();
    for round in 0..5 {
        let (winners, barrier) = (AtomicUsize::new(0), Barrier::new(200));
        let key = format!("race-{round}");
        thread::scope(|scope| {
            for contender in 0..200 {
                let (broker, winners, barrier, key) = (&brokers[contender % 8], &winners, &barrier, &key);
                scope.spawn(move || {
                    barrier.wait();
                    match broker.put(Bucket::Leases, key, b"me", Expected::Absent, Some(LONG)) {
                        Ok(_) => {
                            winners.fetch_add(1, Ordering::SeqCst);
                        }
                        outcome => assert!(is_conflict(outcome)),
                    }
                });
            }
        });
        assert_eq!(winners.load(Ordering::SeqCst), 1);
    }
}

/// A claim of the coordinator.
fn claim(name: &str, resources: &[&str], lifetime: Nanos) -> Claim {
    Claim {
        holder: holder(COORDINATOR, name),
        run: String::new(),
        grant: String::new(),
        group: name.to_owned(),
        class: Class::Exclusive,
        resources: resources.iter().map(|name| Resource::sole(*name)).collect(),
        lifetime,
        about: About { title: format!("the work of {name}"), ..About::default() },
    }
}

/// A claim of the agent `ams` that the coordinator granted.
fn claim_of_ams(world: &dyn World, name: &str, resources: &[&str], lifetime: Nanos) -> Claim {
    let claim = claim(name, resources, lifetime);
    let granted = Granted {
        agent: "ams".to_owned(),
        run: name.to_owned(),
        class: claim.class,
        group: claim.group.clone(),
        resources: claim.resources.clone(),
    };
    let (grant, _) = grant(&*world.coordinator(), &[granted]).expect("granted");
    Claim { holder: holder("ams", name), run: name.to_owned(), grant, ..claim }
}

fn held(acquired: Acquired) -> Lease {
    match acquired {
        Acquired::Held(lease) => lease,
        Acquired::Blocked { resource, by } => panic!("{resource} is held by {by:?}"),
        Acquired::NotGranted => panic!("it is not granted"),
    }
}

fn leases_exclude_and_free_on_release(world: &dyn World) {
    let (broker, other, clock) = (world.coordinator(), world.ams(), clock());
    let first =
        held(Lease::acquire(&*broker, claim("l1", &["nic.b", "nic.a"], LONG), &clock).expect("asked"));
    let of_ams = |name: &str, resources: &[&str]| claim_of_ams(world, name, resources, LONG);
    let second = Lease::acquire(&*other, of_ams("l2", &["nic.c", "nic.b"]), &clock).expect("asked");
    let Acquired::Blocked { resource, by } = second else { panic!("both are held") };
    assert_eq!(
        (resource.as_str(), by[0].id.as_str(), by[0].label()),
        ("nic.b", "coordinator.l1", "the work of l1")
    );
    let known = pathmeter_fleet::lease::held(&*broker).expect("listed");
    assert!(known.iter().any(|held| held.resource == "nic.b" && held.holders == by), "{known:?}");
    let third = held(Lease::acquire(&*other, of_ams("l3", &["nic.c"]), &clock).expect("asked"));
    let token = first.token();
    assert!(first.clone().release(&*broker).expect("released"));
    assert!(!first.release(&*broker).expect("asked"), "a second release changes nothing");
    let fourth = held(Lease::acquire(&*other, of_ams("l4", &["nic.a", "nic.b"]), &clock).expect("asked"));
    assert!(fourth.token() > token, "fencing tokens grow");
    assert!(third.release(&*other).expect("released") && fourth.release(&*other).expect("released"));
    let left: Vec<String> = broker.keys(Bucket::Leases).expect("keys");
    assert!(!left.iter().any(|key| key.contains("nic.") || key.contains(".l")), "{left:?}");
}

/// Threads that claim two of three resources each; no two of them hold one at once.
fn claims_never_overlap(world: &dyn World) {
    let users: [AtomicUsize; 3] = Default::default();
    let done = AtomicUsize::new(0);
    let brokers: Vec<Box<dyn Broker>> = (0..8).map(|_| world.coordinator()).collect();
    thread::scope(|scope| {
        for (number, broker) in brokers.iter().enumerate() {
            let (users, done) = (&users, &done);
            scope.spawn(move || {
                let clock = clock();
                for attempt in 0..25 {
                    let wanted = [(number + attempt) % 3, (number + attempt + 1) % 3];
                    let names = wanted.map(|resource| format!("busy.{resource}"));
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let claim = claim(&format!("c{number}-{attempt}"), &names, LONG);
                    let Acquired::Held(lease) = Lease::acquire(&**broker, claim, &clock).expect("asked")
                    else {
                        continue;
                    };
                    for resource in wanted {
                        assert_eq!(
                            users[resource].fetch_add(1, Ordering::SeqCst),
                            0,
                            "two on busy.{resource}"
                        );
                    }
                    for resource in wanted {
                        users[resource].fetch_sub(1, Ordering::SeqCst);
                    }
                    assert!(lease.release(&**broker).expect("released"));
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(done.load(Ordering::SeqCst) > 0);
}

fn a_dead_holders_lease_lapses(world: &dyn World) {
    let (dead, heir, clock) = (world.ams(), world.coordinator(), clock());
    let brief = Nanos::from_secs(3);
    let own = claim_of_ams(world, "dead", &["nic.x"], brief);
    let mut lease = held(Lease::acquire(&*dead, own, &clock).expect("asked"));
    let renewed = lease.renew(&*dead, &mut Renewal::default(), &clock).expect("asked");
    assert_eq!(renewed, Renewed::Held);
    let mut attempt = 0;
    let mut successor = None;
    until("the lease lapses", || {
        attempt += 1;
        let claim = claim(&format!("heir-{attempt}"), &["nic.x"], LONG);
        let acquired = Lease::acquire(&*heir, claim, &clock).expect("asked");
        if let Acquired::Held(lease) = acquired {
            successor = Some(lease);
        }
        successor.is_some()
    });
    assert!(!lease.is_held(clock()), "the holder had stopped before");
    let successor = successor.expect("held");
    assert!(successor.token() > lease.token());
    let mut forgetful = Lease { until: clock() + LONG, ..lease.clone() };
    let renewed = forgetful.renew(&*dead, &mut Renewal::default(), &clock).expect("asked");
    assert_eq!(renewed, Renewed::Lost, "even one with a clock that stood still is informed");
    // The key that the dead one left is passed over by each, and removed by coordinators.
    let left = |word: &str| heir.keys(Bucket::Leases).expect("keys").iter().any(|key| key.contains(word));
    assert!(left("on.ams.dead.nic.x"));
    assert_eq!(remove_dead(&*heir).expect("removed"), 1);
    assert!(!left("on.ams.dead.nic.x"));
    assert!(!lease.release(&*dead).expect("asked"), "a stale release");
    let third = claim_of_ams(world, "third", &["nic.x"], LONG);
    let blocked = Lease::acquire(&*dead, third, &clock).expect("asked");
    assert!(matches!(blocked, Acquired::Blocked { .. }), "the stale release freed nothing");
    assert!(successor.release(&*heir).expect("released"));
}

/// One more than a listing has, none of which has a heartbeat.
fn the_dead_are_removed_however_many(world: &dyn World) {
    let broker = world.coordinator();
    let key = |number: usize| format!("on.coordinator.crowd-{number}.nic.crowd");
    for number in 0..1001 {
        broker.put(Bucket::Leases, &key(number), b"{}", Expected::Absent, None).expect("new");
    }
    let pattern = "on.*.*.nic.crowd";
    let first = broker.list(Bucket::Leases, pattern, 0).expect("listed");
    assert_eq!((first.entries.len(), first.is_whole), (1000, false));
    let rest = broker.list(Bucket::Leases, pattern, first.last).expect("listed");
    let names: Vec<&str> = rest.entries.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, rest.is_whole), (vec![key(1000).as_str()], true));
    assert!(Listing::whole(&*broker, Bucket::Leases, pattern).is_err(), "a part is not taken for all");
    assert_eq!(remove_dead(&*broker).expect("removed"), 1001);
    assert_eq!(Listing::whole(&*broker, Bucket::Leases, pattern).expect("listed").entries, []);
}

fn next(consumer: &mut dyn pathmeter_fleet::broker::Consumer) -> Delivery {
    consumer.next(LONG).expect("asked").expect("a message")
}

fn work_comes_back_until_it_is_confirmed(world: &dyn World) {
    let (coordinator, agent) = (world.coordinator(), world.ams());
    coordinator.append(Log::Jobs, "ams", "job-1", b"one").expect("stored");
    coordinator.append(Log::Jobs, "fra", "job-2", b"not for ams").expect("stored");
    let brief = Nanos::from_secs(1);
    let mut consumer = agent.consume(Log::Jobs, "ams", Some("ams"), brief).expect("its own jobs");
    let first = next(&mut *consumer);
    assert_eq!((first.data.as_slice(), first.attempt), (&b"one"[..], 1));
    // The agent dies, and its successor takes part by the same name.
    drop(consumer);
    let mut consumer = agent.consume(Log::Jobs, "ams", Some("ams"), brief).expect("its own jobs");
    let again = next(&mut *consumer);
    assert_eq!((again.data.as_slice(), again.attempt), (&b"one"[..], 2));
    agent.extend(&again).expect("extended");
    agent.done(&again).expect("confirmed");
    assert_eq!(consumer.next(Nanos::from_millis(1500)).expect("asked"), None, "confirmed, or not its own");
}

fn work_is_shared_by_one_name(world: &dyn World) {
    let coordinator = world.coordinator();
    let count = 40;
    for number in 0..count {
        let id = format!("shared-{number}");
        coordinator.append(Log::Outcomes, "ams", &id, id.as_bytes()).expect("stored");
    }
    let open = || coordinator.consume(Log::Outcomes, "sink", None, LONG).expect("outcomes");
    let mut consumers = [open(), open()];
    let mut taken = std::collections::BTreeSet::new();
    for turn in 0..count {
        let delivery = next(&mut *consumers[turn % 2]);
        assert_eq!(delivery.attempt, 1);
        assert!(taken.insert(delivery.data.clone()), "delivered twice");
        coordinator.done(&delivery).expect("confirmed");
    }
    assert_eq!(taken.len(), count);
}

fn a_duplicate_is_stored_once(world: &dyn World) {
    let (coordinator, agent) = (world.coordinator(), world.ams());
    assert_eq!(agent.append(Log::Outcomes, "ams", "run-1", b"result").expect("stored"), Appended::New);
    for _ in 0..3 {
        assert_eq!(
            agent.append(Log::Outcomes, "ams", "run-1", b"result").expect("stored"),
            Appended::Duplicate
        );
    }
    let mut sink = coordinator.consume(Log::Outcomes, "sink", None, LONG).expect("outcomes");
    let delivery = next(&mut *sink);
    coordinator.done(&delivery).expect("confirmed");
    assert_eq!(delivery.data, b"result");
    assert_eq!(sink.next(Nanos::ZERO).expect("asked"), None);
    let again = agent.append(Log::Outcomes, "ams", "run-1", b"result").expect("stored");
    assert_eq!(again, Appended::Duplicate, "even after it was taken");
}

/// Returns when the server knows what this agent listens on: it answers in the order of the questions.
fn answered(agent: &dyn Broker) {
    agent.put(Bucket::Agents, "ams", b"listening", Expected::Anything, None).expect("its own key");
}

fn requests_are_answered_or_have_no_responder(world: &dyn World) {
    let (coordinator, agent) = (world.coordinator(), world.ams());
    let absent = ask(&*coordinator, "pm.cmd.absent", b"ready?", LONG);
    assert!(matches!(absent, Err(FleetError::NoResponder(subject)) if subject == "pm.cmd.absent"));
    let mut commands = agent.subscribe("pm.cmd.ams").expect("its own commands");
    answered(&*agent);
    thread::scope(|scope| {
        scope.spawn(|| {
            let command = commands.next(LONG).expect("asked").expect("a command");
            agent.publish(&command.reply.expect("an answer is awaited"), b"ready").expect("answered");
        });
        let answer = ask(&*coordinator, "pm.cmd.ams", b"ready?", LONG).expect("answered");
        assert_eq!(answer.data, b"ready");
    });
    let silent = ask(&*coordinator, "pm.cmd.ams", b"ready?", Nanos::from_millis(50));
    assert!(matches!(silent, Err(FleetError::TimedOut { .. })));
}

fn a_broadcast_reaches_all_who_listen(world: &dyn World) {
    let (coordinator, agent) = (world.coordinator(), world.ams());
    let mut mailboxes: Vec<_> = (0..20).map(|_| agent.subscribe("pm.go.*").expect("to listen")).collect();
    answered(&*agent);
    coordinator.publish("pm.go.group1", b"T0").expect("sent");
    for mailbox in &mut mailboxes {
        let message = mailbox.next(LONG).expect("asked").expect("the message");
        assert_eq!((message.subject.as_str(), message.data.as_slice()), ("pm.go.group1", &b"T0"[..]));
        assert_eq!(message.reply, None);
    }
}

fn what_is_not_permitted_is_named(world: &dyn World) {
    let agent = world.ams();
    let named = |outcome: Result<(), FleetError>, part: &str| match outcome {
        Err(FleetError::NotPermitted { subject, .. }) => assert!(subject.contains(part), "{subject}: {part}"),
        other => panic!("{part}: {other:?}"),
    };
    let nothing = || Expected::Anything;
    named(agent.put(Bucket::Agents, "fra", b"lie", nothing(), None).map(|_| ()), "agent.fra");
    named(agent.put(Bucket::Plans, "p", b"mine", nothing(), None).map(|_| ()), "plan.p");
    named(agent.append(Log::Jobs, "ams", "own", b"job").map(|_| ()), "job.ams");
    named(agent.append(Log::Outcomes, "fra", "lie", b"result").map(|_| ()), "outcome.fra");
    named(agent.consume(Log::Jobs, "fra", Some("fra"), LONG).map(|_| ()), "fra");
    let answered = ask(&*agent, "pm.cmd.fra", b"stop", LONG).map(|_| ());
    named(answered, "pm.cmd.fra");
    let listened = agent.subscribe("pm.cmd.fra").and_then(|mut mailbox| mailbox.next(LONG)).map(|_| ());
    named(listened, "pm.cmd.fra");
    agent.put(Bucket::Agents, "ams", b"inventory", nothing(), Some(LONG)).expect("its own");
}

/// An operator takes a lease away: its holder finds out at its next heartbeat, and why; others have it at once.
fn a_lease_that_is_freed_by_hand_is_lost_for_that_reason(world: &dyn World) {
    let (operator, agent, clock) = (world.coordinator(), world.ams(), clock());
    let mut lease = held(
        Lease::acquire(&*agent, claim_of_ams(world, "f1", &["nic.f", "nic.g"], LONG), &clock).expect("asked"),
    );
    let again = claim_of_ams(world, "f1", &["nic.f", "nic.g"], LONG);
    let off = free(&*operator, "nic.f", "a host was moved").expect("freed");
    assert_eq!(off[0].id, "ams.f1");
    let again = Claim { holder: holder("ams", "f1-again"), ..again };
    let again = Lease::acquire(&*agent, again, &clock).expect("asked");
    assert_eq!(again, Acquired::NotGranted, "nor may it take the lease again for that run");
    let next =
        held(Lease::acquire(&*operator, claim("f2", &["nic.f", "nic.g"], LONG), &clock).expect("asked"));
    let renewed = lease.renew(&*agent, &mut Renewal::default(), &clock).expect("asked");
    assert_eq!(renewed, Renewed::Lost);
    assert_eq!(lease.freed_for(&*agent).as_deref(), Some("a host was moved"));
    assert!(!lease.release(&*agent).expect("asked"), "the late release changes nothing");
    assert!(next.release(&*operator).expect("released"));
    assert!(matches!(free(&*operator, "nic.f", "again"), Err(FleetError::Refused { .. })));
}

/// Its key holds, gives back and takes its own name, and neither takes nor frees another's.
fn an_agent_has_its_own_name_alone(world: &dyn World) {
    let (coordinator, agent) = (world.coordinator(), world.ams());
    let lifetime = Some(LONG);
    let held = coordinator.put(Bucket::Leases, "name.fra", b"fra", Expected::Absent, lifetime).expect("held");
    let refused = |outcome: Result<(), FleetError>| {
        assert!(matches!(outcome, Err(FleetError::NotPermitted { .. })), "{outcome:?}");
    };
    refused(agent.put(Bucket::Leases, "name.fra", b"ams", Expected::Revision(held), lifetime).map(drop));
    refused(agent.put(Bucket::Leases, "name.lon", b"ams", Expected::Absent, lifetime).map(drop));
    refused(agent.remove(Bucket::Leases, "name.fra", held));
    let entry = coordinator.get(Bucket::Leases, "name.fra").expect("read").expect("still held");
    assert_eq!((entry.value.as_slice(), entry.revision), (&b"fra"[..], held));
    // Given back, it is free at once, for itself and for any other key with the right.
    for _ in 0..3 {
        let own = agent.put(Bucket::Leases, "name.ams", b"ams", Expected::Absent, lifetime).expect("its own");
        assert!(is_conflict(agent.remove(Bucket::Leases, "name.ams", own + 1)), "another write");
        agent.remove(Bucket::Leases, "name.ams", own).expect("given back");
        assert_eq!(agent.get(Bucket::Leases, "name.ams").expect("read"), None);
        assert!(is_conflict(agent.remove(Bucket::Leases, "name.ams", own)), "it is gone");
    }
    coordinator.remove(Bucket::Leases, "name.fra", held).expect("given back");
}

/// A hostile agent's key: it can neither end, free nor hold what others hold, nor grant itself anything.
fn an_agent_holds_its_own_leases_alone(world: &dyn World) {
    let (coordinator, hostile, clock) = (world.coordinator(), world.ams(), clock());
    let of_fra = Granted {
        agent: "fra".to_owned(),
        run: "r".to_owned(),
        class: Class::Exclusive,
        group: String::new(),
        resources: vec![Resource::sole("nic.h")],
    };
    let (name, _) = grant(&*coordinator, &[of_fra]).expect("granted");
    let own = claim("r", &["nic.h"], LONG);
    let own = Claim { holder: holder("fra", "r"), run: "r".to_owned(), grant: name.clone(), ..own };
    // Fra's connection is played by the coordinator's, which may write all.
    let mut lease = held(Lease::acquire(&*coordinator, own, &clock).expect("asked"));
    let refused = |outcome: Result<(), FleetError>| {
        assert!(matches!(outcome, Err(FleetError::NotPermitted { .. })), "{outcome:?}");
    };
    for key in [
        "beat.fra.r",
        "on.fra.r.nic.h",
        "on.fra.other.nic.h",
        "beat.coordinator.c",
        "on.coordinator.c.nic.h",
        "on.nic.h",
        "on.ams",
        "wait.coordinator.c",
        &format!("grant.{name}"),
        "grant.mine",
    ] {
        let written = hostile.put(Bucket::Leases, key, b"void: mine", Expected::Anything, Some(LONG));
        refused(written.map(drop));
        refused(hostile.remove(Bucket::Leases, key, lease.heartbeat));
    }
    assert_eq!(lease.renew(&*coordinator, &mut Renewal::default(), &clock).expect("asked"), Renewed::Held);
    // Its own keys, which it may write, exclude no other agent: it was granted nothing, and fra's grant is not its own.
    hostile.put(Bucket::Leases, "beat.ams.x", b"ams.x", Expected::Absent, Some(LONG)).expect("its own");
    for key in ["on.ams.x.nic.h", "on.ams.x.nic.i"] {
        let value = format!(
            r#"{{"id":"fra.r","group":"r","class":"exclusive","capacity":1,"run":"r","grant":"{name}"}}"#
        );
        hostile.put(Bucket::Leases, key, value.as_bytes(), Expected::Absent, None).expect("its own");
    }
    let listed = pathmeter_fleet::lease::held(&*coordinator).expect("listed");
    assert!(listed.iter().all(|one| one.holders.iter().all(|holder| holder.owner() != "ams")), "{listed:?}");
    let both = claim("both", &["nic.h", "nic.i"], LONG);
    let blocked = Lease::acquire(&*coordinator, both.clone(), &clock).expect("asked");
    let Acquired::Blocked { by, .. } = blocked else { panic!("fra holds it") };
    assert_eq!(by.iter().map(|holder| holder.id.as_str()).collect::<Vec<_>>(), ["fra.r"]);
    assert!(lease.release(&*coordinator).expect("released"));
    let both = Claim { holder: holder(COORDINATOR, "both-again"), ..both };
    let both = held(Lease::acquire(&*coordinator, both, &clock).expect("asked"));
    assert!(both.release(&*coordinator).expect("released"));
}

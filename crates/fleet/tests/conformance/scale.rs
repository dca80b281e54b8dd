//! Figures of docs/fleet.md: `cargo test -p pathmeter-fleet --test conformance -- --ignored --nocapture --test-threads=1`.

use super::server::{Cluster, Server, program};
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::nats::Nats;
use pathmeter_fleet::broker::{Broker, Bucket, Expected, Log};
use pathmeter_fleet::clock::{Clock, SystemClock};
use pathmeter_fleet::lease::{Acquired, Claim, Class, Lease, Renewal, Renewed, Resource};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Barrier;
use std::thread;

const AGENTS: usize = 1000;
const LONG: Nanos = Nanos::from_secs(60);

fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn claim(holder: String, resources: &[String]) -> Claim {
    let resources = resources.iter().map(Resource::sole).collect();
    Claim {
        group: holder.clone(),
        holder,
        class: Class::Exclusive,
        resources,
        lifetime: Nanos::from_secs(30),
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

#[test]
#[ignore = "figures of docs/fleet.md, not a check"]
fn a_thousand_agents_on_one_server() {
    program().expect("nats-server");
    let server = Server::start(&["ams"], &[]);
    let coordinator = server.connect("coordinator").expect("a connection");
    coordinator.make_streams(1).expect("streams");
    let before = (resident("self"), resident(&server.process().to_string()));
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
    let after = (resident("self"), resident(&server.process().to_string()));
    print(&format!(
        "{AGENTS} agents: {} KiB of the server and {} KiB of the client for each",
        (after.1 - before.1) / AGENTS as u64,
        (after.0 - before.0) / AGENTS as u64
    ));
    let ready = Barrier::new(AGENTS + 1);
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
        coordinator.publish("pm.go.all", b"T0").expect("sent");
        waiting.into_iter().map(|waiting| (waiting.join().expect("arrived") - sent).0 / 1000).collect()
    });
    arrivals.sort_unstable();
    print(&format!(
        "broadcast to {AGENTS}: p50 {} us, max {} us",
        quantile(&arrivals, 0.5),
        quantile(&arrivals, 1.0)
    ));
    lease_times(&coordinator);
}

fn lease_times(broker: &Nats) {
    let clock = || SystemClock.mono();
    let mut times: Vec<u64> = (0..300)
        .map(|number| {
            let resources = [format!("nic.a{}", number % 50), format!("nic.b{}", number % 50)];
            let begin = SystemClock.mono();
            let acquired =
                Lease::acquire(broker, claim(format!("run-{number}"), &resources), &clock).expect("asked");
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
        Lease::acquire(&broker, claim("first".into(), &resources), &clock).expect("asked")
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
            let other = Lease::acquire(&broker, claim(format!("other-{number}"), &resources), &clock);
            intruders += usize::from(matches!(other, Ok(Acquired::Held(_))));
        }
    }
    assert!(lease.is_held(clock()), "held through the change of the leader");
    assert_eq!(intruders, 0);
    let mut sink = broker.consume(Log::Outcomes, "sink", None, LONG).expect("outcomes");
    let mut taken = BTreeSet::new();
    while let Some(delivery) = sink.next(Nanos::from_secs(3)).expect("asked") {
        assert!(taken.insert(delivery.data.clone()), "twice");
        broker.done(&delivery).expect("confirmed");
    }
    assert_eq!(taken.len(), 400);
    print("400 of 400 outcomes, each once; the lease was held by one");
}

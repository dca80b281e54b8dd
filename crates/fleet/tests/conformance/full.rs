//! A server whose storage is full while a mesh is measured.

use super::loops::{AGENTS, Observation, assert_all_done_once, beside_agents, plan};
use super::server::{Server, program};
use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::nats::Nats;
use pathmeter_fleet::broker::{Broker, Bucket, Expected, Log};
use pathmeter_fleet::clock::SystemClock;
use pathmeter_fleet::coordinator::Coordinator;
use pathmeter_fleet::results::InMemory;
use skip::skip;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Appends messages without a consumer until the server accepts no more.
fn fill(broker: &Nats) {
    let data = vec![b'x'; 100_000];
    for number in 0..100 {
        match broker.append(Log::Jobs, "filler", &format!("filler-{number}"), &data) {
            Ok(_) => {}
            Err(error) => return assert!(matches!(error, FleetError::Full { .. }), "{error}"),
        }
    }
    panic!("10 MB have found room in 2 MB");
}

fn make_room(broker: &Nats) {
    let mut filler =
        broker.consume(Log::Jobs, "filler", Some("filler"), Nanos::from_secs(20)).expect("the filler");
    while let Some(delivery) = filler.next(Nanos::from_secs(1)).expect("asked") {
        broker.done(&delivery).expect("confirmed");
    }
}

/// How many outcomes wait on the agents' disks.
fn spooled(folder: &Path) -> usize {
    let count = |name: &&str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap_or_default();
        let lines = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
        lines("{\"finished") - lines("{\"stored")
    };
    AGENTS.iter().map(count).sum()
}

#[test]
fn a_mesh_goes_on_when_a_full_server_has_room_again() {
    if let Err(why) = program() {
        return skip(why);
    }
    let server = Server::start_with(&AGENTS, &[], "    max_file_store: 2MB");
    let connect = |who: &str| server.connect(who).expect("a connection");
    let broker = connect("coordinator");
    broker.make_streams(1).expect("streams");
    let (folder, observed) = (tempfile::tempdir().expect("a folder"), Arc::<Observation>::default());
    let brokers = AGENTS.map(connect);
    let (filler, runs) = (connect("coordinator"), AtomicUsize::new(0));
    let each: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        if runs.fetch_add(1, Ordering::SeqCst) == 3 {
            fill(&filler);
        }
    });
    let results = InMemory::default();
    let mut sink = results.clone();
    let mut coordinator = Coordinator::new("c", &broker, &SystemClock, plan(), (&mut sink, |_, _| Ok(())))
        .expect("a coordinator");
    beside_agents(&brokers, folder.path(), &observed, &each, || {
        let (begin, mut reported) = (Instant::now(), None);
        while !coordinator.is_complete() {
            assert!(begin.elapsed().as_secs() < 120, "{reported:?} {:#?}", coordinator.ledger());
            let due = coordinator.step().expect("a step");
            coordinator.rest(due).expect("rest");
            let failure = coordinator.failure().filter(|_| reported.is_none());
            if let Some(failure) = failure.filter(|failure| failure.contains("full")) {
                reported = Some(failure.to_owned());
                let kept = results.all().outcomes.len();
                assert!(kept < 10 && spooled(folder.path()) > 0, "{kept} were taken by a full server");
                let refused = broker.put(Bucket::Plans, "p", b"", Expected::Anything, None);
                assert!(matches!(refused, Err(FleetError::Full { .. })), "{refused:?}");
                make_room(&broker);
            }
        }
        let reported = reported.expect("it was full");
        assert!(reported.starts_with("the storage of the NATS server nats://localhost:"), "{reported}");
    });
    assert_all_done_once(&results, &observed);
}

//! A cluster of three servers that loses its leader while a mesh is measured.

use super::loops::{AGENTS, Observation, assert_all_done_once, beside_agents, nothing, plan};
use super::server::{Cluster, program};
use pathmeter_fleet::FleetError;
use pathmeter_fleet::clock::SystemClock;
use pathmeter_fleet::coordinator::Coordinator;
use pathmeter_fleet::results::InMemory;
use skip::skip;
use std::sync::Arc;
use std::time::Instant;

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
    let mut coordinator = Coordinator::new("c", &broker, &SystemClock, plan(), (&mut sink, |_, _| Ok(())))
        .expect("a coordinator");
    beside_agents(&brokers, folder.path(), &observed, &nothing(), || {
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
        assert!(is_killed);
    });
    assert_all_done_once(&results, &observed);
}

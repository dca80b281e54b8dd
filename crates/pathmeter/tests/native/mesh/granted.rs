//! An agent whose job has no grant: it waits for the coordinator that leads, and reports that.

use super::super::support::Scratch;
use super::{mesh, until};
use fleet::broker::{Broker, Bucket};

#[test]
fn an_agent_waits_for_the_grant_of_its_coordinator() {
    let scratch = Scratch::new("mesh-granted");
    let test = "an_agent_waits_for_the_grant_of_its_coordinator";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let broker = mesh.broker();
    let grants = || {
        let keys = broker.keys(Bucket::Leases).unwrap();
        keys.into_iter().filter(|key| key.starts_with("grant.")).collect::<Vec<_>>()
    };
    let results = scratch.file("night.jsonl", None);
    let night = ["mesh", "run", "--test", "latency", "-t", "200ms", "--results", &results, "--json"];
    // The job is handed out while its agent sleeps; the coordinator dies, and its grant is lost.
    agents.iter().for_each(|agent| agent.signal("STOP"));
    let coordinator = mesh.start(&night);
    until("the run is granted", || !grants().is_empty());
    coordinator.signal("KILL");
    coordinator.end();
    for key in grants() {
        let entry = broker.get(Bucket::Leases, &key).unwrap().unwrap();
        broker.remove(Bucket::Leases, &key, entry.revision).unwrap();
    }
    agents.iter().for_each(|agent| agent.signal("CONT"));
    until("it reports what it waits for", || {
        let shown = mesh.run(&["mesh", "show", "--json"]);
        shown.stdout.contains("its coordinator grants it no lease now")
    });
    assert_eq!(mesh.spooled("ams", "begun"), 0, "nothing is measured without a grant");
    // The next coordinator of the same mesh grants it, and the run that waits is carried out.
    let report = mesh.run(&night).code(0).json();
    assert_eq!(report["cells"][0]["state"], "done", "{report}");
    assert_eq!((mesh.spooled("ams", "begun"), mesh.spooled("ams", "finished")), (1, 1));
}

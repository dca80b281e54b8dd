//! The rights of an agent of root's while it carries a run out and serves another agent's.

use super::super::confined::{KEPT, NONE, is_confined, threads};
use super::super::support::{Scratch, skip};
use super::{mesh, until};

#[test]
fn every_thread_of_an_agent_at_work_has_given_root_up() {
    let test = "every_thread_of_an_agent_at_work_has_given_root_up";
    if !linux::privilege::is_root() {
        return skip(test, "it needs root");
    }
    let scratch = Scratch::new("mesh-confined");
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let with = |name: &str, more: &[&str]| {
        mesh.agent_with(name, &token, &[&["--metrics", "127.0.0.1:0"], more].concat())
    };
    let agents = [(with("ams", &[]), KEPT), (with("fra", &["--no-capabilities"]), NONE)];
    mesh.wait_for(2);
    let results = scratch.file("night.jsonl", None);
    let before = agents.each_ref().map(|(agent, _)| threads(agent.pid()).len());
    let coordinator = mesh.start(&["mesh", "run", "-t", "100s", "--results", &results, "--json"]);
    // One sends and the other receives: each has threads for that.
    until("both are at work", || {
        agents.iter().zip(before).all(|((agent, _), before)| threads(agent.pid()).len() > before)
    });
    for (agent, kept) in &agents {
        let names: Vec<String> = threads(agent.pid()).into_iter().map(|(name, _)| name).collect();
        for own in ["signals", "serve", "metrics"] {
            assert!(names.iter().any(|name| name == own), "no thread `{own}` in {names:?}");
        }
        is_confined(agent.pid(), kept, "agent run");
    }
    coordinator.signal("INT");
    coordinator.end();
}

//! What a mesh prints and reads: texts of other agents, passwords and keys.

use super::super::support::{Scratch, free_port, run};
use super::{mesh, refused};
use fleet::broker::{Broker, Bucket, Expected};
use model::units::Nanos;
use std::os::unix::fs::PermissionsExt;

/// The host that another agent names is printed without what would change the terminal.
#[test]
fn words_of_another_agent_are_harmless_in_the_log() {
    let scratch = Scratch::new("mesh-words");
    let test = "words_of_another_agent_are_harmless_in_the_log";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams"]) else { return };
    let other = br#"{"id":"other","host":"\u001b[2Jevil\nline"}"#;
    let lifetime = Some(Nanos::from_secs(60));
    mesh.broker().put(Bucket::Leases, "name.ams", other, Expected::Absent, lifetime).unwrap();
    let agent = mesh.agent("ams", &format!("{}/mesh.token", mesh.folder));
    agent.wait_for("evil");
    let log = agent.output_so_far();
    let line = log.lines().find(|line| line.contains("evil")).unwrap();
    assert!(!log.contains('\u{1b}') && line.contains("line"), "{log:?}");
}

#[test]
fn passwords_in_urls_are_never_printed() {
    let scratch = Scratch::new("mesh-passwords");
    let url = format!("nats://operator:s3cretpw@127.0.0.1:{}", free_port());
    let (spool, port) = (scratch.file("spool", None), free_port().to_string());
    let agent = ["agent", "run", "--name", "ams", "--port", &port, "--spool", &spool];
    for args in [&["mesh", "doctor"][..], &["mesh", "show"], &["mesh", "run"], &agent] {
        let ended = run(&[args, &["--coordinator", &url]].concat()).code(3);
        let printed = ended.stdout + &ended.stderr;
        assert!(printed.contains("127.0.0.1") && !printed.contains("s3cretpw"), "{args:?}: {printed}");
    }
}

#[test]
fn keys_that_others_may_read_are_refused() {
    let scratch = Scratch::new("mesh-modes");
    let folder = scratch.file("mesh", None);
    run(&["mesh", "init", &folder, "--agent", "ams"]).code(0);
    let (key, join) =
        (format!("{folder}/keys/coordinator.seed"), format!("{folder}/agents/coordinator.agent"));
    for file in [&key, &join] {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let url = "nats://127.0.0.1:9";
    for options in [["--key", &key], ["--join", &join]] {
        let ended = run(&[&["mesh", "show", "--coordinator", url], &options[..]].concat());
        refused(ended, 2, &["may be read by others than its owner", "chmod 600"]);
    }
}

//! A lab that cannot be built fails with an error that names the cause, and leaves nothing.

use crate::{PAIR, build, can_build, topology};
use pathmeter_lab::build::Lab;
use pathmeter_lab::error::LabError;

fn refused(text: &str) -> LabError {
    Lab::build(&topology(text)).unwrap_err()
}

#[test]
fn a_ruleset_that_nft_does_not_understand() {
    if !can_build() {
        return;
    }
    let error =
        refused(&PAIR.replacen("[nodes.server]", "[nodes.server]\nrules = \"table inet x { chain }\"", 1));
    assert!(
        matches!(&error, LabError::ProgramFailed { node, program, .. } if node == "server" && program == "nft"),
        "{error}"
    );
    assert!(error.to_string().contains("syntax error"), "{error}");
}

#[test]
fn a_setting_that_is_not_there() {
    if !can_build() {
        return;
    }
    let settings = "[nodes.server]\nsettings = { \"net.ipv4.no_such_setting\" = \"1\" }";
    let error = refused(&PAIR.replacen("[nodes.server]", settings, 1));
    assert!(matches!(&error, LabError::Node { node, .. } if node == "server"), "{error}");
    assert!(error.to_string().contains("net/ipv4/no_such_setting"), "{error}");
}

#[test]
fn a_node_that_is_not_there() {
    if !can_build() {
        return;
    }
    let error = build(PAIR).node("router").unwrap_err();
    assert_eq!(error.to_string(), "there is no node router; there is client, server");
}

#[test]
fn a_kernel_without_netem_is_reported_by_the_module_it_lacks() {
    if !can_build() {
        return;
    }
    let delayed = topology(&format!("{PAIR}delay = \"5ms\"\n"));
    match Lab::build(&delayed) {
        Err(LabError::NotOnThisKernel { needs, .. }) => assert!(needs.contains("sch_netem"), "{needs}"),
        Err(other) => panic!("{other}"),
        // This kernel has it.
        Ok(lab) => assert!(crate::run(&lab, "client", "ping -c 1 -W 1 192.0.2.2").succeeded()),
    }
}

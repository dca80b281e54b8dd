//! Filters of a node: over netlink where they are ours, by `nft(8)` where the file brings a ruleset.

use crate::error::LabError;
use linux::namespace::Namespace;
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Hands a ruleset to `nft`. It reads its input and ends: there is nothing to wait for but the kernel.
pub(crate) fn rules(node: &str, rules: &str, namespace: &Namespace) -> Result<(), LabError> {
    let mut command = Command::new("nft");
    command.args(["-f", "-"]).env("PATH", crate::programs::search_path());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    namespace.spawn_inside(&mut command).map_err(LabError::in_node(node))?;
    let start = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => {
            LabError::ProgramMissing { program: "nft".into(), package: "nftables".into() }
        }
        _ => LabError::start(node, "nft")(source),
    };
    let mut child = command.spawn().map_err(start)?;
    if let Some(mut input) = child.stdin.take() {
        // A program that ends before it has read all reports the reason itself.
        let _ = input.write_all(rules.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(LabError::ProgramFailed { node: node.into(), program: "nft".into(), output })
}

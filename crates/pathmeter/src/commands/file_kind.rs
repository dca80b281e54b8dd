//! Plans and topologies: both are TOML files, and each is easily given to the other's command.

use engine::error::Failure;
use std::path::Path;

/// Refuses a topology where a plan is wanted.
///
/// # Errors
/// `Kind::Usage`: the file is a topology.
#[cfg(feature = "plan")]
pub(super) fn is_no_topology(file: &Path) -> Result<(), Failure> {
    let name = file.display();
    refused(file, Kind::Topology, || {
        Failure::usage(
            format!("{name} is a topology of the lab, not a plan"),
            format!("write `pathmeter lab check {name}`; a plan names it as the lab of a path"),
        )
    })
}

/// Refuses a plan where a topology is wanted.
///
/// # Errors
/// `Kind::Usage`: the file is a plan.
#[cfg(feature = "lab")]
pub(super) fn is_no_plan(name: &str) -> Result<(), Failure> {
    refused(Path::new(name), Kind::Plan, || {
        Failure::usage(
            format!("{name} is a plan, not a topology of the lab"),
            format!("write `pathmeter plan check {name}`"),
        )
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plan,
    Topology,
}

fn refused(file: &Path, kind: Kind, failure: impl FnOnce() -> Failure) -> Result<(), Failure> {
    // A file that cannot be read is reported by its reader.
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if kind_of(&text) == Some(kind) { Err(failure()) } else { Ok(()) }
}

/// The kind by the tables that only this kind has.
fn kind_of(text: &str) -> Option<Kind> {
    let has = |tables: &[&str]| {
        let begins = |line: &str| tables.iter().any(|table| line.trim_start().starts_with(table));
        text.lines().any(begins)
    };
    match (has(&["[paths", "[[tests"]), has(&["[nodes", "[[links"])) {
        (true, false) => Some(Kind::Plan),
        (false, true) => Some(Kind::Topology),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_tables() {
        for (text, kind) in [
            ("title = 'x'\n[nodes.a]\n[[links]]", Some(Kind::Topology)),
            ("[paths.direct]\nto = 'h'\n[[tests]]", Some(Kind::Plan)),
            ("[paths.a]\n[nodes.b]", None),
            ("# [nodes.a]", None),
            ("", None),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }
}

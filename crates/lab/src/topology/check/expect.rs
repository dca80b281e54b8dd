//! Checks that the expectations can be measured.

use super::Checker;
use crate::topology::Topology;
use insight::finding::{rule_ids, rule_named};
use model::toml_file::suggest;

pub(super) fn check(topology: &Topology, checker: &mut Checker<'_>) {
    let expect = &topology.expect;
    for (key, ids) in [("findings", &expect.findings), ("absent", &expect.absent)] {
        for (index, id) in ids.iter().enumerate() {
            let path = ["expect", key, &index.to_string()];
            if rule_named(id).is_none() {
                let text = format!("no finding is called `{id}`{}", suggest(id, rule_ids()));
                checker.wrong(&path, text);
            } else if key == "absent" && expect.findings.contains(id) {
                checker.wrong(&path, format!("`{id}` is expected both to be raised and to be absent"));
            }
        }
    }
}

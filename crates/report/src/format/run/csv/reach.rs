//! The CSV rows of reachability: one per address of the far host, and one per next hop.

use super::COLUMNS;
use super::packets::set;
use model::reach::Reach;
use model::run::Run;

/// Every row of a run that watched; none of another. `outcome`: what became of connecting, or the neighbour's state.
pub(super) fn rows(run: &Run, test: &Run, number: Option<usize>) -> Vec<Vec<String>> {
    let Some(reach) = &test.summary.reach else { return Vec::new() };
    let Reach { families, next_hops } = reach.as_ref();
    let start = |kind: &str| {
        let mut fields = vec![String::new(); COLUMNS.len()];
        set(&mut fields, "run", &run.id);
        set(&mut fields, "test", number.map(|number| number.to_string()).unwrap_or_default());
        set(&mut fields, "row", kind);
        set(&mut fields, "omitted", false);
        fields
    };
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut rows = Vec::new();
    for family in families {
        let mut fields = start("reach_family");
        set(&mut fields, "transport", "TCP");
        set(&mut fields, "remote", family.address);
        set(&mut fields, "outcome", word(serde_json::to_value(family.contact).unwrap_or_default()));
        set(&mut fields, "connect_ns", family.first.map(|first| first.0.to_string()).unwrap_or_default());
        rows.push(fields);
    }
    for hop in next_hops {
        let mut fields = start("reach_next_hop");
        set(&mut fields, "remote", hop.address);
        set(&mut fields, "way", &hop.interface);
        set(&mut fields, "outcome", word(serde_json::to_value(hop.after).unwrap_or_default()));
        set(&mut fields, "lost", hop.failures);
        set(&mut fields, "total_ns", hop.unanswered.0);
        rows.push(fields);
    }
    rows
}

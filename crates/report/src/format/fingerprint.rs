//! Circumstances of a run beside the path: both ends as they were, in a table that is compared at a glance.

use crate::document::{Column, Table};
use model::host::Host;
use model::run::Run;

/// Rows for what is known of either end; none without a host.
pub(super) fn table(run: &Run) -> Option<Table> {
    let known = run.host.is_some() || run.peer.is_some();
    let columns = ["", "This end", "Far end"].map(Column::left);
    let row = |(name, fact): &(&str, Fact)| {
        let cells = [&run.host, &run.peer].map(|host| host.as_ref().and_then(fact).unwrap_or_default());
        let [here, there] = cells;
        (!here.is_empty() || !there.is_empty()).then(|| vec![(*name).to_owned(), here, there])
    };
    known.then(|| Table::new(columns.into(), FACTS.iter().filter_map(row).collect()))
}

type Fact = fn(&Host) -> Option<String>;

/// The facts that make two runs comparable, in the order of the table. A fact that is empty is not known.
const FACTS: [(&str, Fact); 10] = [
    ("Host", |host| Some(host.name.clone())),
    ("Program", |host| Some(host.version.clone())),
    ("Kernel", |host| Some(host.kernel.clone())),
    ("CPU", |host| match (host.cpus, host.cpu.as_str()) {
        (0, model) => Some(model.to_owned()),
        (count, "") => Some(count.to_string()),
        (count, model) => Some(format!("{count} × {model}")),
    }),
    ("Clock source", |host| Some(host.clock_source.clone())),
    ("Congestion control", |host| Some(host.congestion.clone())),
    ("Interface", |host| {
        let nic = host.nic.as_ref()?;
        let driver = nic.driver.as_ref().map(|driver| format!(" ({driver})")).unwrap_or_default();
        Some(format!("{}{driver}", nic.name))
    }),
    ("Link speed", |host| host.nic.as_ref()?.link_bps.map(|rate| rate.to_string())),
    ("Interface MTU", |host| Some(host.nic.as_ref()?.mtu.to_string())),
    ("Offloads", |host| Some(host.nic.as_ref()?.offloads.join(", "))),
];

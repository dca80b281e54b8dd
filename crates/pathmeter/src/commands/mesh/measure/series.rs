//! A mesh at every time of its schedule.

use super::asked::names;
use super::{measured, neither_listens};
use crate::commands::mesh::failed;
use cli::MeshRunArgs;
use engine::error::Result;
use engine::host::interrupt::Interrupt;
use fleet::broker::nats::Nats;
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::Sink;
use mesh::inventory::agents;
use mesh::rounds::{MeshRequest, Reports, plan};
use mesh::timetable::{Occasion, Series, Timetable};
use model::time::WallTime;
use std::collections::BTreeSet;
use std::time::Duration;

/// When it is measured; absent: once.
pub(super) fn timetable(args: &MeshRunArgs, name: &str) -> Result<Option<Timetable>> {
    let parse = |text: &String| Timetable::parse(text, args.zone.as_deref(), name, args.splay);
    args.schedule.as_ref().map(parse).transpose().map_err(failed)
}

/// Measures at every time, until it is stopped. `last`: when the last one was due that began.
pub(super) fn run(
    (args, asked): (&MeshRunArgs, &MeshRequest),
    nats: &Nats,
    timetable: &Timetable,
    (sink, last): (&mut dyn Sink, Option<WallTime>),
    interrupt: &Interrupt,
) -> Result<()> {
    let mut expected: BTreeSet<String> = names(args, asked).into_iter().collect();
    let is_open = expected.is_empty();
    let mut series = Series {
        timetable,
        clock: &SystemClock,
        wait: &mut |due| {
            let left = Duration::from_nanos((due - SystemClock.wall()).0);
            std::thread::sleep(left.min(Duration::from_millis(100)));
            !interrupt.is_raised()
        },
        plan: &mut |name| {
            let mut reports = agents(nats).map_err(failed)?;
            if is_open {
                expected.extend(reports.keys().cloned());
            }
            reports.retain(|agent, _| expected.contains(agent));
            Ok(occasion(name, &reports, &expected, asked))
        },
        measure: &mut |plan, sink| {
            measured(args, nats, plan, Vec::new(), (sink, interrupt))?;
            Ok(!interrupt.is_raised())
        },
    };
    series.run(sink, last)
}

/// The runs of one time: those of agents that were there before and are not now are missing.
fn occasion(
    name: &str,
    reports: &Reports,
    expected: &BTreeSet<String>,
    asked: &MeshRequest,
) -> std::result::Result<Occasion, String> {
    let absent: BTreeSet<String> =
        expected.iter().filter(|agent| !reports.contains_key(*agent)).cloned().collect();
    if reports.len() < 2 {
        let gone = absent.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(format!("not two agents are there; not heard of for 30 s: {gone}"));
    }
    let (asked, missing) = asked.without(&absent, expected);
    let planned = plan(name, reports, &asked).map_err(|error| error.to_string())?;
    let why = |title: String| {
        let gone = absent.iter().find(|agent| title.split(' ').any(|word| word == agent.as_str()));
        let why = format!("the agent {} has not been heard for 30 s", gone.map_or("?", String::as_str));
        (title, why)
    };
    let deaf = planned.unreachable.iter().map(|pair| (pair.clone(), neither_listens(pair)));
    Ok(Occasion { plan: planned.plan, missing: missing.into_iter().map(why).chain(deaf).collect() })
}

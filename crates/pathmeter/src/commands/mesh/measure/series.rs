//! A mesh at every time of its schedule.

use super::{Coordinated, call, measured, neither_listens};
use crate::commands::mesh::failed;
use cli::MeshRunArgs;
use engine::error::Result;
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::Sink;
use fleet::mesh::MeshPlan;
use mesh::roll::{Earlier, Roll};
use mesh::rounds::{MeshRequest, plan};
use mesh::timetable::{Occasion, Series, Timetable};
use model::time::WallTime;
use std::cell::RefCell;
use std::time::Duration;

/// When it is measured; absent: once.
pub(super) fn timetable(args: &MeshRunArgs, name: &str) -> Result<Option<Timetable>> {
    let parse = |text: &String| Timetable::parse(text, args.zone.as_deref(), name, args.splay);
    args.schedule.as_ref().map(parse).transpose().map_err(failed)
}

/// A mesh that is measured again and again.
pub(super) struct Mesh<'a> {
    pub(super) at: &'a Coordinated<'a>,
    pub(super) asked: &'a MeshRequest,
    pub(super) earlier: &'a Earlier,
    /// The name of all of its occasions.
    pub(super) name: &'a str,
}

/// Measures at every time, until it is stopped. `last`: when the last one was due that began.
pub(super) fn run(
    mesh: &Mesh<'_>,
    timetable: &Timetable,
    (sink, last): (&mut dyn Sink, Option<WallTime>),
) -> Result<()> {
    let interrupt = mesh.at.interrupt;
    // The roll is called when a mesh is planned, and known when it is measured.
    let roll = RefCell::new(Roll::default());
    let mut series = Series {
        timetable,
        clock: &SystemClock,
        wait: &mut |due| {
            let left = Duration::from_nanos((due - SystemClock.wall()).0);
            std::thread::sleep(left.min(Duration::from_millis(100)));
            !interrupt.is_raised()
        },
        plan: &mut |occasion| match call(mesh.at.nats, (mesh.at.args, mesh.asked), mesh.earlier)? {
            Ok(called) => {
                let planned = mesh.occasion(occasion, &called);
                *roll.borrow_mut() = called;
                Ok(planned)
            }
            Err(error) => Ok(Err(error.to_string())),
        },
        measure: &mut |plan, sink| {
            let _ = measured(mesh.at, (plan, &roll.borrow()), Vec::new(), sink)?;
            Ok(!interrupt.is_raised())
        },
    };
    series.run(sink, last)
}

impl Mesh<'_> {
    /// The runs of one time. Those of agents that are not there are among them: they will be missed.
    fn occasion(&self, occasion: &str, roll: &Roll) -> std::result::Result<Occasion, String> {
        let planned = plan(occasion, &roll.reports, self.asked).map_err(|error| error.to_string())?;
        let deaf = planned.unreachable.iter().map(|pair| (pair.clone(), neither_listens(pair)));
        let plan = MeshPlan { name: self.name.to_owned(), ..planned.plan };
        Ok(Occasion { plan, missing: deaf.collect() })
    }
}

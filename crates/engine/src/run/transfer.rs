//! A run of transfers.

use super::begun::Begun;
use super::{Ended, Options};
use crate::resolve::Family;
use crate::transfer::source::Source;
use crate::transfer::{self, Job};
use model::event::Event;
use model::transfer::TransferPlan;

/// The plan of a run of transfers, and where the files are.
#[derive(Clone, Debug)]
pub struct TransferWork {
    /// What is measured.
    pub plan: TransferPlan,
    /// The plan's files, in its order.
    pub sources: Vec<Source>,
    /// Which addresses redirects may lead to.
    pub family: Family,
}

pub(super) fn run(
    work: &TransferWork,
    options: &Options,
    sink: &mut dyn FnMut(&Event),
) -> anyhow::Result<Ended> {
    let TransferWork { plan, sources, family } = work;
    let mut begun = Begun::new(options, sink);
    let capture = options.capture.clone();
    let job = Job { plan, sources, family: *family, capture, interrupt: &options.stop };
    let outcome = transfer::run(&job, &mut |event| begun.event(event));
    begun.end("transfer", outcome, options, |event| matches!(event, Event::Transfer(_)), |_, error| error)
}

//! A run of transfers.

use super::begun::Begun;
use super::{Measured, Options};
use crate::error::{Failure, Result};
use crate::host::address::Family;
use crate::work::transfer::source::Source;
use crate::work::transfer::{self, Job};
use model::event::Event;
use model::transfer::TransferPlan;
use std::collections::BTreeSet;

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

pub(super) fn run(work: &TransferWork, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let TransferWork { plan, sources, family } = work;
    let hosts: BTreeSet<_> = plan.files.iter().map(|file| file.address.ip()).collect();
    if options.capture.is_wanted() && hosts.len() > 1 {
        let message = "--capture: it sees the packets of one far host, and the URLs have several";
        return Err(Failure::usage(message, "give the URLs of one host, or drop --capture").into());
    }
    let mut begun = Begun::new(options, sink);
    let capture = options.capture.clone();
    let job = Job { plan, sources, family: *family, capture, interrupt: &options.stop };
    let outcome = transfer::run(&job, &mut |event| begun.event(event));
    begun.end("transfer", outcome, options, |event| matches!(event, Event::Transfer(_)), |_, error| error)
}

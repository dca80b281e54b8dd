//! A run of transfers.

use super::begun::Begun;
use super::explain::{self, Subject};
use super::{Measured, Options};
use crate::error::{Error, Failure, Result};
use crate::host::address::Family;
use crate::session::protocol::UNACKNOWLEDGED;
use crate::work::transfer::source::Source;
use crate::work::transfer::{self, TransferJob};
use insight::run_of_events;
use model::event::Event;
use model::finding::{Finding, Severity};
use model::plan::{Direction, LocalOptions, Target};
use model::transfer::{Transfer, TransferPlan};
use std::collections::BTreeSet;

/// The plan of a run of transfers, and where the files are.
#[derive(Clone, Debug)]
pub struct TransferWork {
    /// The plan of the transfers.
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
    let job = TransferJob { plan, sources, family: *family, capture, interrupt: &options.stop };
    let outcome = transfer::run(&job, &mut |event| begun.event(event));
    if let Some(subject) = subject(plan) {
        let known = run_of_events("", "transfer", begun.events());
        explain::explain(&subject, options, known, &mut |event| begun.event(event));
    }
    let known = run_of_events("", "transfer", begun.events());
    let is_unheard = known.summary.transfer.iter().flat_map(|found| &found.transfers).any(is_unheard);
    let is_reason =
        |finding: &Finding| finding.severity == Severity::Problem || explain::is_cause(&finding.id);
    let reason = known.findings.into_iter().find(is_reason);
    let attribute = |_, error: Error| match reason {
        Some(reason) => error.advised("transfer", format!("{}. {}", reason.title, reason.advice)),
        None if is_unheard => error.advised(NOTHING_ACKNOWLEDGED, UNACKNOWLEDGED),
        None => error,
    };
    begun.end("transfer", outcome, options, |event| matches!(event, Event::Transfer(_)), attribute)
}

/// The handshake is all that came back, and all that followed it are retransmits.
fn is_unheard(transfer: &Transfer) -> bool {
    let tcp = transfer.tcp.as_ref().filter(|_| transfer.error.is_some() && transfer.bytes.0 == 0);
    tcp.is_some_and(|tcp| {
        tcp.retransmits >= UNHEARD_RETRANSMITS && tcp.segments_in.is_some_and(|count| count <= 1)
    })
}

const NOTHING_ACKNOWLEDGED: &str =
    "the connection opened, and nothing that this host sent afterwards was acknowledged";
/// Fewer may be loss by chance.
const UNHEARD_RETRANSMITS: u32 = 3;

/// The far end, where all files have the same.
fn subject(plan: &TransferPlan) -> Option<Subject> {
    let (first, others) = plan.files.split_first()?;
    if others.iter().any(|file| file.address.ip() != first.address.ip()) {
        return None;
    }
    let target = Target { host: first.address.ip().to_string(), address: first.address };
    let local = LocalOptions {
        bind: plan.bind,
        device: plan.device.clone(),
        connect_timeout: Some(plan.connect_timeout),
        explain: plan.explain,
        ..LocalOptions::default()
    };
    let directions = vec![Direction::Up, Direction::Down];
    Some(Subject { target, local, is_native: false, plan: None, directions })
}

//! The journal of a benchmark: what came of each order.

use super::DevicePlan;
use crate::error::{Failure, Result};
use crate::host::journal::{self, ANOTHER};
use model::dut::{BenchRequest, Observation, Setup};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A journal that is being written.
pub type Journal = journal::Journal<Entry>;

/// Which benchmark a journal is of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    schema: String,
    setup: Setup,
    devices: Vec<String>,
}

/// The result of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The device.
    pub(super) device: String,
    /// The order.
    pub(super) order: BenchRequest,
    /// The observation, or why the order was left out.
    pub(super) came: Came,
    /// Trials of it that the host spoilt.
    pub(super) voided: u64,
}

/// The result of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Came {
    /// This.
    Observed(Observation),
    /// The order could not be carried out.
    LeftOut(String),
}

impl DevicePlan {
    /// Begins a journal of this plan.
    ///
    /// # Errors
    /// `Kind::Usage`: there is one already, of a run that was cut off, or none can be written.
    pub fn begin_journal(&self, path: &Path) -> Result<Journal> {
        Journal::begin(path, &Head::from_plan(self))
    }

    /// Goes on with the journal of a run of the same plan.
    ///
    /// # Errors
    /// `Kind::Usage`: there is none, or it is of another benchmark.
    pub fn resume_journal(&self, path: &Path) -> Result<Journal> {
        Journal::resume(path, &Head::from_plan(self), "benchmark")
    }
}

impl Head {
    fn from_plan(plan: &DevicePlan) -> Head {
        let devices = plan.benches.iter().map(|bench| bench.device.name()).collect();
        Head { schema: SCHEMA.into(), setup: plan.setup.clone(), devices }
    }
}

/// The earlier result of this order, if it was carried out.
///
/// # Errors
/// `Kind::Usage`: another order was carried out at this place.
pub(super) fn recall(journal: &mut Journal, device: &str, order: &BenchRequest) -> Result<Option<Entry>> {
    let Some(next) = journal.recall() else { return Ok(None) };
    if next.device == device && next.order == *order {
        return Ok(Some(next));
    }
    let what = format!(
        "{} states that {} was at {}, {} here, and now it is {device} at {}, {}",
        journal.path().display(),
        next.device,
        next.order.stream,
        next.order.test,
        order.stream,
        order.test
    );
    Err(Failure::usage(what, ANOTHER).into())
}

const SCHEMA: &str = "pathmeter/rfc2544-journal/1";

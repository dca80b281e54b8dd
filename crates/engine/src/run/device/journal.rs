//! The journal of a benchmark: what came of each order.

use super::DevicePlan;
use crate::error::{Error, Failure, Result};
use crate::host::journal::{self, ANOTHER};
use model::dut::{BenchRequest, Observation, Setup};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal(journal::Journal<Entry>);

/// Which benchmark it is of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    schema: String,
    setup: Setup,
    devices: Vec<String>,
}

/// The result of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
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

impl Journal {
    /// Begins one for this plan.
    ///
    /// # Errors
    /// `Kind::Usage`: there is one already, of a run that was cut off, or none can be written.
    pub fn begin(path: &Path, plan: &DevicePlan) -> Result<Journal> {
        journal::Journal::begin(path, &Head::from_plan(plan)).map(Journal)
    }

    /// Goes on with that of a run of the same plan.
    ///
    /// # Errors
    /// `Kind::Usage`: there is none, or it is of another benchmark.
    pub fn resume(path: &Path, plan: &DevicePlan) -> Result<Journal> {
        journal::Journal::resume(path, &Head::from_plan(plan), "benchmark").map(Journal)
    }

    /// How many orders were carried out before.
    #[must_use]
    pub fn known(&self) -> usize {
        self.0.known()
    }

    /// The earlier result of this order, if it was carried out.
    ///
    /// # Errors
    /// `Kind::Usage`: another order was carried out at this place.
    pub(super) fn recall(&mut self, device: &str, order: &BenchRequest) -> Result<Option<Entry>> {
        let Some(next) = self.0.recall() else { return Ok(None) };
        if next.device == device && next.order == *order {
            return Ok(Some(next));
        }
        let what = format!(
            "{} states that {} was at {}, {} here, and now it is {device} at {}, {}",
            self.0.path().display(),
            next.device,
            next.order.stream,
            next.order.test,
            order.stream,
            order.test
        );
        Err(Failure::usage(what, ANOTHER).into())
    }

    /// Writes down the result of an order. The first failure is returned; the measurement goes on.
    pub(super) fn write(&mut self, entry: &Entry) -> Option<Error> {
        self.0.write(entry)
    }

    /// Everything was measured, and is kept elsewhere.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self) -> Result<()> {
        self.0.remove()
    }
}

impl Head {
    fn from_plan(plan: &DevicePlan) -> Head {
        let devices = plan.benches.iter().map(|bench| bench.device.name()).collect();
        Head { schema: SCHEMA.into(), setup: plan.setup.clone(), devices }
    }
}

const SCHEMA: &str = "pathmeter/rfc2544-journal/1";

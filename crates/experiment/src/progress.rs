//! The journal of a plan: every run that is done, whole, so that a plan that was cut off goes on from there.

use crate::agents::Lease;
use crate::plan::{Cell, Plan};
use engine::error::Result;
use engine::host::journal;
use model::experiment::Setting;
use model::run::Run;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A journal that is being written.
pub type Journal = journal::Journal<Recorded>;

/// Which plan a journal is of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    schema: String,
    /// The file as it is.
    plan: String,
    /// The time of each test, as given on the command line.
    time_ns: Option<Nanos>,
    /// Runs of each cell.
    repetitions: u32,
}

/// The result of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recorded {
    pub(crate) path: String,
    pub(crate) test: String,
    pub(crate) settings: Vec<Setting>,
    pub(crate) round: u32,
    /// The run, unless it could not begin.
    pub(crate) run: Option<Box<Run>>,
    /// Why it could not, or was cut short.
    pub(crate) error: Option<String>,
    /// The agent that measured it, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<Lease>,
}

impl Head {
    fn from_plan(plan: &Plan, time: Option<Nanos>) -> Head {
        let plan_text = plan.text.clone();
        Head { schema: SCHEMA.into(), plan: plan_text, time_ns: time, repetitions: plan.repetitions }
    }

    /// Begins a journal of this plan. `time`: that of each test, where the command line asks for one.
    ///
    /// # Errors
    /// There is one already, of a run that was cut off, or none can be written.
    pub fn begin(file: &Path, plan: &Plan, time: Option<Nanos>) -> Result<Journal> {
        Journal::begin(file, &Head::from_plan(plan, time))
    }

    /// Goes on with that of the same plan.
    ///
    /// # Errors
    /// There is none, or it is of another plan.
    pub fn resume(file: &Path, plan: &Plan, time: Option<Nanos>) -> Result<Journal> {
        Journal::resume(file, &Head::from_plan(plan, time), "plan, or of another version of it")
    }
}

impl Recorded {
    /// Whether it is of this cell and round, and need not be repeated.
    pub(crate) fn is_of(&self, cell: &Cell<'_>, round: u32) -> bool {
        self.round == round
            && self.path == cell.path.name
            && self.test == cell.test.name
            && self.settings == cell.variant.settings
            && self.run.is_some()
            && self.error.is_none()
    }
}

const SCHEMA: &str = "pathmeter/experiment-journal/1";

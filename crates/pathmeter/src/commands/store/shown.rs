//! A kept run as a document that can be printed.

use super::failed;
use engine::error::Result;
use insight::run_of_events;
use model::dut::DutReport;
use model::history::Measured;
use model::lab::LabReport;
use model::run::Run;
use report::document::Document;
use report::format::RunDocument;
use report::format::rfc2544::DeviceDocument;
use store::{Content, Store, Stored};

/// What is kept of a run.
#[derive(PartialEq)]
pub(crate) enum Shown {
    /// Of a path; of one that has not ended what was measured until then.
    Run(Box<Run>),
    /// Of devices.
    Device(Box<DutReport>),
    /// Of topologies.
    Lab(Box<LabReport>),
}

/// A run of the store.
///
/// # Errors
/// There is none of this name, or it cannot be read.
pub(crate) fn shown(store: &Store, id: &str) -> Result<Shown> {
    let Stored { entry, content } = store.get(id).map_err(failed)?;
    Ok(Shown::of(&entry.id, &entry.kind, content))
}

impl Shown {
    pub(super) fn of(id: &str, kind: &str, content: Content) -> Shown {
        match content {
            Content::Run(run) => Shown::Run(run),
            Content::Device(report) => Shown::Device(report),
            Content::Lab(report) => Shown::Lab(report),
            Content::Events(events) => Shown::Run(Box::new(run_of_events(id, kind, &events))),
        }
    }

    /// The run, where it is one of a path.
    pub(crate) fn run(&self) -> Option<&Run> {
        match self {
            Shown::Run(run) => Some(run),
            Shown::Device(_) | Shown::Lab(_) => None,
        }
    }

    pub(crate) fn document(&self) -> Box<dyn Document + '_> {
        match self {
            Shown::Run(run) => Box::new(RunDocument { run, shown: false }),
            Shown::Device(report) => Box::new(DeviceDocument { report }),
            Shown::Lab(report) => Box::new(LabReport::clone(report)),
        }
    }

    /// As it is exported: a line of JSON.
    pub(super) fn measured(&self) -> Measured<'_> {
        match self {
            Shown::Run(run) => Measured::Run(run),
            Shown::Device(report) => Measured::Device(report),
            Shown::Lab(report) => Measured::Lab(report),
        }
    }
}

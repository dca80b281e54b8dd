//! A document that was kept, read again.

use super::Measured;
use crate::dut::{self, DutReport};
use crate::lab::{self, LabReport};
use crate::run::Run;
use serde_json::Value;

/// A measured document, of any schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// A path, schema `pathmeter/result/1`.
    Run(Box<Run>),
    /// Devices, schema `pathmeter/rfc2544/1`.
    Device(Box<DutReport>),
    /// Topologies, schema `pathmeter/lab/1`.
    Lab(Box<LabReport>),
}

impl Kept {
    /// Reads a document of this schema; one of a schema that is not named here is taken for a path's.
    ///
    /// # Errors
    /// It is not one.
    pub fn read(schema: &str, document: Value) -> serde_json::Result<Kept> {
        Ok(match schema {
            dut::SCHEMA => Kept::Device(serde_json::from_value(document)?),
            lab::SCHEMA => Kept::Lab(serde_json::from_value(document)?),
            _ => Kept::Run(Box::new(Run::read(document)?)),
        })
    }

    /// The document, to be kept or written.
    #[must_use]
    pub fn measured(&self) -> Measured<'_> {
        match self {
            Kept::Run(run) => Measured::Run(run),
            Kept::Device(report) => Measured::Device(report),
            Kept::Lab(report) => Measured::Lab(report),
        }
    }

    /// The run, where it is one of a path.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        let Kept::Run(run) = self else { return None };
        Some(run)
    }
}

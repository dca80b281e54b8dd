//! From the text of a file to a checked topology.

use super::error::{Faults, TopologyError};
use super::{Topology, check, file};
use std::cell::RefCell;
use toml::de::DeTable;

impl Topology {
    /// Reads a topology file. `file` is its name, or the path to it: it stands before each fault, and its last part
    /// without `.toml` is the name of the topology.
    ///
    /// # Errors
    /// Everything found wrong: what is no TOML first; then keys and values that cannot be read; then what does not fit
    /// together.
    pub fn parse(file: &str, text: &str) -> Result<Topology, TopologyError> {
        let faults = RefCell::new(Faults::default());
        let (document, wrong) = DeTable::parse_recoverable(text);
        for error in wrong {
            faults.borrow_mut().add(&error.span().unwrap_or(0..0), error.message());
        }
        if !faults.borrow().is_empty() {
            faults.take().into_result(file, text)?;
        }
        let base = file.rsplit('/').next().unwrap_or(file);
        let mut topology = file::read(base.strip_suffix(".toml").unwrap_or(base), &document, &faults);
        if faults.borrow().is_empty() {
            faults.replace(check::check(&mut topology, &document));
        }
        faults.take().into_result(file, text)?;
        Ok(topology)
    }
}

//! From the text of a file to a checked topology.

use super::{Topology, TopologyError, check, file};
use model::toml_file;

impl Topology {
    /// Reads a topology file. `file` is its name, or the path to it: it stands before each fault, and its last part
    /// without `.toml` is the name of the topology.
    ///
    /// # Errors
    /// Everything found wrong: what is no TOML first; then keys and values that cannot be read; then what does not fit
    /// together.
    pub fn parse(file: &str, text: &str) -> Result<Topology, TopologyError> {
        let base = file.rsplit('/').next().unwrap_or(file);
        toml_file::parse(file, text, |document, faults| {
            let mut topology = file::read(base.strip_suffix(".toml").unwrap_or(base), document, faults);
            if faults.borrow().is_empty() {
                faults.replace(check::check(&mut topology, document));
            }
            topology
        })
    }
}

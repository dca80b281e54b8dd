//! `--capture NODE:DEVICE`: what crosses one interface of the topology while it is measured, as pcapng.

use super::{Planned, Request};
use engine::error::{Failure, Result};
use lab::topology::End;
use std::path::PathBuf;

/// The capture.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    pub(crate) end: End,
    pub(crate) file: PathBuf,
}

impl Tap {
    /// The capture that the command line requests, when it fits the topology.
    ///
    /// # Errors
    /// With several topologies, or without such a node.
    pub(super) fn from_request(asked: &Request, variants: &[Planned]) -> Result<Option<Tap>> {
        let Some((place, file)) = &asked.capture else { return Ok(None) };
        let [planned] = variants else {
            let message = "--capture takes one topology: its interface is in that one alone";
            return Err(Failure::usage(message, "run them one after another").into());
        };
        let topology = &planned.topology;
        let Some((name, device)) = place.split_once(':') else {
            let message = format!("--capture {place}: it names no interface");
            return Err(Failure::usage(message, "write NODE:DEVICE, such as router:far").into());
        };
        let Some(node) = topology.node(name) else {
            let names: Vec<&str> = topology.nodes.iter().map(|node| node.name.as_str()).collect();
            let message = format!("--capture {place}: {} has no node {name}", topology.name);
            return Err(Failure::usage(message, format!("there is {}", names.join(", "))).into());
        };
        Ok(Some(Tap { end: node.end(device), file: file.clone() }))
    }
}

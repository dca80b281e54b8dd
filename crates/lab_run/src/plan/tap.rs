//! `--capture NODE:DEVICE`: what crosses one interface of the topology while it is measured, as pcapng.

use super::{Planned, Request};
use engine::error::{Failure, Result};
use std::path::PathBuf;

/// The capture.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    pub(crate) node: String,
    pub(crate) device: String,
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
        let names = || topology.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        match place.split_once(':') {
            Some((node, device)) if topology.nodes.iter().any(|one| one.name == node) => {
                Ok(Some(Tap { node: node.into(), device: device.into(), file: file.clone() }))
            }
            Some((node, _)) => {
                let message = format!("--capture {place}: {} has no node {node}", topology.name);
                Err(Failure::usage(message, format!("there is {}", names())).into())
            }
            None => {
                let message = format!("--capture {place}: it names no interface");
                Err(Failure::usage(message, "write NODE:DEVICE, such as router:far").into())
            }
        }
    }
}

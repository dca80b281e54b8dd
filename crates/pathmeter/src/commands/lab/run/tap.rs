//! `--capture NODE:DEVICE`: what crosses one interface of the topology while it is measured, as pcapng.

use super::plan::Plan;
use super::site::Site;
use crate::cli::LabRunArgs;
use engine::capture::{self, Capture, CaptureOptions};
use engine::error::Failure;
use std::path::PathBuf;

/// What is to be captured.
pub(super) struct Tap {
    node: String,
    device: String,
    file: PathBuf,
}

impl Tap {
    /// What the command line asks for, when it fits the topology.
    ///
    /// # Errors
    /// With several topologies, or without such a node.
    pub(super) fn of(args: &LabRunArgs, plan: &Plan) -> anyhow::Result<Option<Tap>> {
        let (Some(place), Some(file)) = (&args.capture, &args.pcap) else { return Ok(None) };
        let [planned] = plan.variants.as_slice() else {
            let said = "--capture takes one topology: its interface is in that one alone";
            return Err(Failure::usage(said, "run them one after another").into());
        };
        let topology = &planned.topology;
        let names = || topology.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        match place.split_once(':') {
            Some((node, device)) if topology.nodes.iter().any(|one| one.name == node) => {
                Ok(Some(Tap { node: node.into(), device: device.into(), file: file.clone() }))
            }
            Some((node, _)) => {
                let said = format!("--capture {place}: {} has no node {node}", topology.name);
                Err(Failure::usage(said, format!("there is {}", names())).into())
            }
            None => {
                let said = format!("--capture {place}: it names no interface");
                Err(Failure::usage(said, "write NODE:DEVICE, such as router:far").into())
            }
        }
    }

    /// Begins to capture.
    ///
    /// # Errors
    /// When the node is no namespace of this host, has no such interface, or the file cannot be made.
    pub(super) fn start(&self, site: &Site, peer: std::net::IpAddr) -> anyhow::Result<Option<Capture>> {
        let Some(lab) = &site.lab else { return Ok(None) };
        let Some(namespace) = lab.node(&self.node)?.namespace() else {
            let said = format!("--capture {}:{}: it is inside a virtual machine", self.node, self.device);
            return Err(Failure::usage(said, "capture at the other end of its link").into());
        };
        let options = CaptureOptions {
            count: false,
            pcap: Some(self.file.clone()),
            split: false,
            interface: Some(self.device.clone()),
            snap: None,
        };
        let captured = namespace.run(|| capture::start(&options, peer))??;
        match captured.as_ref().and_then(Capture::refusal) {
            Some(refused) => anyhow::bail!("{refused}"),
            None => Ok(captured),
        }
    }
}

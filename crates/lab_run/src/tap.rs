//! The capture of a run, at one interface of the topology.

use super::plan::Tap;
use super::testbed::Testbed;
use engine::error::{Failure, Result, fault};
use engine::host::capture::{self, Capture, CaptureOptions};

/// Begins to capture.
///
/// # Errors
/// When the node is no namespace of this host, has no such interface, or the file cannot be made.
pub(super) fn start(tap: &Tap, testbed: &Testbed, peer: std::net::IpAddr) -> Result<Option<Capture>> {
    let Some(lab) = &testbed.lab else { return Ok(None) };
    let Some(namespace) = lab.node(&tap.end.node)?.namespace() else {
        let message = format!("--capture {}: it is inside a virtual machine", tap.end);
        return Err(Failure::usage(message, "capture at the other end of its link").into());
    };
    let options = CaptureOptions {
        pcap: Some(tap.file.clone()),
        interface: Some(tap.end.device.clone()),
        ..CaptureOptions::default()
    };
    let captured = namespace.run(|| capture::start(&options, peer))??;
    match captured.as_ref().and_then(Capture::refusal) {
        Some(refused) => Err(fault(refused.to_string())),
        None => Ok(captured),
    }
}

//! What a row of a table begins with: the frames, and the IP version where there are several.

use model::dut::{DeviceReport, Stream, StreamReport};
use model::framing::Network;

/// The IP version, where the device was tested with both.
pub(super) fn network(device: &DeviceReport, stream: &Stream) -> Option<Network> {
    let differs = |row: &StreamReport| row.stream.network != stream.network;
    device.rows.iter().any(differs).then_some(stream.network)
}

/// The frames and, where it is not the same for all, the IP version: what a row of a table begins with.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) frame: String,
    pub(super) network: Option<Network>,
}

impl Head {
    pub(super) fn from_row(device: &DeviceReport, row: &StreamReport) -> Head {
        Head { frame: row.stream.frames.name.clone(), network: network(device, &row.stream) }
    }

    pub(super) fn frame(&self) -> Option<String> {
        Some(self.frame.clone())
    }

    pub(super) fn network(&self) -> Option<String> {
        self.network.map(|network| network.to_string())
    }
}

/// `64-byte frames`, `imix frames`, with the IP version where the device was tested with both.
pub(super) fn frames(device: &DeviceReport, stream: &Stream) -> String {
    let version = network(device, stream).map(|network| format!("{network} ")).unwrap_or_default();
    let bytes = if stream.frames.is_mix() { " " } else { "-byte " };
    format!("{}{bytes}{version}frames", stream.frames.name)
}

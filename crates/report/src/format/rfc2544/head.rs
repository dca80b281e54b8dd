//! The tables of a device, in order.

use super::{bursts, compared, hops, latency, loss, rates, service};
use crate::document::Table;
use model::dut::{DeviceReport, DutReport, Setup, Stream, StreamReport};
use model::framing::Network;

/// Every table that has rows.
pub(super) fn section_tables(device: &DeviceReport, setup: &Setup) -> Vec<Table> {
    let parts = [
        rates::throughput(device),
        rates::csit(device),
        latency::over_load(device),
        latency::at_throughput(device),
        latency::variation(device),
    ];
    let more = [bursts::back_to_back(device), bursts::recovery(device), bursts::reset(device)];
    let last = [service::steps(device, setup), hops::drops(device)];
    parts
        .into_iter()
        .flatten()
        .chain(loss::steps(device))
        .chain(more.into_iter().chain(last).flatten())
        .collect()
}

/// A table for each comparison.
pub(super) fn comparisons(report: &DutReport) -> impl Iterator<Item = Table> {
    report.comparisons.iter().filter_map(compared::table)
}

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

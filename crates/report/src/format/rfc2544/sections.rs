//! The tables of a device, in order.

use super::rates;
use crate::format::table::Section;
use model::dut::{DeviceReport, DutReport, Setup};

/// Every table that has rows.
pub(super) fn of(device: &DeviceReport, setup: &Setup) -> Vec<Section> {
    [rates::throughput(device, setup), rates::csit(device, setup)].into_iter().flatten().collect()
}

/// What is said below a table.
pub(super) fn below(_section: &Section, _device: &DeviceReport) -> Vec<String> {
    Vec::new()
}

/// Comparisons, each with its title.
pub(super) fn compared(_report: &DutReport) -> Vec<(String, Section)> {
    Vec::new()
}

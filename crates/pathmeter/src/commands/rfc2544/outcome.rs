//! The result of a benchmark written down, and the exit code it ends with.

use crate::cli::Common;
use crate::commands::output::write;
use crate::commands::session::broken;
use crate::exit::Exit;
use model::dut::{DeviceReport, DutReport};
use model::finding::Status;
use report::expect::{Checked, DeviceExpectation};
use report::format::rfc2544::DeviceDocument;

/// Writes the result, and says which expectations do not hold.
pub(super) fn conclude(
    report: &DutReport,
    expected: &[DeviceExpectation],
    global: &Common,
) -> anyhow::Result<Exit> {
    let checked: Vec<Checked> = expected.iter().map(|expectation| expectation.check(report)).collect();
    write(&[&DeviceDocument { report, checked: &checked }], global)?;
    Ok(exit(report, !broken(&checked)))
}

/// Nothing can be trusted of a void result; a promise of a service that is not kept is an expectation broken.
fn exit(report: &DutReport, held: bool) -> Exit {
    let is_void = |device: &DeviceReport| device.verdict.status == Status::Void;
    let forwards_nothing =
        |device: &DeviceReport| device.findings.iter().any(|finding| finding.id == "no-forwarding");
    let kept =
        report.devices.iter().filter_map(|device| device.service.as_ref()).all(|service| service.passed);
    match () {
        () if report.devices.iter().all(forwards_nothing) => Exit::Unreachable,
        () if report.devices.iter().all(is_void) => Exit::Void,
        () if !held || !kept => Exit::ExpectationBroken,
        () => Exit::Done,
    }
}

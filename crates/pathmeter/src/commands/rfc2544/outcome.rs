//! The result of a benchmark written down, and the exit code it ends with.

use crate::commands::output::write;
use crate::commands::session::broken;
use crate::exit::Exit;
use cli::Common;
use engine::error::Result;
use model::dut::{DeviceReport, DutReport, RateChange};
use model::finding::Status;
use model::units::PacketRate;
use report::expect::DeviceExpectation;
use std::io::Write;

/// Writes the result, and prints which expectations do not hold.
pub(super) fn conclude(
    report: &mut DutReport,
    expected: &[DeviceExpectation],
    has_reference: bool,
    global: &Common,
) -> Result<Exit> {
    report.expectations = expected.iter().map(|expectation| expectation.check(report)).collect();
    write(&[&*report], global)?;
    let slower = if has_reference { regressions(report) } else { Vec::new() };
    for line in &slower {
        let _ = writeln!(std::io::stderr(), "regression: {line}");
    }
    Ok(match exit(report, !broken(&report.expectations)) {
        Exit::Done if !slower.is_empty() => Exit::Regression,
        exit => exit,
    })
}

/// The rates that are lower than in the result of `--against`, a line each.
fn regressions(report: &DutReport) -> Vec<String> {
    let rows = report.comparisons.iter().flat_map(|comparison| &comparison.rows);
    let line = |row: &RateChange| {
        let [was, is] = [row.reference, row.compared].map(|rates| PacketRate(rates.mean.round() as u64));
        let percent = row.change.map_or(0.0, |change| change.percent);
        format!("{} of {} bytes: {is}, which was {was} ({percent:.1} %)", row.figure, row.stream.frames.name)
    };
    rows.filter(|row| row.is_regression()).map(line).collect()
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

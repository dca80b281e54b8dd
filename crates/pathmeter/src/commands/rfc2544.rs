//! `pathmeter rfc2544`: a device between two ports, or in a topology of the lab, benchmarked.

mod fit;
mod measure;
mod outcome;
mod plan;
mod progress;

use super::chart;
use super::session::{parse_expectations, security};
use crate::cli::{Common, Rfc2544Args};
use crate::exit::Exit;
use crate::planner;
use crate::signals;
use anyhow::Context;
use engine::error::Failure;
use lab::privilege::{Unprivileged, gain_and_enclose};
use model::dut::{DutReport, compare_devices, compare_with};
use report::format::rfc2544 as format;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Rfc2544Args, global: &Common) -> anyhow::Result<Exit> {
    chart::check(&args.chart)?;
    let expected = parse_expectations(&args.session.expect, EXAMPLE)?;
    let reference = args.against.as_deref().map(reference).transpose()?;
    let security = security(&args.session)?;
    let benchmark = planner::rfc2544(args, &security)?;
    if args.session.dry_run {
        return plan::print(&benchmark, global);
    }
    if !args.lab.is_empty() {
        // Before any thread is started: an ordinary user's process moves into a user namespace here.
        gain_and_enclose().map_err(|refused| Failure::usage(refused.to_string(), Unprivileged::ADVICE))?;
    }
    let interrupt = signals::interrupt()?;
    progress::say(plan::text(&benchmark).trim_end());
    let (mut report, broke) = measure::measure(&benchmark, &interrupt)?;
    report.comparisons = match &reference {
        Some(reference) => compare_with(reference, &report),
        None => compare_devices(&report),
    };
    if reference.is_some() && report.comparisons.is_empty() {
        report.notes.push("The result of --against has none of these devices: nothing is compared.".into());
    }
    let exit = outcome::conclude(&report, &expected, reference.is_some(), global)?;
    chart::write(&args.chart, || format::chart(&report).svg())?;
    // What broke it is told below what was measured.
    broke.filter(|_| !interrupt.is_raised()).map_or(Ok(exit), Err)
}

/// The result to compare with, read before anything is measured.
fn reference(file: &Path) -> anyhow::Result<DutReport> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let read = format::read(&text).map_err(|error| {
        let advice = "give the file that `pathmeter rfc2544 --json -o FILE` wrote";
        Failure::usage(format!("--against {}: {error}", file.display()), advice)
    });
    Ok(read?)
}

const EXAMPLE: &str = "--expect '64.throughput>=1Mpps'";

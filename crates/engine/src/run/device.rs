//! The devices one after the other: each order carried out, and what was observed put together.

use super::fit::fit;
use super::plan::most;
use super::progress::Live;
use crate::exit::Exit;
use crate::planner::Benchmark;
use engine::dut::bench::{Bench, BenchOptions};
use engine::error::too_early;
use engine::error::{Failure, sentence};
use engine::host;
use engine::interrupt::Interrupt;
use engine::run::run_id;
use insight::device::conclude;
use linux::clock::wall_now;
use model::dut::{Action, DeviceReport, DutReport, SCHEMA, Setup, SetupError, Suite, Test};
use model::units::Nanos;

/// Measures every device. What breaks one is told with its result, and ends it; the others are measured all the same.
///
/// # Errors
/// The only device could not be tested at all, or the user stopped it before anything was measured.
pub(super) fn measure(
    benchmark: &Benchmark,
    interrupt: &Interrupt,
) -> anyhow::Result<(DutReport, Option<anyhow::Error>)> {
    let started = wall_now();
    let mut tested = Vec::new();
    let mut broke = None;
    let each = Nanos(most(benchmark).0 / benchmark.benches.len().max(1) as u64);
    for (number, options) in benchmark.benches.iter().enumerate() {
        if interrupt.is_raised() {
            break;
        }
        let later = each.saturating_mul((benchmark.benches.len() - number - 1) as u64);
        let (device, setup, error) = one(options, &benchmark.setup, later, interrupt);
        if device.rows.is_empty() && benchmark.benches.len() == 1 {
            return Err(error.unwrap_or_else(|| too_early().into()));
        }
        broke = broke.or(error);
        tested.push((device, setup));
    }
    // What the ports say of the link is the setup's where there is one device only.
    let setup = match tested.as_slice() {
        [(_, setup)] => Setup { streams: benchmark.setup.streams.clone(), ..setup.clone() },
        _ => benchmark.setup.clone(),
    };
    let report = DutReport {
        schema: SCHEMA.to_owned(),
        id: run_id()?,
        started: Some(started),
        finished: Some(wall_now()),
        host: Some(host::describe(None)),
        setup,
        devices: tested.into_iter().map(|(device, _)| device).collect(),
        comparisons: Vec::new(),
        notes: benchmark.notes.clone(),
    };
    Ok((report, broke))
}

/// One device, with its own setup. `later`: what the devices after it take at most.
fn one(
    options: &BenchOptions,
    asked: &Setup,
    later: Nanos,
    interrupt: &Interrupt,
) -> (DeviceReport, Setup, Option<anyhow::Error>) {
    let (name, title) = (options.device.name(), options.device.title());
    let mut report = DeviceReport { name, title, ..DeviceReport::default() };
    let mut setup = asked.clone();
    let result = run(options, &mut setup, later, interrupt, &mut report);
    let error = result.err().filter(|_| !interrupt.is_raised());
    if let Some(error) = &error {
        match report.rows.is_empty() {
            true => report.unavailable = Some(sentence(error)),
            false => report.notes.push(format!("It broke off: {}.", sentence(error))),
        }
    } else if interrupt.is_raised() {
        report.notes.push("Stopped before all was measured.".into());
    }
    conclude(&mut report, &setup);
    (report, setup, error)
}

/// Fills in the report as far as it comes, and in the setup what the ports say of the link.
fn run(
    options: &BenchOptions,
    setup: &mut Setup,
    later: Nanos,
    interrupt: &Interrupt,
    report: &mut DeviceReport,
) -> anyhow::Result<()> {
    let mut bench = Bench::open(options, &interrupt.stop())?;
    let mut known = DeviceReport::default();
    bench.describe(&mut known);
    report.ports = known.ports;
    *setup = fit(setup, report, options.vlan.is_some());
    let refused = |error: SetupError| Failure::usage(error.to_string(), report.notes.join(" "));
    let mut suite = Suite::new(setup).map_err(refused)?;
    let ended = conduct(&mut suite, &mut bench, later, interrupt, &report.name);
    (report.rows, report.service) = suite.finish();
    bench.describe(report);
    ended
}

/// Carries out order after order. A test that cannot be done is left out of the result, with the reason; the first such
/// reason is told where nothing else was measured either.
fn conduct(
    suite: &mut Suite,
    bench: &mut Bench,
    later: Nanos,
    interrupt: &Interrupt,
    name: &str,
) -> anyhow::Result<()> {
    let mut live = Live::new(name);
    let (mut failed, mut measured) = (None, false);
    while let Some(order) = suite.order().filter(|_| !interrupt.is_raised()) {
        let progress = suite.progress();
        live.tell(&progress, suite.left().saturating_add(later));
        let impossible = bench.no_reset().filter(|_| order.test == Test::Reset);
        if let Some(why) = impossible {
            suite.leave_out(why);
            continue;
        }
        match bench.execute(&order) {
            Ok(observation) => {
                measured = true;
                suite.take(&observation);
            }
            // One test or stream may fail where others do not.
            Err(error) if is_of_one(&error, &order.action) && !interrupt.is_raised() => {
                suite.leave_out(&sentence(&error));
                live.say(&format!("{}, {}: {}", progress.stream, progress.test, sentence(&error)));
                failed.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    failed.filter(|_| !measured).map_or(Ok(()), Err)
}

/// Whether an error is of this order alone: the host spoilt its trials, or no frame of this stream comes through.
fn is_of_one(error: &anyhow::Error, action: &Action) -> bool {
    match Exit::of(error) {
        Exit::Void => true,
        Exit::Unreachable => matches!(action, Action::Flood(_)),
        _ => false,
    }
}

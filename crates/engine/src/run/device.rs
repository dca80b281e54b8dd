//! Devices benchmarked one after the other: each order carried out, and what was observed put together.

mod fit;
mod journal;

pub use journal::Journal;

use super::{Ended, Options, run_id};
use crate::error::{Error, Failure, Kind, Result, sentence, too_early};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::work::dut::bench::{Bench, BenchOptions};
use fit::fit;
use insight::device::conclude;
use journal::{Came, Entry};
use linux::clock::wall_now;
use model::dut::{
    Action, BenchRequest, BenchmarkPlan, DeviceReport, DutReport, SCHEMA, Setup, SetupError, Suite, Test,
};
use model::event::{DeviceProgress, Event};
use model::history::Kept;
use model::scale;
use model::units::Nanos;
use serde::{Serialize, Serializer};
use std::sync::{MutexGuard, PoisonError};

/// A benchmark of devices.
#[derive(Clone, Debug)]
pub struct DevicePlan {
    /// The tests of every device.
    pub setup: Setup,
    /// The devices, one after the other.
    pub benches: Vec<BenchOptions>,
    /// Differences from the request, as text.
    pub notes: Vec<String>,
}

impl DevicePlan {
    /// How long all devices take at most, but for trials that this host spoils, which are repeated.
    pub fn most(&self) -> Nanos {
        self.setup.plan().most().saturating_mul(self.benches.len() as u64)
    }
}

/// The form of the plan that is printed before anything is done.
impl Serialize for DevicePlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = BenchmarkPlan {
            devices: self.benches.iter().map(|bench| bench.device.name()).collect(),
            setup: self.setup.clone(),
            plan: self.setup.plan(),
            most: self.most(),
            notes: self.notes.clone(),
        };
        plan.serialize(serializer)
    }
}

/// Measures every device. An error ends the device's tests and is reported with its result; the others are measured all the
/// same.
///
/// # Errors
/// The only device could not be tested at all, or the user stopped it before anything was measured.
pub(super) fn run(plan: &DevicePlan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Ended> {
    let interrupt = &options.stop;
    let started = wall_now();
    let mut tested = Vec::new();
    let mut broke = None;
    let each = Nanos(plan.most().0 / plan.benches.len().max(1) as u64);
    for (number, bench) in plan.benches.iter().enumerate() {
        if interrupt.is_raised() {
            break;
        }
        let later = each.saturating_mul((plan.benches.len() - number - 1) as u64);
        let bench = BenchOptions { security: options.security.clone(), ..bench.clone() };
        let (device, setup, error) = benchmark_device(&bench, &plan.setup, later, options, sink);
        if device.rows.is_empty() && plan.benches.len() == 1 {
            return Err(error.unwrap_or_else(|| too_early().into()));
        }
        broke = broke.or(error);
        tested.push((device, setup));
    }
    // The ports' facts of the link are part of the setup where there is one device only.
    let setup = match tested.as_slice() {
        [(_, setup)] => Setup { streams: plan.setup.streams.clone(), ..setup.clone() },
        _ => plan.setup.clone(),
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
        notes: plan.notes.clone(),
        expectations: Vec::new(),
    };
    let error = broke.filter(|_| !interrupt.is_raised());
    Ok(Ended { document: Kept::Device(Box::new(report)), error })
}

/// One device, with its own setup. `later`: what the devices after it take at most.
fn benchmark_device(
    bench: &BenchOptions,
    asked: &Setup,
    later: Nanos,
    options: &Options,
    sink: &mut dyn FnMut(&Event),
) -> (DeviceReport, Setup, Option<Error>) {
    let (name, title, interrupt) = (bench.device.name(), bench.device.title(), &options.stop);
    let mut report = DeviceReport { name, title, ..DeviceReport::default() };
    let mut setup = asked.clone();
    let journal =
        options.journal.as_ref().map(|journal| journal.lock().unwrap_or_else(PoisonError::into_inner));
    let job = DeviceJob { later, interrupt, journal, name: report.name.clone(), sink };
    let result = job.run(bench, &mut setup, &mut report);
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

/// The tests of one device.
struct DeviceJob<'a> {
    name: String,
    /// The longest time of the devices after it.
    later: Nanos,
    interrupt: &'a Interrupt,
    journal: Option<MutexGuard<'a, Journal>>,
    sink: &'a mut dyn FnMut(&Event),
}

impl DeviceJob<'_> {
    /// Fills in the report as far as it comes, and in the setup what the ports say of the link.
    fn run(mut self, options: &BenchOptions, setup: &mut Setup, report: &mut DeviceReport) -> Result<()> {
        let mut bench = Bench::open(options, &self.interrupt.stop())?;
        let mut known = DeviceReport::default();
        bench.describe(&mut known);
        report.ports = known.ports;
        *setup = fit(setup, report, options.vlan.is_some());
        let refused = |error: SetupError| Failure::usage(error.to_string(), report.notes.join(" "));
        let mut suite = Suite::new(setup).map_err(refused)?;
        let known = self.journal.as_ref().map_or(0, |journal| journal.known());
        let ended = self.conduct(&mut suite, &mut bench);
        if let Some(stream) = setup.streams.first().filter(|_| ended.is_ok()) {
            bench.measure_alone(stream);
        }
        if known > 0 {
            report.notes.push("Part of it was measured by a run that was cut off: see --resume.".into());
        }
        (report.rows, report.service) = suite.finish();
        bench.describe(report);
        ended
    }

    /// Carries out order after order. A test that cannot be done is left out of the result, with the reason; the first such
    /// reason is the error where nothing else was measured either.
    fn conduct(&mut self, suite: &mut Suite, bench: &mut Bench) -> Result<()> {
        let (mut failed, mut measured) = (None, false);
        let mut kept = 0_u64;
        while let Some(order) = suite.next_request().filter(|_| !self.interrupt.is_raised()) {
            let progress = suite.progress();
            let (stream, test) = (progress.stream.clone(), progress.test);
            let left = with_repeats(suite.left().saturating_add(self.later), kept, bench.voided());
            let device = self.name.clone();
            (self.sink)(&Event::DeviceProgress(Box::new(DeviceProgress { device, progress, left })));
            let impossible = bench.no_reset().filter(|_| order.test == Test::Reset);
            if let Some(why) = impossible {
                suite.leave_out(why);
                continue;
            }
            if let Some(entry) = self.recall(&order)? {
                measured |= recalled(suite, bench, &entry);
                continue;
            }
            let voided = bench.voided();
            match bench.execute(&order) {
                Ok(observation) => {
                    measured = true;
                    kept += 1;
                    suite.take(&observation);
                    self.write_down(&order, Came::Observed(observation), bench.voided() - voided);
                }
                // One test or stream may fail where others do not.
                Err(error) if is_of_one(&error, &order.action) && !self.interrupt.is_raised() => {
                    suite.leave_out(&sentence(&error));
                    self.write_down(&order, Came::LeftOut(sentence(&error)), bench.voided() - voided);
                    let doing = format!("{}: {stream}, {test}: {}", self.name, sentence(&error));
                    (self.sink)(&Event::progress(doing));
                    failed.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        failed.filter(|_| !measured).map_or(Ok(()), Err)
    }

    /// The result of this order in a run that was cut off.
    fn recall(&mut self, order: &BenchRequest) -> Result<Option<Entry>> {
        self.journal.as_mut().map_or(Ok(None), |journal| journal::recall(journal, &self.name, order))
    }

    /// Writes down what came of it. A journal that cannot be written costs no result.
    fn write_down(&mut self, order: &BenchRequest, came: Came, voided: u64) {
        let Some(journal) = &mut self.journal else { return };
        let entry = Entry { device: self.name.clone(), order: order.clone(), came, voided };
        if let Some(error) = journal.write(&entry) {
            let doing = format!("{}; a run that is cut off begins anew", sentence(&error));
            (self.sink)(&Event::progress(doing));
        }
    }
}

/// Takes the earlier result of an order; returns whether it was measured.
fn recalled(suite: &mut Suite, bench: &mut Bench, entry: &Entry) -> bool {
    match &entry.came {
        Came::Observed(observation) => {
            bench.recall(&entry.order, observation, entry.voided);
            suite.take(observation);
            true
        }
        Came::LeftOut(why) => {
            suite.leave_out(why);
            false
        }
    }
}

/// The remaining time, if the same share of trials is repeated as before.
fn with_repeats(left: Nanos, kept: u64, voided: u64) -> Nanos {
    if kept == 0 {
        return left;
    }
    Nanos(scale(left.0, kept + voided, kept))
}

/// Whether an error is of this order alone: the host spoilt its trials, or no frame of this stream comes through.
fn is_of_one(error: &Error, action: &Action) -> bool {
    match error.kind() {
        Kind::Void => true,
        Kind::Unreachable => matches!(action, Action::Flood(_)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_trials_make_the_rest_longer() {
        let minute = Nanos::from_secs(60);
        assert_eq!(with_repeats(minute, 0, 9), minute, "nothing is known yet");
        assert_eq!(with_repeats(minute, 50, 0), minute);
        assert_eq!(with_repeats(minute, 50, 100), Nanos::from_secs(180));
        assert_eq!(with_repeats(Nanos::MAX, 1, 9), Nanos::MAX);
    }
}

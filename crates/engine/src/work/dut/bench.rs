//! The bench: a device between two ports, and orders carried out on it.

mod alone;
mod observe;
mod options;
mod pauses;
mod sides;
mod tester;
#[cfg(test)]
mod tests;
mod tools;
mod void;

pub use options::{BenchOptions, Device, SideOptions};

use super::connect;
use super::hops::Hops;
use super::reset::Reset;
use super::testbed::Testbed;
use crate::error::Result;
use frames::Stop;
use model::dut::{Action, BenchRequest, DeviceReport, Observation, Stream};
use tester::Tester;

/// A device between two ports, ready to be tested.
pub struct Bench {
    tester: Tester,
    reset: Reset,
    hops: Hops,
    /// Kept for as long as the device is needed; absent where it is not made here.
    testbed: Option<Testbed>,
    notes: Vec<String>,
    options: BenchOptions,
    stop: Stop,
}

impl Bench {
    /// Opens both ports, and builds the device where it is a topology. `stop` ends what is being sent.
    ///
    /// # Errors
    /// `Kind::Void` where the topology cannot be built or tested on this host: others may be. `Kind::Usage`
    /// for an interface or CPU that is not there, or a network that carries other traffic; `Kind::Unreachable` for a host
    /// that cannot be reached.
    pub fn open(options: &BenchOptions, stop: &Stop) -> Result<Bench> {
        let places = options.cpus.on_this_host(options.device.topology(), options.both_directions)?;
        let (testbed, connected) = match &options.device {
            Device::Ports(specs) => (None, connect::ports(specs, options, &places, stop)?),
            Device::Lab(topology) => {
                let testbed = Testbed::build(topology, &places)?;
                let connected = connect::ends(&testbed, options, &places, stop)?;
                (Some(testbed), connected)
            }
        };
        let hops = Hops::new(&options.device);
        let reset = Reset::new(&options.reset, testbed.as_ref())?;
        let tester = Tester::new(connected.ports, options, stop);
        Ok(Bench {
            tester,
            reset,
            hops,
            testbed,
            notes: connected.notes,
            options: options.clone(),
            stop: stop.clone(),
        })
    }

    /// Carries out an order, with the pauses of RFC 2544 section 23, and again where the host disturbed it.
    ///
    /// # Errors
    /// `Kind::Void` when the host disturbs it repeatedly, when the device cannot be reset, and when it was stopped;
    /// `Kind::Unreachable` when no frame comes through with any tool, or a port is lost.
    pub fn execute(&mut self, order: &BenchRequest) -> Result<Observation> {
        let before = self.hops.read(self.testbed.as_ref())?;
        let observation = self.tester.execute(order, &self.reset)?;
        self.hops.take(&before, self.testbed.as_ref(), order, &observation)?;
        if let (Action::Reset(_), Some(testbed)) = (order.action, &mut self.testbed) {
            testbed.settle()?;
        }
        Ok(observation)
    }

    /// Takes what came of an order in a run that was cut off.
    pub(crate) fn recall(&mut self, order: &BenchRequest, observation: &Observation, voided: u64) {
        self.tester.recall(order, observation, voided);
    }

    /// Adds the device, the generators and the places of dropped frames to a report. To be called when all else is in the
    /// report.
    pub fn describe(&self, report: &mut DeviceReport) {
        report.name = self.options.device.name();
        report.title = self.options.device.title();
        self.tester.describe(report);
        report.hops = self.hops.drops.clone();
        report.shares_cpu =
            self.testbed.as_ref().and_then(|testbed| testbed.shares_cpu).or(report.shares_cpu);
        for reset in report.rows.iter_mut().filter_map(|row| row.reset.as_mut()) {
            reset.how.clone_from(&self.reset.description);
        }
        let notes = self.testbed.iter().flat_map(|testbed| &testbed.notes).chain(&self.notes);
        report.notes.extend(notes.cloned());
    }

    /// Measures what the generator of a stream reaches without the device, where that is a lab's; where it cannot be measured the
    /// result has nothing of it.
    pub(crate) fn measure_alone(&mut self, stream: &Stream) {
        if let (Device::Lab(_), false) = (&self.options.device, self.stop.is_raised()) {
            self.tester.measure_alone(&self.options, stream);
        }
    }

    /// How many trials were thrown away so far, since the host interrupted the generator.
    pub fn voided(&self) -> u64 {
        self.tester.voided
    }

    /// Why the device cannot be reset; `None` where it can.
    pub fn no_reset(&self) -> Option<&str> {
        self.reset.impossible()
    }
}

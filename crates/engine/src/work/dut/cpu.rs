//! Which CPU sends, and on which one the device runs.
//!
//! A generator keeps its CPU busy between frames too. Other work on that CPU, be it another generator or the device's own,
//! slows it down: each therefore gets a CPU of its own as far as there are enough.

use crate::error::{Failure, Result};
use lab::topology::{Node, Topology};
use linux::cpu::affinity;

/// CPUs, as the user asks for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// CPUs of the generators: one for each port, or one for both; empty: chosen here.
    pub generators: Vec<u32>,
    /// CPU of the device, where it is a lab's; absent: chosen here.
    pub device: Option<u32>,
}

/// The CPUs of generators and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// The generator of each port.
    pub(crate) generators: [u32; 2],
    /// The device; absent: there is no CPU left for it.
    pub(crate) device: Option<u32>,
}

impl Cpus {
    /// Shares out the CPUs that this process may use: [`Cpus::places`]. A topology may name the CPUs of its device.
    ///
    /// # Errors
    /// Those of [`Cpus::places`].
    pub(crate) fn on_this_host(&self, lab: Option<&Topology>, both_directions: bool) -> Result<Places> {
        let available: Vec<u32> = affinity()?.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect();
        let named = lab.and_then(|topology| {
            let is_device = |node: &&Node| Some(&node.name) == topology.device_under_test.as_ref();
            topology.nodes.iter().find(is_device)?.cpus.first().copied()
        });
        let cpus = Cpus { device: self.device.or(named), ..self.clone() };
        Ok(cpus.places(&available, both_directions)?)
    }

    /// Assigns these CPUs. Without `both_directions`, the two generators never run at the same time and take turns on one.
    ///
    /// # Errors
    /// `Kind::Usage` when a requested CPU is not there.
    pub(crate) fn places(&self, available: &[u32], both_directions: bool) -> Result<Places, Failure> {
        let requested = self.generators.iter().chain(&self.device);
        if let Some(missing) = requested.into_iter().find(|cpu| !available.contains(cpu)) {
            let there: Vec<String> = available.iter().map(u32::to_string).collect();
            return Err(Failure::usage(
                format!("CPU {missing} is not there, or not open to this process"),
                format!("--cpus takes of these: {}", there.join(", ")),
            ));
        }
        let free = |taken: &[u32]| available.iter().copied().find(|cpu| !taken.contains(cpu));
        let usual = || free(self.device.as_slice()).or(available.first().copied());
        let first = self.generators.first().copied().or_else(usual).unwrap_or(0);
        let second = match self.generators.get(1) {
            Some(cpu) => *cpu,
            None if both_directions && self.generators.is_empty() => {
                let taken: Vec<u32> = self.device.into_iter().chain([first]).collect();
                free(&taken).unwrap_or(first)
            }
            None => first,
        };
        let device = self.device.or_else(|| free(&[first, second]));
        Ok(Places {
            generators: [first, second],
            device: device.filter(|cpu| ![first, second].contains(cpu)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(
        generators: &[u32],
        device: Option<u32>,
        available: u32,
        both: bool,
    ) -> ([u32; 2], Option<u32>) {
        let cpus = Cpus { generators: generators.to_vec(), device };
        let available: Vec<u32> = (0..available).collect();
        let places = cpus.places(&available, both).expect("they are there");
        (places.generators, places.device)
    }

    #[test]
    fn each_has_one_of_its_own_as_far_as_there_are_enough() {
        assert_eq!(places(&[], None, 1, true), ([0, 0], None));
        assert_eq!(places(&[], None, 2, false), ([0, 0], Some(1)));
        assert_eq!(places(&[], None, 2, true), ([0, 1], None));
        assert_eq!(places(&[], None, 4, true), ([0, 1], Some(2)));
        assert_eq!(places(&[], Some(0), 4, true), ([1, 2], Some(0)));
    }

    #[test]
    fn what_is_asked_for_is_done_or_refused() {
        assert_eq!(places(&[3], None, 4, true), ([3, 3], Some(0)));
        assert_eq!(places(&[3, 1], Some(1), 4, false), ([3, 1], None));
        let requested = Cpus { generators: vec![0, 9], device: None };
        let error = requested.places(&[0, 1], true).expect_err("there is no CPU 9");
        assert_eq!(error.message, "CPU 9 is not there, or not open to this process");
        assert_eq!(error.advice.as_deref(), Some("--cpus takes of these: 0, 1"));
    }
}

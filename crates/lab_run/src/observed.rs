//! Observations during a command: CPUs, drops, and the frames on shaped links.

use super::path::place;
use model::lab::{Drops, LabCpu, Repetition};
use model::limit::ObservedHost;
use model::plan::Direction;
use model::units::BitRate;

/// Observations during a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    pub(super) cpu: Option<LabCpu>,
    pub(super) drops: Vec<Drops>,
    /// Rate of the frames on the shaped links, up and down.
    pub(super) shaped: [Option<BitRate>; 2],
    /// The nodes between the ends, in the middle of a test.
    pub(super) nodes: Vec<ObservedHost>,
}

impl Observation {
    /// The observations as part of a repetition in one direction.
    pub(super) fn repetition(&self, number: u32, direction: Option<Direction>) -> Repetition {
        Repetition {
            number,
            cpu: self.cpu,
            drops: self.drops.clone(),
            shaped: direction.and_then(|direction| self.shaped[place(direction)]),
            ..Repetition::default()
        }
    }
}

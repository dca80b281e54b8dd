//! One test of one stream: what it does next, and what it has found.

use super::super::{Action, Observation, ServiceReport, StreamReport};
use std::fmt::Debug;

/// A running test.
pub(super) trait DeviceTest: Debug + Send {
    /// The next action; `None` when the test is over. The same until its observation is taken.
    fn action(&self) -> Option<Action>;

    /// Takes what came of it.
    ///
    /// # Errors
    /// Why the rest of this test cannot be done.
    fn take(&mut self, observation: &Observation) -> Result<(), String>;

    /// Writes what has been found so far; also in the middle.
    fn report(&self, row: &mut StreamReport, service: &mut Option<ServiceReport>);
}

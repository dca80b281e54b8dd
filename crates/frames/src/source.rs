//! Sending a burst of frames at a pace.

use super::Stop;
use linux::error::Result;
use model::dut::{Burst, Sent};

/// Sends test frames out of one interface.
pub trait Source: Send {
    /// Sends frames with sequence numbers from 0 on, and returns when all are sent, the time is over, or `stop` is raised. The
    /// calling thread keeps its CPU busy meanwhile, also between frames.
    ///
    /// # Errors
    /// The kernel's error. A full queue of the device is not one: the frame is retried.
    fn run(&mut self, burst: &Burst, stop: &Stop) -> Result<Sent>;
}

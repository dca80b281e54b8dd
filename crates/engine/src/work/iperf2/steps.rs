//! The kernel's pacing rate, raised in steps (`--fq-rate-step`).

use super::active_flow::ActiveFlow;
use crate::error::{Context, Result};
use crate::work::throughput::shared::FlowSocket;
use linux::options::set_max_pacing_rate;
use model::units::{BitRate, Nanos};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// Raises the rate of sockets in a thread of its own, until dropped.
pub(super) struct RateSteps {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RateSteps {
    /// From `start` on, by so much every so often.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(flows: &[ActiveFlow], start: BitRate, step: (BitRate, Nanos)) -> Result<RateSteps> {
        let sockets: Vec<FlowSocket> = flows.iter().map(|flow| flow.socket.clone()).collect();
        let (stop, stopped) = channel::<()>();
        let work = move || {
            let mut rate = start;
            while stopped.recv_timeout(step.1.to_duration()) == Err(RecvTimeoutError::Timeout) {
                rate = BitRate(rate.0.saturating_add(step.0.0));
                // A kernel that refuses it has refused the first rate before.
                sockets.iter().for_each(|socket| drop(set_max_pacing_rate(socket, rate)));
            }
        };
        let thread = std::thread::Builder::new().name("rate-steps".into()).stack_size(64 << 10);
        let thread = thread.spawn(work).context("start a thread")?;
        Ok(RateSteps { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for RateSteps {
    fn drop(&mut self) {
        self.stop.take();
        self.thread.take().map(JoinHandle::join);
    }
}

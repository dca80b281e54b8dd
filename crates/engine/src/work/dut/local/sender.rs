//! The thread that sends: in the port's namespace, on its CPU, ahead of other threads.

use crate::error::{Context, Error, Result, fault};
use frames::{Burst, FrameSpec, Sent, Source, Stop, open_source};
use linux::clock::mono_now;
use linux::namespace::Namespace;
use model::dut::SourceKind;
use model::time::MonoTime;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The frames to send, and their port.
#[derive(Debug)]
pub(super) struct SenderJob {
    pub(super) namespace: Arc<Namespace>,
    pub(super) interface: u32,
    pub(super) cpu: Option<u32>,
    pub(super) kind: SourceKind,
    pub(super) spec: FrameSpec,
    pub(super) burst: Burst,
}

/// A running burst, which ends on drop.
#[derive(Debug)]
pub(super) struct Sender {
    /// Stops this burst alone: the other port's goes on.
    stop: Stop,
    done: Receiver<linux::Result<Sent>>,
    /// By then it is over, or else not waited for any longer.
    latest: MonoTime,
    thread: Option<JoinHandle<()>>,
}

impl SenderJob {
    /// Starts the thread, and waits until it has all that it needs.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub(super) fn start(self) -> Result<Sender> {
        let (ready, opened) = sync_channel(1);
        let (finished, done) = sync_channel(1);
        let stop = Stop::default();
        let latest = mono_now() + Nanos(self.burst.time.0.min(FOREVER.0)) + GRACE;
        let watched = stop.clone();
        // Without a receiver the port is gone.
        let work = move || match self.open() {
            Ok(mut source) => {
                ready.send(Ok(())).ok();
                finished.send(source.run(&self.burst, &watched)).ok();
            }
            Err(error) => drop(ready.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("frames".into()).spawn(work);
        let mut sender =
            Sender { stop, done, latest, thread: Some(thread.context("start a thread that sends")?) };
        match opened.recv() {
            Ok(opened) => opened.map(|()| sender),
            Err(_) => Err(sender.fault()),
        }
    }

    fn open(&self) -> Result<Box<dyn Source>> {
        self.namespace.enter()?;
        if let Some(cpu) = self.cpu {
            linux::cpu::pin_current_thread(cpu as usize)?;
        }
        // Only a wish. With real-time priority a thread that never sleeps would shut out of its CPU whatever else needs it,
        // the device's own work included; this leaves a tenth.
        linux::cpu::set_nice(AHEAD).ok();
        Ok(open_source(self.kind, &self.spec, self.interface)?)
    }
}

impl Sender {
    /// Waits until all is sent, or ends it when `interrupt` is raised.
    ///
    /// # Errors
    /// The sending failed, or did not end.
    pub(super) fn finish(mut self, interrupt: &Stop) -> Result<Sent> {
        loop {
            match self.done.recv_timeout(STEP) {
                Ok(sent) => return Ok(sent?),
                Err(RecvTimeoutError::Disconnected) => return Err(self.fault()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if mono_now() >= self.latest {
                return Err(fault("the sending did not end in its time"));
            }
            if interrupt.is_raised() && !self.stop.is_raised() {
                self.stop.raise();
                self.latest = self.latest.min(mono_now() + TIMEOUT);
            }
        }
    }

    /// Why the thread ended without a result: it panicked.
    fn fault(&mut self) -> Error {
        let panic = self.thread.take().and_then(|thread| thread.join().err());
        let text = panic.as_ref().and_then(|panic| {
            let fixed = panic.downcast_ref::<&str>().copied();
            fixed.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        });
        fault(format!("the thread that sends broke down: {}", text.unwrap_or("it does not say why")))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.raise();
        // A thread that the kernel does not give back is left behind, rather than waited for without end.
        let ended = !matches!(self.done.recv_timeout(TIMEOUT.to_duration()), Err(RecvTimeoutError::Timeout));
        if let Some(thread) = self.thread.take().filter(|_| ended) {
            thread.join().ok();
        }
    }
}

/// Nine tenths of a CPU that one ordinary thread wants too (`sched(7)`: a factor of 1.25 for each step).
const AHEAD: i32 = -10;
const STEP: Duration = Duration::from_millis(20);
/// How long after its time a burst may end.
const GRACE: Nanos = Nanos::from_secs(30);
/// How long a burst that was stopped may take to end.
const TIMEOUT: Nanos = Nanos::from_secs(5);
/// No burst is longer: a year.
const FOREVER: Nanos = Nanos::from_secs(31_536_000);

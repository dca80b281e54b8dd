//! Drives one session: moves control bytes, keeps the time, has done what it asks for. Knows no protocol, and no kind of work.

use crate::error::Result;
use crate::host::interrupt::Interrupt;
use crate::session::link::Link;
use crate::session::listener::LEFT;
use crate::session::pump::{Pump, Step};
use crate::work::workers::{Setting, Workers};
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use model::time::MonoTime;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::{Input, ProtocolError, Session};

/// One session at work.
pub(crate) struct Driver<'a, S: Session + ?Sized> {
    session: &'a mut S,
    pump: Pump,
    workers: Workers<'a>,
    waker: Arc<Waker>,
    interrupt: Interrupt,
    leave: Arc<AtomicBool>,
    /// The interrupt has been told.
    interrupted: bool,
}

impl<'a, S: Session + ?Sized> Driver<'a, S> {
    /// Takes over an open control connection. `leave` is raised when a session that has no place yet is to make room for
    /// another client.
    pub(crate) fn new(
        session: &'a mut S,
        link: Link,
        setting: Setting<'a>,
        interrupt: &Interrupt,
        leave: Arc<AtomicBool>,
    ) -> Result<Driver<'a, S>> {
        let waker = Arc::new(Waker::new()?);
        interrupt.watch(&waker);
        let workers = Workers::new(setting, &link, &waker)?;
        let (pump, interrupt) = (Pump::new(link), interrupt.clone());
        Ok(Driver { session, pump, workers, waker, interrupt, leave, interrupted: false })
    }

    /// Runs the session to its end. Every event has been told when this returns.
    pub(crate) fn run(mut self) -> Result<(), ProtocolError> {
        let outcome = self.converse();
        // Before the client hears the end: then what it held is free for whoever comes next.
        self.workers.let_go();
        let workers = &mut self.workers;
        let last_words =
            outcome.is_err() && self.pump.say_last_words(self.session, |event| workers.tell(event));
        self.workers.rescue();
        self.pump.finish(last_words);
        self.workers.finish(&outcome, self.interrupted);
        outcome
    }

    fn converse(&mut self) -> Result<(), ProtocolError> {
        loop {
            let until = match self.pump.advance(self.session)? {
                Step::Over => return Ok(()),
                Step::Work(request) => {
                    self.workers.ask(request, self.pump.link.socket());
                    continue;
                }
                Step::Event(event) => {
                    self.workers.tell(event);
                    continue;
                }
                Step::Wait(until) => until,
            };
            if let Some(reply) = self.workers.reply() {
                self.session.input(mono_now(), Input::Work(reply))?;
                continue;
            }
            self.wait(until)?;
            self.look_around()?;
        }
    }

    fn wait(&mut self, until: Option<MonoTime>) -> Result<(), ProtocolError> {
        if self.pump.link.has_buffered() {
            return Ok(());
        }
        // One without a place may have to leave.
        let look = (!self.workers.has_place()).then(|| mono_now() + LEAVE_STEP);
        let deadline = [until, self.workers.due(), look].into_iter().flatten().min();
        let mut interests = vec![Interest::readable(&*self.waker)];
        interests.extend(self.pump.interest());
        self.workers.add_interests(&mut interests);
        wait(&mut interests, deadline).map_err(|e| ProtocolError::Stopped(format!("poll: {e}")))?;
        self.waker.drain();
        Ok(())
    }

    /// Tells the session everything that has happened.
    fn look_around(&mut self) -> Result<(), ProtocolError> {
        if !self.workers.has_place() && self.leave.load(Ordering::Relaxed) {
            return Err(ProtocolError::Stopped(LEFT.into()));
        }
        self.pump.hear(self.session)?;
        if self.interrupt.is_raised() && !self.interrupted {
            self.interrupted = true;
            self.session.input(mono_now(), Input::Interrupt("interrupted"))?;
        }
        self.workers.tick(mono_now());
        Ok(())
    }
}

/// Time between two looks whether a session without a place is to leave.
const LEAVE_STEP: Nanos = Nanos(250_000_000);

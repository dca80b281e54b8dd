//! Drives one session: moves control bytes where it has any, keeps the time, has done what it asks for. Knows no protocol, and
//! no kind of work.

use crate::error::Result;
use crate::host::interrupt::Interrupt;
use crate::session::link::Link;
use crate::session::listener::LEFT;
use crate::session::pump::{Pump, Step};
use crate::work::throughput::shared::UNKNOWN;
use crate::work::workers::{Setting, WorkContext, Worker, Workers};
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use model::time::MonoTime;
use model::units::Nanos;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::{Input, ProtocolError, Session};

/// One session at work.
pub(crate) struct Driver<'a, S: Session + ?Sized> {
    session: &'a mut S,
    /// Its control connection; absent: its flows speak for themselves.
    pump: Option<Pump>,
    workers: Workers<'a>,
    waker: Arc<Waker>,
    interrupt: Interrupt,
    leave: Arc<AtomicBool>,
    /// The session knows of the interrupt.
    interrupted: bool,
    /// The session is to be passed the time, once it has the data from before: the data that it waits for may be there.
    returns_time: bool,
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
        // A peer that is gone already has no address any more; a read reports that it is gone.
        let ends = (link.socket().local_addr()?, link.socket().peer_addr().unwrap_or(UNKNOWN));
        let workers = Workers::new(setting, ends, &waker);
        let driver = Driver::of_workers(session, workers, interrupt, waker);
        Ok(Driver { pump: Some(Pump::new(link)), leave, ..driver })
    }

    /// A session without a control connection, whose flows this worker has, between these two hosts. The waker wakes it.
    pub(crate) fn without_control(
        session: &'a mut S,
        setting: Setting<'a>,
        ends: (SocketAddr, SocketAddr),
        (interrupt, waker): (&Interrupt, &Arc<Waker>),
        worker: impl FnOnce(&mut WorkContext<'_>) -> Box<dyn Worker + 'a>,
    ) -> Driver<'a, S> {
        interrupt.watch(waker);
        let mut workers = Workers::new(setting, ends, waker);
        workers.begin(worker);
        Driver::of_workers(session, workers, interrupt, waker.clone())
    }

    fn of_workers(
        session: &'a mut S,
        workers: Workers<'a>,
        interrupt: &Interrupt,
        waker: Arc<Waker>,
    ) -> Driver<'a, S> {
        Driver {
            session,
            pump: None,
            workers,
            waker,
            interrupt: interrupt.clone(),
            leave: Arc::default(),
            interrupted: false,
            returns_time: false,
        }
    }

    /// Runs the session to its end. Every event has been reported when this returns.
    pub(crate) fn run(mut self) -> Result<(), ProtocolError> {
        let outcome = self.converse();
        // Done before the client learns of the end: then its share is free for the next client.
        self.workers.let_go();
        let workers = &mut self.workers;
        let mut say = |pump: &mut Pump| pump.say_last_words(self.session, |event| workers.emit(event));
        let last_words = outcome.is_err() && self.pump.as_mut().is_some_and(&mut say);
        self.workers.rescue();
        if let Some(pump) = self.pump {
            pump.finish(last_words);
        }
        self.workers.finish(&outcome, self.interrupted);
        outcome
    }

    fn converse(&mut self) -> Result<(), ProtocolError> {
        loop {
            let until = match self.advance()? {
                Step::Over => return Ok(()),
                Step::Work(request) => {
                    self.workers.ask(request, self.pump.as_ref().map(|pump| pump.link.socket()));
                    continue;
                }
                Step::Event(event) => {
                    self.workers.emit(event);
                    continue;
                }
                Step::Wait(until) => until,
            };
            if let Some(reply) = self.workers.reply() {
                self.session.input(mono_now(), Input::Work(reply))?;
                continue;
            }
            if std::mem::take(&mut self.returns_time) {
                self.session.input(mono_now(), Input::Timer)?;
                continue;
            }
            self.wait(until)?;
            self.look_around()?;
        }
    }

    fn advance(&mut self) -> Result<Step, ProtocolError> {
        match &mut self.pump {
            Some(pump) => pump.advance(self.session),
            None => Step::from_output(self.session.output(mono_now())).map_err(|_| {
                ProtocolError::Stopped("there is no control connection to say anything on".into())
            }),
        }
    }

    fn wait(&mut self, until: Option<MonoTime>) -> Result<(), ProtocolError> {
        if self.pump.as_mut().is_some_and(|pump| pump.link.has_buffered()) {
            return Ok(());
        }
        // One without a place may have to leave.
        let look = (!self.workers.has_place()).then(|| mono_now() + LEAVE_STEP);
        let deadline = [until, self.workers.due(), look].into_iter().flatten().min();
        let mut interests = vec![Interest::readable(&*self.waker)];
        interests.extend(self.pump.as_ref().and_then(Pump::interest));
        self.workers.add_interests(&mut interests);
        wait(&mut interests, deadline).map_err(|e| ProtocolError::Stopped(format!("poll: {e}")))?;
        self.waker.drain();
        Ok(())
    }

    /// Passes the session everything that has happened.
    fn look_around(&mut self) -> Result<(), ProtocolError> {
        if !self.workers.has_place() && self.leave.load(Ordering::Relaxed) {
            return Err(ProtocolError::Stopped(LEFT.into()));
        }
        match &mut self.pump {
            Some(pump) => pump.hear(self.session)?,
            None => self.returns_time = true,
        }
        if self.interrupt.is_raised() && !self.interrupted {
            self.interrupted = true;
            self.session.input(mono_now(), Input::Interrupt("interrupted"))?;
        }
        self.workers.tick(mono_now());
        Ok(())
    }
}

/// Time between two looks whether a session without a place is to leave.
const LEAVE_STEP: Nanos = Nanos::from_millis(250);

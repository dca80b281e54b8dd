//! Drives a session from a fuzzer's bytes and checks that it keeps the rules of `wire::Session`.

use model::sample::{Role, SideResult, StreamResult};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use wire::work::throughput::{Reply, Report};
use wire::{Input, Output, Session, WorkReply};
use crate::held::Held;

/// The fuzzer's bytes, taken from the front; zeros after their end.
pub struct Script<'a> {
    bytes: &'a [u8],
}

impl<'a> Script<'a> {
    pub fn new(bytes: &'a [u8]) -> Script<'a> {
        Script { bytes }
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// One session, its clock, and the sentences its peer knows.
pub struct Driver {
    session: Box<dyn Session>,
    sayings: &'static [&'static [u8]],
    now: MonoTime,
    deadline: Option<MonoTime>,
    closed: bool,
    held: Held,
    /// The peer has no right to any work.
    unauthenticated: bool,
    /// Something was to be done.
    asked: bool,
}

impl Driver {
    pub fn new(session: Box<dyn Session>, sayings: &'static [&'static [u8]]) -> Driver {
        let (now, held) = (MonoTime(1), Held::from_now());
        Driver { session, sayings, now, deadline: None, closed: false, held, unauthenticated: false, asked: false }
    }

    /// The peer cannot prove who it is.
    #[must_use]
    pub fn with_unauthenticated(self, unauthenticated: bool) -> Driver {
        Driver { unauthenticated, ..self }
    }

    pub fn run(&mut self, script: &mut Script<'_>) {
        self.drain();
        while !script.is_over() {
            self.step(script);
        }
        // Left alone, every session ends: at most a few deadlines later.
        for _ in 0..10 {
            let Some(deadline) = self.deadline else { break };
            self.now = self.now.max(deadline);
            self.give(Input::Timer);
        }
        assert!(self.closed, "a session that never ends");
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() {
            0 => {
                let length = script.byte().into();
                let bytes = script.take(length);
                self.give(Input::Received(bytes));
            }
            1 => self.give(Input::Closed),
            2 => {
                self.now = self.now.max(self.deadline.unwrap_or(self.now));
                self.give(Input::Timer);
            }
            3 => self.give(WorkReply::Open(Vec::new()).into()),
            4 => self.give(WorkReply::Failed("no".into()).into()),
            5 => self.give(Reply::SendersDone(Vec::new()).into()),
            6 => self.measured(script),
            7 => self.give(Input::Interrupt("stop")),
            8 => {
                let (sent, received) =
                    (u64::from(script.byte()) << script.byte() % 64, u64::from(script.byte()) * 99);
                let omitted = script.byte() % 2 == 1;
                self.give(Reply::Progress { sent, received, omitted }.into());
            }
            9 => self.now += Nanos(u64::from(script.byte()) << script.byte() % 40),
            saying => {
                let bytes = self.sayings[usize::from(saying) % self.sayings.len()];
                self.give(Input::Received(bytes));
            }
        }
    }

    fn measured(&mut self, script: &mut Script<'_>) {
        let stream = StreamResult {
            stream: script.byte().into(),
            direction: model::plan::Direction::Up,
            role: Role::Sender,
            elapsed: Nanos(script.byte().into()),
            bytes: Bytes(u64::MAX),
            total_bytes: Bytes(u64::MAX),
            tcp: None,
            udp: None,
        };
        let result = Box::new(SideResult { streams: vec![stream], ..SideResult::default() });
        self.give(Reply::Measured { result, report: Some(Report::Text("text".into())) }.into());
    }

    fn give(&mut self, input: Input<'_>) {
        let result = self.session.input(self.now, input);
        assert!(result.is_ok() || !self.closed, "an error after the end");
        self.drain();
        self.held.check();
        assert!(result.is_ok() || self.closed, "an error ends the session");
    }

    fn drain(&mut self) {
        for _ in 0..20 {
            match self.session.output(self.now) {
                Output::WaitUntil(deadline) => {
                    assert!(deadline.is_some() || self.closed, "a wait without a deadline");
                    // A session without a request does not wait long: connections are places, too.
                    let soon = self.now + Nanos::from_secs(60);
                    let is_soon = deadline.is_none_or(|deadline| deadline <= soon);
                    assert!(self.asked || is_soon, "it waits until {deadline:?}");
                    self.deadline = deadline;
                    return;
                }
                other if self.closed => panic!("{other:?} after Close"),
                Output::Close => self.closed = true,
                Output::Work(work) => {
                    assert!(!self.unauthenticated, "{work:?} for an unauthenticated client");
                    self.asked = true;
                }
                _ => {}
            }
        }
        panic!("a session that never waits");
    }
}

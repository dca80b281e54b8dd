//! The thread that speaks with a far port: questions go out, answers come back, and pings in between.

use super::RemoteOptions;
use crate::error::{Result, fault};
use crate::host::interrupt::Interrupt;
use crate::work::dialogue::{Dialogue, Messages};
use frames::Stop;
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use model::plan::Target;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use wire::ProtocolError;
use wire::native::frames::{FramesAsk, FramesClient, FramesPort, FramesReply, FramesWish};

/// Something to ask, and where the answer goes.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) ask: FramesAsk,
    pub(super) answer: SyncSender<Result<FramesReply>>,
}

/// An open dialogue.
pub(super) struct Conversation {
    dialogue: Dialogue<FramesClient>,
    /// Wakes the thread.
    pub(super) waker: Arc<Waker>,
    stop: Stop,
    stop_sent: bool,
    waiting: Option<SyncSender<Result<FramesReply>>>,
}

/// Whether more requests may come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Questions {
    MayCome,
    AreOver,
}

impl Conversation {
    pub(super) fn open(target: &Target, wish: FramesWish, options: &RemoteOptions) -> Result<Conversation> {
        let machine = |config, now| FramesClient::new(config, wish, now);
        // A session is ended by `stop` and not by an interrupt: the counts until then are still reported.
        let interrupt = Interrupt::default();
        let RemoteOptions { local, security, stop, .. } = options;
        let dialogue = Dialogue::open(target, local, security, &interrupt, MESSAGES, machine)?;
        let waker = Arc::new(Waker::new()?);
        Ok(Conversation { dialogue, waker, stop: stop.clone(), stop_sent: false, waiting: None })
    }

    /// The far interface, once it is open; the machine has a deadline for that.
    pub(super) fn wait_for_port(&mut self) -> Result<FramesPort> {
        loop {
            let until = self.dialogue.advance()?;
            if let Some(port) = self.dialogue.machine.port() {
                return Ok(port.clone());
            }
            if self.stop.is_raised() {
                return Err(ProtocolError::Stopped("interrupted".into()).into());
            }
            let deadline = until.map_or(mono_now() + STEP, |until| until + STEP);
            self.dialogue.wait(until, deadline, None)?;
        }
    }

    /// Sends questions until there will be no more.
    ///
    /// # Errors
    /// The session is over; a waiting caller gets the error.
    pub(super) fn run(&mut self, questions: &Receiver<Question>) -> Result<()> {
        let outcome = self.converse(questions);
        match (outcome, self.waiting.take()) {
            (Err(error), Some(waiting)) => {
                let reply = fault(crate::error::sentence(&error));
                waiting.send(Err(error)).ok();
                Err(reply)
            }
            (outcome, _) => outcome,
        }
    }

    fn converse(&mut self, questions: &Receiver<Question>) -> Result<()> {
        while self.step(questions)? == Questions::MayCome {}
        self.say_goodbye()
    }

    /// Waits once, for whatever comes first.
    pub(super) fn step(&mut self, questions: &Receiver<Question>) -> Result<Questions> {
        if self.waiting.is_none() && self.take(questions) == Questions::AreOver {
            return Ok(Questions::AreOver);
        }
        self.stop_sending()?;
        let until = self.dialogue.advance()?;
        let step = if self.waiting.is_some() { STEP } else { IDLE_STEP };
        if !self.dialogue.pump.link.has_buffered() {
            let mut interests =
                [Interest::readable(self.dialogue.pump.link.socket()), Interest::readable(&*self.waker)];
            let soon = mono_now() + step;
            wait(&mut interests, Some(until.map_or(soon, |until| until.min(soon))))?;
        }
        self.waker.drain();
        self.dialogue.hear()?;
        self.dialogue.advance()?;
        self.pass_on();
        Ok(Questions::MayCome)
    }

    /// Passes the answer to the waiting caller.
    fn pass_on(&mut self) {
        if let Some(reply) = self.dialogue.machine.take_reply()
            && let Some(waiting) = self.waiting.take()
        {
            waiting.send(Ok(reply)).ok();
        }
    }

    /// Takes the next question.
    fn take(&mut self, questions: &Receiver<Question>) -> Questions {
        match questions.try_recv() {
            Ok(Question { ask, answer }) => {
                match self.dialogue.machine.ask(mono_now(), ask) {
                    Ok(()) => self.waiting = Some(answer),
                    Err(error) => drop(answer.send(Err(error.into()))),
                }
                Questions::MayCome
            }
            Err(TryRecvError::Empty) => Questions::MayCome,
            Err(TryRecvError::Disconnected) => Questions::AreOver,
        }
    }

    fn stop_sending(&mut self) -> Result<()> {
        if !self.stop_sent && self.stop.is_raised() {
            self.stop_sent = true;
            self.dialogue.machine.ask(mono_now(), FramesAsk::Stop {})?;
        }
        Ok(())
    }

    fn say_goodbye(&mut self) -> Result<()> {
        self.dialogue.machine.finish(mono_now());
        let deadline = mono_now() + GOODBYE;
        // The far end's own goodbye closes the dialogue: an error here, and the end hoped for.
        while let Ok(until) = self.dialogue.advance()
            && self.dialogue.wait(until, deadline, None).is_ok()
        {}
        // The far end closes when the interface is free again, for which the next session may be waiting.
        self.dialogue.pump.link.hear_out(deadline);
        Ok(())
    }
}

const MESSAGES: Messages = Messages { closed: "during a session of frames", late: "about its interface" };
/// How soon a raised stop is noticed during a request.
const STEP: Nanos = Nanos::from_millis(50);
/// The same while frames are sent and counted: every look takes time from those that do.
const IDLE_STEP: Nanos = Nanos::from_secs(1);
const GOODBYE: Nanos = Nanos::from_secs(2);

//! The server's part of a session of frames: it takes questions, has them carried out, and tells what came of them.

use super::check::check;
use super::{FramesAsk, FramesReply};
use crate::Policy;
use crate::native::link::Link;
use crate::native::message::Message;
use crate::work::Refusal;
use crate::work::frames::{PortAnswer, PortRequest};
use model::time::MonoTime;
use model::units::Nanos;

#[derive(Debug)]
pub(in crate::native) struct Framing {
    policy: Policy,
    open: bool,
    /// Questions without an answer.
    asked: Vec<u32>,
    deadline: MonoTime,
}

impl Framing {
    /// The interface is being opened.
    pub(in crate::native) fn new(policy: &Policy, now: MonoTime) -> Framing {
        Framing { policy: policy.clone(), open: false, asked: Vec::new(), deadline: now + OPENING }
    }

    /// Until when the client must have asked for something.
    pub(in crate::native) fn deadline(&self) -> MonoTime {
        if self.asked.is_empty() { self.deadline } else { MonoTime(u64::MAX) }
    }

    /// Why the session ends at the deadline.
    pub(in crate::native) fn late(&self) -> &'static str {
        if self.open {
            "nothing was asked for in an hour"
        } else {
            "the interface could not be opened in time"
        }
    }

    /// Takes a question; `Err` says how it breaks the protocol.
    pub(in crate::native) fn ask(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        id: u32,
        ask: FramesAsk,
    ) -> Result<(), String> {
        if !self.open {
            return Err("a question before the interface is open".into());
        }
        self.deadline = now + IDLE;
        if let Err(refusal) = check(&ask, &self.policy) {
            link.send(&Message::FramesReply { id, reply: FramesReply::Refused(refusal) });
            return Ok(());
        }
        if ask != (FramesAsk::Stop {}) {
            if self.asked.len() >= MAX_ASKED || self.asked.contains(&id) {
                return Err(format!("more than {MAX_ASKED} questions at once, or two with one number"));
            }
            self.asked.push(id);
        }
        link.work(PortRequest::Ask { id, ask });
        Ok(())
    }

    /// Passes on what the driver says; `Err`: the session ends with this refusal.
    pub(in crate::native) fn answer(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        answer: PortAnswer,
    ) -> Result<(), Refusal> {
        self.deadline = now + IDLE;
        match answer {
            PortAnswer::Open(port) if !self.open => {
                self.open = true;
                link.send(&Message::FramesPort(port));
            }
            PortAnswer::Reply { id, reply } if self.asked.contains(&id) => {
                self.asked.retain(|asked| *asked != id);
                link.send(&Message::FramesReply { id, reply });
            }
            PortAnswer::Refused(refusal) => return Err(refusal),
            PortAnswer::Open(_) | PortAnswer::Reply { .. } => {}
        }
        Ok(())
    }
}

/// Most questions without an answer.
const MAX_ASKED: usize = 4;
/// Longest time to open an interface.
const OPENING: Nanos = Nanos::from_secs(30);
/// An interface that nobody uses is for others again.
const IDLE: Nanos = Nanos::from_secs(3600);

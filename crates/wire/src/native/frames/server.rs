//! The server's part of a session of frames: it takes requests, passes them to the driver, and returns the replies.

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
    /// Requests without a reply.
    pending: Vec<u32>,
    deadline: MonoTime,
}

impl Framing {
    /// The interface is being opened.
    pub(in crate::native) fn new(policy: &Policy, now: MonoTime) -> Framing {
        Framing { policy: policy.clone(), open: false, pending: Vec::new(), deadline: now + OPENING }
    }

    /// Deadline for the client's next request.
    pub(in crate::native) fn deadline(&self) -> MonoTime {
        if self.pending.is_empty() { self.deadline } else { MonoTime(u64::MAX) }
    }

    /// The reason why the session ends at the deadline.
    pub(in crate::native) fn late(&self) -> &'static str {
        if self.open { "no request in an hour" } else { "the interface could not be opened in time" }
    }

    /// Takes a request; `Err` names the violation of the protocol.
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
            if self.pending.len() >= MAX_ASKED || self.pending.contains(&id) {
                return Err(format!("more than {MAX_ASKED} questions at once, or two with one number"));
            }
            self.pending.push(id);
        }
        link.work(PortRequest::Ask { id, ask });
        Ok(())
    }

    /// Passes on the driver's reply; `Err`: the session ends with this refusal.
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
            PortAnswer::Reply { id, reply } if self.pending.contains(&id) => {
                self.pending.retain(|pending| *pending != id);
                link.send(&Message::FramesReply { id, reply });
            }
            PortAnswer::Refused(refusal) => return Err(refusal),
            PortAnswer::Open(_) | PortAnswer::Reply { .. } => {}
        }
        Ok(())
    }
}

/// Most requests without a reply.
const MAX_ASKED: usize = 4;
/// Longest time to open an interface.
const OPENING: Nanos = Nanos::from_secs(30);
/// Time after which an unused interface is released for other clients.
const IDLE: Nanos = Nanos::from_secs(3600);

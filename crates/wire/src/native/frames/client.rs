//! The client of a session of frames.

use super::check::{Pending, check, judge};
use super::{FramesAsk, FramesPort, FramesReply, FramesWish};
use crate::native::caller::{Caller, Kind, Talk};
use crate::native::client::ClientConfig;
use crate::native::frame::violation;
use crate::native::link::{ANSWER, Link, silent};
use crate::native::message::{Ask, Message};
use crate::native::ping::Pinger;
use crate::{Policy, ProtocolError, WorkReply};
use model::plan::TestSpec;
use model::time::MonoTime;
use model::units::Nanos;

/// The dialogue of a session of frames, client role. Once it has [a port](FramesClient::port), its driver sends one request after
/// the other.
pub type FramesClient = Caller<Frames>;

/// Frames on the server's interface.
#[derive(Debug)]
pub struct Frames {
    /// Deadline for the interface to be open.
    opening: MonoTime,
    port: Option<Box<FramesPort>>,
    next_id: u32,
    waiting: Option<Waiting>,
    reply: Option<FramesReply>,
    pending: Pending,
    /// Time at which the last burst is over.
    sending_ends: MonoTime,
}

/// A request without a reply.
#[derive(Debug)]
struct Waiting {
    id: u32,
    ask: FramesAsk,
    deadline: MonoTime,
}

impl FramesClient {
    /// Begins the dialogue.
    pub fn new(config: ClientConfig, wish: FramesWish, now: MonoTime) -> FramesClient {
        let kind = Frames {
            opening: now,
            port: None,
            next_id: 1,
            waiting: None,
            reply: None,
            pending: Pending::default(),
            sending_ends: now,
        };
        Caller::begin(config, Ask::Frames(wish), kind, now)
    }

    /// The server's interface, once it is open.
    pub fn port(&self) -> Option<&FramesPort> {
        self.kind.port.as_deref()
    }

    /// Sends a request; [a reply](FramesClient::take_reply) follows, except to [`FramesAsk::Stop`], the only request that may be
    /// sent while a reply is due.
    ///
    /// # Errors
    /// A value is out of range, the interface is not open, or a reply is still due.
    pub fn ask(&mut self, now: MonoTime, ask: FramesAsk) -> Result<(), ProtocolError> {
        if !self.is_ready() {
            return Err(ProtocolError::Flows("the far end's interface is not open".into()));
        }
        check(&ask, &Policy::default()).map_err(|refusal| ProtocolError::Flows(refusal.text()))?;
        let kind = &mut self.kind;
        if ask == (FramesAsk::Stop {}) {
            // The number of frames sent is reported at once.
            if let Some(waiting) = &mut kind.waiting {
                waiting.deadline = waiting.deadline.min(now + ANSWER);
            }
            self.talk.link.send(&Message::FramesAsk { id: 0, ask });
            return Ok(());
        }
        if kind.waiting.is_some() || kind.reply.is_some() {
            return Err(ProtocolError::Flows("the answer to the question before has not been taken".into()));
        }
        let deadline = kind.deadline_of(now, &ask);
        kind.remember(now, &ask);
        let id = kind.next_id;
        kind.next_id = kind.next_id.wrapping_add(1).max(1);
        self.talk.link.send(&Message::FramesAsk { id, ask: ask.clone() });
        kind.waiting = Some(Waiting { id, ask, deadline });
        Ok(())
    }

    /// The reply to the last request, once it has arrived.
    pub fn take_reply(&mut self) -> Option<FramesReply> {
        self.kind.reply.take()
    }

    /// Ends the session.
    pub fn finish(&mut self, now: MonoTime) {
        if self.is_ready() {
            self.say_bye(now, Ok(()));
        }
    }

    fn is_ready(&self) -> bool {
        self.is_granted() && self.kind.port.is_some()
    }
}

impl Frames {
    fn remember(&mut self, now: MonoTime, ask: &FramesAsk) {
        match ask {
            FramesAsk::Count { frames, .. } => self.pending.counting = *frames,
            FramesAsk::Send { burst, .. } => {
                self.pending.burst = Some(*burst);
                self.sending_ends = now + burst.time;
            }
            _ => {}
        }
    }

    /// Deadline of a reply. Tools that take a time to begin and to end, and neighbours that do not answer, are allowed for.
    fn deadline_of(&self, now: MonoTime, ask: &FramesAsk) -> MonoTime {
        match ask {
            FramesAsk::Sent {} => now.max(self.sending_ends) + WORK,
            _ => now + WORK,
        }
    }

    fn accept_reply(&mut self, id: u32, reply: FramesReply) -> Result<(), ProtocolError> {
        let Some(waiting) = self.waiting.take_if(|waiting| waiting.id == id) else {
            return Err(violation("an answer without a question".into()));
        };
        judge(&waiting.ask, &reply, &self.pending).map_err(violation)?;
        self.reply = Some(reply);
        Ok(())
    }
}

impl Kind for Frames {
    fn granted(&mut self, talk: &mut Talk, now: MonoTime, _test: Option<&TestSpec>) {
        talk.pinger = Pinger::seldom(now);
        self.opening = now + OPENING;
    }

    fn message(&mut self, _talk: &mut Talk, _now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        match (&self.port, message) {
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            (None, Message::FramesPort(port)) => self.port = Some(port),
            (Some(_), Message::FramesReply { id, reply }) => return self.accept_reply(id, reply),
            _ => return Err(violation("a message that is not due in a session of frames".into())),
        }
        Ok(())
    }

    /// The client has no work of its own: the interface is the server's.
    fn reply(&mut self, _talk: &mut Talk, _now: MonoTime, _reply: WorkReply) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn deadline(&self, link: &Link) -> Option<MonoTime> {
        if self.port.is_none() {
            return Some(self.opening);
        }
        let answer = self.waiting.as_ref().map(|waiting| waiting.deadline);
        answer.into_iter().chain([link.silence_ends()]).min()
    }

    fn timeout(&self, link: &Link, now: MonoTime) -> ProtocolError {
        match self.port {
            None => ProtocolError::Timeout("while its interface was opened".into()),
            Some(_) if now >= link.silence_ends() => silent(),
            Some(_) => ProtocolError::Timeout("about the frames that were requested".into()),
        }
    }

    fn moment(&self) -> &'static str {
        "during a session of frames"
    }
}

/// Longest wait for the server to open its interface: somewhat longer than the server's own.
const OPENING: Nanos = Nanos::from_secs(35);
/// Longest wait for a reply, beyond the time that frames are sent.
const WORK: Nanos = Nanos::from_secs(30);

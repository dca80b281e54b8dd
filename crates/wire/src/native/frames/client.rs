//! The client of a session of frames.

use super::check::{Asked, check, judge};
use super::{FramesAsk, FramesPort, FramesTold, FramesWish};
use crate::native::client::ClientConfig;
use crate::native::entry::{Entry, Granted};
use crate::native::frame::violation;
use crate::native::link::{ANSWER, LEAVING, Link, refused, silent};
use crate::native::message::{Ask, Message};
use crate::native::ping::Pinger;
use crate::{Input, Output, Policy, ProtocolError, Session};
use model::host::Host;
use model::time::MonoTime;
use model::units::Nanos;

/// The dialogue of a session of frames, client role. Once it has [a port](FramesClient::port) its driver asks one thing
/// after the other.
#[derive(Debug)]
pub struct FramesClient {
    link: Link,
    state: State,
    entry: Entry,
    granted: Option<Granted>,
    pinger: Pinger,
    port: Option<Box<FramesPort>>,
    next_id: u32,
    waiting: Option<Waiting>,
    told: Option<FramesTold>,
    asked: Asked,
    /// When the last burst is over.
    sending_ends: MonoTime,
}

/// A question without an answer.
#[derive(Debug)]
struct Waiting {
    id: u32,
    ask: FramesAsk,
    deadline: MonoTime,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Entering,
    Opening { deadline: MonoTime },
    Ready,
    Leaving { deadline: MonoTime },
    Over,
}

impl FramesClient {
    /// Begins the dialogue.
    pub fn new(config: ClientConfig, wish: FramesWish, now: MonoTime) -> FramesClient {
        let mut link = Link::new(now);
        let entry = Entry::new(config, Ask::Frames(wish), &mut link, now);
        FramesClient {
            link,
            state: State::Entering,
            entry,
            granted: None,
            pinger: Pinger::seldom(now),
            port: None,
            next_id: 1,
            waiting: None,
            told: None,
            asked: Asked::default(),
            sending_ends: now,
        }
    }

    /// The server's interface, once it is open.
    pub fn port(&self) -> Option<&FramesPort> {
        self.port.as_deref()
    }

    /// The server's host, once granted.
    pub fn peer_host(&self) -> Option<&Host> {
        self.granted.as_ref().map(|granted| &granted.host)
    }

    /// Asks; [an answer](FramesClient::take_told) follows, except to [`FramesAsk::Stop`], which alone may be said while
    /// one is waited for.
    ///
    /// # Errors
    /// Something is out of range, the interface is not open, or an answer is still to come.
    pub fn ask(&mut self, now: MonoTime, ask: FramesAsk) -> Result<(), ProtocolError> {
        if !matches!(self.state, State::Ready) {
            return Err(ProtocolError::Flows("the far end's interface is not open".into()));
        }
        check(&ask, &Policy::default()).map_err(|refusal| ProtocolError::Flows(refusal.text()))?;
        if ask == (FramesAsk::Stop {}) {
            // What was sent is told at once.
            if let Some(waiting) = &mut self.waiting {
                waiting.deadline = waiting.deadline.min(now + ANSWER);
            }
            self.link.send(&Message::FramesAsk { id: 0, ask });
            return Ok(());
        }
        if self.waiting.is_some() || self.told.is_some() {
            return Err(ProtocolError::Flows("the answer to the question before has not been taken".into()));
        }
        let deadline = self.deadline_of(now, &ask);
        self.remember(now, &ask);
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(1);
        self.link.send(&Message::FramesAsk { id, ask: ask.clone() });
        self.waiting = Some(Waiting { id, ask, deadline });
        Ok(())
    }

    /// The answer to the last question, once it has come.
    pub fn take_told(&mut self) -> Option<FramesTold> {
        self.told.take()
    }

    /// Ends the session.
    pub fn finish(&mut self, now: MonoTime) {
        if matches!(self.state, State::Ready) {
            self.link.send(&Message::Bye {});
            self.state = State::Leaving { deadline: now + LEAVING };
        }
    }

    fn remember(&mut self, now: MonoTime, ask: &FramesAsk) {
        match ask {
            FramesAsk::Count { frames, .. } => self.asked.counting = *frames,
            FramesAsk::Send { burst, .. } => {
                self.asked.burst = Some(*burst);
                self.sending_ends = now + burst.time;
            }
            _ => {}
        }
    }

    /// When an answer is late. Tools that take a time to begin and to end, and neighbours that are silent, have theirs.
    fn deadline_of(&self, now: MonoTime, ask: &FramesAsk) -> MonoTime {
        match ask {
            FramesAsk::Sent {} => now.max(self.sending_ends) + WORK,
            _ => now + WORK,
        }
    }

    fn receive(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.link.receive(now, bytes);
        while let Some(message) = self.link.decoder.next_message()? {
            self.message(now, message)?;
        }
        Ok(())
    }

    fn message(&mut self, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        if matches!(self.state, State::Entering) {
            if let Some(granted) = self.entry.message(&mut self.link, now, message)? {
                self.granted = Some(granted);
                self.pinger = Pinger::seldom(now);
                self.state = State::Opening { deadline: now + OPENING };
            }
            return Ok(());
        }
        match (self.state, message) {
            (State::Leaving { .. }, Message::Bye {}) => self.close(),
            (State::Leaving { .. } | State::Over, _) => {}
            (_, Message::Refuse(refusal)) => return Err(refused(&refusal)),
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            (_, Message::Pong { id, t2, t3, .. }) => self.pinger.pong(now, id, t2, t3),
            (State::Opening { .. }, Message::FramesPort(port)) => {
                self.port = Some(port);
                self.state = State::Ready;
            }
            (State::Ready, Message::FramesTold { id, told }) => return self.told(id, told),
            _ => return Err(violation("a message that is not due in a session of frames".into())),
        }
        Ok(())
    }

    fn told(&mut self, id: u32, told: FramesTold) -> Result<(), ProtocolError> {
        let Some(waiting) = self.waiting.take_if(|waiting| waiting.id == id) else {
            return Err(violation("an answer without a question".into()));
        };
        judge(&waiting.ask, &told, &self.asked).map_err(violation)?;
        self.told = Some(told);
        Ok(())
    }

    fn deadline(&self) -> Option<MonoTime> {
        match self.state {
            State::Entering => Some(self.entry.deadline()),
            State::Opening { deadline } | State::Leaving { deadline } => Some(deadline),
            State::Ready => {
                let answer = self.waiting.as_ref().map(|waiting| waiting.deadline);
                answer.into_iter().chain([self.link.silence_ends()]).min()
            }
            State::Over => None,
        }
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        Err(match self.state {
            State::Entering => self.entry.timeout(),
            State::Opening { .. } => ProtocolError::Timeout("while its interface was opened".into()),
            State::Ready if now >= self.link.silence_ends() => silent(),
            State::Ready => ProtocolError::Timeout("about the frames it was asked for".into()),
            State::Leaving { .. } | State::Over => {
                self.close();
                return Ok(());
            }
        })
    }

    fn interrupt(&mut self, reason: &str) -> ProtocolError {
        self.link.send(&Message::Stop { reason: reason.into() });
        ProtocolError::Stopped(reason.into())
    }

    fn take(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Received(bytes) => return self.receive(now, bytes),
            Input::Closed if matches!(self.state, State::Leaving { .. }) => self.close(),
            Input::Closed => return Err(ProtocolError::Closed("during a session of frames".into())),
            Input::Timer => return self.timer(now),
            Input::Interrupt(reason) => return Err(self.interrupt(reason)),
            // A session of frames has no flows, samples or results, and the interface is the server's.
            Input::FlowsOpen(_)
            | Input::FlowsFailed(_)
            | Input::LocalSample(_)
            | Input::Progress { .. }
            | Input::Datagram { .. }
            | Input::PathSeen(_)
            | Input::DatagramTooBig(_)
            | Input::Reflected(_)
            | Input::Port(_)
            | Input::SendersDone(_)
            | Input::Measured { .. } => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        self.state = State::Over;
        self.link.push(Output::Close);
    }
}

impl Session for FramesClient {
    fn peer(&self) -> Option<&Host> {
        self.peer_host()
    }

    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        if matches!(self.state, State::Over) {
            return Ok(());
        }
        self.take(now, input).inspect_err(|_| self.close())
    }

    fn output(&mut self, now: MonoTime) -> Output {
        let pinging = matches!(self.state, State::Opening { .. } | State::Ready);
        if pinging && let Some(ping) = self.pinger.poll(now) {
            self.link.send(&ping);
        }
        let due = pinging.then(|| self.pinger.due());
        self.link
            .pop()
            .unwrap_or_else(|| Output::WaitUntil([self.deadline(), due].into_iter().flatten().min()))
    }
}

/// Longest wait for the server to open its interface: somewhat longer than the server's own.
const OPENING: Nanos = Nanos::from_secs(35);
/// Longest wait for an answer, beyond the time that frames are sent.
const WORK: Nanos = Nanos::from_secs(30);

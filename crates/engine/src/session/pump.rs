//! Moves the bytes of a control connection between the peer and a session, and passes the session the time.

use crate::session::link::Link;
use linux::clock::mono_now;
use linux::poll::Interest;
use linux::tcp_info::tcp_info;
use model::event::Event;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind};
use wire::{Input, Output, ProtocolError, Session, WorkRequest};

/// A control connection at work.
pub(crate) struct Pump {
    pub(crate) link: Link,
    /// The connection has ended: that is reported once, and it is not polled any more.
    closed: bool,
    /// The peer did not accept a message: no more are sent.
    deaf: bool,
    /// When to check in the kernel whether any data has come back at all; `None`: some has.
    unheard: Option<MonoTime>,
}

/// A request of a session other than sending bytes.
#[expect(clippy::large_enum_variant, reason = "short-lived, as what they are made of")]
pub(crate) enum Step {
    /// Have this done.
    Work(WorkRequest),
    /// Report this event.
    Event(Event),
    /// Wait until then, or for anything that happens.
    Wait(Option<MonoTime>),
    /// The session is over.
    Over,
}

impl Step {
    /// The step of an output; `Err`: bytes to send.
    pub(crate) fn from_output(output: Output) -> Result<Step, Vec<u8>> {
        Ok(match output {
            Output::Send(bytes) => return Err(bytes),
            Output::Work(request) => Step::Work(request),
            Output::Event(event) => Step::Event(event),
            Output::WaitUntil(until) => Step::Wait(until),
            Output::Close => Step::Over,
        })
    }
}

impl Pump {
    /// A pump over an open connection.
    pub(crate) fn new(link: Link) -> Pump {
        // Only the end that opened the connection may not be heard: the other end heard it.
        let unheard = (link.opened > Nanos::ZERO).then(|| mono_now() + UNHEARD);
        Pump { link, closed: false, deaf: false, unheard }
    }

    /// Sends the session's bytes, up to the next output of another kind.
    ///
    /// # Errors
    /// The session cannot go on, or the peer takes no message for long.
    pub(crate) fn advance<S: Session + ?Sized>(&mut self, session: &mut S) -> Result<Step, ProtocolError> {
        loop {
            match Step::from_output(session.output(mono_now())) {
                Ok(Step::Wait(until)) => {
                    return Ok(Step::Wait(until.into_iter().chain(self.unheard).min()));
                }
                Ok(step) => return Ok(step),
                Err(words) => self.say(session, &words)?,
            }
        }
    }

    fn say<S: Session + ?Sized>(&mut self, session: &mut S, bytes: &[u8]) -> Result<(), ProtocolError> {
        if self.deaf {
            return Ok(());
        }
        let Err(error) = self.link.write(bytes, mono_now() + WRITE_LIMIT) else { return Ok(()) };
        self.deaf = true;
        // Data that the peer sent before it closed come first.
        self.hear(session)?;
        if VANISHED.contains(&error.kind()) {
            let what = format!("on the control connection: no message can be sent ({error})");
            return Err(ProtocolError::Timeout(what));
        }
        if std::mem::replace(&mut self.closed, true) {
            Ok(())
        } else {
            session.input(mono_now(), Input::Closed)
        }
    }

    /// Passes the session the peer's data and the time; does not wait.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(crate) fn hear<S: Session + ?Sized>(&mut self, session: &mut S) -> Result<(), ProtocolError> {
        let mut buffer = [0; 16 << 10];
        for _ in 0..READS_AT_ONCE {
            if self.closed {
                break;
            }
            match self.link.read(&mut buffer) {
                Ok(None) => break,
                Ok(Some(length)) if length > 0 => {
                    session.input(mono_now(), Input::Received(&buffer[..length]))?;
                }
                Ok(_) => self.close(session, None)?,
                Err(error) => self.close(session, Some(&error))?,
            }
        }
        self.check_unheard()?;
        session.input(mono_now(), Input::Timer)
    }

    /// The connection opened, and the kernel has sent its first bytes again and again since, without one word of the peer's: they
    /// do not arrive.
    fn check_unheard(&mut self) -> Result<(), ProtocolError> {
        let Some(at) = self.unheard.filter(|at| mono_now() >= *at) else { return Ok(()) };
        let Ok(tcp) = tcp_info(self.link.socket()) else {
            self.unheard = None;
            return Ok(());
        };
        // The SYN counts as one byte.
        let is_acknowledged = tcp.bytes_acked.is_none_or(|bytes| bytes.0 > 1);
        if is_acknowledged || tcp.bytes_received.is_none_or(|bytes| bytes.0 > 0) || tcp.unacknowledged == 0 {
            self.unheard = None;
            return Ok(());
        }
        if u32::from(tcp.timeouts_in_a_row) >= TIMEOUTS {
            return Err(ProtocolError::Unacknowledged(tcp.retransmits));
        }
        self.unheard = Some(at + AGAIN);
        Ok(())
    }

    /// The connection has ended. One that timed out the peer did not close: nothing came from it any more.
    fn close<S: Session + ?Sized>(
        &mut self,
        session: &mut S,
        error: Option<&io::Error>,
    ) -> Result<(), ProtocolError> {
        self.closed = true;
        let vanished = error.is_some_and(|error| VANISHED.contains(&error.kind()));
        session.input(mono_now(), Input::Closed).map_err(|cause| match cause {
            ProtocolError::Closed(when) if vanished => {
                ProtocolError::Timeout(format!("{when}: the connection timed out, as nothing came back"))
            }
            cause => cause,
        })
    }

    /// The socket to poll for data of the peer.
    pub(crate) fn interest(&self) -> Option<Interest<'_>> {
        (!self.closed).then(|| Interest::readable(self.link.socket()))
    }

    /// After an error: sends the session's last messages; its events go to `also`. Returns whether there was anything to send.
    pub(crate) fn say_last_words<S: Session + ?Sized>(
        &mut self,
        session: &mut S,
        mut also: impl FnMut(Event),
    ) -> bool {
        let mut sent = false;
        loop {
            match session.output(mono_now()) {
                // A peer that did not accept one message accepts none of those behind it.
                Output::Send(_) if self.deaf => {}
                Output::Send(bytes) => {
                    self.deaf = self.link.write(&bytes, mono_now() + GOODBYE).is_err();
                    sent |= !self.deaf;
                }
                Output::Event(event) => also(event),
                // Running work ends with the session.
                Output::Work(_) => {}
                Output::WaitUntil(_) | Output::Close => return sent,
            }
        }
    }

    /// Closes the connection. `heard_out` reads the remaining bytes first: closing with bytes unread would reset the
    /// connection, and the peer would not receive the reason.
    pub(crate) fn finish(mut self, heard_out: bool) {
        self.link.finish(mono_now() + GOODBYE);
        if heard_out {
            self.link.hear_out(mono_now() + GOODBYE);
        }
    }
}

/// A connection whose first bytes are not acknowledged for so long is looked at.
const UNHEARD: Nanos = Nanos::from_secs(3);
/// The next look.
const AGAIN: Nanos = Nanos::from_millis(500);
/// Retransmission timeouts in a row, the first of 200 ms and each twice the one before: more than what loss by chance makes.
const TIMEOUTS: u32 = 4;
/// Longest time for the peer to take a control message.
const WRITE_LIMIT: Nanos = Nanos::from_secs(10);
/// Longest time to say goodbye.
const GOODBYE: Nanos = Nanos::from_millis(500);
/// Portions of control bytes read before looking at anything else.
const READS_AT_ONCE: usize = 128;
/// Errors of a connection whose other end is not there any more, is not reached, or may be there and accepts no data.
const VANISHED: [ErrorKind; 3] =
    [ErrorKind::TimedOut, ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable];

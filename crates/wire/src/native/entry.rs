//! The start of a client's dialogue: hello, proof of the token, the request, and the server's decision.

use super::auth::{Proof, Token, derive};
use super::frame::{MAX_FRAME, violation};
use super::link::{ANSWER, Link, refused};
use super::message::{Ask, Hello, Limits, Message};
use super::{frames, load};
use crate::ProtocolError;
use crate::hex::{FlowKey, Mac, Nonce, SessionId};
use model::event::{Event, Warning};
use model::host::Host;
use model::plan::TestSpec;
use model::time::MonoTime;
use model::units::BitRate;

/// The configuration of a client, apart from its request.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The token, where the user gave one.
    pub token: Option<Token>,
    /// Bytes that only the two ends of this TLS connection know (exported under our own label, RFC 8446 section 7.5); empty
    /// without TLS.
    pub binding: Vec<u8>,
    /// Random bytes, new for each session.
    pub entropy: [u8; 32],
    /// Software and version.
    pub software: String,
    /// This host.
    pub host: Host,
}

/// The server's hello and the session it granted.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) session: SessionId,
    pub(super) key: FlowKey,
    pub(super) host: Host,
}

#[derive(Debug)]
pub(super) struct Entry {
    config: ClientConfig,
    ask: Ask,
    phase: Phase,
    pub(super) deadline: MonoTime,
    /// The server's limits, once its hello has arrived.
    pub(super) limits: Limits,
    /// The server's software, once its hello has arrived.
    pub(super) software: String,
}

#[derive(Debug)]
enum Phase {
    Hello,
    Proof(Mac),
    Accept,
}

impl Entry {
    /// Sends the greeting and the hello.
    pub(super) fn new(config: ClientConfig, ask: Ask, link: &mut Link, now: MonoTime) -> Entry {
        link.greet();
        let features = vec![frames::FEATURE.into(), load::FEATURE.into()];
        let hello = Hello { software: config.software.clone(), features, ..Hello::default() };
        link.send(&Message::Hello(hello));
        let (limits, software) = (Limits::default(), String::new());
        Entry { config, ask, phase: Phase::Hello, deadline: now + ANSWER, limits, software }
    }

    /// The error for the message that did not arrive in time.
    pub(super) fn timeout(&self) -> ProtocolError {
        let what = match self.phase {
            Phase::Hello => "to the greeting",
            Phase::Proof(_) => "to the proof of the token",
            Phase::Accept => "when asked for a test",
        };
        ProtocolError::Timeout(format!("{what} within {ANSWER}"))
    }

    /// Takes a message; `Some` when the server has granted the session.
    pub(super) fn message(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        message: Message,
    ) -> Result<Option<Granted>, ProtocolError> {
        self.deadline = now + ANSWER;
        match (&self.phase, message) {
            (_, Message::Refuse(refusal)) => return Err(refused(&refusal)),
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            (Phase::Hello, Message::Hello(hello)) => self.hello(link, hello)?,
            (Phase::Proof(expected), Message::Proof { mac }) => {
                if !mac.proves(expected) {
                    return Err(violation("it does not know the token".into()));
                }
                self.ask(link);
            }
            (Phase::Accept, Message::Accept { session, key, host }) => {
                return Ok(Some(Granted { session, key, host }));
            }
            _ => return Err(violation("a message that is not due before a test is accepted".into())),
        }
        Ok(None)
    }

    fn hello(&mut self, link: &mut Link, hello: Hello) -> Result<(), ProtocolError> {
        let needed = match self.ask {
            Ask::Frames(_) => Some(frames::FEATURE),
            Ask::Load {} => Some(load::FEATURE),
            _ => None,
        };
        let missing = needed.filter(|feature| !hello.knows(feature));
        self.limits = hello.limits.unwrap_or_default();
        self.software = hello.software;
        if let Some(feature) = missing {
            let software = if self.software.is_empty() { "of unknown version" } else { &self.software };
            return Err(ProtocolError::Refused(format!(
                "the far end, {software}, knows no sessions of {feature}; upgrade pathmeter there"
            )));
        }
        match (hello.challenge, &self.config.token) {
            (Some(server), Some(token)) => {
                let client = Nonce::new(derive(&self.config.entropy, "client nonce"));
                let proof = Proof { token, server, client, binding: &self.config.binding };
                link.send(&Message::Auth { nonce: client, mac: proof.of_client() });
                self.phase = Phase::Proof(proof.of_server());
                return Ok(());
            }
            (Some(_), None) => {
                let reason = "this server wants a token; give it with --token-file";
                return Err(ProtocolError::Refused(reason.into()));
            }
            (None, Some(_)) => link.event(Event::Warning(Warning::new("token-not-asked", OPEN_SERVER))),
            (None, None) => {}
        }
        self.ask(link);
        Ok(())
    }

    /// The test as finally requested: where the client set no rate, the server's limit is the rate.
    pub(super) fn test(&self) -> Option<&TestSpec> {
        self.ask.test()
    }

    fn keep_to_the_limit(&mut self, link: &mut Link) {
        let Some(most) = self.limits.max_rate else { return };
        match &mut self.ask {
            Ask::Throughput { spec, .. } if spec.bitrate.is_none() => {
                spec.bitrate = Some(BitRate((most.0 / u64::from(spec.streams.max(1))).max(1)));
                link.event(Limits::warning(most));
            }
            // The driver, which sends the messages, keeps to this rate and reports it.
            Ask::Latency { spec } if spec.rate.is_none() => spec.rate = Some(spec.rate_within(most)),
            _ => {}
        }
    }

    fn ask(&mut self, link: &mut Link) {
        self.keep_to_the_limit(link);
        link.decoder.set_limit(MAX_FRAME);
        link.send(&Message::Test { ask: self.ask.clone(), host: self.config.host.clone() });
        self.phase = Phase::Accept;
    }
}

const OPEN_SERVER: &str = "A token was given, but the server did not ask for it: it is open to everyone, and it has \
                           not proved who it is.";

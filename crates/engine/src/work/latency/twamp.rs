//! The client's dialogue with a TWAMP server: a test is agreed on before the round trips, and ended after them.

use super::control::Control;
use crate::error::{Error, Failure, Result, sentence};
use crate::host::interrupt::Interrupt;
use crate::session::link::Link;
use crate::work::dialogue::{Dialogue, Messages};
use linux::clock::mono_now;
use model::latency::EgressPath;
use model::plan::LocalOptions;
use model::units::Nanos;
use wire::ProtocolError;
use wire::twamp::{Client, Request};

/// A test that the server answers.
pub(crate) struct TwampSession {
    dialogue: Dialogue<Client>,
    /// Where its packets are answered.
    pub(crate) port: u16,
}

impl TwampSession {
    /// Asks for the test and starts it.
    ///
    /// # Errors
    /// The server refuses, is silent, or is none.
    pub(crate) fn open(
        link: Link,
        egress: &EgressPath,
        request: Request,
        interrupt: &Interrupt,
    ) -> Result<TwampSession> {
        let machine = Client::new(request, mono_now());
        let local = LocalOptions::default();
        let mut dialogue = Dialogue::over(link, machine, &egress.target, &local, interrupt, MESSAGES);
        let mut port = None;
        let opened = dialogue.run_until(mono_now() + OPEN_LIMIT, |client| {
            port = client.port();
            port.is_some()
        });
        opened.map_err(|error| explained(egress, error))?;
        let port = port.ok_or_else(|| crate::error::fault("a TWAMP test has begun without a port"))?;
        Ok(TwampSession { dialogue, port })
    }
}

impl Control for TwampSession {
    fn keep_alive(&mut self) -> Result<()> {
        self.dialogue.hear()?;
        self.dialogue.advance()?;
        Ok(())
    }

    fn close(mut self: Box<Self>) {
        self.dialogue.machine.finish();
        // The server may have gone: nothing hangs on it.
        self.dialogue.advance().ok();
    }
}

/// The program that answers there may not speak TWAMP at all.
fn explained(egress: &EgressPath, error: Error) -> Error {
    let Error::Protocol(
        ProtocolError::Timeout(_) | ProtocolError::Violation { .. } | ProtocolError::Closed(_),
    ) = &error
    else {
        return error;
    };
    Failure::unreachable(
        format!("{}: {}", egress.target.address, sentence(&error)),
        "check that a TWAMP server listens there, and not another service; a reflector without a control connection \
         (STAMP, TWAMP-Light) is measured with --protocol stamp",
    )
    .into()
}

const MESSAGES: Messages = Messages { closed: "during the test", late: "about the test" };
/// The greeting and four answers, each of which may take its time.
const OPEN_LIMIT: Nanos = Nanos::from_secs(40);

//! The client's dialogue with a pathmeter server around the round trips: the flow before, the counts after.

use super::control::Control;
use super::local_options;
use crate::error::{Result, fault};
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::dialogue::{Dialogue, Messages};
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use model::host::Host;
use model::latency::{EgressPath, LatencySpec};
use model::units::{BitRate, Nanos};
use wire::native::LatencyObservation;
use wire::native::probe::{ProbeClient, ProbeReply};

/// A latency session that the server has granted.
pub(crate) struct LatencySession {
    dialogue: Dialogue,
}

impl LatencySession {
    /// Opens it, with its one flow.
    pub(crate) fn open(
        egress: &EgressPath,
        spec: LatencySpec,
        connect_timeout: Nanos,
        security: &Security,
        interrupt: &Interrupt,
    ) -> Result<LatencySession> {
        let local = local_options(egress, connect_timeout);
        let machine = |config, now| ProbeClient::latency(config, spec, now);
        let dialogue = Dialogue::open(&egress.target, &local, security, interrupt, MESSAGES, machine)?;
        let mut session = LatencySession { dialogue };
        session.dialogue.run_until(mono_now() + OPEN_LIMIT, |machine| machine.is_ready())?;
        Ok(session)
    }

    /// The flow, whose messages the server answers.
    pub(crate) fn flow(&self) -> Result<FlowSocket> {
        self.dialogue.flows.first().cloned().ok_or_else(|| fault("the latency session has no flow"))
    }

    /// The highest rate of payload that the server allows.
    pub(crate) fn max_rate(&self) -> Option<BitRate> {
        self.dialogue.machine.limits().max_rate
    }

    /// The messages that the server has counted.
    fn counted(&mut self) -> Result<LatencyObservation> {
        self.dialogue.machine.report_latency(mono_now())?;
        let mut observed = None;
        self.dialogue.run_until(mono_now() + ANSWER_LIMIT, |machine| {
            while let Some(reply) = machine.take_reply() {
                if let ProbeReply::Reflected(reply) = reply {
                    observed = Some(reply);
                }
            }
            observed.is_some()
        })?;
        observed.ok_or_else(|| fault("the server reported nothing"))
    }
}

impl Control for LatencySession {
    fn keep_alive(&mut self) -> Result<()> {
        self.dialogue.advance()?;
        self.dialogue.hear()?;
        self.dialogue.advance()?;
        Ok(())
    }

    fn peer(&self) -> Option<&Host> {
        self.dialogue.machine.peer_host()
    }

    fn observed(&mut self) -> Result<Option<LatencyObservation>> {
        self.counted().map(Some)
    }

    /// After an interrupt too: what was measured is to be reported.
    fn observed_since(&mut self, sent: u64) -> Result<Option<LatencyObservation>> {
        self.dialogue.interrupt = Interrupt::default();
        let mut observed = self.counted()?;
        let (mut moved, longest) = (mono_now(), mono_now() + TAIL_LIMIT);
        // Over a long path an answer takes time in which the last messages come.
        while observed.received < sent && mono_now() < longest.min(moved + QUIET) {
            std::thread::sleep(LOOK.to_duration());
            let now = self.counted()?;
            if now.received > observed.received {
                moved = mono_now();
            }
            observed = now;
        }
        Ok(Some(observed))
    }

    fn close(mut self: Box<Self>) {
        self.dialogue.machine.finish(mono_now());
        // The server may have gone: nothing hangs on its answer.
        self.dialogue.interrupt = Interrupt::default();
        self.dialogue.run_until(mono_now() + GOODBYE, |_| false).ok();
    }
}

const MESSAGES: Messages = Messages { closed: "during the round trips", late: "about the latency session" };
const OPEN_LIMIT: Nanos = Nanos::from_secs(40);
const ANSWER_LIMIT: Nanos = Nanos::from_secs(15);
/// Between two questions for messages that are still coming, and for how long none may come.
const LOOK: Nanos = Nanos::from_millis(50);
const QUIET: Nanos = Nanos::from_millis(250);
const TAIL_LIMIT: Nanos = Nanos::from_secs(15);
const GOODBYE: Nanos = Nanos::from_millis(200);

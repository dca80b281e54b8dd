//! Echo requests to the far end beside probes of another protocol: hosts limit the errors that they send, not echo replies, so
//! these show whether packets arrive where the far end leaves probes unanswered.

use super::icmp::Echoes;
use super::{Channel, Heard};
use model::hops::{AnswerKind, Counted, HopsPlan};
use std::collections::BTreeSet;

/// One request for each round.
#[derive(Debug)]
pub(super) struct Companion {
    pub(super) echoes: Echoes,
    /// Only so many of the last requests count.
    kept: u32,
    sent: u32,
    answered: BTreeSet<u32>,
    is_broken: bool,
}

impl Companion {
    /// One where it is needed and this host allows it.
    pub(super) fn beside(plan: &HopsPlan) -> Option<Companion> {
        let needed = plan.protocol.far_end_limits();
        let echoes = needed.then(|| Echoes::toward(plan.target.address, &plan.local, plan.size).ok())??;
        let kept = if plan.watch { plan.probes } else { u32::MAX };
        Some(Companion { echoes, kept, sent: 0, answered: BTreeSet::new(), is_broken: false })
    }

    /// Sends what is due in this round and takes what came. A refusal of this host ends the echo requests: the trace goes on
    /// without.
    pub(super) fn take(&mut self, round: u32) {
        while self.sent < round && !self.is_broken {
            self.is_broken = self.echoes.request(self.sent, u8::MAX).is_err();
            self.sent += u32::from(!self.is_broken);
        }
        let mut heard = Vec::new();
        self.is_broken |= self.echoes.take(&mut heard).is_err();
        let replies = heard.into_iter().filter_map(|heard| match heard {
            Heard::Answer(number, answer) if answer.kind == AnswerKind::Arrived => Some(number),
            _ => None,
        });
        self.answered.extend(replies);
        let oldest = self.sent.saturating_sub(self.kept);
        self.answered.retain(|number| *number >= oldest);
    }

    /// Replies may still come.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_broken && self.counted().missing() > 0
    }

    /// The numbers of sent and of answered requests.
    pub(super) fn counted(&self) -> Counted {
        let sent = self.sent.min(self.kept);
        Counted { sent, answered: u32::try_from(self.answered.len()).unwrap_or(u32::MAX) }
    }
}

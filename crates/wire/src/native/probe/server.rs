//! The server's part of a probe session once its flow is open.

use super::{Ledger, MAX_ORDERS, ProbeSchedule, ProbeSend, echo_reply};
use crate::Policy;
use crate::native::admit;
use crate::native::link::Link;
use crate::native::load::LoadBudget;
use crate::native::message::Message;
use crate::work::probes::Request;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use std::collections::VecDeque;

#[derive(Debug)]
pub(in crate::native) struct Probing {
    control: VecDeque<ProbeSchedule>,
    /// The probes that have arrived.
    pub(in crate::native) ledger: Ledger,
    max_rate: Option<BitRate>,
    bytes_left: u64,
    pub(in crate::native) load: LoadBudget,
    pub(in crate::native) deadline: MonoTime,
}

impl Probing {
    pub(in crate::native) fn new(policy: &Policy, now: MonoTime) -> Probing {
        Probing {
            control: VecDeque::new(),
            ledger: Ledger::default(),
            max_rate: policy.max_rate,
            bytes_left: MAX_BYTES,
            load: LoadBudget::new(policy.max_rate),
            deadline: now + admit::longest(policy).clamp(LEAST, LONGEST),
        }
    }

    /// When the next requested datagram is due.
    pub(in crate::native) fn due(&self) -> Option<MonoTime> {
        self.control.front().map(ProbeSchedule::due)
    }

    /// Takes a request; `Err` gives the reason why it is refused.
    pub(in crate::native) fn request(&mut self, now: MonoTime, send: ProbeSend) -> Result<(), String> {
        let request = ProbeSchedule::new(send, self.max_rate, now)?;
        self.bytes_left = self
            .bytes_left
            .checked_sub(request.bytes())
            .ok_or_else(|| format!("more than {MAX_BYTES} bytes of probes in one session"))?;
        if self.control.len() == MAX_ORDERS {
            return Err(format!("more than {MAX_ORDERS} orders of probes at once"));
        }
        self.control.push_back(request);
        Ok(())
    }

    /// Counts a probe, answers an echo.
    pub(in crate::native) fn datagram(&mut self, datagram: &[u8], fragment: Option<u32>) -> Option<Request> {
        if self.ledger.count(datagram, fragment) {
            return None;
        }
        echo_reply(datagram).map(|bytes| Request::Send { bytes, cut: None, hops: None })
    }

    pub(in crate::native) fn too_big(&mut self, size: u32) {
        if let Some(request) = self.control.front_mut() {
            request.too_big(size);
        }
    }

    /// Sends datagrams that are due, one at a time.
    pub(in crate::native) fn poll(&mut self, now: MonoTime, link: &mut Link) {
        let Some(request) = self.control.front_mut() else { return };
        if now < request.due() {
            return;
        }
        if let Some((id, too_big)) = request.done() {
            link.send(&Message::ProbeSent { id, too_big: too_big.to_vec() });
            self.control.pop_front();
        } else if let Some(datagram) = request.poll(now) {
            link.work(datagram);
        }
    }
}

const MAX_BYTES: u64 = 128 << 20;
/// Ten times the duration of the probes of `pathmeter measure`, however short tests must be: a busy host pauses now and then.
const LEAST: Nanos = Nanos::from_secs(60);
const LONGEST: Nanos = Nanos::from_secs(300);

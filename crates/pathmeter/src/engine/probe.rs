//! Probing a path from the client: round trips, which datagram sizes cross, the largest that crosses whole.
//!
//! The far end says over the control connection what arrived, so a broken way back cannot falsify the way out.

use super::client::Security;
use super::dialogue::{Dialogue, Words};
use super::flows;
use super::interrupt::Interrupt;
use super::shared::FlowSocket;
use linux::clock::{mono_now, sleep_until};
use model::event::Probe;
use model::plan::{Direction, LocalOptions, Target, Transport};
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use wire::ProtocolError;
use wire::native::Limits;
use wire::native::probe::{Echo, Ledger, ProbeClient, ProbeDatagram, ProbeReply, ProbeSend};

/// A probe session with a pathmeter server.
pub(crate) struct Prober {
    dialogue: Dialogue,
    /// IPv4 all the way?
    is_v4: bool,
    ledger: Ledger,
    echoes: Vec<(Echo, MonoTime)>,
    next_id: u32,
    rtt: Nanos,
}

impl Prober {
    /// Opens a session, with its one UDP flow.
    pub(crate) fn open(
        target: &Target,
        local: &LocalOptions,
        security: &Security,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Prober> {
        let dialogue = Dialogue::open(target, local, security, interrupt, WORDS, ProbeClient::new)?;
        let mut prober = Prober {
            dialogue,
            is_v4: flows::is_v4(target.address.ip()),
            ledger: Ledger::default(),
            echoes: Vec::new(),
            next_id: 1,
            rtt: Nanos::from_millis(10),
        };
        prober.run_until(mono_now() + OPEN_LIMIT, |p| p.dialogue.machine.is_ready())?;
        Ok(prober)
    }

    /// What the server allows throughput tests.
    pub(crate) fn limits(&self) -> &Limits {
        self.dialogue.machine.limits()
    }

    /// Round trips of small datagrams on the idle path, one after the other.
    pub(crate) fn idle_rtt(&mut self, count: u64) -> anyhow::Result<Probe> {
        let mut histogram = Histogram::default();
        let mut lost = 0;
        for sequence in 0..count {
            let began = mono_now();
            let echo = Echo { sequence, sent: began };
            let socket = self.socket()?;
            // A refused or full socket is a lost probe, and is counted as one.
            socket.send(&ProbeDatagram::Echo(echo).encode(ECHO_SIZE)).ok();
            let patience = if histogram.count() == 0 {
                ECHO_LIMIT
            } else {
                ECHO_LIMIT.min(Nanos(self.rtt.0 * 20 + ECHO_SLACK.0))
            };
            self.run_until(began + patience, |p| p.echoes.iter().any(|(e, _)| *e == echo))
                .or_else(timed_out)?;
            match self.echoes.drain(..).find(|(e, _)| *e == echo) {
                Some((_, came)) => histogram.record(came.saturating_since(began).0),
                None => lost += 1,
            }
            sleep_until(began + ECHO_GAP);
        }
        let rtt = histogram.distribution().unwrap_or_default();
        self.rtt = if rtt.count > 0 { rtt.p99 } else { self.rtt };
        Ok(Probe::IdleRtt { transport: Transport::Udp, rtt, lost })
    }

    /// The largest payload that crosses in one packet, to the byte. `None`: not even a small one arrived.
    pub(crate) fn largest_payload(&mut self, direction: Direction) -> anyhow::Result<Option<u32>> {
        let mut low = 0;
        let mut high = LARGEST + 1;
        let headers = if self.is_v4 { 28 } else { 48 };
        let mut sizes: Vec<u32> = COMMON_MTUS.iter().map(|mtu| (mtu - headers).min(LARGEST)).collect();
        loop {
            let arrived = self.cross(direction, &sizes, COPIES, true)?;
            low =
                sizes.iter().copied().filter(|s| arrived.get(s).is_some_and(|n| *n > 0)).fold(low, u32::max);
            let lost = sizes.iter().copied().filter(|s| *s > low && arrived.get(s).is_none_or(|n| *n == 0));
            high = lost.fold(high.max(low + 1), u32::min);
            if high <= low + 1 {
                return Ok((low > 0).then_some(low));
            }
            sizes = between(low, high);
        }
    }

    /// Sends datagrams of these sizes one way; says how many of each size arrived.
    pub(crate) fn cross(
        &mut self,
        direction: Direction,
        sizes: &[u32],
        count: u32,
        dont_fragment: bool,
    ) -> anyhow::Result<BTreeMap<u32, u32>> {
        let id = self.next_id;
        self.next_id += 1;
        let settle = Nanos((self.rtt.0 * 2).max(SETTLE.0));
        let received = match direction {
            Direction::Up => {
                self.send_up(id, sizes, count, dont_fragment)?;
                self.pause(settle)?;
                self.dialogue.machine.report(mono_now(), id)?;
                self.seen(id)?
            }
            Direction::Down => {
                let send = ProbeSend { id, sizes: sizes.to_vec(), count, dont_fragment, gap: GAP };
                self.dialogue.machine.order(mono_now(), send)?;
                self.sent(id)?;
                self.pause(settle)?;
                self.ledger.received(id)
            }
        };
        Ok(received.into_iter().map(|row| (row.size, row.count)).collect())
    }

    /// Says goodbye.
    pub(crate) fn close(mut self) {
        self.dialogue.machine.finish(mono_now());
        self.run_until(mono_now() + Nanos::from_millis(200), |_| false).ok();
    }

    fn send_up(&mut self, id: u32, sizes: &[u32], count: u32, dont_fragment: bool) -> anyhow::Result<()> {
        let socket = self.socket()?;
        for index in 0..count {
            for size in sizes {
                let datagram = ProbeDatagram::Probe { id, index, size: *size }.encode(*size);
                // What the kernel does not send cannot arrive, which is what will be found.
                flows::send_probe(&socket, &datagram, dont_fragment).ok();
                sleep_until(mono_now() + GAP);
            }
        }
        Ok(())
    }

    fn seen(&mut self, wanted: u32) -> anyhow::Result<Vec<wire::native::probe::SizeCount>> {
        let mut answer = None;
        self.run_until(mono_now() + ANSWER_LIMIT, |p| {
            while let Some(reply) = p.dialogue.machine.take_reply() {
                if let ProbeReply::Seen { id, received } = reply
                    && id == wanted
                {
                    answer = Some(received);
                }
            }
            answer.is_some()
        })?;
        Ok(answer.unwrap_or_default())
    }

    fn sent(&mut self, wanted: u32) -> anyhow::Result<()> {
        self.run_until(mono_now() + ANSWER_LIMIT, |p| {
            let reply = p.dialogue.machine.take_reply();
            matches!(reply, Some(ProbeReply::Sent { id, .. }) if id == wanted)
        })
    }

    fn pause(&mut self, time: Nanos) -> anyhow::Result<()> {
        self.run_until(mono_now() + time, |_| false).or_else(timed_out)
    }

    fn socket(&self) -> anyhow::Result<Arc<UdpSocket>> {
        self.flow().ok_or_else(|| anyhow::anyhow!("the probe session has no flow"))
    }

    fn flow(&self) -> Option<Arc<UdpSocket>> {
        match &self.dialogue.flow {
            Some(FlowSocket::Udp(socket)) => Some(socket.clone()),
            _ => None,
        }
    }

    /// Keeps the session going until `done` or the deadline, which is an error.
    fn run_until(
        &mut self,
        deadline: MonoTime,
        mut done: impl FnMut(&mut Prober) -> bool,
    ) -> anyhow::Result<()> {
        loop {
            let until = self.dialogue.advance()?;
            if done(self) {
                return Ok(());
            }
            let flow = self.flow();
            self.dialogue.wait(until, deadline, flow.as_deref())?;
            self.take_datagrams(flow.as_deref());
        }
    }

    fn take_datagrams(&mut self, flow: Option<&UdpSocket>) {
        let mut buffer = [0; 1 << 16];
        while let Some(Ok(length)) = flow.map(|socket| socket.recv(&mut buffer)) {
            let now = mono_now();
            if let Some(ProbeDatagram::EchoReply(echo)) = ProbeDatagram::decode(&buffer[..length]) {
                self.echoes.push((echo, now));
            } else {
                self.ledger.count(&buffer[..length]);
            }
        }
    }
}

/// A deadline that passes is expected where one only waits.
fn timed_out(error: anyhow::Error) -> anyhow::Result<()> {
    match error.downcast_ref::<ProtocolError>() {
        Some(ProtocolError::Timeout(_)) => Ok(()),
        _ => Err(error),
    }
}

/// Up to 32 sizes spread evenly over what is still open.
fn between(low: u32, high: u32) -> Vec<u32> {
    let steps = (high - low - 1).min(SIZES_AT_ONCE);
    (1..=steps)
        .map(|step| low + (u64::from(high - low) * u64::from(step) / u64::from(steps + 1)) as u32)
        .collect()
}

/// MTUs that paths commonly have: jumbo frames, Ethernet, PPPoE, tunnels, the minima of IPv6 and IPv4.
const COMMON_MTUS: [u32; 18] = [
    65_535, 9216, 9000, 8000, 4000, 2000, 1501, 1500, 1492, 1480, 1460, 1450, 1420, 1400, 1360, 1280, 900,
    576,
];
/// Largest UDP payload over IPv4.
const LARGEST: u32 = 65_507;
const SIZES_AT_ONCE: u32 = 32;
/// Copies of each size: one lost by chance must not look like a limit.
const COPIES: u32 = 3;
const ECHO_SIZE: u32 = 64;
const ECHO_GAP: Nanos = Nanos(5_000_000);
const ECHO_LIMIT: Nanos = Nanos(1_000_000_000);
const ECHO_SLACK: Nanos = Nanos(100_000_000);
/// Time between two probes.
const GAP: Nanos = Nanos(100_000);
/// Least time for stragglers to arrive.
const SETTLE: Nanos = Nanos(30_000_000);
const WORDS: Words = Words { closed: "after the probes", late: "while probing the path" };
const OPEN_LIMIT: Nanos = Nanos(15_000_000_000);
const ANSWER_LIMIT: Nanos = Nanos(10_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_is_inside_and_complete_at_the_end() {
        assert_eq!(between(1472, 1474), [1473]);
        assert_eq!(between(1400, 1420).len(), 19);
        let wide = between(0, 65_508);
        assert_eq!(wide.len(), 32);
        assert!(wide.iter().all(|s| (1..65_508).contains(s)) && wide.is_sorted());
    }
}

//! Messages at their due times, whether replies come or not: under-load, throughput, playback.

use super::flow::EgressFlow;
use super::housekeeping::Housekeeping;
use super::sizes::Sizes;
use crate::work::echo::wait::{SPIN, Waiter};
use linux::clock::mono_now;
use linux::poll::Interest;
use model::latency::{LatencyMode, WaitMode};
use model::playback::Item;
use model::time::MonoTime;
use model::units::{Nanos, PacketRate};
use std::os::fd::AsFd;
use wire::echo::Exchange;

/// Sends until the plan's end, then waits for the replies in flight.
pub(crate) fn run<E: Exchange>(
    flows: &mut [EgressFlow<E>],
    playback: &[Item],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) {
    let mut clockwork = Clockwork::new(housekeeping, playback);
    loop {
        let now = mono_now();
        waiter.look(now);
        housekeeping.keep(now, flows);
        let due = clockwork.due().filter(|_| !housekeeping.is_over(now, clockwork.sent));
        let Some(due) = due.filter(|_| flows.iter().any(|flow| flow.dead.is_none())) else { break };
        let sends = now >= due;
        if sends {
            clockwork.send(now, flows);
        }
        let heard = clockwork.listens() && poll_all(flows, waiter);
        if !sends && !heard {
            sleep(now, due, flows, waiter, housekeeping);
        }
    }
    wait_for_the_last(flows, waiter, housekeeping);
}

/// Sending has ended: takes the replies that are still in flight, each for as long as its message may take.
pub(super) fn wait_for_the_last<E: Exchange>(
    flows: &mut [EgressFlow<E>],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) {
    let ended = mono_now();
    housekeeping.sent_until = Some(ended);
    let mut expiry = ended;
    loop {
        let now = mono_now();
        waiter.look(now);
        housekeeping.keep(now, flows);
        if now >= expiry {
            expiry = now + EXPIRY_STEP;
            housekeeping.expire(now, flows);
        }
        let waits = flows.iter_mut().any(|flow| flow.dead.is_none() && flow.tally.waits());
        if !waits || now >= housekeeping.last_wait(flows, ended) {
            return;
        }
        if !poll_all(flows, waiter) {
            sleep(now, expiry, flows, waiter, housekeeping);
        }
    }
}

fn poll_all<E: Exchange>(flows: &mut [EgressFlow<E>], waiter: &mut Waiter) -> bool {
    let mut heard = false;
    for flow in flows.iter_mut().filter(|flow| flow.dead.is_none()) {
        heard |= flow.poll(waiter);
    }
    heard
}

/// Sleeps until something comes or is due, unless this end spins.
fn sleep<E: Exchange>(
    now: MonoTime,
    due: MonoTime,
    flows: &[EgressFlow<E>],
    waiter: &mut Waiter,
    housekeeping: &Housekeeping<'_>,
) {
    let early = if housekeeping.plan.wait == WaitMode::Block { Nanos::ZERO } else { SPIN };
    let until = (due - early).min(housekeeping.due());
    if housekeeping.plan.wait == WaitMode::Spin || until <= now {
        return;
    }
    let alive = flows.iter().filter(|flow| flow.dead.is_none());
    let sockets: Vec<_> = alive.map(|flow| flow.socket.as_fd()).collect();
    let mut interests: Vec<Interest<'_>> = sockets.iter().map(Interest::readable).collect();
    // An error of poll(2) shows again at the next receive, where it is reported.
    waiter.sleep(&mut interests, until).ok();
}

/// The next burst that is due.
struct Clockwork<'a> {
    mode: LatencyMode,
    sizes: Sizes,
    /// The size of the messages of this burst.
    size: usize,
    burst: u64,
    playback: &'a [Item],
    started: MonoTime,
    rate: Option<PacketRate>,
    /// Beside a load: round trips count from the send call. No message waits for another, so none is left out, and
    /// what a busy host adds before it is not the path's.
    from_send: bool,
    reply_every: u64,
    /// Messages sent on each path.
    sent: u64,
    /// The messages of these before this burst.
    sent_before: u64,
    /// This burst began after it was due.
    behind: bool,
}

impl<'a> Clockwork<'a> {
    fn new(housekeeping: &Housekeeping<'_>, playback: &'a [Item]) -> Clockwork<'a> {
        let plan = housekeeping.plan;
        let mut sizes = Sizes::from_plan(plan, housekeeping.started.0);
        Clockwork {
            mode: plan.mode,
            size: sizes.next_burst(),
            sizes,
            burst: plan.burst.max(1).into(),
            playback,
            started: housekeeping.paced_from,
            rate: plan.rate,
            from_send: plan.load.is_some(),
            reply_every: u64::from(plan.reply_every.max(1)),
            sent: 0,
            sent_before: 0,
            behind: false,
        }
    }

    /// When the next message is due; `None`: there is none.
    fn due(&self) -> Option<MonoTime> {
        match (self.mode, self.rate) {
            (LatencyMode::Playback, _) => {
                self.playback.get(usize::try_from(self.sent).ok()?).map(|item| self.started + item.at)
            }
            (_, Some(rate)) => {
                let since = u128::from(self.sent_before) * 1_000_000_000 / u128::from(rate.0.max(1));
                Some(self.started + Nanos(u64::try_from(since).unwrap_or(u64::MAX)))
            }
            (_, None) => Some(self.started),
        }
    }

    fn send<E: Exchange>(&mut self, now: MonoTime, flows: &mut [EgressFlow<E>]) {
        let Some(due) = self.due() else { return };
        let size = match self.playback.get(usize::try_from(self.sent).unwrap_or(usize::MAX)) {
            Some(item) if self.mode == LatencyMode::Playback => item.size as usize,
            _ => self.size,
        };
        let unlimited = self.rate.is_none() && self.mode != LatencyMode::Playback;
        let unpaced = unlimited || self.from_send;
        let due = if unpaced { now } else { due };
        let wants_reply = self.listens() && (self.sent + 1).is_multiple_of(self.reply_every);
        if self.sent == self.sent_before {
            self.behind = !unpaced && now.saturating_since(due) > BEHIND;
        }
        for flow in flows.iter_mut().filter(|flow| flow.dead.is_none()) {
            flow.send(size, due, mono_now(), wants_reply, now + SEND_LIMIT);
            if self.behind {
                flow.tally.behind();
            }
        }
        self.sent += 1;
        if self.sent - self.sent_before >= self.burst {
            self.sent_before = self.sent;
            self.size = self.sizes.next_burst();
        }
    }

    fn listens(&self) -> bool {
        self.mode != LatencyMode::Throughput
    }
}

/// Time between two looks for replies to give up.
const EXPIRY_STEP: Nanos = Nanos::from_millis(5);
/// A message sent so much after it was due is counted as such.
const BEHIND: Nanos = Nanos::from_micros(100);
/// Longest wait for room in a socket.
const SEND_LIMIT: Nanos = Nanos::from_secs(1);

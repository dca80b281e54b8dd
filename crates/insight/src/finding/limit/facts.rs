//! Facts of hosts that name a limit by themselves, or explain one. A row of the table has the source of each, the threshold from
//! which on it counts, its words and the command that repairs it; `docs/methods/limit.md` has the same table.

mod drivers;
mod table;

pub use drivers::driver_counter;
pub use table::{FACTS, FactRow};

use super::signs::Signs;
use super::{End, limit, path};
use model::limit::{Confidence, FactName, HostFact, Limit, LimitKind};
use model::units::BitRate;
use table::{NOTICED, Threshold, rate};

/// The limit that facts name by themselves: most of what was lost, or what held the rate back.
pub(super) fn named(signs: &Signs<'_>) -> Option<Limit> {
    let (row, fact, end) = FACTS.iter().find_map(|row| {
        let kind = row.names?;
        let is_brake = kind == LimitKind::Pause || kind == LimitKind::Tunnel;
        let (fact, end) = row.found(signs, None).filter(|_| !is_brake || is_unexplained(signs))?;
        Some((row, fact, end))
    })?;
    let kind = row.names?;
    let path = path::any(signs);
    let of_path =
        path.as_ref().and_then(|limit| limit.rate).or_else(|| Some(BitRate(signs.hot?.rate as u64)));
    let of_queue = signs.facts(End::Sender).find(|fact| fact.name == FactName::QueueRate);
    let of_queue = of_queue.filter(|_| row.name == FactName::QueueHeld).map(|fact| rate(fact.value));
    Some(Limit {
        rate: of_queue.or(of_path),
        queue: path.as_ref().and_then(|limit| limit.queue).filter(|_| kind == LimitKind::HostQueue),
        packets: path.as_ref().and_then(|limit| limit.packets),
        cause: Some((row.sentence)(fact, end)),
        fix: Some((row.fix)(fact)),
        ..limit(kind, Confidence::Medium)
    })
}

/// No CPU is full and nothing was lost: something made the sender wait.
fn is_unexplained(signs: &Signs<'_>) -> bool {
    let host = &signs.evidence.host;
    host.sender_full.is_none() && host.receiver_full.is_none() && signs.lost() < NOTICED
}

/// A CPU quota that held an end back most of the time: its words, and its command.
pub(super) fn quota(signs: &Signs<'_>, end: End) -> Option<(String, String)> {
    let row = FACTS.iter().find(|row| row.name == FactName::CpuQuota)?;
    let fact = signs.facts(end).find(|fact| row.counts(fact, signs, None))?;
    Some(((row.sentence)(fact, host_of(end)), (row.fix)(fact)))
}

/// The limit with the fact that explains it, where there is one and it has not named the limit by itself.
pub(super) fn explained(limit: Limit, signs: &Signs<'_>) -> Limit {
    if limit.fix.is_some() {
        return limit;
    }
    let explains = |row: &&FactRow| row.explains.contains(&limit.kind);
    let cause = FACTS.iter().filter(explains).find_map(|row| {
        let (fact, host) = row.found(signs, Some(&limit))?;
        Some(((row.sentence)(fact, host), (row.fix)(fact)))
    });
    let Some((sentence, fix)) = cause else { return limit };
    let cause = match limit.cause.clone() {
        Some(before) => format!("{before}; {sentence}"),
        None => sentence,
    };
    Limit { cause: Some(cause), fix: Some(fix), ..limit }
}

/// A variable rate is Wi-Fi's where an end reports so, with its signal and its retries.
pub(super) fn wifi(limit: Limit, signs: &Signs<'_>) -> Limit {
    let is_wifi = |end: &End| signs.facts(*end).any(|fact| fact.name == FactName::WifiRate);
    if limit.kind != LimitKind::VariableRate {
        return limit;
    }
    let Some(end) = [End::Sender, End::Receiver].into_iter().find(is_wifi) else { return limit };
    let fact = |name: FactName| signs.facts(end).find(|fact| fact.name == name);
    let signal = fact(FactName::WifiSignal).map(|fact| format!("signal {} dBm", fact.value));
    let retries = fact(FactName::WifiRetries).filter(|fact| fact.whole.is_some_and(|sent| sent > 0.0));
    let retries = retries.map(|fact| format!("{:.0} retries for each 100 frames sent", 100.0 * fact.share()));
    let signs: Vec<String> = signal.into_iter().chain(retries).collect();
    let cause = (!signs.is_empty()).then(|| signs.join(", "));
    Limit { kind: LimitKind::Wifi, cause, ..limit }
}

/// What a queue or a drop of a host on the path states of a limit that the load met: a sentence, and its command.
pub(super) fn on_the_path(facts: &[HostFact], host: &str, signs: &Signs<'_>) -> Option<(String, String)> {
    FACTS.iter().find_map(|row| {
        let rate = |fact: &HostFact| {
            let of_queue = facts.iter().find(|one| one.name == FactName::QueueRate && one.of == fact.of);
            of_queue.map(|rate| rate.value)
        };
        let is_it = |fact: &&HostFact| match row.from {
            Threshold::Losses => row.counts(fact, signs, None),
            Threshold::Held => fact.name == row.name && fact.share() >= HELD && is_reached(rate(fact), signs),
            _ => false,
        };
        let fact = facts.iter().find(is_it)?;
        Some(((row.sentence)(fact, host), (row.fix)(fact)))
    })
}

impl FactRow {
    /// The first fact of this row that counts, and the host it is of.
    fn found<'a>(&self, signs: &Signs<'a>, limit: Option<&Limit>) -> Option<(&'a HostFact, &'static str)> {
        let ends = [End::Sender, End::Receiver].into_iter().filter(|end| self.is_of(*end, limit));
        ends.into_iter().find_map(|end| {
            let fact = signs.facts(end).find(|fact| self.counts(fact, signs, limit))?;
            Some((fact, host_of(end)))
        })
    }

    /// A CPU is that of its own end alone.
    fn is_of(&self, end: End, limit: Option<&Limit>) -> bool {
        let other = match limit.map(|limit| limit.kind) {
            Some(LimitKind::SenderCpu | LimitKind::SenderBuffer) => Some(End::Receiver),
            Some(LimitKind::ReceiverCpu | LimitKind::ReceiverWindow) => Some(End::Sender),
            _ => None,
        };
        (self.end == End::Either || self.end == end) && other != Some(end)
    }

    fn counts(&self, fact: &HostFact, signs: &Signs<'_>, limit: Option<&Limit>) -> bool {
        let (packets, lost) = signs.packets();
        let (packets, lost) = (packets as f64, lost as f64);
        let is_it = fact.name == self.name;
        is_it
            && match self.from {
                Threshold::Value(least) => fact.value >= least,
                Threshold::Share(least) => fact.share() >= least,
                Threshold::Below(most) => fact.whole.is_some() && fact.share() < most,
                Threshold::Packets(least) => packets > 0.0 && fact.value >= least * packets,
                Threshold::Losses => {
                    packets > 0.0
                        && fact.value >= NOTICED * packets
                        && fact.value >= MOST_DROPS * lost.max(1.0)
                }
                Threshold::Held => is_held(fact, signs),
                Threshold::Bus => is_bus(fact, signs),
                Threshold::Window => is_window(fact, limit),
                Threshold::SmallerMtu => {
                    let mut sender =
                        signs.facts(End::Sender).filter(|fact| fact.name == FactName::InterfaceMtu);
                    sender.any(|sender| sender.value > fact.value)
                }
            }
    }
}

/// A queueing discipline held packets back often, and its rate is what TCP reached.
fn is_held(fact: &HostFact, signs: &Signs<'_>) -> bool {
    let rate = signs.facts(End::Sender).find(|fact| fact.name == FactName::QueueRate).map(|fact| fact.value);
    is_reached(rate, signs) && fact.share() >= HELD
}

/// The test reached the rate of a queue.
fn is_reached(rate: Option<f64>, signs: &Signs<'_>) -> bool {
    rate.is_some_and(|rate| (0.85..1.05).contains(&(signs.rate / rate)))
}

/// The test reached the part of a bus that packets can use, and the link is not what it reached.
fn is_bus(fact: &HostFact, signs: &Signs<'_>) -> bool {
    let name = fact.of.rsplit(' ').next().unwrap_or_default();
    let ends = signs.facts(End::Sender).chain(signs.facts(End::Receiver));
    let speed =
        ends.filter(|link| link.name == FactName::LinkSpeed && link.of == name).map(|link| link.value);
    let is_narrower = speed.reduce(f64::max).is_some_and(|speed| USABLE_BUS * fact.value < speed);
    is_narrower && (LEAST_BUS * fact.value..=fact.value).contains(&signs.rate)
}

/// Half of a buffer is window, and the rest room for the kernel's own data; large ones are not the reason.
fn is_window(fact: &HostFact, limit: Option<&Limit>) -> bool {
    let setting = match limit.map(|limit| limit.kind) {
        Some(LimitKind::ReceiverWindow) => "net.ipv4.tcp_rmem",
        _ => "net.ipv4.tcp_wmem",
    };
    let window = limit.and_then(|limit| limit.window).map_or(0.0, |window| window.0 as f64);
    fact.of == setting && window > 0.0 && fact.value <= 2.5 * window
}

const fn host_of(end: End) -> &'static str {
    match end {
        End::Sender => "the sender",
        End::Receiver | End::Either => "the receiver",
    }
}

/// Share of the packets that the test lost, as for the load.
const MOST_DROPS: f64 = 0.3;
/// Share of its packets that a discipline held back: with TSO one counts for up to 44 packets.
const HELD: f64 = 0.01;
/// Packets get so much of a bus at most …
const USABLE_BUS: f64 = 0.8;
/// … and so much at least when it is full: USB's share is smaller than that of PCIe.
const LEAST_BUS: f64 = 0.6;

#[cfg(test)]
mod tests;

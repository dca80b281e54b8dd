//! The last lines: what was done, with which versions, on which hosts, when, and where there is more.

use super::super::text::latency as latency_text;
use super::super::text::{phrases, transfer};
use model::event::Outcome;
use model::host::Host;
use model::run::Run;
use model::time::WallTime;
use model::transfer::Trust;
use model::units::count;

/// `UDP up, 1 stream, 3 s, pathmeter 0.1.0 at both ends, Linux 6.18, 2 CPUs, eth0 MTU 1500, 2026-11-22 06:01 UTC`.
pub(in crate::format) fn line(run: &Run) -> String {
    let facts: Vec<String> = [
        what(run),
        versions(run),
        run.host.as_ref().map(|host| kernel(&host.kernel)).filter(|kernel| !kernel.is_empty()),
        run.host.as_ref().filter(|host| host.cpus > 0).map(|host| count(host.cpus, "CPU")),
        run.host.as_ref().and_then(interface),
        took(run),
        run.started.map(date),
    ]
    .into_iter()
    .flatten()
    .collect();
    facts.join(", ")
}

/// The test, where the table does not name it.
fn what(run: &Run) -> Option<String> {
    if let Some(plan) = run.latency() {
        return Some(latency_text::phrase(plan));
    }
    if let Some(plan) = run.transfer() {
        let insecure =
            if plan.trust == Trust::Everybody { ", INSECURE: no certificate was checked" } else { "" };
        return Some(format!("{}{insecure}", transfer::title(plan)));
    }
    run.throughput()
        .filter(|_| run.tests.is_empty() || run.summary.pairs.is_some())
        .map(|plan| phrases::test(&plan.test))
}

fn versions(run: &Run) -> Option<String> {
    let here = run.host.as_ref().map(|host| host.version.as_str()).filter(|version| !version.is_empty());
    let there = run.peer.as_ref().map(|host| host.version.as_str()).filter(|version| !version.is_empty());
    Some(match (here?, there) {
        (here, Some(there)) if here == there => format!("{here} at both ends"),
        (here, Some(there)) => format!("{here} here, {there} there"),
        (here, None) => here.to_owned(),
    })
}

/// `Linux 6.18` of `Linux 6.18.44-fc x86_64`.
pub(in crate::format) fn kernel(text: &str) -> String {
    let mut phrases = text.split_whitespace();
    let (system, release) = (phrases.next().unwrap_or_default(), phrases.next().unwrap_or_default());
    let numbers: Vec<&str> = release.split('.').take(2).collect();
    format!("{system} {}", numbers.join(".")).trim().to_owned()
}

fn interface(host: &Host) -> Option<String> {
    let nic = host.nic.as_ref()?;
    let speed = nic.link_bps.map(|rate| format!(" {rate}")).unwrap_or_default();
    Some(format!("{}{speed} MTU {}", nic.name, nic.mtu))
}

/// How long all of it took; of one test the plan states that, where it was not stopped before.
fn took(run: &Run) -> Option<String> {
    let took = run.finished? - run.started?;
    let seconds = match took.0 {
        ..10_000_000_000 => format!("{:.1} s", took.as_secs_f64()),
        _ => format!("{:.0} s", took.as_secs_f64()),
    };
    let is_stopped = matches!(run.summary.outcome, Some(Outcome::Interrupted));
    match what(run) {
        _ if took.0 < 100_000_000 => None,
        None => Some(seconds),
        Some(_) => is_stopped.then(|| format!("stopped after {seconds}")),
    }
}

/// `2026-11-22 06:01 UTC`.
pub(in crate::format) fn date(time: WallTime) -> String {
    let text = time.to_string();
    let minutes: String = text.chars().take("2026-11-22T06:01".len()).collect();
    format!("{} UTC", minutes.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_by_two_numbers() {
        assert_eq!(kernel("Linux 6.18.44-fc-v657 x86_64"), "Linux 6.18");
        assert_eq!(kernel(""), "");
        assert_eq!(date(WallTime(1_785_587_400_000_000_000)), "2026-08-01 12:30 UTC");
    }
}

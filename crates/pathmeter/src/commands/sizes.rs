//! Which datagram sizes cross the path: asked by `measure`, and by itself after a UDP test that needs explaining.

use super::session::Live;
use crate::engine::client::Security;
use crate::engine::interrupt::Interrupt;
use crate::engine::probe::Prober;
use crate::exit::sentence;
use model::event::{Event, Outcome, Probe, Warning};
use model::plan::{Direction, Plan, ProtocolName, Transport};
use model::summary::Summary;
use std::io::Write;

/// What crosses one way: the largest whole datagram, and whether one of `large` bytes arrives in fragments. Without
/// `large`: twice the largest, at least the payload that iPerf3's old default used.
pub(crate) fn probe_sizes(
    prober: &mut Prober,
    direction: Direction,
    large: Option<u32>,
    events: &mut Vec<Event>,
) -> anyhow::Result<()> {
    let payload = prober.largest_payload(direction)?;
    events.push(Event::Probe(Probe::LargestPayload { direction, payload }));
    let Some(payload) = payload else { return Ok(()) };
    let twice = payload.saturating_mul(2).clamp(OLD_DEFAULT, LARGEST_PAYLOAD);
    let large = large.filter(|large| *large > payload).unwrap_or(twice);
    for (size, fragmented) in [(payload, false), (large, true)] {
        if fragmented && size <= payload {
            continue;
        }
        let arrived = prober.cross(direction, &[size], COPIES, !fragmented)?;
        let received = arrived.get(&size).copied().unwrap_or(0);
        let probe = Probe::UdpSize { direction, payload: size, fragmented, sent: COPIES, received };
        events.push(Event::Probe(probe));
    }
    Ok(())
}

/// After a UDP test of which nearly nothing arrived, or whose datagrams went in fragments: probes the path, so that
/// the findings can name the reason and the payload that works. iPerf3's servers answer no probes.
pub(crate) fn explain(plan: &Plan, security: &Security, interrupt: &Interrupt, live: &mut Live<'_>) {
    let ways = unexplained(plan, &Summary::of(&live.events));
    if ways.is_empty() || interrupt.is_raised() || plan.protocol != ProtocolName::Native {
        return;
    }
    // Progress is a courtesy: a closed standard error stops nothing.
    let _ =
        writeln!(std::io::stderr(), "Probing which datagram sizes cross the path, to explain this result …");
    let mut found = Vec::new();
    let probe = || -> anyhow::Result<()> {
        let mut prober = Prober::open(&plan.target, &plan.local, security, interrupt)?;
        for direction in ways {
            probe_sizes(&mut prober, direction, Some(plan.test.length), &mut found)?;
        }
        prober.close();
        Ok(())
    };
    if let Err(e) = probe()
        && !interrupt.is_raised()
    {
        let why = sentence(&e);
        let text =
            format!("The path could not be probed after the test, so its loss is not explained: {why}.");
        found.push(Event::Warning(Warning::new("probe-failed", text)));
    }
    found.iter().for_each(|event| live.event(event));
}

/// The directions whose figures need probes to be understood.
fn unexplained(plan: &Plan, summary: &Summary) -> Vec<Direction> {
    let ended = matches!(summary.outcome, Some(Outcome::Completed | Outcome::Interrupted));
    if plan.test.transport != Transport::Udp || !ended {
        return Vec::new();
    }
    let needs = |direction: &Direction| {
        summary.direction(*direction).is_some_and(|way| {
            let nothing = way.received.datagrams.saturating_mul(NEARLY_NOTHING) <= way.sent.datagrams;
            let fragments = way.wire.frames_per_packet.is_some_and(|frames| frames > 1);
            !way.receiver_unknown && way.sent.datagrams > 0 && (nothing || fragments)
        })
    };
    plan.test.directions.each().filter(needs).collect()
}

/// One datagram in so many is nearly nothing.
const NEARLY_NOTHING: u64 = 20;
/// Needs fragments on most paths.
const OLD_DEFAULT: u32 = 8192;
const LARGEST_PAYLOAD: u32 = 65_507;
/// With one in ten lost by chance, all of them are lost once in ten thousand million times.
const COPIES: u32 = 10;

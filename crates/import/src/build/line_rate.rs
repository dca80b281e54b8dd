//! The share of line rate of an output that does not report its segments: between what the usual ones give.

use super::ParsedRun;
use model::plan::{Direction, Transport};
use model::sample::Role;
use model::units::{BitRate, Bytes, Nanos};

/// States between which shares of the link each direction lies, and the option that settles it.
pub(super) fn say(parsed: &mut ParsedRun) {
    let is_known = parsed.mss.is_some() || parsed.test.transport != Transport::Tcp;
    let Some(link) = parsed.known.link.filter(|link| link.0 > 0 && !is_known) else { return };
    for direction in parsed.test.directions.each().collect::<Vec<_>>() {
        let Some(goodput) = goodput(parsed, direction) else { continue };
        let share = |payload: u64| {
            let frame = payload + HEADERS;
            let share = goodput.0 as f64 * (frame + GAP) as f64 / payload as f64 / link.0 as f64;
            let packets = goodput.0 as f64 / 8.0 / payload as f64;
            format!(
                "{:.1} % with segments of {payload} bytes ({:.2} million packets per second)",
                share * 100.0,
                packets / 1e6
            )
        };
        let [large, small] = SEGMENTS.map(share);
        let text = format!(
            "The output does not give the segments: {goodput} {direction} on a link of {link} is between {large} and {small} of \
             line rate. `--mss 1448` (MTU 1500) or `--mss 8948` (MTU 9000) settles it."
        );
        parsed.warn("line-rate-range", text);
    }
}

fn goodput(parsed: &ParsedRun, direction: Direction) -> Option<BitRate> {
    let rate_of = |role: Role| {
        let rows: Vec<_> = parsed.rows(direction, role).collect();
        let bytes = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.bytes.0));
        let elapsed = rows.iter().map(|row| row.elapsed).max().filter(|time| *time > Nanos::ZERO)?;
        Some(BitRate::from_bytes(Bytes(bytes), elapsed)).filter(|rate| rate.0 > 0)
    };
    rate_of(Role::Receiver).or_else(|| rate_of(Role::Sender))
}

/// Payload of TCP's segments with timestamps in packets of 9000 and of 1500 bytes, over IPv4.
const SEGMENTS: [u64; 2] = [8948, 1448];
/// Timestamps, TCP, IPv4, Ethernet with its FCS.
const HEADERS: u64 = 12 + 20 + 20 + 18;
/// Preamble and gap.
const GAP: u64 = 20;

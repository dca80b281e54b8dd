//! `streams-stalled`: some of several streams delivered nothing, so that their flows take another path than the rest.

use super::measured::MeasuredDirection;
use super::text::count;
use super::{Finding, Severity};
use model::sample::Role;

/// Streams that delivered nothing beside others that did.
pub(super) fn stalled(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let all = one_way.rows(Role::Receiver).count();
    let empty = one_way.rows(Role::Receiver).filter(|row| row.bytes.0 == 0);
    let stalled = empty.count();
    // A stream that sent nothing lost nothing.
    let sent = one_way.rows(Role::Sender).filter(|row| row.bytes.0 > 0).count();
    if stalled == 0 || stalled == all || sent < all || one_way.figures.receiver_unknown {
        return None;
    }
    let transport = one_way.figures.transport;
    let title = format!(
        "{stalled} of {} delivered nothing {}, while the others did: their flows take a path that loses them",
        count(all as u64, &format!("{transport} stream")),
        one_way.direction
    );
    let finding = Finding::new("streams-stalled", Severity::Problem, one_way.direction, title)
        .with("stalled_count", stalled as u64)
        .with("streams_count", all as u64);
    Some(finding.advise(
        "Flows are spread over several paths (equal-cost routes, bonds, two uplinks), and one of them drops large packets or all: `pathmeter mtu HOST` compares the sizes that flows carry, `pathmeter hops HOST` their routers.",
    ))
}

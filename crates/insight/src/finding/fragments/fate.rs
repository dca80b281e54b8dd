//! `fragments-dropped` by tests: which fragments are lost, and who does such a thing.

use super::super::text::{count, grouped};
use super::super::{Finding, Severity};
use super::LET_THROUGH;
use model::path::{FragmentFate, FragmentShape, PathDirection};
use model::plan::Direction;
use model::run::Run;

/// Fragments were tested, whatever came out.
pub(super) fn tested(way: &PathDirection) -> bool {
    way.fragments.fate != FragmentFate::Unknown || !way.fragments.tests.is_empty()
}

/// The finding without its advice, and what it says of the cause; `None` where fragments cross.
pub(super) fn finding(
    run: &Run,
    direction: Direction,
    way: &PathDirection,
) -> Option<(Finding, &'static str)> {
    let cut = Tally::of(way, &[FragmentShape::ByKernel, FragmentShape::InOrder]);
    let (title, cause) = match way.fragments.fate {
        FragmentFate::Unknown | FragmentFate::Pass | FragmentFate::Reassembled => return None,
        FragmentFate::AllDropped | FragmentFate::Dropped => {
            (format!("Fragments do not cross the path {direction}: {}", cut.lost(way)), LET_THROUGH)
        }
        FragmentFate::NonFirstDropped => (
            format!("Only the first fragment of each datagram crosses {direction}: {}", cut.lost(way)),
            NO_PORTS,
        ),
        FragmentFate::FirstDropped => {
            (format!("The first fragment of each datagram is dropped {direction}: {}", cut.lost(way)), FIRST)
        }
        FragmentFate::OutOfOrderDropped => (out_of_order(direction, way, cut), IN_ORDER),
    };
    let ordered = way.fragments.fate == FragmentFate::OutOfOrderDropped;
    // A run about packet sizes sends nothing that must arrive: fragments are not to be relied on (RFC 8900).
    let severity = if ordered || run.is_path() { Severity::Warning } else { Severity::Problem };
    let reversed = Tally::of(way, &[FragmentShape::Reversed]);
    let finding = Finding::new("fragments-dropped", severity, direction, title)
        .with("fragmented_payload_bytes", cut.payload)
        .with("fragmented_sent_count", cut.sent)
        .with("fragmented_received_count", cut.received)
        .with("fragments_fate", name(way.fragments.fate));
    let finding = match cut.pieces_received {
        Some(arrived) => finding.with("pieces_sent_count", cut.pieces).with("pieces_received_count", arrived),
        None => finding,
    };
    let finding = match reversed.sent {
        0 => finding,
        sent => finding.with("reversed_sent_count", sent).with("reversed_received_count", reversed.received),
    };
    Some((whole(finding, way), cause))
}

fn out_of_order(direction: Direction, way: &PathDirection, cut: Tally) -> String {
    let reversed = Tally::of(way, &[FragmentShape::Reversed]);
    format!(
        "Fragments cross {direction} only in order: {} of {} cut in order arrived, {} of {} whose first fragment came last",
        grouped(cut.received),
        count(cut.sent, "datagram"),
        grouped(reversed.received),
        grouped(reversed.sent)
    )
}

/// Adds what crossed in one piece.
fn whole(finding: Finding, way: &PathDirection) -> Finding {
    let crossed = way.sizes.iter().filter(|probe| probe.received > 0).max_by_key(|probe| probe.size);
    match crossed {
        Some(probe) => finding
            .with("whole_payload_bytes", probe.size.saturating_sub(way.headers()))
            .with("whole_sent_count", probe.sent)
            .with("whole_received_count", probe.received),
        None => finding,
    }
}

/// As in documents.
fn name(fate: FragmentFate) -> String {
    let value = serde_json::to_value(fate).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Tests of some shapes, added up.
#[derive(Clone, Copy, Default)]
struct Tally {
    sent: u64,
    received: u64,
    /// Largest datagram.
    payload: u32,
    /// Fragments that left.
    pieces: u64,
    /// Fragments that the receiver's kernel counted; absent: not known of all tests.
    pieces_received: Option<u64>,
}

impl Tally {
    fn of(way: &PathDirection, shapes: &[FragmentShape]) -> Tally {
        let start = Tally { pieces_received: Some(0), ..Tally::default() };
        let tests = way.fragments.tests.iter().filter(|test| shapes.contains(&test.shape));
        tests.fold(start, |sum, test| Tally {
            sent: sum.sent.saturating_add(u64::from(test.sent)),
            received: sum.received.saturating_add(u64::from(test.received)),
            payload: sum.payload.max(test.payload),
            pieces: sum.pieces.saturating_add(u64::from(test.pieces) * u64::from(test.sent)),
            pieces_received: sum.pieces_received.zip(test.pieces_received).map(|(a, b)| a.saturating_add(b)),
        })
    }

    /// What arrived, in words.
    fn lost(&self, way: &PathDirection) -> String {
        let whole = way
            .max_udp_payload
            .map(|payload| format!(", while those of up to {payload} bytes sent whole did"));
        let pieces = match self.pieces_received.filter(|_| self.pieces > 0) {
            Some(0) => {
                format!(", and the receiver's kernel saw none of their {}", count(self.pieces, "fragment"))
            }
            Some(some) => {
                format!(
                    ", and the receiver's kernel saw {} of their {}",
                    grouped(some),
                    count(self.pieces, "fragment")
                )
            }
            None => String::new(),
        };
        format!(
            "{} of {} sent in fragments arrived{}{pieces}",
            grouped(self.received),
            count(self.sent, "datagram"),
            whole.unwrap_or_default(),
        )
    }
}

const NO_PORTS: &str = "Later fragments carry no ports, so that a firewall or a balancer which looks at ports drops them: let it put datagrams together first (Linux: connection tracking), or let fragments through.";
const FIRST: &str = "First fragments alone carry ports and length: look for a rule that drops by either of them, or for a middlebox that keeps first fragments and forgets them.";
const IN_ORDER: &str = "Azure's virtual networks do so against floods of fragments (FragmentSmack): where packets overtake each other, on several queues or links, whole datagrams are lost.";

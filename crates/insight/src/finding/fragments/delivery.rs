//! `fragments-dropped` by tests: which fragments are lost, and who does such a thing.

use super::super::text::{count, grouped};
use super::super::{Finding, Severity};
use super::LET_THROUGH;
use model::path::{FragmentDelivery, FragmentShape, PathDirection};
use model::plan::Direction;
use model::run::{Run, Subject};

/// Fragments were tested, whatever came out.
pub(super) fn tested(direction: &PathDirection) -> bool {
    direction.fragments.delivery != FragmentDelivery::Unknown || !direction.fragments.tests.is_empty()
}

/// The finding without its advice, and its text on the cause; `None` where fragments cross.
pub(super) fn finding(
    run: &Run,
    direction: Direction,
    one_way: &PathDirection,
) -> Option<(Finding, &'static str)> {
    let cut = Tally::over_shapes(one_way, &[FragmentShape::ByKernel, FragmentShape::InOrder]);
    let kernel = Tally::over_shapes(one_way, &[FragmentShape::ByKernel]);
    let (title, cause) = match one_way.fragments.delivery {
        FragmentDelivery::Unknown | FragmentDelivery::Pass | FragmentDelivery::Reassembled => return None,
        FragmentDelivery::AllDropped | FragmentDelivery::Dropped => {
            (format!("Fragments do not cross the path {direction}: {}", cut.lost(one_way)), LET_THROUGH)
        }
        FragmentDelivery::NonFirstDropped => (
            format!("Only the first fragment of each datagram crosses {direction}: {}", cut.lost(one_way)),
            NO_PORTS,
        ),
        FragmentDelivery::FirstDropped => (
            format!("The first fragment of each datagram is dropped {direction}: {}", cut.lost(one_way)),
            FIRST,
        ),
        FragmentDelivery::LargeDropped => (
            format!(
                "Large fragments are dropped {direction}, small ones cross: {} {}",
                kernel.lost(one_way),
                of_small(one_way)
            ),
            BY_SIZE,
        ),
        FragmentDelivery::SmallDropped => (
            format!(
                "Small fragments are dropped {direction}, large ones cross: {} {}",
                kernel.lost(one_way),
                of_small(one_way)
            ),
            BY_SIZE,
        ),
        FragmentDelivery::NotReassembled => (
            format!(
                "Fragments cross {direction}, and the receiver's kernel does not put datagrams together: {}",
                cut.lost(one_way)
            ),
            MEMORY,
        ),
        FragmentDelivery::OutOfOrderDropped => (out_of_order(direction, one_way, cut), IN_ORDER),
    };
    let ordered = one_way.fragments.delivery == FragmentDelivery::OutOfOrderDropped;
    let (title, cause) = at_receiver(direction, one_way, cut).unwrap_or((title, cause));
    // A run about packet sizes sends nothing that must arrive: fragments are not to be relied on (RFC 8900).
    let is_mild = ordered || run.subject() == Subject::Path;
    let severity = if is_mild { Severity::Warning } else { Severity::Problem };
    let reversed = Tally::over_shapes(one_way, &[FragmentShape::Reversed]);
    let finding = Finding::new("fragments-dropped", severity, direction, title)
        .with("fragmented_payload_bytes", cut.payload)
        .with("fragmented_sent_count", cut.sent)
        .with("fragmented_received_count", cut.received)
        .with("fragments_fate", serde_json::to_value(one_way.fragments.delivery).unwrap_or_default())
        .with_known("pieces_sent_count", cut.pieces_received.map(|_| cut.pieces))
        .with_known("pieces_received_count", cut.pieces_received);
    let finding = match reversed.sent {
        0 => finding,
        sent => finding.with("reversed_sent_count", sent).with("reversed_received_count", reversed.received),
    };
    Some((whole(finding, one_way), cause))
}

/// The fragments cross the path, and the receiving host drops them.
fn at_receiver(direction: Direction, one_way: &PathDirection, cut: Tally) -> Option<(String, &'static str)> {
    if !one_way.fragments_end_at_receiver {
        return None;
    }
    let (host, cause) = direction.choose(("the far host", AT_FAR_HOST), ("this host", AT_THIS_HOST));
    let title = format!(
        "Datagrams in fragments cross the path {direction} and are dropped by the kernel of {host} itself, as a rule of its firewall \
         does: {}",
        cut.lost(one_way)
    );
    Some((title, cause))
}

/// The received part of datagrams that were cut by hand into small pieces.
fn of_small(one_way: &PathDirection) -> String {
    let small = Tally::over_shapes(one_way, &[FragmentShape::InOrder]);
    format!("({} of {} cut into small pieces did)", grouped(small.received), count(small.sent, "datagram"))
}

fn out_of_order(direction: Direction, one_way: &PathDirection, cut: Tally) -> String {
    let reversed = Tally::over_shapes(one_way, &[FragmentShape::Reversed]);
    format!(
        "Fragments cross {direction} only in order: {} of {} cut in order arrived, {} of {} whose first fragment came last",
        grouped(cut.received),
        count(cut.sent, "datagram"),
        grouped(reversed.received),
        grouped(reversed.sent)
    )
}

/// Adds the largest datagram that crossed unfragmented.
fn whole(finding: Finding, direction: &PathDirection) -> Finding {
    let crossed = direction.sizes.iter().filter(|probe| probe.received > 0).max_by_key(|probe| probe.size);
    match crossed {
        Some(probe) => finding
            .with("whole_payload_bytes", probe.size.saturating_sub(direction.headers()))
            .with("whole_sent_count", probe.sent)
            .with("whole_received_count", probe.received),
        None => finding,
    }
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
    fn over_shapes(direction: &PathDirection, shapes: &[FragmentShape]) -> Tally {
        let start = Tally { pieces_received: Some(0), ..Tally::default() };
        let tests = direction.fragments.tests.iter().filter(|test| shapes.contains(&test.shape));
        tests.fold(start, |sum, test| Tally {
            sent: sum.sent.saturating_add(u64::from(test.sent)),
            received: sum.received.saturating_add(u64::from(test.received)),
            payload: sum.payload.max(test.payload),
            pieces: sum.pieces.saturating_add(u64::from(test.pieces) * u64::from(test.sent)),
            pieces_received: sum.pieces_received.zip(test.pieces_received).map(|(a, b)| a.saturating_add(b)),
        })
    }

    /// The received part, as text.
    fn lost(&self, direction: &PathDirection) -> String {
        let whole = direction
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

const AT_FAR_HOST: &str = "At the far host find the rule that drops fragments (`nft list ruleset`, `iptables-save`): it counted as many packets that it delivered nowhere.";
const AT_THIS_HOST: &str = "At this host find the rule that drops fragments (`nft list ruleset`, `iptables-save`): it counted as many packets that it delivered nowhere.";
const BY_SIZE: &str = "Look for a filter by the length of packets, a minimum or maximum fragment size of a firewall, or a tunnel that cannot carry the large ones.";
const MEMORY: &str = "At the receiver: `sysctl net.ipv4.ipfrag_high_thresh net.ipv4.ipfrag_time` limit its memory for fragments and how long they wait; incomplete datagrams of other senders may fill it.";
const NO_PORTS: &str = "Later fragments carry no ports, so that a firewall or a balancer which looks at ports drops them: let it put datagrams together first (Linux: connection tracking), or let fragments through.";
const FIRST: &str = "First fragments alone carry ports and length: look for a rule that drops by either of them, or for a middlebox that keeps first fragments and forgets them.";
const IN_ORDER: &str = "Azure's virtual networks do so against floods of fragments (FragmentSmack): where packets overtake each other, on several queues or links, whole datagrams are lost.";

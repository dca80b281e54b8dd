//! Figures that cannot be true, and a transport that does not work at all.

use super::measured::{MeasuredDirection, measured_directions};
use super::text::{count, grouped};
use super::{Finding, Severity};
use model::plan::ProtocolName;
use model::run::Run;
use model::sample::{Role, StreamResult};
use model::units::Nanos;

/// More arrived than was sent, or in no time: an end counts wrongly, or lies.
pub(super) fn contradictory(run: &Run) -> Vec<Finding> {
    let of_ends = measured_directions(run).filter_map(|direction| contradiction(&direction));
    of_ends.chain(in_output(run)).collect()
}

/// Another tool's output has two different values for one figure: reported by the import, which read it.
fn in_output(run: &Run) -> Option<Finding> {
    let title = reported(run, CONTRADICTORY_OUTPUT)?;
    Some(Finding::new("contradictory-figures", Severity::Problem, None, title).advise(
        "Do not use these figures: which of the two is right is not known. Measure again, with another version of the tool where it \
         prints the same.",
    ))
}

/// No UDP between the hosts while TCP works: reported by the engine, which tried.
pub(super) fn udp_unreachable(run: &Run) -> Option<Finding> {
    let title = reported(run, UDP_UNREACHABLE)?;
    let carried = |test: &&Run| {
        measured_directions(test).any(|direction| !direction.udp() && direction.figures.received.bytes.0 > 0)
    };
    let finding = Finding::new(UDP_UNREACHABLE, Severity::Problem, None, title)
        .with("working_tcp_tests_count", run.tests.iter().filter(carried).count());
    Some(finding.advise(
        "Look at the server's firewall, at yours, and at the cloud's security groups; then measure again for the \
         largest payload and UDP's throughput.",
    ))
}

/// Some flows get no answer and others do: reported by the engine, which tried other ports.
pub(super) fn dead_flows(run: &Run) -> Vec<Finding> {
    let of_ports = reported(run, DEAD_FLOWS).map(|title| {
        let finding = Finding::new(DEAD_FLOWS, Severity::Warning, None, title);
        let opened = measured_directions(run).map(|one_way| one_way.figures.streams.len()).sum::<usize>();
        finding.with("opened_streams_count", opened).advise(
            "The figures are of flows that were answered. `pathmeter hops` shows the routers of several flows: look at the counters of \
             each link behind the last one that they share; the members of a bond or of a group of next hops are tried one by one.",
        )
    });
    of_ports.into_iter().chain(super::hops::dead_flows(run)).collect()
}

/// The text of a warning of the run, as a title.
pub(super) fn reported(run: &Run, id: &str) -> Option<String> {
    let warning = run.summary.warnings.iter().find(|warning| warning.id == id)?;
    Some(warning.text.trim_end_matches('.').to_owned())
}

fn contradiction(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    one_way.rows(Role::Receiver).find_map(|receiver| {
        let sender = one_way.rows(Role::Sender).find(|row| row.stream == receiver.stream)?;
        let what = too_much(one_way, sender, receiver)
            .or_else(|| swallowed(sender, receiver))
            .or_else(|| too_soon(sender, receiver))
            .or_else(|| too_long(sender, receiver))
            .or_else(|| longer_than_the_test(one_way, sender))?;
        let title = format!("The two ends contradict each other {}: {what}", one_way.direction);
        let finding = Finding::new("contradictory-figures", Severity::Problem, one_way.direction, title)
            .with("sent_bytes", sender.total_bytes.0)
            .with("received_bytes", receiver.total_bytes.0)
            .with("sender_ns", sender.elapsed.0)
            .with("receiver_ns", receiver.elapsed.0);
        Some(finding.advise(
            "Do not use these figures. Run the same version of the software at both ends and measure again; if this \
             stays, the far end or something in between falsifies what it reports.",
        ))
    })
}

/// Received and never sent. Our own protocol's totals agree to the byte; iPerf3's ends count different times.
fn too_much(
    direction: &MeasuredDirection<'_>,
    sender: &StreamResult,
    receiver: &StreamResult,
) -> Option<String> {
    let stream = receiver.stream;
    if let (Some(sent), Some(received)) = (&sender.udp, &receiver.udp) {
        let (sent, received) = (sent.datagrams.max(sent.last_sequence), received.datagrams);
        let exact = direction.plan.protocol == ProtocolName::Native;
        return (received > if exact { sent } else { with_tolerance(sent, LATE_DATAGRAMS) }).then(|| {
            format!("stream {stream} received {} of {} sent", count(received, "datagram"), grouped(sent))
        });
    }
    let (sent, received) = match direction.plan.protocol {
        ProtocolName::Native => (sender.total_bytes.0, receiver.total_bytes.max(receiver.bytes).0),
        ProtocolName::Iperf3 | ProtocolName::Iperf2 | ProtocolName::Foreign => {
            (with_tolerance(sender.bytes.0, BUFFERED), receiver.bytes.0)
        }
    };
    (received > sent).then(|| {
        format!(
            "stream {stream} received {} of {} sent",
            count(received, "byte"),
            grouped(sender.total_bytes.0)
        )
    })
}

/// Handed to TCP at one end and never received at the other: no send buffer holds so much, so something between acknowledged it.
fn swallowed(sender: &StreamResult, receiver: &StreamResult) -> Option<String> {
    let (sent, received) = (sender.bytes.0, receiver.bytes.0);
    let missing = sent.saturating_sub(received);
    let is_tcp = sender.udp.is_none() && receiver.udp.is_none();
    (is_tcp && received > 0 && missing > LARGEST_SEND_BUFFER && missing / SWALLOWED > received).then(|| {
        format!(
            "TCP took {} of stream {} and delivered {}: a proxy or a firewall between them acknowledges what it does not deliver, or an end counts wrongly",
            sender.bytes, receiver.stream, receiver.bytes
        )
    })
}

/// Data that took long to send cannot all arrive within a moment.
fn too_soon(sender: &StreamResult, receiver: &StreamResult) -> Option<String> {
    let moment = receiver.elapsed.0.saturating_mul(SOONER) < sender.elapsed.0;
    let most = receiver.bytes.0 > sender.bytes.0 / 2;
    (moment && most && sender.elapsed >= LONG).then(|| {
        format!(
            "stream {} was sent for {} and received in {}",
            receiver.stream, sender.elapsed, receiver.elapsed
        )
    })
}

/// Data sent in a moment is not received for hours: no queue is so long.
fn too_long(sender: &StreamResult, receiver: &StreamResult) -> Option<String> {
    let queued = sender.elapsed.saturating_mul(LONGER) + LONGEST_QUEUE;
    (sender.elapsed > Nanos::ZERO && receiver.elapsed > queued).then(|| {
        format!(
            "stream {} was sent for {} and received for {}",
            receiver.stream, sender.elapsed, receiver.elapsed
        )
    })
}

/// No sender sends for longer than the test has taken: by this host's clock, which may have been set meanwhile.
fn longer_than_the_test(direction: &MeasuredDirection<'_>, sender: &StreamResult) -> Option<String> {
    let took = Nanos(direction.run.finished?.0.checked_sub(direction.run.started?.0)?);
    let most = took.saturating_mul(LONGER) + LONGEST_QUEUE;
    (sender.elapsed > most)
        .then(|| format!("stream {} was sent for {} in a test of {}", sender.stream, sender.elapsed, took))
}

fn with_tolerance(sent: u64, more: u64) -> u64 {
    sent.saturating_add(sent / 10).saturating_add(more)
}

/// The warning of the import.
const CONTRADICTORY_OUTPUT: &str = "contradictory-output";
/// Bytes that the buffers of both ends may hold.
const LARGEST_SEND_BUFFER: u64 = 256 << 20;
/// Times the received bytes that must be missing.
const SWALLOWED: u64 = 4;
/// The warning of the engine, and the finding made of it.
const UDP_UNREACHABLE: &str = "udp-unreachable";
/// The same of flows that get no answer.
const DEAD_FLOWS: &str = "dead-flows";
/// Bytes that buffers may hold between the times of the two ends.
const BUFFERED: u64 = 64 << 20;
/// The same in datagrams.
const LATE_DATAGRAMS: u64 = 1 << 16;
/// A receiver that is this many times faster than its sender.
const SOONER: u64 = 10;
/// A receiver that is this many times slower than its sender, or a sender than the test,
const LONGER: u64 = 3;
/// The smallest difference to which that applies.
const LONGEST_QUEUE: Nanos = Nanos::from_secs(60);
/// Shorter tests fit into buffers.
const LONG: Nanos = Nanos::from_secs(1);

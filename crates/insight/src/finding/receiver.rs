//! `reassembly-failed`, `checksum-errors` and `conntrack-drops`: packets that arrived and that a host's own kernel dropped.

use super::measured::MeasuredDirection;
use super::text::{count, percent};
use super::{Finding, Severity};
use model::run::Run;
use model::sample::{KernelCounters, Role};

/// The connection tracking of one of the hosts dropped packets.
pub(super) fn conntrack_drops(run: &Run) -> Option<Finding> {
    let ends = [(run.summary.local.as_ref(), HERE), (run.summary.peer.as_ref(), THERE)];
    ends.into_iter().find_map(|(end, host)| tracked(&end?.kernel, host))
}

/// Datagrams that reached the receiver's kernel and that it dropped before the socket: not lost on the path.
pub(super) fn dropped_by_kernel(one_way: &MeasuredDirection<'_>) -> u64 {
    let lost = one_way.loss().path;
    let checksums = one_way.receiver.map_or(0, |end| end.kernel.udp_checksum_errors);
    let pieces = if is_reassembly_failing(one_way) { lost } else { 0 };
    pieces.max(checksums).min(lost)
}

/// All fragments came, and the datagrams did not.
pub(super) fn is_reassembly_failing(one_way: &MeasuredDirection<'_>) -> bool {
    let Some(kernel) = one_way.receiver.map(|end| &end.kernel) else { return false };
    let Some(pieces) = one_way.figures.wire.frames_per_packet.filter(|pieces| *pieces > 1 && one_way.udp())
    else {
        return false;
    };
    let sent = one_way.figures.sent.datagrams;
    let expected = sent.saturating_mul(u64::from(pieces));
    let lost = one_way.loss().path;
    let arrived = kernel.fragments_received as f64 / expected.max(1) as f64;
    sent >= ENOUGH
        && one_way.share_of_sent(lost) >= NOTICED
        && arrived >= NEARLY_ALL
        && kernel.reassembly_failures.saturating_mul(2) >= lost
}

/// The receiver's kernel had the fragments of datagrams and did not put them together.
pub(super) fn reassembly_failed(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    if !is_reassembly_failing(one_way) {
        return None;
    }
    let (lost, kernel) = (one_way.loss().path, &one_way.receiver?.kernel);
    let share = one_way.share_of_sent(lost);
    let host = host(one_way);
    let memory = kernel
        .reassembly_memory
        .map(|bytes| format!(", whose memory for it is {bytes} bytes (`net.ipv4.ipfrag_high_thresh`)"))
        .unwrap_or_default();
    let title = format!(
        "The kernel of {host} received the fragments {} and did not put {} ({}) together{memory}",
        one_way.direction,
        count(lost, "datagram"),
        percent(share)
    );
    let severity = if share >= MOST { Severity::Problem } else { Severity::Warning };
    let finding = Finding::new("reassembly-failed", severity, one_way.direction, title)
        .with("lost_count", lost)
        .with("lost_share", share)
        .with("receiver_fragments_received_count", kernel.fragments_received)
        .with("receiver_reassembly_failures_count", kernel.reassembly_failures)
        .with_known("reassembly_memory_bytes", kernel.reassembly_memory);
    let fits =
        one_way.run.summary.max_udp_payload(one_way.direction).or(one_way.figures.wire.path_udp_payload);
    let smaller = fits
        .map(|fits| format!(", or send datagrams of at most {fits} bytes (`-l {fits}`)"))
        .unwrap_or_default();
    // Where it has the usual memory already, datagrams that lack a fragment may hold it.
    let wanted = kernel.reassembly_memory.map_or(USUAL_MEMORY, |has| USUAL_MEMORY.max(has.saturating_mul(4)));
    let held = match kernel.reassembly_memory {
        Some(USUAL_MEMORY..) => {
            " Datagrams of which a fragment was lost hold it for 30 s each (`net.ipv4.ipfrag_time`)."
        }
        _ => "",
    };
    Some(finding.advise(format!(
        "At {host}: `sysctl -w net.ipv4.ipfrag_high_thresh={wanted}` (IPv6: `net.ipv6.ip6frag_high_thresh`){smaller}.{held} The path \
         delivers the fragments."
    )))
}

/// Packets arrived with a wrong checksum.
pub(super) fn checksum_errors(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let kernel = &one_way.receiver?.kernel;
    let (dropped, share, what) = match one_way.udp() {
        true => {
            let dropped = kernel.udp_checksum_errors.min(one_way.loss().path);
            (dropped, one_way.share_of_sent(dropped), "datagram")
        }
        false => {
            let dropped = kernel.tcp_checksum_errors.min(one_way.figures.retransmits.unwrap_or(0));
            let sent = one_way.figures.segments.and_then(|segments| segments.sent).unwrap_or(0);
            (dropped, dropped as f64 / sent.max(dropped).max(1) as f64, "segment")
        }
    };
    if share < NOTICED || dropped < A_FEW {
        return None;
    }
    let host = host(one_way);
    let title = format!(
        "{} ({} of those sent) arrived {} with a wrong checksum, and the kernel of {host} dropped them",
        count(dropped, what),
        percent(share),
        one_way.direction
    );
    let finding = Finding::new("checksum-errors", Severity::Warning, one_way.direction, title)
        .with("dropped_count", dropped)
        .with("dropped_share", share);
    Some(finding.advise(format!(
        "Something changes the packets, or leaves their checksum undone: try without checksum offload at the sender (`ethtool -K {} tx \
         off`) and at {host} (`ethtool -K {} rx off`), then look at tunnels, NAT and other boxes that rewrite packets, and at memory \
         of switches and cards.",
        one_way.interface(Role::Sender),
        one_way.interface(Role::Receiver)
    )))
}

fn tracked(kernel: &KernelCounters, host: &str) -> Option<Finding> {
    let dropped = kernel.conntrack_drops;
    if dropped < A_FEW {
        return None;
    }
    let title = format!(
        "The connection tracking of {host} dropped {} during the test: its table is full, or entries clash",
        count(dropped, "packet")
    );
    let finding = Finding::new("conntrack-drops", Severity::Warning, None, title)
        .with("conntrack_drops_count", dropped);
    Some(finding.advise(format!(
        "At {host}: compare `sysctl net.netfilter.nf_conntrack_count` with `net.netfilter.nf_conntrack_max` and raise the latter, or \
         leave these flows untracked (`nft … notrack`)."
    )))
}

/// The end that received.
fn host(one_way: &MeasuredDirection<'_>) -> &'static str {
    one_way.direction.choose(THERE, HERE)
}

const HERE: &str = "this host";
const THERE: &str = "the far host";
/// One packet in a thousand.
const NOTICED: f64 = 0.001;
/// Half of all.
const MOST: f64 = 0.5;
/// Share of the fragments that were sent; the counter is of the whole host, and some may come after its last reading.
const NEARLY_ALL: f64 = 0.95;
/// Fewer datagrams prove little.
const ENOUGH: u64 = 20;
const A_FEW: u64 = 3;
/// Linux's default.
const USUAL_MEMORY: u64 = 4 << 20;

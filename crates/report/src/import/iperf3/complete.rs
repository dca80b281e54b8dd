//! What iPerf3's two ends together leave open: losses that nobody counted, senders that told nothing, the MTU.

use super::super::build::ParsedRun;
use super::lines::Output;
use model::sample::{Role, SideResult, StreamResult};
use model::units::BitRate;

/// What holds for the output as a whole.
pub(super) fn complete(parsed: &mut ParsedRun, output: &Output) {
    if let Some(outcome) = &output.failed {
        parsed.outcome = outcome.clone();
    }
    gaps(parsed);
    rate_asked(parsed);
    parsed.started = output.extra.started;
    let senders = if parsed.test.directions.up() { [0, 1] } else { [1, 0] };
    for (end, which) in [&mut parsed.at_client, &mut parsed.at_server].into_iter().zip(senders) {
        end.cpu = output.extra.cpu[which].clone().unwrap_or_default();
        end.datapath.congestion.clone_from(&output.extra.congestion[which]);
    }
    if parsed.server.is_none() {
        parsed.warn("no-addresses", "The output does not give the addresses: IPv4 is assumed.");
    }
}

/// What the two ends' figures leave open, whatever they were printed as.
pub(super) fn gaps(parsed: &mut ParsedRun) {
    all_lost(parsed);
    parsed.senders_unseen();
    parsed.assume_mtu();
}

/// A receiver that saw nothing counted no loss either.
fn all_lost(parsed: &mut ParsedRun) {
    let sent = |side: &SideResult, row: &StreamResult| {
        let twin = side.streams.iter().find(|sent| {
            sent.stream == row.stream && sent.direction == row.direction && sent.role == Role::Sender
        });
        twin.and_then(|twin| twin.udp.as_ref()).map_or(0, |udp| udp.datagrams)
    };
    let (client, server) = (parsed.at_client.clone(), parsed.at_server.clone());
    let mut unseen = 0;
    for (side, other) in [(&mut parsed.at_client, &server), (&mut parsed.at_server, &client)] {
        for row in side.streams.iter_mut().filter(|row| row.role == Role::Receiver) {
            let count = sent(other, row);
            if let Some(udp) = row.udp.as_mut().filter(|udp| udp.datagrams == 0 && udp.lost == 0) {
                udp.lost = count;
                unseen += count;
            }
        }
    }
    if unseen > 0 {
        parsed.warn("all-lost", format!("The receiver saw no datagram in the counted time and therefore counted no loss: all {unseen} sent count as lost."));
    }
}

/// UDP below a gigabit per second is sent at a rate that was asked for, as both ends could do more.
fn rate_asked(parsed: &mut ParsedRun) {
    let rows = parsed.at_client.streams.iter().chain(&parsed.at_server.streams);
    let senders = rows.filter(|row| row.role == Role::Sender && row.udp.is_some());
    let rate = senders.map(|row| BitRate::from_bytes(row.bytes, row.elapsed)).max();
    parsed.test.bitrate = rate.filter(|rate| (1..UNLIMITED.0).contains(&rate.0));
}

/// Nobody asks for more on purpose.
const UNLIMITED: BitRate = BitRate(1_000_000_000);

//! `-y C`: a line for each interval of each stream, and for its whole time.

use super::columns::Figures;
use super::connection::shown;
use super::{Iperf2Options, Iperf2Role};
use crate::units::percent;
use model::time::WallTime;
use std::net::SocketAddr;

/// `time,client,port,server,port,id,start-end,bytes,bits`, and of UDP `,jitter,lost,total,%,disordered`. Both ends
/// name the client first, as iPerf2's do.
pub(super) fn line(
    options: &Iperf2Options,
    wall: WallTime,
    ends: (SocketAddr, SocketAddr),
    id: u32,
    figures: &Figures,
) -> String {
    let (client, server) = if options.role == Iperf2Role::Client { ends } else { (ends.1, ends.0) };
    let seconds = figures.seconds();
    let bits = if seconds > 0.0 { (figures.bytes as f64 * 8.0 / seconds) as u64 } else { 0 };
    let address = |address: SocketAddr| format!("{},{}", shown(address.ip(), options), address.port());
    let front = format!(
        "{},{},{},{id},{:.1}-{:.1},{},{bits}",
        options.zone.compact(wall, options.enhanced),
        address(client),
        address(server),
        figures.start,
        figures.end,
        figures.bytes
    );
    let Some(udp) = &figures.udp else { return front + "\n" };
    let total = udp.datagrams + udp.lost;
    format!(
        "{front},{:.3},{},{total},{:.3},{}\n",
        udp.jitter.0 as f64 / 1e6,
        udp.lost,
        percent(udp.lost, total),
        udp.reordered
    )
}

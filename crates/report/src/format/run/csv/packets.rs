//! The CSV rows of a capture of packets: one per direction, per size, and per flow and direction.

use super::CsvPart;
use crate::document::Csv;
use model::packets::{FlowKey, PacketDirection, PacketProtocol, PacketResult, SizeCount};
use model::plan::Direction;
use model::units::Bytes;
use serde::Serialize;
use std::net::SocketAddr;

#[derive(Default, Serialize)]
struct Counts {
    transport: Option<PacketProtocol>,
    local: Option<String>,
    remote: Option<String>,
    size_bytes: Option<u32>,
    size_to_bytes: Option<u32>,
    packets: u64,
    bytes: Option<Bytes>,
    fragment_packets: Option<u64>,
    super_packets: Option<u64>,
    complete: Option<bool>,
}

pub(super) fn rows(packets: &PacketResult, place: &CsvPart) -> Csv {
    let complete = Some(packets.complete);
    let mut rows = Vec::new();
    for (direction, one_way) in [(Direction::Up, &packets.up), (Direction::Down, &packets.down)] {
        rows.push((place.start("packets", direction), Counts { complete, ..counts(one_way) }));
        let size = |row| (place.start("packets_size", direction), Counts { complete, ..size(row) });
        rows.extend(one_way.sizes.rows().iter().map(size));
    }
    for flow in &packets.flows {
        for (direction, one_way) in [(Direction::Up, &flow.up), (Direction::Down, &flow.down)] {
            let counts = Counts { complete, ..ends(&flow.key, counts(one_way)) };
            rows.push((place.start("packets_flow", direction), counts));
        }
    }
    Csv::from_rows(rows)
}

fn size(row: &SizeCount) -> Counts {
    Counts {
        size_bytes: Some(row.from),
        size_to_bytes: Some(row.to),
        packets: row.packets,
        ..Counts::default()
    }
}

fn counts(direction: &PacketDirection) -> Counts {
    Counts {
        packets: direction.packets,
        bytes: Some(direction.bytes),
        fragment_packets: Some(direction.fragments),
        super_packets: Some(direction.super_packets),
        ..Counts::default()
    }
}

fn ends(key: &FlowKey, counts: Counts) -> Counts {
    let end = |address, port: Option<u16>| match port {
        Some(port) => SocketAddr::new(address, port).to_string(),
        None => address.to_string(),
    };
    Counts {
        transport: Some(key.protocol),
        local: Some(end(key.local, key.local_port)),
        remote: Some(end(key.remote, key.remote_port)),
        ..counts
    }
}

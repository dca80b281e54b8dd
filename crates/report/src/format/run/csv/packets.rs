//! The CSV rows of a capture of packets: one per direction, per size, and per flow and direction.

use super::COLUMNS;
use model::packets::{FlowKey, PacketProtocol, PacketWay};
use model::plan::Direction;
use model::run::Run;
use std::net::SocketAddr;

/// Every row of a test whose packets were captured; none of another. A part has its number, the whole run none.
pub(super) fn rows(run: &Run, test: &Run, number: Option<usize>) -> Vec<Vec<String>> {
    let Some(packets) = &test.summary.packets else { return Vec::new() };
    let mut rows = Vec::new();
    for (direction, way) in [(Direction::Up, &packets.up), (Direction::Down, &packets.down)] {
        let start = |kind: &str| {
            let mut fields = start(run, number, kind, direction);
            set(&mut fields, "complete", packets.complete);
            fields
        };
        rows.push(counts(start("packets"), way));
        for row in way.sizes.rows() {
            let mut fields = start("packets_size");
            set(&mut fields, "size_bytes", row.from);
            set(&mut fields, "size_to_bytes", row.to);
            set(&mut fields, "packets", row.packets);
            rows.push(fields);
        }
    }
    for flow in &packets.flows {
        for (direction, way) in [(Direction::Up, &flow.up), (Direction::Down, &flow.down)] {
            let mut fields = start(run, number, "packets_flow", direction);
            set(&mut fields, "complete", packets.complete);
            ends(&mut fields, &flow.key);
            rows.push(counts(fields, way));
        }
    }
    rows
}

fn start(run: &Run, number: Option<usize>, kind: &str, direction: Direction) -> Vec<String> {
    let mut fields = vec![String::new(); COLUMNS.len()];
    set(&mut fields, "run", &run.id);
    set(&mut fields, "test", number.map(|number| number.to_string()).unwrap_or_default());
    set(&mut fields, "row", kind);
    set(&mut fields, "direction", direction);
    set(&mut fields, "omitted", false);
    fields
}

fn counts(mut fields: Vec<String>, way: &PacketWay) -> Vec<String> {
    set(&mut fields, "bytes", way.bytes.0);
    set(&mut fields, "packets", way.packets);
    set(&mut fields, "fragment_packets", way.fragments);
    set(&mut fields, "super_packets", way.super_packets);
    fields
}

fn ends(fields: &mut [String], key: &FlowKey) {
    let end = |address, port: Option<u16>| match port {
        Some(port) => SocketAddr::new(address, port).to_string(),
        None => address.to_string(),
    };
    let transport = match key.protocol {
        PacketProtocol::Tcp => "TCP",
        PacketProtocol::Udp => "UDP",
        PacketProtocol::Icmp => "ICMP",
        PacketProtocol::Other => "",
    };
    set(fields, "transport", transport);
    set(fields, "local", end(key.local, key.local_port));
    set(fields, "remote", end(key.remote, key.remote_port));
}

/// Sets a field by the name of its column.
pub(super) fn set(fields: &mut [String], column: &str, value: impl ToString) {
    let place = COLUMNS.iter().position(|name| *name == column).expect("a column of the header");
    fields[place] = value.to_string();
}

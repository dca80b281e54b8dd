//! Figures of a capture of packets: totals in each direction, the sizes as a bar chart, the flows, the file.

use super::phrases;
use crate::document::{Block, Column, Part, Table};
use model::packets::{FlowKey, PacketDirection, PacketFlow, PacketProtocol, PacketResult, SizeCount};
use model::plan::Direction;
use model::units::{count, grouped, percent};

/// Totals and tables; without details the sizes that matter, and no flows.
pub(in crate::format) fn sections(packets: &PacketResult) -> Vec<Vec<Part>> {
    let title = Block::Heading(format!("Packets on {}", packets.interface));
    let totals = vec![title.into(), Block::facts(facts(packets)).into()];
    let sizes = directions(packets).map(|(direction, one_way)| {
        let few = size_table(direction, frequent(one_way)).into();
        vec![Part::Brief(vec![few]), Part::Full(vec![size_table(direction, size_rows(one_way)).into()])]
    });
    let flows = vec![Part::Full(flows(packets).map(Part::from).into_iter().collect())];
    [totals].into_iter().chain(sizes).chain([flows]).collect()
}

fn size_table(direction: Direction, rows: Vec<Vec<String>>) -> Block {
    let first = Column::right(format!("Size {direction}"));
    let columns =
        [first, Column::right("Packets"), Column::right("Share"), Column::left(""), Column::left("")];
    Block::Table(Table::new(columns.into(), rows))
}

/// The flows, where there are several.
fn flows(packets: &PacketResult) -> Option<Block> {
    let heads = ["Up", "Mean size", "Down", "Mean size", "Fragments"].map(Column::right);
    let columns = [Column::left("Flow")].into_iter().chain(heads).collect();
    (packets.flows.len() > 1).then(|| Block::Table(Table::new(columns, flow_rows(packets))))
}

/// The directions that had packets.
fn directions(packets: &PacketResult) -> impl Iterator<Item = (Direction, &PacketDirection)> {
    let both_directions = [(Direction::Up, &packets.up), (Direction::Down, &packets.down)];
    both_directions.into_iter().filter(|(_, direction)| direction.packets > 0)
}

/// Totals, whether they are all, and the file, by name.
fn facts(packets: &PacketResult) -> Vec<(String, String)> {
    let mut facts: Vec<_> = directions(packets)
        .map(|(direction, one_way)| (phrases::direction_word(direction).to_lowercase(), total(one_way)))
        .collect();
    if facts.is_empty() {
        facts.push(("captured".into(), format!("nothing from or to {}", packets.peer)));
    }
    if !packets.complete {
        facts.push(("incomplete".into(), missing(packets)));
    }
    if let Some(file) = &packets.pcap {
        let kind = if file.split { "split as on the wire" } else { "super-packets as they are" };
        let count = count(file.packets, "packet");
        let broken = file.error.as_ref().map(|why| format!("; it ends early: {why}")).unwrap_or_default();
        facts.push(("file".into(), format!("{}: {count}, {kind}{broken}", file.path)));
    }
    facts
}

fn total(direction: &PacketDirection) -> String {
    let mean = direction.mean_size().unwrap_or_default();
    let mut parts = vec![
        count(direction.packets, "packet"),
        direction.bytes.to_string(),
        format!("{mean:.1} bytes each on average"),
    ];
    if direction.fragments > 0 {
        parts.push(format!("{} in fragments", grouped(direction.fragments)));
    }
    if direction.super_packets > 0 {
        parts.push(format!(
            "captured as {} that offloads handle at once",
            count(direction.super_packets, "super-packet")
        ));
    }
    parts.join(", ")
}

fn missing(packets: &PacketResult) -> String {
    let mut parts = Vec::new();
    if packets.dropped > 0 {
        let all = packets.frames.saturating_add(packets.dropped);
        parts.push(format!(
            "the capture missed {} of {all} frames (its memory was full), so the counts are too low",
            packets.dropped
        ));
    }
    if packets.unread > 0 {
        parts.push(format!("{} could not be counted", count(packets.unread, "frame")));
    }
    parts.join("; ")
}

/// The few sizes that one in a hundred packets has.
fn frequent(direction: &PacketDirection) -> Vec<Vec<String>> {
    let is_frequent = |row: &&SizeCount| row.packets.saturating_mul(100) >= direction.packets;
    let count = direction.sizes.rows().iter().filter(is_frequent).count();
    most_frequent(direction, count.clamp(1, MOST_FREQUENT))
}

/// The sizes with the most packets, smallest first, and the others together.
fn size_rows(direction: &PacketDirection) -> Vec<Vec<String>> {
    most_frequent(direction, MOST_SIZES)
}

fn most_frequent(direction: &PacketDirection, most_sizes: usize) -> Vec<Vec<String>> {
    let rows = direction.sizes.rows();
    let mut by_count: Vec<u64> = rows.iter().map(|row| row.packets).collect();
    by_count.sort_unstable_by(|a, b| b.cmp(a));
    let least = by_count.get(most_sizes - 1).copied().unwrap_or(0);
    let largest = direction.sizes.largest();
    // The smallest of several sizes with as many packets as the last one is shown.
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for row in rows {
        let wanted = row.packets >= least && shown.len() < most_sizes;
        if wanted || Some(row.to) == largest { shown.push(row) } else { hidden.push(row) }
    }
    let most = by_count.first().copied().unwrap_or(0);
    let mut cells: Vec<Vec<String>> =
        shown.into_iter().map(|row| size_row(row, direction.packets, most)).collect();
    if !hidden.is_empty() {
        let packets = hidden.iter().map(|row| row.packets).sum::<u64>();
        let share = share(packets, direction.packets);
        cells.push(vec![
            "others".into(),
            packets.to_string(),
            share,
            bar(packets, most),
            count(hidden.len() as u64, "size"),
        ]);
    }
    cells
}

fn size_row(row: &SizeCount, all: u64, most: u64) -> Vec<String> {
    let size = if row.is_exact() { row.from.to_string() } else { format!("{}-{}", row.from, row.to) };
    let name = if row.is_exact() { name(row.from) } else { "" };
    vec![size, row.packets.to_string(), share(row.packets, all), bar(row.packets, most), name.into()]
}

fn share(packets: u64, all: u64) -> String {
    percent(packets as f64 / all.max(1) as f64)
}

fn bar(packets: u64, most: u64) -> String {
    let length = (packets as f64 / most.max(1) as f64 * BAR as f64).round();
    "█".repeat((length as usize).clamp(1, BAR))
}

/// The usual kind of a packet of this size.
fn name(size: u32) -> &'static str {
    match size {
        40 | 52 => "TCP without payload",
        60 => "SYN; IPv6: no payload",
        72 => "IPv6: no payload",
        576 => "least that IPv4 promises",
        1280 => "least MTU of IPv6",
        1400 => "MTU of Azure's network",
        1420 => "MTU of WireGuard",
        1460 => "MTU of Google's cloud",
        1480 => "MTU of an IPIP tunnel",
        1492 => "MTU of PPPoE",
        1500 => "MTU of Ethernet",
        9000 | 9001 => "MTU of jumbo frames",
        65_536 => "MTU of loopback",
        _ => "",
    }
}

/// The flows with the most bytes, most first, and the others together.
fn flow_rows(packets: &PacketResult) -> Vec<Vec<String>> {
    let mut flows: Vec<&PacketFlow> = packets.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.up.bytes.0.saturating_add(flow.down.bytes.0)));
    let (shown, hidden) = flows.split_at(flows.len().min(MOST_FLOWS));
    let mut rows: Vec<_> =
        shown.iter().map(|flow| row(flow_name(&flow.key, packets), &flow.up, &flow.down)).collect();
    if !hidden.is_empty() || packets.other_flows > 0 {
        let (mut up, mut down) = (PacketDirection::default(), PacketDirection::default());
        hidden.iter().for_each(|flow| {
            up.merge(&flow.up);
            down.merge(&flow.down);
        });
        let uncounted = match packets.other_flows {
            0 => String::new(),
            other => format!(", and {} of further ones", count(other, "packet")),
        };
        let name = format!("{}{uncounted}", count(hidden.len() as u64, "other flow"));
        rows.push(row(name, &up, &down));
    }
    rows
}

fn row(name: String, up: &PacketDirection, down: &PacketDirection) -> Vec<String> {
    let mean =
        |direction: &PacketDirection| direction.mean_size().map_or("-".into(), |mean| format!("{mean:.0}"));
    let fragments = up.fragments + down.fragments;
    vec![name, up.packets.to_string(), mean(up), down.packets.to_string(), mean(down), fragments.to_string()]
}

/// Ports distinguish flows with the far host; others have their address.
fn flow_name(key: &FlowKey, packets: &PacketResult) -> String {
    let protocol = key.protocol.name();
    let with = if key.remote == packets.peer { String::new() } else { format!(" {}", key.remote) };
    match (key.protocol, key.local_port, key.remote_port) {
        (_, Some(local), Some(remote)) => format!("{protocol}{with} {local} - {remote}"),
        (PacketProtocol::Tcp | PacketProtocol::Udp, ..) => format!("{protocol}{with} fragments alone"),
        _ => format!("{protocol}{with}"),
    }
}

const BAR: usize = 16;
/// More rows than this make a table too long to read.
const MOST_SIZES: usize = 10;
const MOST_FLOWS: usize = 8;
/// Likewise without the details.
const MOST_FREQUENT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use model::packets::Sizes;

    fn packet_direction(sizes: &[(u32, u64)]) -> PacketDirection {
        let mut counted = Sizes::default();
        sizes.iter().for_each(|(size, packets)| counted.add(*size, *packets));
        PacketDirection { packets: counted.packets(), sizes: counted, ..PacketDirection::default() }
    }

    #[test]
    fn the_sizes_with_most_packets_are_shown_and_the_others_summed() {
        let sizes: Vec<(u32, u64)> = (1..=20).map(|n| (n * 50, if n == 7 { 1000 } else { 1 })).collect();
        let rows = size_rows(&packet_direction(&sizes));
        assert_eq!(rows.len(), MOST_SIZES + 2);
        let shown: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!((shown[0], shown[MOST_SIZES], shown[MOST_SIZES + 1]), ("50", "1000", "others"));
        assert_eq!(rows.iter().map(|row| row[1].parse::<u64>().unwrap()).sum::<u64>(), 1019);
        assert_eq!(rows[6][3].chars().count(), BAR);
        assert_eq!(rows[MOST_SIZES + 1][4], "9 sizes");
    }

    #[test]
    fn a_common_size_is_named() {
        let rows = size_rows(&packet_direction(&[(52, 3), (1500, 9)]));
        assert_eq!(rows[1], ["1500", "9", "75.0 %", "█".repeat(BAR).as_str(), "MTU of Ethernet"]);
    }
}

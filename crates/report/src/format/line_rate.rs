//! The rate that a link carries, or how near a measured rate came to it, as a document.

use crate::document::{Block, Column, Csv, CsvCell, Document, Head, Table, json_value, or_empty};
use model::framing::{Encaps, Network, Ratio, Transport};
use model::line_rate::{Carried, LineRate, OnTheWire};
use model::units::{BitRate, Bytes, PacketRate};
use serde_json::Value;

impl Document for LineRate {
    fn head(&self) -> Head {
        Head { kind: "linerate".into(), title: heading(self), depth: 3, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let tables = tables(self).into_iter().map(Block::Table);
        tables.chain([Block::Sentences(remarks(self))]).collect()
    }

    /// One row per packet size, numbers in base units: bytes, packets per second, bits per second.
    fn csv(&self) -> Csv {
        match self.measured.as_slice() {
            [] => Csv::of_cells(&FORWARD, &self.rows),
            measured => Csv::of_cells(&BACKWARD, measured),
        }
    }

    fn value(&self) -> Value {
        json_value(self)
    }
}

fn heading(answer: &LineRate) -> String {
    let network = match answer.network {
        Network::V4 => "IPv4",
        Network::V6 => "IPv6",
    };
    let transport = match answer.transport {
        Transport::Tcp { .. } => "TCP with timestamps",
        Transport::Udp => "UDP",
        Transport::Raw => "without transport",
    };
    let carried = match &answer.encap {
        plain if *plain == Encaps::NONE => "on plain Ethernet".to_owned(),
        encaps => format!("in {encaps}"),
    };
    let mtu = answer.link_mtu.map(|mtu| format!(", MTU {}", mtu.0)).unwrap_or_default();
    format!("Link {}{mtu}, {network} {transport} {carried}", answer.link_bps)
}

fn tables(answer: &LineRate) -> Vec<Table> {
    match answer.rows.as_slice() {
        [] => answer.measured.iter().map(|row| measured_table(answer.link_bps, row)).collect(),
        rows => vec![forward_table(answer, rows)],
    }
}

fn forward_table(answer: &LineRate, rows: &[Carried]) -> Table {
    let tcp = answer.transport != Transport::Udp;
    let carried = answer.encap != Encaps::NONE;
    let mut header = vec!["Frame", "MTU"];
    header.extend(if tcp { &["MSS", "MSS (timestamps)"][..] } else { &["Payload"] });
    header.extend(if carried { &["Outer MTU", "Outer frame"][..] } else { &[] });
    header.extend(["Packets", "Goodput", "Share"]);
    let row = |row: &Carried| {
        let mut cells = vec![bytes(row.frame), bytes(row.mtu)];
        if tcp {
            cells.extend([or_none(row.mss, bytes), or_none(row.mss_timestamps, bytes)]);
        } else {
            cells.push(or_none(row.payload, bytes));
        }
        if carried {
            cells.extend([bytes(row.outer_packet), bytes(row.outer_frame)]);
        }
        cells.push(packets(row.packets_per_second));
        cells.extend([or_none(row.goodput_bps, bits), or_none(row.share, exact_percent)]);
        cells
    };
    Table::new(header.into_iter().map(Column::right).collect(), rows.iter().map(row).collect())
        .with_spare(&["Outer frame", "MSS"])
}

fn measured_table(link: BitRate, row: &OnTheWire) -> Table {
    let columns = vec![Column::left(""), Column::right("Measured"), Column::right("Line rate")];
    let rows = [
        ["Packets".into(), packets(row.packets_per_second), packets(row.line_rate_pps)],
        ["Goodput".into(), bits(row.goodput_bps), bits(row.line_rate_goodput_bps)],
        ["On the wire".into(), bits(row.wire_bps), format!("{link:.2}")],
        ["Share".into(), exact_percent(row.line_rate_share), "100.0 %".into()],
    ];
    Table::new(columns, rows.map(Vec::from).into())
}

/// Remarks for which the tables have no place, a sentence each.
fn remarks(answer: &LineRate) -> Vec<String> {
    let forward = answer
        .rows
        .iter()
        .filter_map(|row| row.note.as_ref().map(|note| format!("Frame {}: {note}", row.frame.0)));
    let backward = answer.measured.iter().flat_map(|row| {
        let packets = format!(
            "Packets of {} B payload in frames of {} B, {} B on the wire",
            row.layout.payload.0, row.layout.outer_frame.0, row.layout.wire.0
        );
        [Some(packets), Some(row.arithmetic.clone()), row.note.clone()].into_iter().flatten()
    });
    forward.chain(backward).collect()
}

fn bytes(size: Bytes) -> String {
    size.0.to_string()
}

fn packets(rate: Ratio) -> String {
    format!("{:.2}", PacketRate(rate.rounded()))
}

fn bits(rate: Ratio) -> String {
    format!("{:.2}", BitRate(rate.rounded()))
}

fn exact_percent(share: Ratio) -> String {
    format!("{:.1} %", share.percent())
}

fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

const FORWARD: [CsvCell<Carried>; 12] = [
    CsvCell("frame", |row| bytes(row.frame)),
    CsvCell("mtu", |row| bytes(row.mtu)),
    CsvCell("mss", |row| or_empty(row.mss.map(bytes))),
    CsvCell("mss_timestamps", |row| or_empty(row.mss_timestamps.map(bytes))),
    CsvCell("payload", |row| or_empty(row.payload.map(bytes))),
    CsvCell("outer_packet", |row| bytes(row.outer_packet)),
    CsvCell("outer_frame", |row| bytes(row.outer_frame)),
    CsvCell("wire", |row| bytes(row.wire)),
    CsvCell("packets_per_second", |row| format!("{:.3}", row.packets_per_second)),
    CsvCell("goodput_bps", |row| or_empty(row.goodput_bps.map(|rate| format!("{rate:.3}")))),
    CsvCell("share", |row| or_empty(row.share.map(|share| format!("{share:.6}")))),
    CsvCell("note", |row| or_empty(row.note.as_ref())),
];

const BACKWARD: [CsvCell<OnTheWire>; 9] = [
    CsvCell("payload", |row| bytes(row.layout.payload)),
    CsvCell("outer_frame", |row| bytes(row.layout.outer_frame)),
    CsvCell("wire", |row| bytes(row.layout.wire)),
    CsvCell("goodput_bps", |row| format!("{:.3}", row.goodput_bps)),
    CsvCell("packets_per_second", |row| format!("{:.3}", row.packets_per_second)),
    CsvCell("wire_bps", |row| format!("{:.3}", row.wire_bps)),
    CsvCell("line_rate_pps", |row| format!("{:.3}", row.line_rate_pps)),
    CsvCell("line_rate_share", |row| format!("{:.6}", row.line_rate_share)),
    CsvCell("note", |row| or_empty(row.note.as_ref())),
];

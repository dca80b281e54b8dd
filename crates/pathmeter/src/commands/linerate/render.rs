//! The answer as tables for people and documents, and as CSV.

use super::{Answer, backward, forward};
use comfy_table::{CellAlignment, Table, presets};
use model::framing::{Encaps, Network, Ratio, Transport};
use model::units::{BitRate, Bytes, PacketRate};
use std::fmt::Display;

/// Tables and sentences for people.
pub(super) fn text(answer: &Answer) -> String {
    let table = |mut table: Table| -> String {
        table.load_preset(presets::NOTHING);
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().map(|line| format!("  {}\n", line.trim_end())).collect()
    };
    format!("{}\n\n{}{}", heading(answer), tables(answer, table), remarks(answer))
}

/// The same as tables for documents.
pub(super) fn markdown(answer: &Answer) -> String {
    let table = |mut table: Table| -> String {
        table.load_preset(presets::ASCII_MARKDOWN);
        let mut lines: Vec<String> = table.lines().collect();
        if let Some(rule) = lines.get_mut(1) {
            *rule = rule.replace("-|", ":|");
        }
        lines.join("\n") + "\n"
    };
    format!("### {}\n\n{}{}", heading(answer), tables(answer, table), remarks(answer))
}

/// One row a packet size, numbers in base units: bytes, packets a second, bits a second.
pub(super) fn csv(answer: &Answer) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| text.push_str(&(cells.join(",") + "\n"));
    if !answer.rows.is_empty() {
        line(&FORWARD_NAMES.map(String::from));
        answer.rows.iter().for_each(|row| line(&forward_values(row)));
    }
    if !answer.measured.is_empty() {
        line(&BACKWARD_NAMES.map(String::from));
        answer.measured.iter().for_each(|row| line(&backward_values(row)));
    }
    text
}

fn heading(answer: &Answer) -> String {
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

fn tables(answer: &Answer, show: impl Fn(Table) -> String) -> String {
    match answer.rows.as_slice() {
        [] => answer.measured.iter().map(|row| show(measured_table(answer.link_bps, row))).collect(),
        rows => show(forward_table(answer, rows)),
    }
}

fn forward_table(answer: &Answer, rows: &[forward::Row]) -> Table {
    let tcp = answer.transport != Transport::Udp;
    let carried = answer.encap != Encaps::NONE;
    let mut header = vec!["Frame", "MTU"];
    header.extend(if tcp { &["MSS", "MSS (timestamps)"][..] } else { &["Payload"] });
    header.extend(if carried { &["Outer MTU", "Outer frame"][..] } else { &[] });
    header.extend(["Packets", "Goodput", "Share"]);
    let mut table = right_aligned(&header);
    for row in rows {
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
        cells.extend([or_none(row.goodput_bps, bits), or_none(row.share, percent)]);
        table.add_row(cells);
    }
    table
}

fn measured_table(link: BitRate, row: &backward::Row) -> Table {
    let mut table = right_aligned(&["", "Measured", "Line rate"]);
    table.add_row(["Packets".into(), packets(row.packets_per_second), packets(row.line_rate_pps)]);
    table.add_row(["Goodput".into(), bits(row.goodput_bps), bits(row.line_rate_goodput_bps)]);
    table.add_row(["On the wire".into(), bits(row.wire_bps), format!("{link:.2}")]);
    table.add_row(["Share".into(), percent(row.line_rate_share), "100.0 %".into()]);
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table
}

/// What the tables cannot say, one sentence a line.
fn remarks(answer: &Answer) -> String {
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
    let lines: String = forward.chain(backward).map(|line| format!("{line}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn right_aligned(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.set_header(header);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
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

fn percent(share: Ratio) -> String {
    format!("{:.1} %", share.percent())
}

fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

fn forward_values(row: &forward::Row) -> [String; 12] {
    [
        bytes(row.frame),
        bytes(row.mtu),
        or_empty(row.mss.map(bytes)),
        or_empty(row.mss_timestamps.map(bytes)),
        or_empty(row.payload.map(bytes)),
        bytes(row.outer_packet),
        bytes(row.outer_frame),
        bytes(row.wire),
        format!("{:.3}", row.packets_per_second),
        or_empty(row.goodput_bps.map(|rate| format!("{rate:.3}"))),
        or_empty(row.share.map(|share| format!("{share:.6}"))),
        or_empty(row.note.as_deref().map(quoted)),
    ]
}

fn backward_values(row: &backward::Row) -> [String; 9] {
    [
        bytes(row.layout.payload),
        bytes(row.layout.outer_frame),
        bytes(row.layout.wire),
        format!("{:.3}", row.goodput_bps),
        format!("{:.3}", row.packets_per_second),
        format!("{:.3}", row.wire_bps),
        format!("{:.3}", row.line_rate_pps),
        format!("{:.6}", row.line_rate_share),
        or_empty(row.note.as_deref().map(quoted)),
    ]
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A text as CSV has it (RFC 4180 section 2).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

const FORWARD_NAMES: [&str; 12] = [
    "frame",
    "mtu",
    "mss",
    "mss_timestamps",
    "payload",
    "outer_packet",
    "outer_frame",
    "wire",
    "packets_per_second",
    "goodput_bps",
    "share",
    "note",
];
const BACKWARD_NAMES: [&str; 9] = [
    "payload",
    "outer_frame",
    "wire",
    "goodput_bps",
    "packets_per_second",
    "wire_bps",
    "line_rate_pps",
    "line_rate_share",
    "note",
];

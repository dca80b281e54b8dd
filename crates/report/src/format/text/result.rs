//! Details behind the table of one test: the streams, and how it ran.

use super::super::table::plain;
use super::super::{Paint, Style};
use crate::document::{Column, Table};
use model::event::Outcome;
use model::plan::{Direction, Plan, Transport, Wait};
use model::run::Run;
use model::sample::{DataPath, Role, SideResult};
use model::summary::{DirectionSummary, Summary};
use model::units::{grouped, percent, significant};

/// Everything between the intervals and the findings.
pub(super) fn result_text(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    for direction in [Direction::Up, Direction::Down] {
        if let Some(summary) = run.summary.direction(direction) {
            text.push_str(&streams(direction, summary, style));
        }
    }
    if let Some(plan) = &run.plan {
        text.push_str(&how_it_ran(run, plan, style));
    }
    text.push_str(&outcome(&run.summary, style));
    text
}

/// A named line, its value wrapped under itself.
pub(in crate::format) fn fact(name: &str, value: &str, style: &Style) -> String {
    let mut text = String::new();
    for (index, line) in style.wrap(value, NAME_WIDTH + 2).iter().enumerate() {
        let name = format!("{:<NAME_WIDTH$}", if index == 0 { name } else { "" });
        text.push_str(&format!("  {}{line}\n", style.paint(Paint::Dim, &name)));
    }
    text
}

/// Each stream, when there are several, and how equal they are.
fn streams(direction: Direction, summary: &DirectionSummary, style: &Style) -> String {
    let Some(table) = stream_table(summary) else { return String::new() };
    let title = format!("Streams {direction}");
    let rows = &summary.streams;
    let hidden = rows.len().saturating_sub(MOST_STREAMS);
    let more =
        if hidden > 0 { format!("  … and {hidden} more, all of them in --json\n") } else { String::new() };
    let index = jain(&rows.iter().map(|row| row.goodput.0 as f64).collect::<Vec<_>>());
    format!(
        "\n{}\n{}{more}{}",
        style.paint(Paint::Bold, &title),
        plain(&table.columns, &table.rows, style),
        fact("fairness", &format!("{} of 1", significant(index)), style)
    )
}

/// The first streams of a direction, when there are several.
pub(in crate::format) fn stream_table(summary: &DirectionSummary) -> Option<Table> {
    let rows = &summary.streams;
    if rows.len() < 2 {
        return None;
    }
    let last = if summary.transport == Transport::Tcp { "Retransmits" } else { "Lost" };
    let columns =
        [Column::left("Stream"), Column::right("Goodput"), Column::right("Share"), Column::right(last)];
    let total: u64 = rows.iter().map(|row| row.goodput.0).sum();
    let cells = rows.iter().take(MOST_STREAMS).map(|row| {
        let share = if total > 0 { row.goodput.0 as f64 / total as f64 } else { 0.0 };
        let last = row.retransmits.or(row.lost).map_or("-".into(), grouped);
        vec![row.stream.to_string(), row.goodput.to_string(), percent(share), last]
    });
    Some(Table::new(columns.into(), cells.collect()))
}

/// Jain's fairness index: (Σx)² ÷ (n·Σx²), 1 for equal shares; 1 of nothing.
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 1.0 }
}

/// Congestion control, offloads, copying, waiting and buffers at both ends.
fn how_it_ran(run: &Run, plan: &Plan, style: &Style) -> String {
    let facts = data_paths(run, plan);
    if facts.is_empty() {
        return String::new();
    }
    let text: String = facts.iter().map(|(name, value)| fact(name, value, style)).collect();
    format!("\n{}\n{text}", style.paint(Paint::Bold, "How it ran"))
}

/// The same by name.
pub(in crate::format) fn data_paths(run: &Run, plan: &Plan) -> Vec<(&'static str, String)> {
    let ends = [("this end", &run.summary.local, true), ("far end", &run.summary.peer, false)];
    let line = |(name, side, local): (_, &Option<SideResult>, bool)| {
        let line = data_path(&side.as_ref()?.datapath, plan.test.transport, &roles(plan, local));
        Some((name, line)).filter(|(_, line)| !line.is_empty())
    };
    let mut facts: Vec<_> = ends.into_iter().filter_map(line).collect();
    if !facts.is_empty() {
        facts.extend(segmentation(run, plan).map(|line| ("offload", line)));
    }
    facts
}

fn roles(plan: &Plan, local: bool) -> Vec<Role> {
    let role = |direction: Direction| match (direction == Direction::Up) == local {
        true => Role::Sender,
        false => Role::Receiver,
    };
    plan.test.directions.each().map(role).collect()
}

fn data_path(path: &DataPath, transport: Transport, roles: &[Role]) -> String {
    let mut parts = Vec::new();
    // A foreign peer tells its congestion control at most.
    let known = path.send_buffer.0 + path.receive_buffer.0 > 0;
    if roles.contains(&Role::Sender) {
        parts.extend(path.congestion.as_ref().map(|name| format!("congestion control {name}")));
    }
    if known && roles.contains(&Role::Sender) {
        parts.push(if path.zero_copy { "sends with zero copy".into() } else { "sends by copying".into() });
        parts.extend(Some(path.send_buffer).filter(|b| b.0 > 0).map(|b| format!("send buffer {b:#}")));
    }
    if known && roles.contains(&Role::Receiver) {
        parts.extend(path.receiver.as_ref().map(|name| format!("receives with {name}")));
        if transport == Transport::Udp {
            parts.push(if path.gro { "GRO on".into() } else { "GRO off".into() });
        }
        parts.extend(path.wait.map(|wait| waits(wait).to_owned()));
        parts.extend(Some(path.receive_buffer).filter(|b| b.0 > 0).map(|b| format!("receive buffer {b:#}")));
    }
    parts.join(", ")
}

fn waits(wait: Wait) -> &'static str {
    match wait {
        Wait::Auto => "waits as it sees fit",
        Wait::Spin => "waits by spinning",
        Wait::Block => "waits in the kernel",
    }
}

/// The effect of GSO, and the packets that the wire would have carried without it.
fn segmentation(run: &Run, plan: &Plan) -> Option<String> {
    if plan.test.transport != Transport::Udp {
        return None;
    }
    let (side, host) = match plan.test.directions.up() {
        true => (&run.summary.local, &run.host),
        false => (&run.summary.peer, &run.peer),
    };
    // A foreign peer does not say: 0.
    let segments = side.as_ref().map(|side| side.datapath.gso_segments).filter(|segments| *segments > 0)?;
    let length = plan.test.length;
    if segments < 2 {
        return Some(format!(
            "GSO off: each {length}-byte datagram goes through the sender's kernel by itself"
        ));
    }
    let is_virtual = host.as_ref().and_then(|host| host.nic.as_ref()).is_some_and(|nic| nic.is_virtual);
    let wire = match is_virtual {
        true => format!(
            "between virtual devices such as these the batch may cross as one packet of {} bytes; with \
             --no-gso each datagram would cross by itself",
            u64::from(segments) * u64::from(length)
        ),
        false => {
            "on the wire each is a packet of its own, exactly what --no-gso would send one by one".into()
        }
    };
    Some(format!("GSO on: up to {segments} datagrams of {length} bytes in one send call; {wire}"))
}

/// Why it ended, when not as planned, and the warnings.
pub(super) fn outcome(summary: &Summary, style: &Style) -> String {
    let mut text = String::new();
    if let Some(sentence) = ended(summary) {
        let failed = matches!(summary.outcome, Some(Outcome::Failed { .. }));
        let paint = if failed { Paint::Problem } else { Paint::Warning };
        text.push('\n');
        text.extend(style.wrap(&sentence, 0).iter().map(|line| style.paint(paint, line) + "\n"));
    }
    if !summary.warnings.is_empty() {
        text.push('\n');
    }
    for warning in &summary.warnings {
        for (index, line) in style.wrap(&warning.text, 6).iter().enumerate() {
            let mark = if index == 0 { style.paint(Paint::Warning, "note: ") } else { " ".repeat(6) };
            text.push_str(&format!("{mark}{line}\n"));
        }
    }
    text
}

/// Why it ended, when not as planned.
pub(in crate::format) fn ended(summary: &Summary) -> Option<String> {
    match &summary.outcome {
        Some(Outcome::Completed) | None => None,
        Some(Outcome::Interrupted) => Some("Interrupted: the figures are those until then.".to_owned()),
        Some(Outcome::PeerStopped { reason }) => Some(format!("The far end stopped the test: {reason}")),
        Some(Outcome::Failed { reason }) => Some(format!("The test failed: {reason}")),
    }
}

const NAME_WIDTH: usize = 16;
/// More streams than this make a table nobody reads.
const MOST_STREAMS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equal_shares_and_one_nth_for_one_taker() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[9.0, 0.0, 0.0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(&[0.0, 0.0]) - 1.0).abs() < 1e-12);
    }
}

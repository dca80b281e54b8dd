//! Charts of packet sizes: the largest that cross, datagrams in fragments, and the sizes that were tried.

use crate::document::{Block, Chart};
use crate::format::text::{path, phrases};
use crate::plot::{Across, Bar, BarChart, BarRow, Labels, Line, LineChart, LinePanel};
use model::path::{FragmentShape, PathDirection, PathResult, SizeProbe};
use model::plan::Direction;

/// The largest packets; fragments and the sizes that were tried, where some of them were lost.
pub(in crate::format::run) fn packet_sizes(found: &PathResult) -> Vec<Block> {
    let bars = [largest(found), fragments(found)].into_iter().flatten().map(Chart::Bars);
    bars.chain(ladder(found).map(Chart::Lines)).map(Block::Chart).collect()
}

/// Bars for each direction of what crosses whole.
fn largest(found: &PathResult) -> Option<BarChart> {
    let row = |(name, value): &(&str, Size)| {
        BarRow::new(
            *name,
            directions(found).map(|(_, one_way)| bar(f64::from(value(one_way)?))).collect(),
            "not known",
        )
    };
    let rows: Vec<BarRow> = SIZES.iter().map(row).filter(has_bar).collect();
    (!rows.is_empty()).then(|| BarChart {
        title: "Largest packets".into(),
        subtitle: "that cross whole; a payload without its headers".into(),
        unit: "bytes".into(),
        labels: Labels::Count,
        series: series(found),
        ..BarChart::of_rows(rows)
    })
}

/// The share of fragmented datagrams that arrived, where one was lost.
fn fragments(found: &PathResult) -> Option<BarChart> {
    let tests = |shape: FragmentShape, one_way: &PathDirection| -> [u32; 2] {
        let own = one_way.fragments.tests.iter().filter(|test| test.shape == shape);
        own.fold([0, 0], |[received, sent], test| [received + test.received, sent + test.sent])
    };
    let share =
        |[received, sent]: [u32; 2]| (sent > 0).then(|| f64::from(received) / f64::from(sent) * 100.0);
    let row = |shape: &FragmentShape| {
        BarRow::new(
            path::fragment_shape(*shape),
            directions(found).map(|(_, one_way)| bar(share(tests(*shape, one_way))?)).collect(),
            "not tested",
        )
    };
    let shapes = path::fragment_shapes(found).into_iter().filter(|shape| path::is_whole(*shape));
    let rows: Vec<BarRow> = shapes.map(|shape| row(&shape)).filter(has_bar).collect();
    let some_lost = rows.iter().flat_map(|row| &row.bars).flatten().any(|bar| bar.value < 100.0);
    some_lost.then(|| BarChart {
        title: "Fragmented datagrams that arrived".into(),
        subtitle: "by how each was cut".into(),
        unit: "%".into(),
        series: series(found),
        ..BarChart::of_rows(rows)
    })
}

/// The sizes that were tried in each direction, and how many packets of each crossed, where some did not: where a line
/// falls is the path MTU.
fn ladder(found: &PathResult) -> Option<LineChart> {
    let is_clean = |one_way: &PathDirection| one_way.sizes.iter().all(|probe| probe.received == probe.sent);
    if directions(found).all(|(_, one_way)| is_clean(one_way)) {
        return None;
    }
    let tried = directions(found).filter(|(_, one_way)| one_way.sizes.len() > 1);
    let panels: Vec<LinePanel> = tried.map(|(direction, one_way)| steps(direction, one_way)).collect();
    (!panels.is_empty()).then(|| LineChart {
        title: "Packets that crossed, by size".into(),
        subtitle: "each size that was tried, fragments forbidden".into(),
        panels,
        ..LineChart::default()
    })
}

fn steps(direction: Direction, one_way: &PathDirection) -> LinePanel {
    let crossed = |probe: &SizeProbe| match probe.sent {
        0 => None,
        sent => Some(f64::from(probe.received) / f64::from(sent) * 100.0),
    };
    let mtu = one_way.path_mtu.map_or_else(|| "path MTU not found".into(), |mtu| format!("path MTU {mtu}"));
    let sizes = || one_way.sizes.iter().map(|probe| probe.size);
    let values: Vec<f64> = sizes().map(f64::from).collect();
    LinePanel {
        title: format!("Arrived {direction}"),
        unit: "%".into(),
        lines: vec![Line::new(mtu, one_way.sizes.iter().map(crossed).collect())],
        across: Some(Across::values(
            "IP packet, bytes",
            sizes().map(|size| size.to_string()).collect(),
            &values,
        )),
        ..LinePanel::default()
    }
}

fn directions(found: &PathResult) -> impl Iterator<Item = (Direction, &PathDirection)> {
    let both = Direction::BOTH.into_iter();
    both.filter_map(|direction| Some((direction, found.in_direction(direction)?)))
}

fn series(found: &PathResult) -> Vec<String> {
    directions(found).map(|(direction, _)| phrases::direction_word(direction).to_owned()).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "a row has an Option for each of its bars")]
fn bar(value: f64) -> Option<Bar> {
    Some(Bar { value, ..Bar::default() })
}

fn has_bar(row: &BarRow) -> bool {
    row.bars.iter().any(Option::is_some)
}

type Size = fn(&PathDirection) -> Option<u32>;

const SIZES: [(&str, Size); 3] = [
    ("path MTU", |one_way| one_way.path_mtu),
    ("UDP payload", |one_way| one_way.max_udp_payload),
    ("segment of TCP", |one_way| one_way.tcp.as_ref()?.largest_segment),
];

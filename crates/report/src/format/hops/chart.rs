//! The hops as bars: the round trip to each, and below it the loss of the path there, on the return path too where it was traced.

use super::{BACK, subject, title};
use crate::document::{Block, Chart};
use crate::plot::{Bar, BarChart, BarPanel, BarRow, Labels};
use model::hops::{Hop, HopsResult, Missing};
use model::run::Run;
use model::units::Nanos;

/// Round trips and losses, as far as there are any.
pub(in crate::format) fn charts(run: &Run, found: &HopsResult) -> Vec<Block> {
    [round_trips(run, found), losses(found)]
        .into_iter()
        .flatten()
        .map(Chart::Bars)
        .map(Block::Chart)
        .collect()
}

fn round_trips(run: &Run, found: &HopsResult) -> Option<BarChart> {
    let longest = found.hops.iter().filter_map(|hop| hop.rtt).map(|rtt| rtt.p90).max()?;
    let (unit, scale) = if longest < Nanos::from_millis(1) { ("µs", 1e3) } else { ("ms", 1e6) };
    let value = |time: Nanos| time.0 as f64 / scale;
    let row = |hop: &Hop| BarRow {
        name: name(hop),
        bars: vec![hop.rtt.map(|rtt| Bar {
            value: value(rtt.p50),
            whisker: Some([value(rtt.min), value(rtt.p90)]),
            mark: None,
        })],
        missing: "no answer".into(),
    };
    Some(BarChart {
        title: title(run),
        subtitle: run.hops().map(subject).unwrap_or_default(),
        unit: unit.into(),
        labels: Labels::Time(scale),
        series: vec!["median round trip".into()],
        whiskers: Some("from the least to the 90th percentile".into()),
        ..BarChart::of_rows(found.hops.iter().map(row).collect())
    })
}

/// The loss of the path at each hop, not the answers that a hop keeps to itself.
fn losses(found: &HopsResult) -> Option<BarChart> {
    let panel = |title: &str, hops: &[Hop]| BarPanel {
        title: title.to_owned(),
        rows: hops.iter().map(loss).collect(),
    };
    let back = found.back.as_ref().map(|back| panel(BACK, &back.hops));
    let there = if back.is_some() { "Forward path" } else { "" };
    let panels: Vec<BarPanel> = std::iter::once(panel(there, &found.hops))
        .chain(back)
        .filter(|panel| !panel.rows.is_empty())
        .collect();
    // Bars of nothing show nothing.
    let bars = panels.iter().flat_map(|panel| &panel.rows).flat_map(|row| &row.bars).flatten();
    bars.into_iter().any(|bar| bar.value > 0.0).then(|| BarChart {
        title: "Packets lost on the path, by hop".into(),
        subtitle: "loss that reaches the far end; rate-limited replies are not loss".into(),
        unit: "%".into(),
        series: vec!["lost".into()],
        panels,
        ..BarChart::default()
    })
}

fn loss(hop: &Hop) -> BarRow {
    let share = match hop.missing {
        Missing::None => Some(0.0),
        Missing::Loss => hop.counted.loss(),
        Missing::OwnAnswers | Missing::Unclear | Missing::Silent => None,
    };
    let missing = match hop.missing {
        Missing::OwnAnswers => "limits its own answers",
        Missing::Unclear => "too few probes to know",
        _ => "no answer",
    };
    let bar = share.map(|share| Bar { value: share * 100.0, ..Bar::default() });
    BarRow { name: name(hop), bars: vec![bar], missing: missing.into() }
}

/// Number and router.
fn name(hop: &Hop) -> String {
    match hop.routers.first() {
        Some(router) => {
            format!("{} {}", hop.ttl, router.name.clone().unwrap_or_else(|| router.address.to_string()))
        }
        None => hop.ttl.to_string(),
    }
}

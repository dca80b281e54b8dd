//! Conclusions from the tables, in sentences.

use super::{Analysis, Flow, PathBound, Trips};
use model::pairs::{PairsDirection, Together};
use model::path::Bound;
use model::plan::Direction;
use model::stats::compare::{Judgement, NEEDED_RUNS};
use model::units::{Nanos, change, percent, significant};

pub(super) fn conclusions(analysis: &Analysis) -> Vec<String> {
    let mut sentences: Vec<String> = analysis.flows.iter().filter_map(near_line_rate).collect();
    sentences.extend(analysis.flows.iter().filter_map(unfair));
    sentences.extend(medians(&analysis.trips));
    sentences.extend(far(&analysis.trips));
    sentences.extend(exact(&analysis.paths));
    sentences.extend(analysis.together.iter().flat_map(together));
    sentences.extend(compared(analysis));
    sentences
}

fn near_line_rate(flow: &Flow) -> Option<String> {
    let (line, share) = (flow.line_rate?, flow.wire.line_rate_share?);
    let (packets, frame) = (flow.wire.packets_per_second?, flow.wire.frame?);
    Some(format!(
        "{} {}: {} is {} of line rate, {packets} of {} in frames of {frame} bytes; {} of payload would be line rate at {}.",
        flow.run,
        flow.direction,
        flow.goodput,
        percent(share),
        line.packets_per_second,
        line.goodput,
        line.link
    ))
}

fn unfair(flow: &Flow) -> Option<String> {
    let fairness = flow.fairness?;
    let (jain, share) = (fairness.jain?, fairness.least_over_most?);
    (share < FAIR).then(|| {
        format!(
            "{} {}: its {} streams did not share equally: the slowest had {}, the fastest {}; Jain's index is {}.",
            flow.run, flow.direction, fairness.streams, fairness.least, fairness.most, significant(jain)
        )
    })
}

fn medians(trips: &[Trips]) -> Option<String> {
    let known: Vec<(Nanos, &Trips)> =
        trips.iter().filter_map(|one| Some((one.rtt.known_median()?, one))).collect();
    let (least, shortest) = known.iter().min_by_key(|(median, _)| *median)?;
    let (most, longest) = known.iter().max_by_key(|(median, _)| *median)?;
    if known.len() < 2 || least.0 == 0 {
        return None;
    }
    // Within so much: rounded up.
    let apart = ((most.0 as f64 / least.0 as f64 - 1.0) * 1000.0).ceil() / 10.0;
    let all = if known.len() == trips.len() {
        format!("all {}", known.len())
    } else {
        format!("the {} of {} that are known", known.len(), trips.len())
    };
    Some(format!(
        "The medians of {all} lie within {apart:.1} %: the shortest is {least:.3} ({}), the longest {most:.3} ({}).",
        shortest.run, longest.run
    ))
}

fn far(trips: &[Trips]) -> Option<String> {
    let far: Vec<&Trips> = trips.iter().filter(|one| one.far).collect();
    if trips.len() < 2 || far.is_empty() {
        return None;
    }
    let name = |one: &&Trips| {
        let times = one.max_over_median.map(|times| format!(", the longest {times:.1} times its median"));
        format!("{}{}", one.run, times.unwrap_or_default())
    };
    let names = far.iter().map(name).collect::<Vec<_>>().join("; ");
    let only = if far.len() < trips.len() { "Only these have" } else { "All have" };
    let only = if far.len() == 1 { "Only one has" } else { only };
    Some(format!("{only} round trips far off the others: {names}."))
}

/// One size that crossed and the next that did not.
fn exact(paths: &[PathBound]) -> Vec<String> {
    let mut sentences = Vec::new();
    for least in paths.iter().filter(|one| one.bound == Bound::AtLeast) {
        let other = |one: &&PathBound| {
            (one.bound, one.direction, one.path_mtu) == (Bound::AtMost, least.direction, least.path_mtu)
        };
        sentences.extend(paths.iter().find(other).map(|most| {
            let mtu = least.path_mtu;
            format!(
                "The path MTU is {mtu}: packets of {mtu} bytes crossed ({}), larger ones did not ({}).",
                least.run, most.run
            )
        }));
    }
    sentences
}

fn together(sum: &Together) -> Vec<String> {
    if sum.overlap.0 == 0 {
        return vec!["The runs never ran all at once: there is no sum of them.".into()];
    }
    let begun = if sum.clocked { "" } else { ", if they began at once, which they do not report" };
    let directions = [(Direction::Up, sum.up), (Direction::Down, sum.down)];
    let one_way = |(direction, one_way): (Direction, Option<PairsDirection>)| {
        let one_way = one_way?;
        let packets = one_way.packets_per_second.map(|rate| format!(", {rate}")).unwrap_or_default();
        let share = one_way
            .line_rate_share
            .map(|share| format!(", {} of line rate", percent(share)))
            .unwrap_or_default();
        Some(format!(
            "Together the {} runs transferred {} {direction}{packets}{share} in the {} that all ran{begun}.",
            one_way.runs, one_way.goodput, sum.overlap
        ))
    };
    directions.into_iter().filter_map(one_way).collect()
}

fn compared(analysis: &Analysis) -> Vec<String> {
    let rows = &analysis.comparisons;
    let sure = |judgement| matches!(judgement, Judgement::Better | Judgement::Worse);
    let mut sentences: Vec<String> = rows
        .iter()
        .filter(|row| sure(row.judgement))
        .filter_map(|row| {
            let runs = format!("{} and {} runs", row.base.runs, row.other.runs);
            Some(format!("{} is {}: {}, from {runs}.", row.name, row.judgement, change(row.shift?.percent)))
        })
        .collect();
    let unsure = rows.len() - sentences.len();
    if unsure > 0 {
        sentences.push(format!(
            "Of {} comparisons {unsure} show nothing that is surely more than noise.",
            rows.len()
        ));
    }
    if rows.iter().any(|row| row.few) {
        sentences.push(format!(
            "Some groups have fewer than {NEEDED_RUNS} runs: their comparison takes runs to spread normally."
        ));
    }
    sentences
}

/// Streams further apart than this did not share equally.
const FAIR: f64 = 0.8;

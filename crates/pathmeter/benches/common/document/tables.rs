//! Tables in Markdown: what was measured, which goals are reached, and how ours stands beside the strongest of all.

use super::judge::{judge, strongest, turn_by_turn};
use super::{Case, Contender, Figure, Measure, Record};
use model::stats::quantile::median;

/// One case: every contender with its medians, the range of the first figure, and ours over it turn by turn.
pub(crate) fn case(record: &Record, case: &Case) -> String {
    let figures: Vec<&Figure> = record.figures.iter().filter(|figure| is_shown(case, figure)).collect();
    let Some(main) = figures.first() else {
        let turns: usize = case.contenders.iter().map(|contender| contender.turns.len()).sum();
        return format!("### {}\n\nOf {turns} runs none was undisturbed.\n", case.name);
    };
    let mut head = vec!["contender".to_owned(), main.title.clone(), "min to max".into(), "ours / it".into()];
    head.extend(figures.iter().skip(1).map(|figure| figure.title.clone()));
    head.push("turns".into());
    let mut rows = vec![head];
    let mut notes = String::new();
    for contender in &case.contenders {
        rows.push(row(case, contender, &figures));
        if let Some((count, why)) = &contender.failed {
            notes += &format!("\n`{}` failed {count} times: {why}\n", contender.label);
        }
    }
    format!("### {}\n\n{}{notes}", case.name, markdown(&rows))
}

fn row(case: &Case, contender: &Contender, figures: &[&Figure]) -> Vec<String> {
    let key = &figures[0].key;
    let values = contender.values(key);
    let mut cells = vec![contender.label.clone(), cell(median(&values))];
    let low = values.iter().copied().reduce(f64::min);
    let high = values.iter().copied().reduce(f64::max);
    cells
        .push(low.zip(high).map_or("-".into(), |(low, high)| format!("{} to {}", number(low), number(high))));
    let turns = case.contenders.first().map(|ours| turn_by_turn(ours, contender, key, Measure::Ratio));
    cells.push(cell(turns.and_then(|turns| median(&turns))));
    cells.extend(figures.iter().skip(1).map(|figure| cell(contender.median(&figure.key))));
    let disturbed = contender.turns.len() - contender.quiet().count();
    let quiet = contender.quiet().count();
    cells.push(if disturbed == 0 {
        quiet.to_string()
    } else {
        format!("{quiet}, and {disturbed} disturbed")
    });
    cells
}

fn is_shown(case: &Case, figure: &Figure) -> bool {
    let least = figure.beyond.unwrap_or(-1.0);
    case.contenders
        .iter()
        .filter_map(|contender| contender.median(&figure.key))
        .any(|middle| middle.abs() > least)
}

/// Every goal of the cases measured.
pub(crate) fn goals(record: &Record) -> String {
    let head =
        ["case", "figure", "ours", "strongest peer", "ours against it", "95 %", "wanted", "turns", "reached"];
    let mut rows = vec![head.map(Into::into).to_vec()];
    for case in &record.cases {
        for goal in &case.goals {
            let (Some(judged), Some(figure)) = (judge(record, case, goal), record.figure(&goal.figure))
            else {
                continue;
            };
            let sign = if figure.higher_is_better { "≥" } else { "≤" };
            let kind = match goal.measure {
                Measure::Ratio => ", ratio",
                Measure::Difference => ", difference",
                Measure::Value => "",
            };
            let bounds = judged.group.median_bounds;
            rows.push(vec![
                case.name.clone(),
                format!("{}{kind}", figure.title),
                goal.ours.clone(),
                judged.peer,
                cell(judged.group.median),
                bounds.map_or("-".into(), |[low, high]| format!("{} to {}", number(low), number(high))),
                format!("{sign} {}", number(goal.wanted)),
                judged.group.runs.to_string(),
                judged.reached.text().into(),
            ]);
        }
    }
    markdown(&rows)
}

/// For each case the best of ours beside the best of all the others, whatever their settings.
pub(crate) fn best(records: &[&Record]) -> String {
    let head = ["case", "figure", "best of ours", "", "strongest peer", "", "ours / it", "95 %"];
    let mut rows = vec![head.map(Into::into).to_vec()];
    for record in records {
        for case in &record.cases {
            rows.extend(best_of(record, case));
        }
    }
    markdown(&rows)
}

fn best_of(record: &Record, case: &Case) -> Option<Vec<String>> {
    let figure = record.figures.iter().find(|figure| is_shown(case, figure))?;
    let strongest_of = |own: bool| {
        let side =
            case.contenders.iter().filter(move |contender| is_peer(contender) != own && !is_plain(contender));
        strongest(side, &figure.key, figure.higher_is_better)
    };
    let (ours, peer) = (strongest_of(true)?, strongest_of(false)?);
    let turns = turn_by_turn(ours, peer, &figure.key, Measure::Ratio);
    let bounds = model::stats::compare::Group::from_values(&turns).median_bounds;
    Some(vec![
        case.name.clone(),
        figure.title.clone(),
        ours.label.clone(),
        cell(ours.median(&figure.key)),
        peer.label.clone(),
        cell(peer.median(&figure.key)),
        cell(median(&turns)),
        bounds.map_or("-".into(), |[low, high]| format!("{} to {}", number(low), number(high))),
    ])
}

fn is_peer(contender: &Contender) -> bool {
    !contender.label.starts_with("pathmeter")
}

/// A loop of the benchmark's own, which shows the least that is possible.
fn is_plain(contender: &Contender) -> bool {
    contender.label.starts_with("plain")
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}

/// Three digits that count, and all before the point.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        0.1.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Aligned, so that it reads in a terminal and in a document.
fn markdown(rows: &[Vec<String>]) -> String {
    if rows.len() == 1 {
        return "Nothing was measured.\n".into();
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            text += &format!("| {cell:width$} ");
        }
        text += "|\n";
        if index == 0 {
            text += &widths.iter().map(|width| format!("|{}", "-".repeat(width + 2))).collect::<String>();
            text += "|\n";
        }
    }
    text
}

//! The blocks of a run, by its kind.

use super::{charts, details};
use crate::document::{Block, Column, Conclusion, Table};
use crate::format::brief::{self, provenance};
use crate::format::text::{latency, packets, pair_facts, pair_table, path, path_facts, phrases, transfer};
use crate::format::{frames, hops};
use model::latency::EgressResult;
use model::path::PathResult;
use model::path::advice::Advice;
use model::plan::Direction;
use model::run::Run;
use model::units::{Nanos, count, grouped};

/// All of it: results, findings, verdict, and what stands behind them.
pub(super) fn run_blocks(run: &Run) -> Vec<Block> {
    let whence = Some(provenance(run)).filter(|line| !line.is_empty()).map(|line| format!("{line}. "));
    let mut blocks = vec![Block::Paragraph(format!("{}Run `{}`.", whence.unwrap_or_default(), run.id))];
    blocks.extend(match () {
        () if latency::is_latency(run) => of_latency(run),
        () if run.is_path() => of_path(run),
        () if run.is_hops() => hops::blocks(run),
        () if transfer::is_transfer(run) => of_transfers(run),
        () if run.is_frames() => of_frames(run),
        () => of_throughput(run),
    });
    blocks.push(Block::Findings(run.findings.clone()));
    blocks.push(Block::Conclusion(Conclusion::of_run(run)));
    blocks.extend(details::detail_blocks(run));
    blocks
}

/// Tests of throughput: one, several pairs, or those of a `measure` run. The intervals stay in JSON and CSV.
fn of_throughput(run: &Run) -> Vec<Block> {
    let pairs = run.summary.pairs.as_deref();
    let facts = path_facts(run).into_iter().chain(pairs.into_iter().flat_map(pair_facts));
    let table = match pairs {
        Some(_) => Block::Table(pair_table(run)),
        None => Block::Figures(brief::throughput_table(run)),
    };
    let mut blocks = vec![Block::facts(facts), table, Block::facts(limits(run))];
    blocks.extend(charts::totals(run));
    blocks.extend(charts::rates(run));
    blocks.extend(run.summary.path.iter().flat_map(charts::packet_sizes));
    blocks.extend(captured(run));
    blocks
}

/// The limit of each direction's rate.
fn limits(run: &Run) -> Vec<(String, String)> {
    let tests = [run].into_iter().filter(|run| run.tests.is_empty()).chain(&run.tests);
    let directions = [Direction::Up, Direction::Down];
    let of_test = |test: &'_ Run| {
        directions.map(|direction| {
            let limit = test.summary.direction(direction)?.limit.as_deref()?;
            Some((format!("Limit {direction}"), insight::limit::sentence(limit)))
        })
    };
    tests.flat_map(of_test).flatten().collect()
}

/// A sweep over frame sizes: its table, notes and chart.
fn of_frames(run: &Run) -> Vec<Block> {
    vec![
        Block::Paragraph(format!("{}. {}", frames::subtitle(run), frames::LEGEND)),
        Block::Table(Table::new(frames::columns(), frames::cells(&run.summary.rows))),
        charts::frames(run),
        Block::list(frames::notes(run)),
    ]
}

/// A latency run: the way or the table of ways, and the load.
fn of_latency(run: &Run) -> Vec<Block> {
    let egress_paths = run.summary.egress_paths.as_slice();
    let mut blocks = match egress_paths {
        [] => Vec::new(),
        [egress] => vec![one_way(run, egress)],
        several => {
            let unit = latency::compare_unit(several);
            let rows = latency::compare_rows(several, unit, latency::More::ALL);
            let columns = latency::compare_columns(several, latency::More::ALL);
            let mut blocks = vec![
                Block::Paragraph(format!("Round trips in {}.", unit.name)),
                Block::Table(Table::new(columns, rows)),
            ];
            blocks.extend(latency::compare_note(several).map(Block::Paragraph));
            blocks.push(Block::list(latency::sentences(run)));
            blocks
        }
    };
    blocks.extend(charts::round_trips_over_time(run));
    blocks.extend(charts::round_trips(egress_paths));
    if let Some(loaded) = &run.summary.loaded {
        blocks.push(Block::Table(Table::new(latency::load_columns(), latency::load_rows(loaded))));
        blocks.extend(charts::loaded(loaded));
        let responsiveness = latency::responsiveness(loaded).into_iter();
        let line = |(load, sentence)| Block::list([format!("Responsiveness, {load}: {sentence}")]);
        blocks.extend(responsiveness.map(line));
    }
    blocks.extend(captured(run));
    blocks
}

/// A run of transfers: the table by MTU and file, and warnings.
fn of_transfers(run: &Run) -> Vec<Block> {
    let files = run.transfer.iter().flat_map(|plan| &plan.files);
    let file = |file: &model::transfer::TransferFile| {
        (file.label.clone(), format!("`{}` at {}", file.url, file.address))
    };
    let mut blocks = vec![Block::facts(files.map(file))];
    if let Some(result) = &run.summary.transfer {
        let rows = &result.rows;
        blocks.push(Block::Table(Table::new(transfer::columns(rows), transfer::rows(rows))));
        let (columns, changes) = transfer::changes(rows);
        blocks.push(Block::Table(Table::new(columns, changes)));
        blocks.extend(charts::transfers(run, result));
    }
    let warnings = run.summary.warnings.iter().map(|warning| format!("{}: {}", warning.id, warning.text));
    blocks.push(Block::list(warnings));
    blocks
}

/// A run about packet sizes: what crosses, fragments, what is not known, what to set.
fn of_path(run: &Run) -> Vec<Block> {
    let mut blocks = run.summary.path.iter().flat_map(sizes).collect::<Vec<_>>();
    blocks.extend(run.summary.path.iter().flat_map(charts::packet_sizes));
    blocks.extend(captured(run));
    blocks.push(advice(run));
    blocks
}

fn sizes(found: &PathResult) -> Vec<Block> {
    let directions =
        [Direction::Up, Direction::Down].into_iter().filter(|d| found.in_direction(*d).is_some());
    let headings: Vec<Column> =
        directions.map(|direction| Column::left(phrases::direction_word(direction))).collect();
    let columns = |first: &str| [vec![Column::left(first)], headings.clone()].concat();
    let rows = path::rows(found).into_iter().map(|row| (row.name.to_owned(), row.cells)).collect();
    let service = found.service.iter().flat_map(path::service);
    vec![
        of_ways(columns("Figure"), rows),
        of_ways(columns("Fragments: datagrams that arrived"), path::fragment_rows(found)),
        Block::facts(service),
        Block::list(found.unknown.iter().map(|unknown| format!("Not known. {}", path::unknown(unknown)))),
    ]
}

/// The figures of a capture of packets.
fn captured(run: &Run) -> Vec<Block> {
    let Some(observed) = &run.summary.packets else { return Vec::new() };
    let mut blocks = vec![
        Block::Paragraph(format!("Packets on `{}`:", observed.interface)),
        Block::facts(packets::facts(observed)),
    ];
    for (direction, one_way) in packets::directions(observed) {
        let first = format!("Size {}", phrases::direction_word(direction).to_lowercase());
        let columns = packets::size_columns(first).into();
        blocks.push(Block::Table(Table::new(columns, packets::size_rows(one_way))));
    }
    if observed.flows.len() > 1 {
        let columns = packets::flow_columns().into();
        blocks.push(Block::Table(Table::new(columns, packets::flow_rows(observed))));
    }
    blocks
}

/// A table of names and a cell for each direction; none without a direction.
fn of_ways(columns: Vec<Column>, rows: Vec<(String, Vec<String>)>) -> Block {
    let rows = rows.into_iter().map(|(name, cells)| [vec![name], cells].concat());
    let rows = if columns.len() < 2 { Vec::new() } else { rows.collect() };
    Block::Table(Table::new(columns, rows))
}

/// The numbers to set.
fn advice(run: &Run) -> Block {
    let columns = [
        Column::left("Setting"),
        Column::right("Value"),
        Column::left("Where"),
        Column::left("Command"),
        Column::left("Why"),
    ];
    let row = |one: &Advice| {
        let commands: Vec<String> = one.commands.iter().map(|command| format!("`{command}`")).collect();
        vec![
            path::setting(&one.setting),
            one.value.to_string(),
            one.place.clone(),
            commands.join(" or "),
            one.why.clone(),
        ]
    };
    Block::Table(Table::new(columns.into(), run.advice.iter().map(row).collect()))
}

/// A row for each figure of a single way.
fn one_way(run: &Run, egress: &EgressResult) -> Block {
    let columns = [Column::left("Figure"), Column::left("Value")];
    let bounds = |bounds: &Option<(Nanos, Nanos)>| {
        bounds.map(|(low, high)| format!(" ({low} to {high} at 95 %)")).unwrap_or_default()
    };
    let given = latency::given(egress);
    let percentiles = given
        .iter()
        .map(|one| vec![format!("p{}", one.percent), format!("{}{}", one.text(), bounds(&one.bounds))]);
    let missing = latency::missing(egress).into_iter().map(|(percent, more)| {
        vec![format!("p{percent}"), format!("not given: takes {} more round trips", grouped(more))]
    });
    let facts =
        latency::facts(&run.summary, egress).into_iter().map(|(name, value)| vec![name.into(), value]);
    let missing = missing.filter(|_| egress.rtt.is_some());
    let reserved = latency::reservation(egress).map(|text| vec!["percentiles".to_owned(), text]);
    Block::Table(Table::new(
        columns.into(),
        percentiles.chain(missing).chain(reserved).chain(facts).collect(),
    ))
}

/// The test and the host.
pub(in crate::format) fn title(run: &Run) -> String {
    let plan = run.plan.as_ref().or_else(|| run.tests.iter().find_map(|test| test.plan.as_ref()));
    match plan {
        _ if latency::is_latency(run) => latency_title(run),
        _ if run.is_frames() => frames::title(run),
        _ if run.is_hops() => hops::title(run),
        _ if run.is_path() => path::subject(run.path.as_ref()),
        _ if transfer::is_transfer(run) => {
            run.transfer.as_ref().map_or_else(|| format!("Run `{}`", run.id), transfer::title)
        }
        Some(plan) if run.tests.is_empty() => {
            format!("Throughput to `{}`: {}", plan.target.host, phrases::test(&plan.test))
        }
        Some(plan) => format!("Measurement of the path to `{}`", plan.target.host),
        None => format!("Run `{}`", run.id),
    }
}

fn latency_title(run: &Run) -> String {
    let Some(plan) = &run.latency else {
        return format!("Latency, {}", count(run.summary.egress_paths.len() as u64, "path"));
    };
    let mut hosts: Vec<String> =
        plan.egress_paths.iter().map(|egress| format!("`{}`", egress.target.host)).collect();
    hosts.dedup();
    format!("Latency to {}: {}", hosts.join(", "), latency::phrase(plan))
}

//! The blocks of a run, by its kind.

use super::{charts, details};
use crate::document::{Block, Cell, Column, Conclusion, Part, Table};
use crate::format::brief::{self, provenance};
use crate::format::text::{latency, packets, pairs, path, phrases, reach, transfer};
use crate::format::{frames, hops};
use model::latency::EgressResult;
use model::path::PathResult;
use model::path::advice::Advice;
use model::run::{Run, Subject};
use model::units::{Nanos, count, grouped};

/// All of it: results, findings, verdict, and what stands behind them.
pub(super) fn run_blocks(run: &Run) -> Vec<Block> {
    let whence = Some(provenance(run)).filter(|line| !line.is_empty()).map(|line| format!("{line}. "));
    let mut blocks = vec![Block::Paragraph(format!("{}Run `{}`.", whence.unwrap_or_default(), run.id))];
    blocks.extend(match run.subject() {
        Subject::Latency => of_latency(run),
        Subject::Path => of_path(run),
        Subject::Hops => of_hops(run),
        Subject::Transfer => of_transfers(run),
        Subject::Frames => of_frames(run),
        Subject::Throughput => of_throughput(run),
    });
    let packets = run.summary.packets.as_deref().map(packets::sections).unwrap_or_default();
    blocks.extend(packets.into_iter().flat_map(all));
    blocks.extend(Table::of_cells("", &ADVICE, &run.advice).map(Block::Table));
    blocks.push(Block::Findings(run.findings.clone()));
    blocks.push(Block::Conclusion(Conclusion::of_run(run)));
    blocks.extend(details::detail_blocks(run));
    blocks
}

/// The numbers to set.
const ADVICE: [Cell<Advice>; 5] = [
    Cell("Setting", false, |one| Some(path::setting(&one.setting))),
    Cell("Value", true, |one| Some(one.value.to_string())),
    Cell("Where", false, |one| Some(one.place.clone())),
    Cell("Command", false, |one| {
        let commands: Vec<String> = one.commands.iter().map(|command| format!("`{command}`")).collect();
        Some(commands.join(" or "))
    }),
    Cell("Why", false, |one| Some(one.why.clone())),
];

/// What text has behind the first screen: the results that it shows in short, or not at all, and the details.
pub(super) fn behind(run: &Run) -> Vec<Part> {
    let part = |title: &str, blocks| Block::Details(title.into(), blocks);
    let found = run.summary.path.as_ref().filter(|_| run.subject() == Subject::Path);
    let mut parts = match run.summary.egress_paths.as_slice() {
        [egress] => vec![part("Round trips", one_way(run, egress))],
        _ => Vec::new(),
    };
    parts.extend(
        run.summary
            .loaded
            .iter()
            .map(|load| part("Responsiveness", vec![Block::facts(latency::responsiveness(load))])),
    );
    parts.extend(found.map(|found| part("Packet sizes", vec![Block::facts(path::facts(found))])));
    parts.extend(found.map(|found| part("Sizes tried", path::strips(found))));
    parts.extend(found.map(|found| part(FRAGMENTS, vec![Block::Table(fragments_table(found))])));
    let is_measure = !run.tests.is_empty() && run.summary.pairs.is_none();
    parts.extend(is_measure.then(|| part("The path", vec![Block::facts(path_facts(run))])));
    parts.push(part("Files", vec![files(run)]));
    parts.retain(|part| !part.is_empty());
    parts.extend(details::detail_blocks(run));
    let mut parts: Vec<Part> = parts.into_iter().map(Part::from).collect();
    if !run.advice.is_empty() {
        let settings = path::settings(&run.advice);
        parts.extend([Block::Heading("What to set".into()).into(), Part::Named(settings)]);
    }
    parts
}

/// What the probes of a `measure` run found, by name.
fn path_facts(run: &Run) -> Vec<(String, String)> {
    let summary = &run.summary;
    let mut facts = Vec::new();
    if let Some(rtt) = &summary.rtt {
        let lost = match summary.lost {
            0 => String::new(),
            lost => format!("; {lost} of {} probes without an answer", rtt.count + lost),
        };
        facts.push(("idle RTT".to_owned(), phrases::distribution(rtt) + &lost));
    }
    facts.extend(summary.path.iter().flat_map(path::facts));
    let reach = summary.reach.iter().flat_map(|reach| reach::facts(reach));
    let link = summary.link.as_ref().map(|link| ("link", format!("{} ({})", link.rate, link.source)));
    facts.extend(reach.chain(link).map(|(name, value)| (name.to_owned(), value)));
    facts
}

/// Tests of throughput: one, several pairs, or those of a `measure` run. The intervals stay in JSON and CSV.
fn of_throughput(run: &Run) -> Vec<Block> {
    let limits = brief::limits(run).into_iter();
    let observed =
        brief::observed(run).into_iter().map(|(host, sentence)| (format!("Observed {host}"), sentence));
    let limits = limits.map(|(direction, limit)| (format!("Limit {direction}"), limit)).chain(observed);
    let mut blocks = vec![Block::facts(path_facts(run))];
    match run.summary.pairs {
        Some(_) => blocks.extend(all(pairs::parts(run))),
        None => blocks.push(Block::Figures(brief::throughput_table(run, true))),
    }
    blocks.push(Block::facts(limits));
    blocks.extend(charts::totals(run));
    blocks.extend(charts::rates(run));
    blocks.extend(run.summary.path.iter().flat_map(charts::packet_sizes));
    blocks
}

/// The blocks of a section of the screen.
fn all(section: Vec<Part>) -> impl Iterator<Item = Block> {
    section.into_iter().flat_map(Part::blocks)
}

/// The link, the table of frame sizes, its notes and chart.
fn of_frames(run: &Run) -> Vec<Block> {
    let subtitle = Block::Paragraph(format!("{}.", frames::subtitle(run)));
    [subtitle].into_iter().chain(all(frames::parts(run))).chain([charts::frames(run)]).collect()
}

/// The hops of a path, and their charts.
fn of_hops(run: &Run) -> Vec<Block> {
    let charts = run.summary.hops.iter().flat_map(|found| hops::charts(run, found));
    all(hops::parts(run)).chain(charts).collect()
}

/// A latency run: the path or the table of paths, and the load.
fn of_latency(run: &Run) -> Vec<Block> {
    let egress_paths = run.summary.egress_paths.as_slice();
    let mut blocks = match egress_paths {
        [] => Vec::new(),
        [egress] => one_way(run, egress),
        _ => latency::paths_sections(run).into_iter().flat_map(all).collect(),
    };
    blocks.extend(charts::round_trips_over_time(run));
    blocks.extend(charts::round_trips(egress_paths));
    if let Some(loaded) = &run.summary.loaded {
        blocks.extend(latency::load_sections(loaded).into_iter().flat_map(all));
        let limits = latency::load_limits(loaded).into_iter();
        blocks.push(Block::facts(limits.map(|(load, limit)| (format!("{load}: limit"), limit))));
        blocks.extend(charts::loaded(loaded));
        let responsiveness = latency::responsiveness(loaded).into_iter();
        let line = |(load, sentence)| Block::list([format!("Responsiveness, {load}: {sentence}")]);
        blocks.extend(responsiveness.map(line));
    }
    blocks
}

/// A run of transfers: the table by MTU and file, and warnings.
fn of_transfers(run: &Run) -> Vec<Block> {
    let mut blocks = vec![files(run)];
    if let Some(result) = &run.summary.transfer {
        blocks.extend(transfer::sections(run).into_iter().flat_map(all));
        blocks.extend(charts::transfers(run, result));
    }
    let warnings = run.summary.warnings.iter().map(|warning| format!("{}: {}", warning.id, warning.text));
    blocks.push(Block::list(warnings));
    blocks
}

fn files(run: &Run) -> Block {
    let files = run.transfer().into_iter().flat_map(|plan| &plan.files);
    Block::facts(files.map(|file| (file.label.clone(), format!("`{}` at {}", file.url, file.address))))
}

/// A run about packet sizes: what crosses, fragments, what is not known, what to set.
fn of_path(run: &Run) -> Vec<Block> {
    let mut blocks = run.summary.path.iter().flat_map(sizes).collect::<Vec<_>>();
    blocks.extend(run.summary.path.iter().flat_map(charts::packet_sizes));
    blocks
}

fn sizes(found: &PathResult) -> Vec<Block> {
    let service = found.service.iter().flat_map(path::service);
    let fragments = Table { title: FRAGMENTS.into(), ..fragments_table(found) };
    vec![
        Block::Figures(brief::path_table(found)),
        Block::facts(path::facts(found)),
        Block::Table(fragments),
        Block::facts(service),
        Block::list(found.unknown.iter().map(|unknown| format!("Not known. {}", path::unknown(unknown)))),
    ]
}

/// How datagrams were cut, and what of them arrived in each direction that was looked at.
fn fragments_table(found: &PathResult) -> Table {
    let directions = path::known_directions(found).into_iter().map(phrases::direction_word);
    let columns: Vec<Column> = std::iter::once("Cut").chain(directions).map(Column::left).collect();
    let rows = if columns.len() < 2 { Vec::new() } else { path::fragment_rows(found) };
    Table::new(columns, rows)
}

/// A row for each figure of a single path, and its slowest round trips.
fn one_way(run: &Run, egress: &EgressResult) -> Vec<Block> {
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
    let rows = percentiles.chain(missing).chain(reserved).chain(facts).collect();
    let table = Table::new(columns.into(), rows);
    let slowest = latency::slowest(egress);
    [Some(table), slowest].into_iter().flatten().map(Block::Table).collect()
}

/// The test and the host.
pub(in crate::format) fn title(run: &Run) -> String {
    let plan = run.first_throughput();
    let named = match run.subject() {
        Subject::Latency => Some(run.latency().map_or_else(
            || format!("Latency, {}", count(run.summary.egress_paths.len() as u64, "path")),
            latency::title,
        )),
        Subject::Frames => Some(frames::title(run)),
        Subject::Hops => Some(hops::title(run)),
        Subject::Path => Some(path::subject(run.path())),
        Subject::Transfer => run.transfer().map(transfer::title),
        Subject::Throughput => plan.map(|plan| match run.tests.is_empty() {
            true => format!("Throughput to `{}`: {}", plan.target.host, phrases::test(&plan.test)),
            false => format!("Measurement of the path to `{}`", plan.target.host),
        }),
    };
    named.unwrap_or_else(|| format!("Run `{}`", run.id))
}

const FRAGMENTS: &str = "Fragments: datagrams that arrived";

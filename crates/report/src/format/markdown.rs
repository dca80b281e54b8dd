//! Markdown tables to paste into a ticket.

use super::table::{Column, markdown};
use super::text::{
    evidence, latency, packets, pair_facts, path, path_facts, segments, test_rows, transfer, words,
};
use super::{Style, frames};
use model::finding::{Finding, Verdict};
use model::latency::WayResult;
use model::path::advice::Advice;
use model::plan::Direction;
use model::run::Run;
use model::summary::{DirectionSummary, Summary};
use model::units::Nanos;

/// The whole run: results, findings and verdict; the intervals stay in JSON and CSV.
pub fn document(run: &Run, _style: &Style) -> String {
    if latency::is_latency(run) {
        return of_latency(run);
    }
    if run.is_path() {
        return of_path(run);
    }
    if transfer::is_transfer(run) {
        return of_transfers(run);
    }
    if run.is_frames() {
        return of_frames(run);
    }
    let mut text = title(run);
    let (first, rows) = match run.tests.is_empty() {
        true => ("Figure", figures(&run.summary)),
        false => ("Test", nested(test_rows(run))),
    };
    let columns = [Column::left(first), Column::right("Up"), Column::right("Down")];
    let pairs = run.summary.pairs.iter().flat_map(|pairs| pair_facts(pairs));
    let facts = path_facts(run).into_iter().chain(pairs);
    let path: String = facts.map(|(name, value)| format!("- {name}: {value}\n")).collect();
    if !path.is_empty() {
        text.push_str(&format!("{path}\n"));
    }
    if !rows.is_empty() {
        text.push_str(&markdown(&columns, &rows));
        text.push('\n');
    }
    text + &captured(run) + &findings_and_verdict(&run.findings, &run.verdict)
}

/// A sweep over frame sizes: its table, notes, findings and verdict.
fn of_frames(run: &Run) -> String {
    let table = markdown(&frames::columns(), &frames::cells(&run.summary.rows));
    let notes: String = frames::notes(run).into_iter().map(|note| format!("- {note}\n")).collect();
    let notes = if notes.is_empty() { notes } else { notes + "\n" };
    title(run)
        + &format!("{}. {}\n\n{table}\n", frames::subtitle(run), frames::LEGEND)
        + &notes
        + &findings_and_verdict(&run.findings, &run.verdict)
}

/// A latency run: the way or the table of ways, the load, findings and verdict.
fn of_latency(run: &Run) -> String {
    let ways = &run.summary.ways;
    let mut text = title(run);
    match ways.as_slice() {
        [] => {}
        [way] => text.push_str(&one_way(run, way)),
        several => {
            let unit = latency::compare_unit(several);
            text.push_str(&format!("Round trips in {}.\n\n", unit.name));
            let rows = latency::compare_rows(several, unit, latency::More::ALL);
            text.push_str(&markdown(&latency::compare_columns(several, latency::More::ALL), &rows));
            text.push('\n');
            text.extend(
                latency::compare_note(several).map(|note| format!("{}\n\n", note.replace('*', "\\*"))),
            );
            text.extend(latency::sentences(run).iter().map(|sentence| format!("- {sentence}\n")));
            text.push('\n');
        }
    }
    if let Some(loaded) = &run.summary.loaded {
        text.push_str(&markdown(&latency::load_columns(), &latency::load_rows(loaded)));
        let responsiveness = latency::responsiveness(loaded);
        let lines =
            responsiveness.iter().map(|(load, sentence)| format!("\n- Responsiveness, {load}: {sentence}\n"));
        text.extend(lines);
        text.push('\n');
    }
    text + &captured(run) + &findings_and_verdict(&run.findings, &run.verdict)
}

/// A run of transfers: the table by MTU and file, warnings and verdict.
fn of_transfers(run: &Run) -> String {
    let mut text = title(run);
    let files = run.transfer.iter().flat_map(|plan| &plan.files);
    text.extend(files.map(|file| format!("- {}: `{}` at {}\n", file.label, file.url, file.address)));
    text.push('\n');
    if let Some(result) = &run.summary.transfer {
        text.push_str(&markdown(&transfer::columns(&result.rows), &transfer::rows(&result.rows)));
        text.push('\n');
        let (columns, changes) = transfer::changes(&result.rows);
        if !changes.is_empty() {
            text.push_str(&markdown(&columns, &changes));
            text.push('\n');
        }
    }
    let warnings = run.summary.warnings.iter().map(|warning| format!("- {}: {}\n", warning.id, warning.text));
    let warnings: String = warnings.collect();
    text.push_str(&if warnings.is_empty() { warnings } else { warnings + "\n" });
    text + &findings_and_verdict(&run.findings, &run.verdict)
}

/// A run about packet sizes: what crosses, fragments, what is not known, what to set, findings and verdict.
fn of_path(run: &Run) -> String {
    let mut text = title(run);
    if let Some(found) = &run.summary.path {
        let directions = [Direction::Up, Direction::Down].into_iter().filter(|d| found.way(*d).is_some());
        let headings: Vec<Column> = directions.map(|direction| Column::left(words::way(direction))).collect();
        let columns = |first: &str| [vec![Column::left(first)], headings.clone()].concat();
        let rows = path::rows(found).into_iter().map(|row| (row.name.to_owned(), row.cells)).collect();
        text.push_str(&of_ways(&columns("Figure"), rows));
        text.push_str(&of_ways(&columns("Fragments: datagrams that arrived"), path::fragment_rows(found)));
        let service = found.service.iter().flat_map(path::service);
        let lines = service
            .map(|(name, value)| format!("- {name}: {value}\n"))
            .chain(found.unknown.iter().map(|unknown| format!("- Not known. {}\n", path::unknown(unknown))));
        let lines: String = lines.collect();
        text.push_str(&if lines.is_empty() { lines } else { lines + "\n" });
    }
    text + &captured(run) + &advice(run) + &findings_and_verdict(&run.findings, &run.verdict)
}

/// What a capture of packets saw.
fn captured(run: &Run) -> String {
    let Some(seen) = &run.summary.packets else { return String::new() };
    let facts = packets::facts(seen).into_iter().map(|(name, value)| format!("- {name}: {value}\n"));
    let mut text = format!("Packets on `{}`:\n\n{}\n", seen.interface, facts.collect::<String>());
    for (direction, way) in packets::ways(seen) {
        let first = format!("Size {}", words::way(direction).to_lowercase());
        text.push_str(&markdown(&packets::size_columns(first), &packets::size_rows(way)));
        text.push('\n');
    }
    if seen.flows.len() > 1 {
        text.push_str(&markdown(&packets::flow_columns(), &packets::flow_rows(seen)));
        text.push('\n');
    }
    text
}

/// A table of names and a cell for each direction.
fn of_ways(columns: &[Column], rows: Vec<(String, Vec<String>)>) -> String {
    if rows.is_empty() || columns.len() < 2 {
        return String::new();
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, cells)| [vec![name], cells].concat()).collect();
    markdown(columns, &rows) + "\n"
}

/// The numbers to set.
fn advice(run: &Run) -> String {
    if run.advice.is_empty() {
        return String::new();
    }
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
    markdown(&columns, &run.advice.iter().map(row).collect::<Vec<_>>()) + "\n"
}

/// A row for each figure of a single way.
fn one_way(run: &Run, way: &WayResult) -> String {
    let columns = [Column::left("Figure"), Column::left("Value")];
    let bounds = |bounds: &Option<(Nanos, Nanos)>| {
        bounds.map(|(low, high)| format!(" ({low} to {high} at 95 %)")).unwrap_or_default()
    };
    let given = latency::given(way);
    let percentiles = given
        .iter()
        .map(|(percent, value, sure)| vec![format!("p{percent}"), format!("{value}{}", bounds(sure))]);
    let missing = latency::missing(way).into_iter().map(|(percent, more)| {
        vec![format!("p{percent}"), format!("not given: takes {more} more round trips")]
    });
    let facts = latency::facts(&run.summary, way).into_iter().map(|(name, value)| vec![name.into(), value]);
    let missing = missing.filter(|_| way.rtt.is_some());
    markdown(&columns, &percentiles.chain(missing).chain(facts).collect::<Vec<_>>()) + "\n"
}

/// The findings as a table, and the verdict.
pub(super) fn findings_and_verdict(found: &[Finding], verdict: &Verdict) -> String {
    let verdict = match verdict.text.as_str() {
        "" => String::new(),
        text => format!("**Verdict: {}.** {text}\n", words::status(verdict.status)),
    };
    findings(found) + &verdict
}

/// Markdown drops the spaces that indent a detail under its test.
fn nested(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
        if let Some(detail) = name.strip_prefix("  ") {
            *name = format!("– {detail}");
        }
    }
    rows
}

fn title(run: &Run) -> String {
    let plan = run.plan.as_ref().or_else(|| run.tests.iter().find_map(|test| test.plan.as_ref()));
    let what = match plan {
        _ if latency::is_latency(run) => latency_title(run),
        _ if run.is_frames() => frames::title(run),
        _ if run.is_path() => path::subject(run.path.as_ref()),
        _ if transfer::is_transfer(run) => {
            run.transfer.as_ref().map_or_else(|| format!("Run `{}`", run.id), transfer::title)
        }
        Some(plan) if run.tests.is_empty() => {
            format!("Throughput to `{}`: {}", plan.target.host, words::test(&plan.test))
        }
        Some(plan) => format!("Measurement of the path to `{}`", plan.target.host),
        None => format!("Run `{}`", run.id),
    };
    let started = run.started.map(|started| format!("Started {started}. ")).unwrap_or_default();
    format!("### {what}\n\n{started}Run `{}`.\n\n", run.id)
}

fn latency_title(run: &Run) -> String {
    let Some(plan) = &run.latency else {
        return format!("Latency, {}", words::count(run.summary.ways.len() as u64, "way"));
    };
    let mut hosts: Vec<String> = plan.ways.iter().map(|way| format!("`{}`", way.target.host)).collect();
    hosts.dedup();
    format!("Latency to {}: {}", hosts.join(", "), latency::phrase(plan))
}

type Cell = fn(&DirectionSummary) -> Option<String>;

fn figures(summary: &Summary) -> Vec<Vec<String>> {
    let ways = [Direction::Up, Direction::Down].map(|direction| summary.direction(direction));
    let rows: [(&str, Cell); 13] = [
        ("Goodput", |way| Some(way.goodput.to_string())),
        ("On the wire", |way| way.wire.rate.map(|rate| rate.to_string())),
        ("Packets", |way| way.wire.packets_per_second.map(|rate| rate.to_string())),
        ("Share of line rate", |way| way.wire.line_rate_share.map(words::percent)),
        ("Received", |way| Some(format!("{} in {}", way.received.bytes, way.elapsed))),
        ("Lost", |way| way.loss.map(|loss| words::percent(loss.share))),
        ("Lost on the path, in the receiving socket, at the sender", |way| {
            way.loss.map(|loss| format!("{}, {}, {}", loss.path, loss.receiver, loss.sender))
        }),
        ("Jitter (RFC 3550)", |way| way.jitter.map(|jitter| jitter.rfc3550.to_string())),
        ("One-way delay", |way| way.one_way.map(|delay| format!("{} ± {}", delay.mean, delay.error))),
        ("Segments", segments),
        ("Segments sent again", |way| way.retransmits.map(|count| count.to_string())),
        ("RTT under load", |way| way.loaded_rtt.map(|rtt| rtt.to_string())),
        ("Congestion control", |way| way.congestion.clone()),
    ];
    rows.into_iter()
        .map(|(name, cell)| (name, ways.map(|way| way.and_then(cell))))
        .filter(|(_, cells)| cells.iter().any(Option::is_some))
        .map(|(name, cells)| {
            let [up, down] = cells.map(|cell| cell.unwrap_or_default());
            vec![name.into(), up, down]
        })
        .collect()
}

fn findings(found: &[Finding]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let columns = ["Severity", "Finding", "Evidence", "What to do"].map(Column::left);
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|finding| {
            vec![
                words::severity(finding.severity).into(),
                format!("{} (`{}`)", finding.title, finding.id),
                evidence(&finding.evidence),
                finding.advice.clone(),
            ]
        })
        .collect();
    markdown(&columns, &rows) + "\n"
}

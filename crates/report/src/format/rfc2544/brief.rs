//! A device's benchmark on one screen: the verdict, a row for each kind of frame, the findings. The full tables are behind `-v`.

use super::head::{Head, frames};
use super::rates::{least, remark};
use super::{bursts, compared, conclusion, hops, sentences, service};
use crate::document::{Block, Cell, Part, Table};
use crate::format::gather::by_key;
use model::dut::{DeviceReport, DutReport, LatencyDirection, StreamReport};
use model::plan::Directions;
use model::search::{Irregular, Load};
use model::units::{Nanos, count, percent};

/// The report without details.
pub(super) fn parts(report: &DutReport) -> Vec<Part> {
    let mut blocks: Vec<Block> = report.devices.iter().map(|device| conclusion(device, report)).collect();
    blocks.push(Block::Heading(sentences::title(report)));
    blocks.push(Block::Sentences(vec![sentences::setup_sentence(report)]));
    blocks.push(Block::list(report.notes.iter().cloned()));
    let mut parts: Vec<Part> = blocks.into_iter().map(Part::from).collect();
    parts.extend(report.devices.iter().flat_map(|one| device(one, report)));
    parts.extend(
        report.comparisons.iter().filter_map(compared::table).map(|table| Block::Table(table).into()),
    );
    parts.push(Part::Foot(sentences::host(report).unwrap_or_default(), "Details: -v".into()));
    parts
}

fn device(device: &DeviceReport, report: &DutReport) -> Vec<Part> {
    let title = match report.devices.len() > 1 {
        true => Block::Heading(sentences::name(device)).into(),
        false => Part::gap(),
    };
    let rows: Vec<SizeRow<'_>> = device.rows.iter().map(|row| SizeRow { device, row }).collect();
    let rates = Table::of_cells("", &cells(), &rows).filter(|_| rows.iter().any(SizeRow::has_figure));
    let tables = [
        rates.map(|table| table.with_notes(notes(device))),
        short(bursts::back_to_back(device)),
        short(bursts::recovery(device)),
        short(bursts::reset(device)),
        service::steps(device, &report.setup),
    ];
    let lines = [hops::worst(device), left_out(device)].into_iter().flatten().collect();
    // A note that it was stopped, or broke off, is among them.
    let notes = distinct(&device.notes);
    let last = [Block::Sentences(lines), Block::list(notes), Block::Findings(device.findings.clone())];
    let blocks = tables.into_iter().flatten().map(Block::Table).chain(last);
    [title].into_iter().chain(blocks.map(Part::from)).collect()
}

/// A table without the notes below it.
fn short(table: Option<Table>) -> Option<Table> {
    table.map(|table| table.with_notes(Vec::new()))
}

/// A row of results.
struct SizeRow<'a> {
    device: &'a DeviceReport,
    row: &'a StreamReport,
}

impl SizeRow<'_> {
    fn has_figure(&self) -> bool {
        !self.row.rates.is_empty() || self.row.mrr.is_some() || !self.row.latency.is_empty()
    }

    /// All directions together.
    fn rate(&self, goals: &[&str]) -> Option<String> {
        let found = goals.iter().find_map(|goal| self.row.rates.iter().find(|rate| rate.goal == *goal))?;
        let Some(lower) = found.lower else { return Some("-".into()) };
        let sum = Load(lower.0 * self.row.stream.direction_count() as f64);
        let open = if found.irregular.contains(&Irregular::Unfinished) { " ?" } else { "" };
        Some(least(sum.to_string(), super::rates::is_least(self.row, found)) + open)
    }

    fn share(&self) -> Option<String> {
        let found = self.row.rates.iter().find(|rate| NO_LOSS.contains(&rate.goal.as_str()))?;
        let line = self.row.line_rate.filter(|line| line.0 > 0.0)?;
        Some(percent(found.lower?.0 / line.0))
    }

    /// The median of these times at the throughput, of the slower direction.
    fn delay(&self, of: fn(&LatencyDirection) -> Nanos) -> Option<Nanos> {
        let report = self.row.latency.iter().max_by_key(|one| one.percent)?;
        report.directions.iter().filter(|direction| direction.delays.count > 0).map(of).max()
    }
}

/// The cells of a row.
fn cells<'a>() -> [Cell<SizeRow<'a>>; 8] {
    [
        Cell("Frame", true, |row| Head::from_row(row.device, row.row).frame()),
        Cell("", false, |row| Head::from_row(row.device, row.row).network()),
        Cell("No loss", true, |row| row.rate(&NO_LOSS)),
        Cell("of line", true, SizeRow::share),
        Cell("PDR", true, |row| row.rate(&["pdr"])),
        Cell("Most received", true, |row| {
            let mrr = row.row.mrr.as_ref()?;
            Some(format!("{}, {} lost", Load(mrr.forwarded.mean), percent(mrr.loss_ratio)))
        }),
        Cell("p50", true, |row| row.delay(|direction| direction.delays.p50).map(|time| time.to_string())),
        Cell("p99", true, |row| row.delay(|direction| direction.delays.p99).map(|time| time.to_string())),
    ]
}

/// The meaning of the columns, where their heads do not have it.
fn notes(device: &DeviceReport) -> Vec<String> {
    let both = device.rows.iter().any(|row| row.stream.directions == Directions::Both);
    let mut unfinished: Vec<String> = Vec::new();
    let mut remarks: Vec<String> = Vec::new();
    for (row, found) in device.rows.iter().flat_map(|row| row.rates.iter().map(move |rate| (row, rate))) {
        let frames = frames(device, &row.stream);
        let line = match (found.lower, found.upper) {
            (Some(low), Some(high)) if found.irregular.contains(&Irregular::Unfinished) => {
                unfinished.push(format!("{frames} {low} to {high}"));
                continue;
            }
            _ => remark(row, found),
        };
        if !line.is_empty() {
            remarks.push(format!("{frames}: {line}."));
        }
    }
    unfinished.dedup();
    remarks.dedup();
    let delays = device.rows.iter().any(|row| !row.latency.is_empty());
    [
        both.then(|| "Rates are of both directions together.".to_owned()),
        delays.then(|| "p50 and p99: latency at the highest load that was tested for it.".to_owned()),
        (!unfinished.is_empty())
            .then(|| format!("?: the search did not finish, the bounds are: {}.", unfinished.join("; "))),
    ]
    .into_iter()
    .flatten()
    .chain(remarks)
    .collect()
}

/// Notes that differ in their numbers alone as one, with how many there are of it.
fn distinct(notes: &[String]) -> Vec<String> {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '\u{a0}';
    let key = |note: &str| -> Vec<String> {
        // Units belong to the numbers: 900 ms and 1.2 s are one note, too.
        let tokens = note.split_whitespace().map(|word| word.trim_matches([',', ':', '(', ')']));
        let tokens = tokens.filter(|word| !word.chars().any(is_number) && !UNITS.contains(word));
        tokens.map(str::to_owned).collect()
    };
    let line = |(_, notes): (_, Vec<&String>)| match notes.as_slice() {
        [note] => (*note).clone(),
        notes => format!("{} (and {} more like it: -v)", notes[0], notes.len() - 1),
    };
    by_key(notes.iter().map(|note| (key(note), note))).into_iter().map(line).collect()
}

/// How much is not there, and how much was repeated.
fn left_out(device: &DeviceReport) -> Option<String> {
    let left: usize = device.rows.iter().map(|row| row.left_out.len()).sum();
    let parts = [
        (left > 0).then(|| format!("{} left out", count(left as u64, "test"))),
        (device.voided > 0).then(|| format!("{} repeated", count(device.voided, "trial"))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} (-v shows why).", insight::finding::capital(&parts.join(", "))))
}

/// Units of times and rates in notes.
const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "pps", "kpps", "Mpps", "%", "bytes"];
/// Goals without loss, the one that RFC 2544 calls throughput first.
const NO_LOSS: [&str; 2] = ["throughput", "ndr"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_differ_in_numbers_alone_are_one() {
        let held = |frames: u32, time: &str| {
            format!("IPv4 {frames}: the host interrupted the generator, in the end for {time} in all")
        };
        let notes =
            [held(64, "111 ms"), held(64, "1.20 s"), held(512, "59.8 ms"), "Stopped early.".to_owned()];
        let shown = distinct(&notes);
        assert_eq!(shown, [format!("{} (and 2 more like it: -v)", notes[0]), "Stopped early.".to_owned()]);
        assert_eq!(distinct(&notes[2..]), notes[2..]);
    }
}

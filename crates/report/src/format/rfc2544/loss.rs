//! RFC 2544's frame loss rate: what is lost at each share of the most load.

use super::head::network;
use crate::document::{Column, Table};
use model::dut::{DeviceReport, StreamReport};
use model::framing::Network;
use model::search::{Irregular, LossStep};
use model::units::{percent, plain_percent};

/// A table for each IP version: offered load down, frame size across.
pub(super) fn steps(device: &DeviceReport) -> Vec<Table> {
    [Network::V4, Network::V6].into_iter().filter_map(|family| of_network(device, family)).collect()
}

fn of_network(device: &DeviceReport, family: Network) -> Option<Table> {
    let stepped = device.rows.iter().filter(|row| row.stream.network == family && row.loss.is_some());
    let rows: Vec<&StreamReport> = stepped.collect();
    let shown =
        network(device, &rows.first()?.stream).map_or(String::new(), |network| format!(", {network}"));
    let mut columns = vec![Column::left("Offered")];
    columns.extend(rows.iter().map(|row| Column::right(row.stream.frames.name.clone())));
    let most = rows.iter().map(|row| most(row)).collect::<Vec<_>>();
    let mut table = vec![[vec!["100 % is, Mpps".to_owned()], most].concat()];
    for offered in offered(&rows) {
        let cell = |row: &&StreamReport| {
            let step = loss_at(row, offered);
            step.map_or_else(String::new, |step| percent(step.loss_percent / 100.0))
        };
        let name = plain_percent(offered / 100.0);
        table.push([vec![name], rows.iter().map(cell).collect()].concat());
    }
    let title = format!("Frame loss rate (RFC 2544 section 26.3){shown}");
    Some(Table { title, notes: notes(&rows), ..Table::new(columns, table) })
}

fn most(row: &StreamReport) -> String {
    let first =
        row.loss.as_ref().and_then(|loss| loss.rows.first()).filter(|step| step.offered_percent > 0.0);
    first.map_or_else(String::new, |step| super::rates::mega(step.load.0 / step.offered_percent * 100.0))
}

/// Every share that was offered to any of the streams, from the most down.
pub(super) fn offered(rows: &[&StreamReport]) -> Vec<f64> {
    let steps = rows.iter().filter_map(|row| row.loss.as_ref()).flat_map(|loss| &loss.rows);
    let mut offered: Vec<f64> = steps.map(|step| step.offered_percent).collect();
    offered.sort_by(|one, other| other.total_cmp(one));
    offered.dedup_by(|one, other| (*one - *other).abs() < SAME);
    offered
}

/// The loss at this share, in the step that is at it.
pub(super) fn loss_at(row: &StreamReport, offered: f64) -> Option<LossStep> {
    let mut steps = row.loss.as_ref()?.rows.iter();
    steps.find(|step| (step.offered_percent - offered).abs() < SAME).copied()
}

fn notes(rows: &[&StreamReport]) -> Vec<String> {
    let with = |word: Irregular| -> Vec<&str> {
        let has = |row: &&&StreamReport| row.loss.as_ref().is_some_and(|loss| loss.irregular.contains(&word));
        rows.iter().filter(has).map(|row| row.stream.frames.name.as_str()).collect()
    };
    let sentences = [
        (Irregular::NoLowerBound, "no two loads in a row went without loss"),
        (
            Irregular::GeneratorLimited,
            "the generator did not offer some loads in full; loss is of the frames sent",
        ),
        (Irregular::Duplicates, "the device sent frames more than once"),
        (Irregular::Unfinished, "not all loads were offered"),
    ];
    let notes =
        sentences.into_iter().map(|(word, what)| (with(word), what)).filter(|(names, _)| !names.is_empty());
    notes.map(|(names, what)| format!("{}: {what}.", names.join(", "))).collect()
}

/// Two shares in percent that are nearer than this are the same.
const SAME: f64 = 1e-6;

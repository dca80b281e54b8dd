//! The hops of a path: their table, the flows through them, the answer in a line, and a chart.

mod chart;

pub(super) use chart::charts;

use super::table::whole;
use crate::document::{Block, Cell, Part, Table};
use model::hops::{
    Counted, Hop, HopFlow, HopProtocol, HopRouter, HopSample, HopsPlan, HopsResult, HopsSample, Missing,
};
use model::run::Run;
use model::units::{Nanos, count, percent};

/// `Hops to far.example`.
pub(super) fn title(run: &Run) -> String {
    let host = run.hops().map(|plan| format!(" to {}", plan.target.host));
    format!("Hops{}", host.unwrap_or_default())
}

/// The table, the flows, what the words in it mean, and the time it took.
pub(super) fn parts(run: &Run) -> Vec<Part> {
    let Some(found) = run.summary.hops.as_deref() else { return Vec::new() };
    let mut parts = vec![Part::Fitting(narrower(found))];
    parts.extend(flows(found).map(|table| Block::Table(table).into()));
    if let Some(back) = &found.back {
        parts.extend([Block::Heading(BACK.into()).into(), Part::Fitting(narrower(back))]);
    }
    let effort = format!("{} in {}", count(found.packets, "packet"), found.elapsed);
    let subject: Vec<String> = run.hops().map(subject).into_iter().chain([effort]).collect();
    parts.push(Part::Small(legend(found).into_iter().chain([subject.join(", ")]).collect()));
    parts
}

fn subject(plan: &HopsPlan) -> String {
    let ip = plan.target.address.ip();
    let what = match plan.protocol {
        HopProtocol::Udp => format!("UDP to {}", plan.target.address),
        HopProtocol::Icmp => format!("ICMP echo to {ip}"),
        HopProtocol::Tcp => format!("TCP SYN to {}", plan.target.address),
    };
    let flows = if plan.flows > 1 { format!(" in {} flows", plan.flows) } else { String::new() };
    let last = if plan.watch { "at most the last " } else { "" };
    format!("{what}, {last}{} of each hop{flows}", count(plan.probes, "probe"))
}

/// A router at its hop; the first of a hop stands for all of it.
#[derive(Clone, Copy)]
struct Line<'a> {
    hop: &'a Hop,
    router: Option<&'a HopRouter>,
    is_first: bool,
    flows: usize,
}

impl<'a> Line<'a> {
    fn of_hop(hop: &'a Hop, flows: usize) -> Vec<Line<'a>> {
        let line = |(at, router)| Line { hop, router, is_first: at == 0, flows };
        match hop.routers.as_slice() {
            [] => vec![Line { hop, router: None, is_first: true, flows }],
            routers => routers.iter().map(Some).enumerate().map(line).collect(),
        }
    }

    /// The figures of all routers of the hop together.
    fn whole(&self) -> Option<&'a Hop> {
        self.is_first.then_some(self.hop)
    }

    fn time(&self, of: fn(&model::stats::distribution::Distribution) -> Nanos) -> Option<String> {
        self.whole()?.rtt.map(|rtt| of(&rtt).to_string())
    }

    /// Flows that cross this router, where not all do.
    fn of_flows(&self) -> Option<String> {
        let flows = &self.router?.flows;
        let numbers: Vec<String> = flows.iter().map(|flow| (flow + 1).to_string()).collect();
        (flows.len() < self.flows && self.hop.routers.len() > 1).then(|| numbers.join(" "))
    }

    fn notes(&self) -> Option<String> {
        let router = self.router?;
        let labels: Vec<String> = router.labels.iter().map(|label| label.label.to_string()).collect();
        let back = router.hops_back.filter(|back| *back != self.hop.ttl);
        let notes = [
            router.next_mtu.map(|mtu| format!("MTU {mtu} behind")),
            (!labels.is_empty()).then(|| format!("MPLS {}", labels.join(" "))),
            router.refused.map(|[kind, code]| format!("refuses: ICMP {kind}/{code}")),
            back.map(|back| format!("{back} back")),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join(", "))
    }
}

fn table(found: &HopsResult, heading: &str) -> Option<Table> {
    let lines: Vec<Line<'_>> =
        found.hops.iter().flat_map(|hop| Line::of_hop(hop, found.flows.len())).collect();
    let cells: [Cell<Line<'_>>; 12] = [
        Cell("Hop", true, |line| line.whole().map(|hop| hop.ttl.to_string())),
        Cell("Router", false, |line| {
            Some(line.router.map_or("no answer".into(), |router| router.address.to_string()))
        }),
        Cell("Name", false, |line| line.router?.name.clone()),
        Cell("AS", false, |line| {
            let origin = line.router?.origin.as_ref()?;
            Some(format!("{} {}", origin.number, origin.name).trim().to_owned())
        }),
        Cell("Flows", false, Line::of_flows),
        Cell("Answered", true, |line| {
            line.whole().map(|hop| format!("{}/{}", hop.counted.answered, hop.counted.sent))
        }),
        Cell("Loss", true, |line| line.whole().map(|hop| loss(hop.missing, hop.counted))),
        Cell("Best", true, |line| line.time(|rtt| rtt.min)),
        Cell("Median", true, |line| line.time(|rtt| rtt.p50)),
        Cell("p90", true, |line| line.time(|rtt| rtt.p90)),
        Cell("Jitter", true, |line| line.whole()?.jitter.map(|jitter| jitter.to_string())),
        Cell("Notes", false, Line::notes),
    ];
    let mut table = Table::of_cells(heading, &cells, &lines)?;
    // A hop where arrivals are counted has no round trips.
    let columns = table.columns.iter().map(|column| TIMES.contains(&column.heading.as_str()));
    let columns: Vec<bool> = columns.collect();
    for (row, _) in table.rows.iter_mut().zip(&lines).filter(|(_, line)| line.is_first) {
        let times = row.iter_mut().zip(&columns).filter(|(cell, is_time)| **is_time && cell.is_empty());
        times.for_each(|(cell, _)| *cell = "-".into());
    }
    Some(table)
}

/// Headings of times.
const TIMES: [&str; 4] = ["Best", "Median", "p90", "Jitter"];

/// The table, and the same without more and more columns, with the words that stood in these below.
fn narrower(found: &HopsResult) -> Vec<Vec<Block>> {
    let Some(mut table) = table(found, "") else { return Vec::new() };
    let mut aside: Vec<Vec<String>> = vec![Vec::new(); table.rows.len()];
    let mut tables = vec![vec![Block::Table(table.clone())]];
    for heading in DISPENSABLE {
        let Some(at) = table.columns.iter().position(|column| column.heading == *heading) else { continue };
        let phrases = !table.columns.remove(at).right;
        for (row, aside) in table.rows.iter_mut().zip(&mut aside) {
            let cell = row.remove(at);
            if phrases && !cell.is_empty() {
                aside.insert(0, if *heading == "AS" { format!("AS {cell}") } else { cell });
            }
        }
        let noted = table.rows.iter().zip(&aside).filter(|(_, aside)| !aside.is_empty());
        table.notes = noted.map(|(row, aside)| format!("{}: {}", row[1], aside.join(", "))).collect();
        tables.push(vec![Block::Table(table.clone())]);
    }
    tables
}

/// Loss of the path at a hop, not the hop's missing answers.
fn loss(missing: Missing, counted: Counted) -> String {
    match missing {
        Missing::None => "0 %".into(),
        Missing::Loss => counted.loss().map(percent).unwrap_or_default(),
        Missing::OwnAnswers => "limit".into(),
        Missing::Unclear => "?".into(),
        Missing::Silent => String::new(),
    }
}

/// The flows, where there are several and they do not all take the same path.
fn flows(found: &HopsResult) -> Option<Table> {
    let reached = found.flows.iter().any(|flow| flow.reached_at.is_some());
    if !reached || found.hops.iter().all(|hop| hop.routers.len() < 2) {
        return None;
    }
    let flows: Vec<(usize, &HopFlow, &HopsResult)> =
        found.flows.iter().enumerate().map(|(at, flow)| (at, flow, found)).collect();
    type FlowRow<'a> = (usize, &'a HopFlow, &'a HopsResult);
    let cells: [Cell<FlowRow<'_>>; 4] = [
        Cell("Flow", true, |row| Some((row.0 + 1).to_string())),
        Cell("From", false, |row| row.1.flow.map(|flow| flow.from.to_string())),
        Cell("Hops", true, |row| row.1.reached_at.map(|ttl| ttl.to_string())),
        Cell("Answered", true, |row| {
            let hop = row.2.hops.iter().find(|hop| Some(hop.ttl) == row.1.reached_at)?;
            hop.flows.get(row.0).map(|counted| format!("{}/{}", counted.answered, counted.sent))
        }),
    ];
    Table::of_cells("Flows", &cells, &flows)
}

/// The meaning of words in the table, as far as they stand there, and facts that have no column.
fn legend(found: &HopsResult) -> Vec<String> {
    let hops = || found.hops.iter().chain(found.back.iter().flat_map(|back| &back.hops));
    let has = |missing| hops().any(|hop| hop.missing == missing);
    let asymmetric =
        |hop: &Hop| hop.routers.iter().any(|router| router.hops_back.is_some_and(|back| back != hop.ttl));
    let echo = found.echo.filter(|echo| echo.sent > 0);
    let lines = [
        has(Missing::OwnAnswers)
            .then(|| "limit: more is answered behind; the hop limits its own answers".to_owned()),
        has(Missing::Unclear)
            .then(|| "?: so few probes do not distinguish loss from a limit of answers".to_owned()),
        hops().any(asymmetric).then(|| "N back: its answers took N hops back".to_owned()),
        echo.map(|echo| format!("echo requests to the far end: {} of {} answered", echo.answered, echo.sent)),
        found.back.as_ref().map(|_| {
            "return path: this end counted what arrived, so its loss is of that direction alone".into()
        }),
        found.path_mtu.map(|mtu| format!("packets of {mtu} bytes reach the far end")),
        (found.unmatched > 0).then(|| {
            let count = count(found.unmatched, "answer");
            format!("{count} quoted too little to know which probe they are about; they count as missing")
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// How the hops stand, for a screen that is drawn anew.
pub fn live_table(sample: &HopsSample) -> Vec<String> {
    let cells: [Cell<HopSample>; 7] = [
        Cell("Hop", true, |hop| Some(hop.ttl.to_string())),
        Cell("Router", false, |hop| {
            let more =
                if hop.more_routers > 0 { format!(" and {} more", hop.more_routers) } else { String::new() };
            Some(hop.address.map_or("no answer".into(), |address| format!("{address}{more}")))
        }),
        Cell("Answered", true, |hop| Some(format!("{}/{}", hop.counted.answered, hop.counted.sent))),
        Cell("Loss", true, |hop| Some(loss(hop.missing, hop.counted))),
        Cell("Best", true, |hop| hop.rtt_min.map(|rtt| rtt.to_string())),
        Cell("Median", true, |hop| hop.rtt_p50.map(|rtt| rtt.to_string())),
        Cell("Worst", true, |hop| hop.rtt_max.map(|rtt| rtt.to_string())),
    ];
    let table = Table::of_cells("", &cells, &sample.hops);
    table
        .map(|table| whole(&table.columns, &table.rows).lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

/// The same in a line.
pub fn live_row(sample: &HopsSample) -> String {
    let seconds = sample.at.as_secs_f64();
    let Some(last) = sample.hops.last() else { return format!("{seconds:>8.1} s  nothing answers yet\n") };
    let (Counted { sent, answered }, ttl) = (last.counted, last.ttl);
    let address = last.address.map(|address| format!(" {address}")).unwrap_or_default();
    let median = last.rtt_p50.map(|rtt| format!(", median {rtt}")).unwrap_or_default();
    format!("{seconds:>8.1} s  hop {ttl}{address}: {answered} of {sent} answered{median}\n")
}

/// Heads the hops that the far end traced.
const BACK: &str = "Reverse path, traced by the far end";
/// Columns that a narrow screen can do without, the first before the others.
const DISPENSABLE: &[&str] = &["Notes", "AS", "Name", "Jitter", "Best", "p90", "Flows", "Answered"];

//! The table of packet sizes, what to set, and what could not be found out.

use super::super::text::path::{bound, delivery_word, is_whole, known_directions, service, setting, unknown};
use crate::document::{Block, FigureRow, FigureTable, Part};
use model::path::advice::{Advice, Setting};
use model::path::{Discovery, FragmentDelivery, PathDirection, PathResult};
use model::plan::Direction;
use model::run::Run;
use model::units::percent;

/// The table of a run about packet sizes; services, what to set, and what is open.
pub(super) fn body(run: &Run) -> (FigureTable, Vec<Vec<Part>>) {
    let Some(found) = &run.summary.path else { return Default::default() };
    let service = Block::facts(found.service.iter().flat_map(service)).into();
    let settings: Vec<[String; 2]> =
        run.advice.iter().filter(|advice| is_needed(advice, run)).map(set).collect();
    let set = if settings.len() > MOST_SET {
        let more = format!("{} more with -v", settings.len() - FEW_SET);
        let few = settings.iter().take(FEW_SET).cloned().chain([[more.clone(), more]]).collect();
        vec![Part::Brief(vec![Part::Marked(SET, few)]), Part::Full(vec![Part::Marked(SET, settings)])]
    } else {
        vec![Part::Marked(SET, settings)]
    };
    let open = found.unknown.iter().map(|one| unknown(one).replace('`', ""));
    let open = Part::Marked("  ?  ", open.map(|one| [one.clone(), one]).collect());
    (table(found), vec![vec![service], set, vec![open]])
}

/// The figures that are numbers or a word.
pub(in crate::format) fn table(found: &PathResult) -> FigureTable {
    let directions = known_directions(found);
    let heads = directions.iter().map(ToString::to_string).collect();
    let mut table = FigureTable { heads, rows: Vec::new() };
    rows(found, &directions).into_iter().for_each(|row| table.push(row));
    details(found, &directions).into_iter().for_each(|row| table.push(FigureRow { spare: true, ..row }));
    table
}

/// Path MTU, payload and fragments.
pub(super) fn rows(found: &PathResult, directions: &[Direction]) -> Vec<FigureRow> {
    let cells = |of| cells(found, directions, of);
    let arrived = directions.iter().filter_map(|direction| found.in_direction(*direction)).map(arrived);
    let arrived: Vec<(u64, u64)> = arrived.filter(|(sent, _)| *sent > 0).collect();
    let note = match arrived.as_slice() {
        [] => String::new(),
        [(sent, received)] => format!("{received} of {sent} arrived"),
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            format!("{} of {} arrived in each direction", first.1, first.0)
        }
        several => {
            let each = several.iter().map(|(sent, received)| format!("{received} of {sent}"));
            format!("{} arrived", each.collect::<Vec<_>>().join(" and "))
        }
    };
    vec![
        FigureRow::new("path MTU", cells(|one_way| Some(bound(one_way)))),
        FigureRow::new(PAYLOAD, cells(|one_way| one_way.max_udp_payload.map(|payload| payload.to_string()))),
        FigureRow::new(
            "black hole",
            cells(|one_way| one_way.black_hole.map(|hole| format!("{}–{}", hole.first, hole.last))),
        )
        .with_note("bytes: packets that vanish".into()),
        FigureRow::new("fragments", cells(|one_way| delivery(one_way.fragments.delivery))).with_note(note),
    ]
}

/// A figure in each of these directions.
fn cells(
    found: &PathResult,
    directions: &[Direction],
    of: fn(&PathDirection) -> Option<String>,
) -> Vec<Option<String>> {
    directions.iter().map(|direction| found.in_direction(*direction).and_then(of)).collect()
}

/// Further figures of `mtu`.
fn details(found: &PathResult, directions: &[Direction]) -> Vec<FigureRow> {
    let cells = |of| cells(found, directions, of);
    let hop = |one_way: &PathDirection| {
        let hop = one_way.limiting_hop.as_ref()?;
        hop.ttl.map(|ttl| format!("hop {ttl}")).or_else(|| hop.address.map(|_| "a router".into()))
    };
    let hops = directions
        .iter()
        .filter_map(|direction| found.in_direction(*direction)?.limiting_hop.as_ref()?.address);
    let hops: Vec<String> = hops.map(|address| address.to_string()).collect();
    vec![
        FigureRow::new("interface MTU", cells(|one_way| one_way.interface_mtu.map(|mtu| mtu.to_string()))),
        FigureRow::new("limited by", cells(hop)).with_note(hops.join(", ")),
        FigureRow::new(
            "senders are notified",
            cells(|one_way| discovery_note(one_way.discovery).map(String::from)),
        ),
        FigureRow::new(
            "TCP MSS",
            cells(|one_way| one_way.tcp.as_ref()?.mss_received.map(|mss| mss.to_string())),
        ),
        FigureRow::new(
            "loss of large",
            cells(|one_way| one_way.size_dependent_loss.map(|loss| percent(loss.large))),
        ),
    ]
}

fn discovery_note(discovery: Discovery) -> Option<&'static str> {
    Some(match discovery {
        Discovery::Unknown | Discovery::NotNeeded => return None,
        Discovery::Works => "yes",
        Discovery::Silent => "no",
        Discovery::Partial => "in part",
        Discovery::Lies => "wrong",
    })
}

fn delivery(delivery: FragmentDelivery) -> Option<String> {
    (delivery != FragmentDelivery::Unknown).then(|| delivery_word(delivery).to_owned())
}

/// Datagrams that were sent in fragments, and those that arrived.
fn arrived(direction: &PathDirection) -> (u64, u64) {
    let tests = direction.fragments.tests.iter().filter(|test| is_whole(test.shape));
    tests.fold((0, 0), |(sent, received), test| {
        (sent + u64::from(test.sent), received + u64::from(test.received))
    })
}

/// On a path as wide as its interfaces there is nothing to set, unless a tunnel was asked about.
fn is_needed(advice: &Advice, run: &Run) -> bool {
    match advice.setting {
        Setting::InterfaceMtu | Setting::MtuProbing | Setting::MssClampIpv4 | Setting::MssClampIpv6 => true,
        Setting::TunnelMtu(_) => run.path().is_some_and(|plan| plan.encap.is_some()),
        Setting::UdpPayload => false,
    }
}

/// `interface MTU 1400 at this host: ip link set …`, and the same without its command.
fn set(advice: &Advice) -> [String; 2] {
    let short = format!("{} {} at {}", setting(&advice.setting), advice.value, advice.place);
    let whole = advice.commands.first().map(|command| format!("{short}: {command}"));
    [whole.unwrap_or_else(|| short.clone()), short]
}

/// The name of a row.
pub(super) const PAYLOAD: &str = "UDP payload";
/// The mark of a setting.
const SET: &str = "  set  ";
/// Settings that all have a line.
const MOST_SET: usize = 3;
/// Settings of a longer list that have one.
const FEW_SET: usize = 2;

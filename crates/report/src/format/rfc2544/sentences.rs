//! The device and the method of its test, in sentences.

use crate::format::gather::by_key;
use crate::format::text::phrases;
use model::distinct;
use model::dut::{
    DeviceReport, DutReport, LeftOut, LoadLimit, PortFacts, SearchMethod, Setup, StreamReport, Tools, Tried,
    TunnelEnds,
};
use model::units::{count, percent, plain_percent};

pub(super) fn title(report: &DutReport) -> String {
    let names: Vec<&str> = report.devices.iter().map(|device| device.name.as_str()).collect();
    format!("Device under test: {}", names.join(", "))
}

/// The request, the place and the time.
pub(super) fn tested(report: &DutReport) -> Vec<String> {
    [Some(setup_sentence(report)), host(report)].into_iter().flatten().collect()
}

/// The request.
pub(super) fn setup_sentence(report: &DutReport) -> String {
    let setup = &report.setup;
    let tests: Vec<String> = setup.tests.iter().map(ToString::to_string).collect();
    let departs = match setup.departures.len() {
        0 => String::new(),
        left => {
            format!(" Not all that the standards ask for: {} (-v).", count(left as u64, "departure"))
        }
    };
    let tests = insight::finding::capital(&tests.join(", "));
    format!("{} {tests}.{departs}", frames(setup))
}

/// The method in full, and the host.
pub(super) fn circumstances(report: &DutReport) -> Vec<String> {
    let setup = &report.setup;
    let tests: Vec<String> = setup.tests.iter().map(ToString::to_string).collect();
    let mut lines = vec![
        format!("Tests: {}.", tests.join(", ")),
        frames(setup),
        search(setup),
        link(setup),
        conformity(setup),
    ];
    lines.extend(host(report));
    lines.retain(|line| !line.is_empty());
    lines
}

/// Where and when.
pub(super) fn host(report: &DutReport) -> Option<String> {
    let host = report.host.as_ref()?;
    let cpus = count(host.cpus, "CPU");
    let at = report.started.map_or_else(String::new, |at| format!(", {at}"));
    Some(format!("On {}, {}, {} ({cpus}), {}{at}.", host.name, host.kernel, host.cpu, host.version))
}

fn frames(setup: &Setup) -> String {
    let streams = || setup.streams.iter();
    let names = distinct(streams().map(|stream| stream.frames.name.as_str())).join(", ");
    let networks = distinct(streams().map(|stream| stream.network.to_string())).join(" and ");
    let directions = distinct(streams().map(|stream| phrases::directions(stream.directions))).join(", ");
    format!("Ethernet frames of {names} bytes with FCS, {networks}, {directions}.")
}

fn search(setup: &Setup) -> String {
    if setup.goals.is_empty() {
        return String::new();
    }
    let method = match setup.search {
        SearchMethod::Mlr => "MLRsearch (RFC 9971)",
        SearchMethod::Binary => "by halves",
    };
    let goals: Vec<String> = setup
        .goals
        .iter()
        .map(|named| {
            let goal = &named.goal;
            let exceed = match goal.exceed_ratio {
                0.0 => String::new(),
                share => format!(", {} of the time may be worse", plain_percent(share)),
            };
            let loss = match goal.loss_ratio {
                0.0 => "no loss".into(),
                ratio => format!("loss up to {}", plain_percent(ratio)),
            };
            let together = match goal.duration_sum == goal.final_duration {
                true => String::new(),
                false => format!(", {} together", phrases::span(goal.duration_sum)),
            };
            format!(
                "{} ({loss}{exceed}, trials of {}{together}, to {})",
                goal_name(&named.name),
                phrases::span(goal.final_duration),
                plain_percent(goal.width)
            )
        })
        .collect();
    format!("Search: {method} for {}.", goals.join("; "))
}

pub(super) fn link(setup: &Setup) -> String {
    let wrapped = match setup.encaps.layers() {
        [] => String::new(),
        _ => format!("; on the narrowest link the frames are carried in {}", setup.encaps),
    };
    let link = match setup.link {
        Some(link) if setup.link_is_nominal => {
            format!("Link {link}, as given: the interfaces have no speed of their own")
        }
        Some(link) => format!("Link {link}"),
        None => "Link of unknown speed, so that the generator is the limit: no line rate".into(),
    };
    let bounds = match (setup.min, setup.max) {
        (None, None) => String::new(),
        (Some(min), None) => format!("; loads from {min} on"),
        (None, Some(max)) => format!("; loads up to {max}"),
        (Some(min), Some(max)) => format!("; loads from {min} to {max}"),
    };
    format!("{link}{wrapped}{bounds}.")
}

fn conformity(setup: &Setup) -> String {
    match setup.departures.as_slice() {
        [] => "Conforms to the standards.".into(),
        departures => format!("Departs from the standards: {}.", departures.join("; ")),
    }
}

pub(super) fn name(device: &DeviceReport) -> String {
    match &device.title {
        Some(title) => format!("{}: {title}", device.name),
        None => device.name.clone(),
    }
}

/// Ports and tools of a device.
pub(super) fn sentences_of(device: &DeviceReport) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(device.unavailable.iter().map(|why| format!("Not tested: {}.", why.trim_end_matches('.'))));
    if !device.ports.is_empty() {
        let ports: Vec<String> = device.ports.iter().map(port).collect();
        lines.push(format!("Ports: {}.", ports.join("; ")));
    }
    lines.extend(device.tools.iter().flat_map(tools));
    lines.extend(device.tools.iter().filter_map(|tools| alone(device, tools)));
    lines.extend(device.rows.iter().filter_map(limit));
    lines
}

/// The rate that the generator reaches without the device, and why it is less here.
fn alone(device: &DeviceReport, tools: &Tools) -> Option<String> {
    let alone = tools.alone?;
    let mut text = format!(
        "{}: the same generator reaches {} over a cable of its own with {}-byte frames of one flow",
        phrases::direction_word(tools.direction),
        alone.one_flow,
        alone.frame.0
    );
    if alone.same != alone.one_flow {
        let less = 1.0 - alone.same.0 as f64 / alone.one_flow.0.max(1) as f64;
        let cost = if less > 0.0 { format!(", {} less", percent(less)) } else { String::new() };
        text.push_str(&format!(", and {} with ports that change (RFC 4814){cost}", alone.same));
    }
    let row = device.rows.iter().find(|row| row.stream.frames.sizes.iter().max() == Some(&alone.frame));
    if let Some(ceiling) = row.and_then(|row| row.ceiling) {
        let share = ceiling.0 / alone.same.0.max(1) as f64;
        let why = match (share < NEAR, device.shares_cpu) {
            (false, _) => "so the device takes nothing of it",
            (true, Some(true)) => "the device works on the same CPU, or other work held it up",
            (true, _) => "the driver and the device take frames no faster, or other work held it up",
        };
        text.push_str(&format!(
            "; through the device {} ({} of that): {why}",
            ceiling.rounded(),
            percent(share.min(1.0))
        ));
    }
    let bound = row.filter(|row| row.limit == Some(LoadLimit::Generator));
    if let Some((most, ceiling)) = bound.and_then(|row| row.most.zip(row.ceiling)) {
        let share = percent((most.0 / ceiling.0).min(1.0));
        text.push_str(&format!("; trials offer at most {}, {share} of it", most.rounded()));
    }
    Some(text + ".")
}

/// The limit of a row's rate.
fn limit(row: &StreamReport) -> Option<String> {
    let limit = insight::limit::sentence(row.set_by.as_deref()?);
    Some(format!("Limit of {} frames: {limit}.", row.stream))
}

fn port(port: &PortFacts) -> String {
    let facts = [
        port.driver.clone(),
        port.link.map(|link| link.to_string()),
        Some(format!("MTU {}", port.mtu)),
        port.cpu.map(|cpu| format!("CPU {cpu}")),
        port.tunnel.map(|TunnelEnds { local, remote }| {
            format!("end of a tunnel of IPv4 in IPv6 from {local} to {remote}, 40 bytes more a frame")
        }),
    ];
    let addresses = port.addresses.iter().map(ToString::to_string);
    let facts: Vec<String> = facts.into_iter().flatten().chain(addresses).collect();
    format!("{} ({})", port.name, facts.join(", "))
}

/// The generator and the counter, their speed, and why nothing faster is used.
fn tools(tools: &Tools) -> Vec<String> {
    let chosen =
        |tried: &&Tried| tried.source == tools.source && tried.sink == tools.sink && tried.refused.is_none();
    let ceiling = tools.tried.iter().find(chosen).and_then(|tried| {
        let ceiling = tried.ceiling_pps?;
        Some(format!("; {ceiling} of {}-byte frames at most", tried.frame.0))
    });
    let mut lines = vec![format!(
        "{}: sent by {}, counted by {}{}.",
        phrases::direction_word(tools.direction),
        tools.source,
        tools.sink,
        ceiling.unwrap_or_default()
    )];
    for tried in &tools.tried {
        if let Some(why) = &tried.refused {
            let why = why.trim_end_matches('.');
            lines.push(format!(
                "{}: not {} into {}: {why}.",
                phrases::direction_word(tools.direction),
                tried.source,
                tried.sink
            ));
        }
    }
    lines
}

/// Tests left out, voided trials and notes.
pub(super) fn remarks(device: &DeviceReport) -> Vec<String> {
    let left_out = device
        .rows
        .iter()
        .flat_map(|row| row.left_out.iter().map(|left| (left, row.stream.frames.name.as_str())));
    let line = |(left, names): (&LeftOut, Vec<&str>)| {
        let test = insight::finding::capital(&left.test.to_string());
        format!("{test} of {} left out: {}.", distinct(names).join(", "), left.why.trim_end_matches('.'))
    };
    let mut lines: Vec<String> = by_key(left_out).into_iter().map(line).collect();
    if device.voided > 0 {
        let trials = count(device.voided, "trial");
        lines.push(format!("{trials} thrown away and repeated, since this host interrupted the generator."));
    }
    lines.extend(device.notes.iter().cloned());
    lines
}

/// `throughput`, and abbreviations in capitals.
pub(super) fn goal_name(name: &str) -> String {
    if name.len() <= ABBREVIATION { name.to_uppercase() } else { name.to_owned() }
}

/// A ceiling that is so near the generator's own is the same.
const NEAR: f64 = 0.9;
/// Names of goals as short as this are abbreviations.
const ABBREVIATION: usize = 4;

//! Streams in words, and figures of each of them as evidence.

use model::dut::{DeviceReport, Stream, StreamReport};
use model::finding::Finding;
use model::framing::Network;
use serde_json::Value;

/// `64-byte, 128-byte and imix frames`, with the IP version where the device was tested with both.
pub(super) fn frames(device: &DeviceReport, rows: &[&StreamReport]) -> String {
    let sizes_of = |network: Network| {
        let own = rows.iter().filter(|row| row.stream.network == network);
        let mut names: Vec<String> = own.map(|row| frame(&row.stream)).collect();
        names.dedup();
        names
    };
    let both = is_of_both(device);
    let parts = [Network::V4, Network::V6].into_iter().filter_map(|network| {
        let names = sizes_of(network);
        let of_network = if both { format!(" of {network}") } else { String::new() };
        (!names.is_empty()).then(|| format!("{} frames{of_network}", listed(&names)))
    });
    parts.collect::<Vec<_>>().join(" and ")
}

/// `64-byte` or `imix`.
pub(super) fn frame(stream: &Stream) -> String {
    let name = &stream.frames.name;
    if name.chars().all(|letter| letter.is_ascii_digit()) { format!("{name}-byte") } else { name.clone() }
}

/// A finding with a figure of each row: `64_pps`, `ipv6_64_pps` where both IP versions were tested.
pub(super) fn with_each(
    finding: Finding,
    device: &DeviceReport,
    rows: &[&StreamReport],
    unit: &str,
    value: impl Fn(&StreamReport) -> Option<Value>,
) -> Finding {
    let both = is_of_both(device);
    rows.iter().fold(finding, |finding, row| {
        let network = if both { format!("{}_", row.stream.network).to_lowercase() } else { String::new() };
        finding.with_known(&format!("{network}{}_{unit}", row.stream.frames.name), value(row))
    })
}

fn is_of_both(device: &DeviceReport) -> bool {
    device.rows.iter().any(|row| row.stream.network != device.rows[0].stream.network)
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

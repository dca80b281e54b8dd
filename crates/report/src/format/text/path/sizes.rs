//! The sizes tried as a strip: where packets cross and where they vanish, at a glance.

use super::heading::known_directions;
use crate::document::Block;
use model::path::{PathResult, SizeProbe};

/// A strip for each direction, and for a service, under what its symbols mean.
pub(in crate::format) fn strips(path: &PathResult) -> Vec<Block> {
    let directions = known_directions(path).into_iter().filter_map(|direction| {
        let one_way = path.in_direction(direction).filter(|one_way| !one_way.sizes.is_empty())?;
        Some((direction.to_string(), one_way.sizes.as_slice(), Phrases::PATH))
    });
    let services = path.service.iter().filter(|service| !service.sizes.is_empty());
    let services = services.map(|service| ("payload".to_owned(), service.sizes.as_slice(), Phrases::SERVICE));
    let strips: Vec<(String, &[SizeProbe], Phrases)> = directions.chain(services).collect();
    let Some((.., first)) = strips.first() else { return Vec::new() };
    let all = || strips.iter().flat_map(|(_, sizes, _)| sizes.iter()).map(|probe| probe.size);
    let (low, high) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let fact = |(label, sizes, phrases): &(String, &[SizeProbe], Phrases)| {
        let bar: String = cells(sizes, low, high, ROOM).iter().map(|cell| cell.symbol()).collect();
        (label.clone(), format!("{low} {bar} {high}: {}", ranges(sizes, *phrases)))
    };
    vec![Block::Paragraph(first.legend.into()), Block::facts(strips.iter().map(fact))]
}

/// Phrases for the outcome of one size and of several.
#[derive(Clone, Copy)]
struct Phrases {
    legend: &'static str,
    well: [&'static str; 2],
    partly: [&'static str; 2],
    lost: [&'static str; 2],
}

impl Phrases {
    const PATH: Phrases = Phrases {
        legend: "Unfragmented: █ crosses, ▒ in part, ░ vanishes, · not tried",
        well: ["crosses", "cross"],
        partly: ["crosses in part", "cross in part"],
        lost: ["vanishes", "vanish"],
    };
    const SERVICE: Phrases = Phrases {
        legend: "█ answered, ▒ in part, ░ silence, · not tried",
        well: ["is answered", "are answered"],
        partly: ["is answered in part", "are answered in part"],
        lost: ["is not", "are not"],
    };
}

/// The outcome of one size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Crosses,
    Partly,
    Vanishes,
    NotTried,
}

impl Delivery {
    fn from_probe(probe: &SizeProbe) -> Delivery {
        match probe.received {
            0 => Delivery::Vanishes,
            some if some < probe.sent => Delivery::Partly,
            _ => Delivery::Crosses,
        }
    }

    fn symbol(self) -> char {
        match self {
            Delivery::Crosses => '█',
            Delivery::Partly => '▒',
            Delivery::Vanishes => '░',
            Delivery::NotTried => '·',
        }
    }
}

/// The outcome at each place of a strip: between two sizes of the same outcome it is theirs.
fn cells(sizes: &[SizeProbe], low: u32, high: u32, room: usize) -> Vec<Delivery> {
    let mut sizes = sizes.to_vec();
    sizes.sort_by_key(|probe| probe.size);
    let step = f64::from(high - low) / room as f64;
    (0..room)
        .map(|place| {
            let (from, to) =
                (f64::from(low) + step * place as f64, f64::from(low) + step * (place as f64 + 1.0));
            let last = place + 1 == room;
            let within = |probe: &&SizeProbe| {
                let size = f64::from(probe.size);
                size >= from && (size < to || last)
            };
            let here: Vec<Delivery> = sizes.iter().filter(within).map(Delivery::from_probe).collect();
            let before =
                sizes.iter().rev().find(|probe| f64::from(probe.size) <= from).map(Delivery::from_probe);
            let after = sizes.iter().find(|probe| f64::from(probe.size) >= to).map(Delivery::from_probe);
            match sizes.first() {
                // The map begins with what crosses, however soon it ends.
                Some(least) if place == 0 && Delivery::from_probe(least) == Delivery::Crosses => {
                    Delivery::Crosses
                }
                _ => shown(&here, before, after),
            }
        })
        .collect()
}

/// Losses are shown before deliveries, so that a single size that vanishes is visible.
fn shown(here: &[Delivery], before: Option<Delivery>, after: Option<Delivery>) -> Delivery {
    let worst = [Delivery::Vanishes, Delivery::Partly, Delivery::Crosses]
        .into_iter()
        .find(|delivery| here.contains(delivery));
    match (worst, before, after) {
        (Some(delivery), ..) => delivery,
        (None, Some(before), Some(after)) if before == after => before,
        // Whatever is smaller than a packet that crosses crosses too.
        (None, None, Some(Delivery::Crosses)) => Delivery::Crosses,
        _ => Delivery::NotTried,
    }
}

/// `576 to 1400 cross, 1401 to 1500 vanish`
fn ranges(sizes: &[SizeProbe], phrases: Phrases) -> String {
    let mut sizes = sizes.to_vec();
    sizes.sort_by_key(|probe| probe.size);
    let mut ranges: Vec<(Delivery, u32, u32)> = Vec::new();
    for probe in &sizes {
        let delivery = Delivery::from_probe(probe);
        match ranges.last_mut() {
            Some((last, _, to)) if *last == delivery => *to = probe.size,
            _ => ranges.push((delivery, probe.size, probe.size)),
        }
    }
    let more = ranges.len().saturating_sub(MOST_RANGES);
    let reported =
        ranges.iter().take(MOST_RANGES).map(|(delivery, from, to)| phrase(*delivery, *from, *to, phrases));
    let reported = reported.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{reported}, and {more} changes more") } else { reported }
}

fn phrase(delivery: Delivery, from: u32, to: u32, phrases: Phrases) -> String {
    let [one, several] = match delivery {
        Delivery::Crosses => phrases.well,
        Delivery::Partly => phrases.partly,
        Delivery::Vanishes => phrases.lost,
        Delivery::NotTried => ["was not tried", "were not tried"],
    };
    if from == to { format!("{from} {one}") } else { format!("{from} to {to} {several}") }
}

/// Places of a strip.
const ROOM: usize = 40;
/// More of them are too many to read; the document has every size.
const MOST_RANGES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(sizes: &[(u32, u32)]) -> Vec<SizeProbe> {
        sizes.iter().map(|(size, received)| SizeProbe { size: *size, sent: 3, received: *received }).collect()
    }

    fn strip(sizes: &[(u32, u32)], low: u32, high: u32) -> String {
        cells(&probes(sizes), low, high, 10).iter().map(|cell| cell.symbol()).collect()
    }

    #[test]
    fn a_strip_shows_what_lies_between() {
        assert_eq!(strip(&[(100, 3), (150, 3), (151, 0), (200, 0)], 100, 200), "█████░░░░░");
        assert_eq!(strip(&[(100, 3), (200, 0)], 100, 200), "█········░");
        assert_eq!(strip(&[(150, 3)], 100, 200), "██████····");
        assert_eq!(strip(&[(200, 3)], 100, 200), "██████████");
        assert_eq!(strip(&[(100, 3), (145, 0), (200, 3)], 100, 200), "█···░····█");
        assert_eq!(strip(&[(100, 2), (200, 2)], 100, 200), "▒▒▒▒▒▒▒▒▒▒");
        assert_eq!(strip(&[(1500, 3)], 1500, 1500), "██████████");
        assert_eq!(strip(&[(1280, 3), (1400, 3), (1401, 0), (9000, 0)], 1280, 9000), "█░░░░░░░░░");
    }

    #[test]
    fn ranges_are_reported_in_words() {
        let reported = ranges(&probes(&[(1500, 0), (576, 3), (1400, 3), (1401, 0)]), Phrases::PATH);
        assert_eq!(reported, "576 to 1400 cross, 1401 to 1500 vanish");
        assert_eq!(ranges(&probes(&[(1500, 3)]), Phrases::PATH), "1500 crosses");
        let many: Vec<(u32, u32)> = (0..8).map(|size| (size, if size % 2 == 0 { 3 } else { 0 })).collect();
        assert!(ranges(&probes(&many), Phrases::SERVICE).ends_with(", and 3 changes more"));
    }
}

//! The page of figures is that of the table. `UPDATE_DOCS=1 cargo test -p pathmeter-report --test formats figures` writes it anew.

use insight::figure::{Better, DEVICE_FIGURES, Figure, Quantity, Scope, run_figures};
use model::plan::Transport;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/figures.md");

const HEAD: &str = "# Figures

Every figure of a result, by its public name: the one of `--expect`, `--json`, `history`, `compare`, `trend`, Prometheus and wide CSV.
A test makes this page from the table in `crates/insight/src/figure.rs`.

**Listed** figures are in lists, comparisons, trends, Prometheus and wide CSV, in the order of their numbers; the others are for
`--expect` and `--json`. Figures of streams are listed with transport and direction, such as `tcp.up.goodput`. In Prometheus the points
of a name are `_` and its unit is at the end: `pathmeter_goodput_bits_per_second{transport=\"tcp\",direction=\"up\"}`. A figure of TCP or
UDP alone is marked so. `--expect` takes a value with its unit, as the examples are.

`--json` has every known figure in one flat object, `figures`, by each name that `--expect` takes: `.figures[\"up.goodput\"]`. Its values
are plain numbers in the unit of the table; without one they are counts, and a share is of 1 (0.001 is 0.1 %).
A figure that is not known, that too few values carry or of which only a bound is known is absent; it is never 0 or `null` instead.
Verdicts, kinds of limits and confidences are words. Findings that were not raised are absent, too.
";

/// The sections in their order: the scope, a title, and what stands before the names.
const SECTIONS: [(Scope, &str, &str); 14] = [
    (Scope::Every, "Every run", ""),
    (
        Scope::Streams,
        "Streams",
        "After `up.` (this end sends) or `down.` (the far end sends), of `throughput`, `measure` and `frames`; `tcp.` or `udp.` before it picks one of several tests.",
    ),
    (Scope::Pairs, "Pairs", "With `throughput --pairs N`."),
    (Scope::Frames, "Frames", "With a single size, such as `frames --frame 512 --tests udp`."),
    (Scope::RoundTrips, "Round trips", "Of `latency` and `measure`."),
    (Scope::Latency, "Latency runs", "Of `latency`, over all of its paths."),
    (
        Scope::Egress,
        "Paths of a latency run",
        "After `way.LABEL.`, of one of several paths; listed where there are several.",
    ),
    (
        Scope::Load,
        "Phases under load",
        "After `loaded.idle.`, `loaded.up.`, `loaded.down.` or `loaded.both.`, with `latency --loaded`.",
    ),
    (
        Scope::Sizes,
        "Packet sizes",
        "After `up.` or `down.`, of `mtu` and `measure`, and where a loss was explained.",
    ),
    (Scope::Probing, "The search for packet sizes", "Of `mtu`."),
    (Scope::Service, "A UDP service", "Of `mtu --service PORT`."),
    (Scope::Hops, "Hops", "Of `hops`; the far end's."),
    (Scope::Transfers, "Transfers", "Of `transfer`; of several rows the worst counts."),
    (
        Scope::Device,
        "Devices under test",
        "Of `rfc2544`, after `FRAMES.`, `DEVICE.` or `DEVICE.FRAMES.`: `64.ndr`, `ipv6.84.latency.p99`, `forward.64.ndr`.",
    ),
];

fn figures() -> impl Iterator<Item = &'static Figure> {
    run_figures().chain(DEVICE_FIGURES)
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (scope, title, about) in SECTIONS {
        let _ = writeln!(page, "\n## {title}\n");
        if !about.is_empty() {
            let _ = writeln!(page, "{about}\n");
        }
        page.push_str(
            "| figure | label | such as | unit | better | listed | meaning |\n|---|---|---|---|---|---|---|\n",
        );
        figures().filter(|figure| figure.scope == scope).for_each(|figure| page.push_str(&row(figure)));
    }
    page
}

fn row(figure: &Figure) -> String {
    let better = match figure.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "",
    };
    let listed = figure.place.map(|place| place.to_string()).unwrap_or_default();
    let only = match figure.transport {
        Some(Transport::Tcp) => " (TCP)",
        Some(Transport::Udp) => " (UDP)",
        None => "",
    };
    let example = figure.quantity.example().split(' ').next().expect("an example");
    format!(
        "| `{}` | {} | `{example}` | {} | {better} | {listed} | {}{only} |\n",
        figure.name,
        figure.label,
        unit(figure.quantity),
        figure.note
    )
}

/// The unit of its number in JSON.
fn unit(quantity: Quantity) -> &'static str {
    match quantity.base_unit().0 {
        "_bits_per_second" => "bit/s",
        "_packets_per_second" => "packets/s",
        "_ratio" => "share",
        "_bytes" => "bytes",
        "_seconds" => "s",
        _ if quantity.is_word() => "word",
        _ => "",
    }
}

#[test]
fn the_page_of_figures_is_that_of_the_table() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, &page).expect("write the page");
    }
    let stored = fs::read_to_string(PAGE).expect("docs/figures.md");
    assert!(
        stored == page,
        "docs/figures.md is stale: UPDATE_DOCS=1 cargo test -p pathmeter-report --test formats figures"
    );
}

#[test]
fn every_row_is_complete_and_every_name_is_one() {
    let mut names = BTreeSet::new();
    let mut places = BTreeSet::new();
    for figure in figures() {
        let (scope, name) = (format!("{:?}", figure.scope), figure.name);
        assert!(!figure.label.is_empty() && !figure.note.is_empty(), "{scope} {name}");
        assert!(!figure.note.contains('|') && !figure.note.ends_with('.'), "{scope} {name}: {}", figure.note);
        assert!(names.insert((scope.clone(), name)), "{scope} {name} stands twice");
        if let Some(place) = figure.place {
            // Paths and devices have lists of their own.
            let list = Some(scope).filter(|_| matches!(figure.scope, Scope::Egress | Scope::Device));
            assert!(places.insert((list, place)), "{name}: place {place} is taken");
            let is_compared = figure.better.is_higher().is_some();
            assert_ne!(is_compared, figure.quantity.is_word(), "{name} is compared unless it is a word");
        }
        assert!(SECTIONS.iter().any(|(known, ..)| *known == figure.scope), "{name} is in no section");
    }
}

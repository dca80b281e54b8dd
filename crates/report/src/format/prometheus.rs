//! Prometheus' text format, for `/metrics` and for node_exporter's textfile collector.
//!
//! A figure that was not measured has no sample, and is never 0: `pathmeter_up` states whether the last run of a path could be
//! used. The time of that run is a sample of its own, `pathmeter_last_run_timestamp_seconds`, since the textfile collector
//! takes none beside values.

use super::Style;
use crate::document::Document;
use insight::figure::{Key, Part, device_figure};
use model::history::Entry;
use std::collections::BTreeMap;

/// A sample: labels, and the value.
pub type Sample = (Vec<(String, String)>, f64);

/// The latest run of each path, of all documents.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let mut latest: BTreeMap<[String; 3], Entry> = BTreeMap::new();
    for entry in documents.iter().flat_map(|document| document.entries()) {
        // A run that has not ended has no result yet.
        if entry.status.is_none() {
            continue;
        }
        let path = [entry.target.clone(), entry.kind.clone(), entry.label.clone()];
        match latest.get(&path) {
            Some(known) if known.started >= entry.started => {}
            _ => drop(latest.insert(path, entry)),
        }
    }
    let mut families: BTreeMap<String, (String, Vec<Sample>)> = BTreeMap::new();
    for entry in latest.values() {
        for (name, help, sample) in samples(entry) {
            families.entry(name).or_insert((help, Vec::new())).1.push(sample);
        }
    }
    if families.is_empty() {
        return "# no run of a path\n".into();
    }
    families.iter().map(|(name, (help, samples))| family(name, "gauge", help, samples)).collect()
}

fn samples(entry: &Entry) -> Vec<(String, String, Sample)> {
    let labels = [("target", &entry.target), ("kind", &entry.kind), ("label", &entry.label)];
    let own = labels.into_iter().filter(|(_, value)| !value.is_empty());
    let own: Vec<(String, String)> = own.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let is_up = entry.status.as_deref() != Some("void");
    let time = entry.started.0 as f64 / 1e9;
    let mut samples = vec![
        (
            "pathmeter_up".into(),
            "1: the last run of the path can be used.".into(),
            (own.clone(), f64::from(u8::from(is_up))),
        ),
        (
            "pathmeter_last_run_timestamp_seconds".into(),
            "When the last run of the path began.".into(),
            (own.clone(), time),
        ),
    ];
    for figure in entry.figures.iter().filter(|_| is_up) {
        let Some(metric) = metric(&figure.name, figure.value) else { continue };
        let labels = [own.clone(), metric.labels].concat();
        samples.push((metric.name, format!("{} of the last run.", metric.figure), (labels, metric.value)));
    }
    samples
}

/// A figure in the words of Prometheus.
struct Metric {
    /// Its name, with the base unit at its end.
    name: String,
    /// The figure, without transport, direction and path.
    figure: &'static str,
    labels: Vec<(String, String)>,
    /// In the base unit.
    value: f64,
}

fn metric(name: &str, value: f64) -> Option<Metric> {
    let (figure, prefix, mut labels) = match Key::named(name) {
        Some(key) => (key.figure, "pathmeter", labels(&key)),
        None => {
            let (frames, figure) = device_figure(name)?;
            (figure, "pathmeter_device", vec![("frames".to_owned(), frames?.to_owned())])
        }
    };
    // OpenMetrics reserves the suffix `_count` for histograms and summaries.
    let own = figure.name.strip_suffix(".count").unwrap_or(figure.name).replace(['.', '-'], "_");
    let (unit, ours) = figure.quantity.base_unit();
    if figure.quantity.is_word() {
        // A word is a label of a sample that is there.
        labels.push((own.clone(), figure.quantity.print(value)));
        return Some(Metric {
            name: format!("{prefix}_{own}_info"),
            figure: figure.name,
            labels,
            value: 1.0,
        });
    }
    Some(Metric { name: format!("{prefix}_{own}{unit}"), figure: figure.name, labels, value: value / ours })
}

fn labels(key: &Key) -> Vec<(String, String)> {
    let path = match &key.part {
        Part::Egress(label) => Some(("way", label.clone())),
        _ => None,
    };
    let transport = key.transport.map(|transport| ("transport", transport.to_string().to_lowercase()));
    let direction = key.direction.map(|direction| ("direction", direction.to_string()));
    let labels = [path, transport, direction].into_iter().flatten();
    labels.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The lines of a family (`kind`: `gauge`, `counter`), with everything in them escaped.
#[must_use]
pub fn family(name: &str, kind: &str, help: &str, samples: &[Sample]) -> String {
    let sample = |(labels, value): &Sample| {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        format!("{name}{labels} {value}\n")
    };
    let samples: String = samples.iter().map(sample).collect();
    format!("# HELP {name} {}\n# TYPE {name} {kind}\n{samples}", escaped(help))
}

/// A label's value: a backslash, a quote and a line feed are escaped, and what a terminal obeys is left out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::history::History;
    use model::history::{Headline, Origin};
    use model::time::WallTime;

    fn entry(target: &str, started: u64, status: Option<&str>, figures: &[(&str, f64)]) -> Entry {
        let headline = |(name, value): &(&str, f64)| Headline {
            name: (*name).into(),
            value: *value,
            text: String::new(),
        };
        Entry {
            id: format!("{target}-{started}"),
            kind: "throughput".into(),
            target: target.into(),
            label: String::new(),
            origin: Origin::Measured,
            started: WallTime(started * 1_000_000_000),
            finished: None,
            note: String::new(),
            running: false,
            status: status.map(Into::into),
            verdict: None,
            figures: figures.iter().map(headline).collect(),
        }
    }

    fn text(entries: Vec<Entry>) -> String {
        documents(&[&History { entries, notes: Vec::new() }], &Style::default())
    }

    #[test]
    fn the_latest_run_of_each_path_in_units_of_prometheus() {
        let text = text(vec![
            entry("far", 20, None, &[]),
            entry(
                "far",
                10,
                Some("ok"),
                &[("tcp.up.goodput", 2e9), ("rtt.p50", 1.5e6), ("udp.up.loss", 0.25)],
            ),
            entry("far", 5, Some("ok"), &[("tcp.up.goodput", 1.0)]),
        ]);
        for line in [
            "# TYPE pathmeter_goodput_bits_per_second gauge",
            "pathmeter_goodput_bits_per_second{target=\"far\",kind=\"throughput\",transport=\"tcp\",direction=\"up\"} 2000000000",
            "pathmeter_rtt_p50_seconds{target=\"far\",kind=\"throughput\"} 0.0015",
            "pathmeter_loss_ratio{target=\"far\",kind=\"throughput\",transport=\"udp\",direction=\"up\"} 0.25",
            "pathmeter_up{target=\"far\",kind=\"throughput\"} 1",
            "pathmeter_last_run_timestamp_seconds{target=\"far\",kind=\"throughput\"} 10",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
    }

    #[test]
    fn what_is_down_has_no_figures_and_is_never_zero() {
        let text = text(vec![
            entry("far", 10, Some("void"), &[("tcp.up.goodput", 0.0)]),
            entry("far", 5, Some("ok"), &[("tcp.up.goodput", 1e9)]),
        ]);
        assert!(text.contains("pathmeter_up{target=\"far\",kind=\"throughput\"} 0"), "{text}");
        assert!(!text.contains("goodput"), "{text}");
    }

    #[test]
    fn a_good_run_without_figures_is_up() {
        let text = text(vec![entry("two-routers", 10, Some("ok"), &[])]);
        assert!(text.contains("pathmeter_up{target=\"two-routers\",kind=\"throughput\"} 1"), "{text}");
        let metric = metric("hops.count", 3.0).expect("it is a figure");
        assert_eq!((metric.name.as_str(), metric.value), ("pathmeter_hops", 3.0));
    }

    #[test]
    fn hostile_names_stay_in_their_quotes() {
        let text =
            text(vec![entry("a\"} 1\npathmeter_up{x=\"\\", 1, Some("ok"), &[("way.\"\n\\.rtt.p50", 1e9)])]);
        assert!(text.contains("target=\"a\\\"} 1\\npathmeter_up{x=\\\"\\\\\""), "{text}");
        assert!(text.contains("way=\"\\\"\\n\\\\\""), "{text}");
        let is_whole =
            |line: &str| line.starts_with("# ") || line.ends_with(|last: char| last.is_ascii_digit());
        assert!(text.lines().all(is_whole), "{text}");
    }
}

//! Bars of the rates on the terminal: for each kind of test, every topology, IPv4 above IPv6.

use super::sections::{FAMILIES, Kind, kinds, mbits};
use crate::format::text::latency::bar;
use crate::format::{Paint, Style};
use model::framing::Network;
use model::lab::{LabReport, Variant};

/// The charts; none where nothing is compared.
pub(super) fn lab_bars(report: &LabReport, style: &Style) -> String {
    if report.comparisons.is_empty() {
        return String::new();
    }
    kinds(report)
        .iter()
        .filter(|kind| kind.test.is_throughput())
        .map(|kind| chart(report, kind, style))
        .collect()
}

fn chart(report: &LabReport, kind: &Kind, style: &Style) -> String {
    let rows: Vec<(&str, Network, f64)> =
        report.variants.iter().flat_map(|variant| rows(variant, kind)).collect();
    let most = rows.iter().map(|(.., rate)| *rate).fold(0.0, f64::max);
    let names = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let width = style.width.saturating_sub(names + 24).clamp(10, 80);
    let mut text = format!("\n  {}\n", style.paint(Paint::Dim, &kind.title()));
    let mut last = "";
    for (name, family, rate) in rows {
        let shown = if name == last { "" } else { name };
        let bar = bar(rate / most.max(1.0), width);
        text.push_str(&format!("  {shown:<names$}  {family}  {:>8}  {bar}\n", mbits(rate)));
        last = name;
    }
    text
}

fn rows<'a>(variant: &'a Variant, kind: &Kind) -> Vec<(&'a str, Network, f64)> {
    let rate =
        |family| Some((variant.name.as_str(), family, kind.series_of(variant, family)?.goodput?.median));
    FAMILIES.into_iter().filter_map(rate).collect()
}

//! Every document's picture: drawn, in its frame, and not empty. `CHARTS_TO=DIR` writes them there to be looked at.

use super::{labs, rfc2544, runs};
use pathmeter_report::document::{Document, picture};
use pathmeter_report::format::RunDocument;
use pathmeter_report::format::rfc2544::DeviceDocument;
use pathmeter_report::plot::png;
use roxmltree::{Document as Xml, Node};

/// Draws each, holds what must hold of it, and names those whose picture has no figures.
fn drawn<'a>(documents: impl IntoIterator<Item = (&'a str, &'a dyn Document)>) -> Vec<&'a str> {
    let mut without = Vec::new();
    for (name, document) in documents {
        let figure = picture(&[document], "pathmeter measure 192.0.2.2 --chart chart.svg");
        let (drawing, svg) = (figure.drawing(), figure.svg());
        if svg.contains(">no figures to draw<") {
            without.push(name);
        }
        let dir = std::env::var_os("CHARTS_TO").map(std::path::PathBuf::from);
        // Small is soon drawn.
        let picture = png(&drawing, if dir.is_some() { 1.5 } else { 0.25 }).expect(name);
        if let Some(dir) = dir {
            std::fs::write(dir.join(format!("{name}.png")), &picture).expect("write the picture");
        }
        assert!(svg.contains("pathmeter measure 192.0.2.2"), "{name}: the command is below it");
        assert!(svg.contains("prefers-color-scheme: dark"), "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{name}");
        in_frame(name, &Xml::parse(&svg).expect(name));
    }
    without
}

/// Nothing is drawn outside the picture: what the numbers say, the text's width being about what it is.
fn in_frame(name: &str, xml: &Xml<'_>) {
    let number =
        |node: &Node<'_, '_>, key: &str| node.attribute(key).and_then(|text| text.parse::<f64>().ok());
    let root = xml.root_element();
    let side = |key| number(&root, key).expect("the picture has a size");
    let (width, height) = (side("width"), side("height"));
    for node in xml.descendants().filter(|node| node.is_element() && node.attribute("transform").is_none()) {
        let (Some(x), Some(y)) = (number(&node, "x"), number(&node, "y")) else { continue };
        assert!((0.0..=width).contains(&x) && (0.0..=height).contains(&y), "{name}: {node:?}");
        let text = node.text().filter(|_| node.has_tag_name("text")).unwrap_or_default();
        let room = text.chars().count() as f64 * number(&node, "font-size").unwrap_or_default() * 0.5;
        let from = match node.attribute("text-anchor") {
            Some("end") => x - room,
            Some("middle") => x - room / 2.0,
            _ => x,
        };
        assert!(from > -1.0 && from + room < width + 1.0, "{name}: {text}");
    }
}

#[test]
fn every_run_with_figures_has_a_picture() {
    let all = super::all();
    let documents: Vec<_> = all.iter().map(|(name, run)| (*name, RunDocument::from_run(run))).collect();
    let without = drawn(documents.iter().map(|(name, document)| (*name, document as &dyn Document)));
    insta::assert_snapshot!(without.join("\n"));
}

#[test]
fn every_device_and_lab_has_a_picture() {
    let devices = rfc2544::all();
    let devices: Vec<_> =
        devices.iter().map(|(name, report)| (*name, DeviceDocument::from_report(report))).collect();
    assert_eq!(drawn(devices.iter().map(|(name, one)| (*name, one as &dyn Document))), [""; 0]);
    let labs = labs::all();
    assert_eq!(drawn(labs.iter().map(|(name, one)| (*name, one as &dyn Document))), [""; 0]);
}

#[test]
fn transfers_and_hops_have_figures() {
    for (name, run) in super::all() {
        let has_rows = run.summary.transfer.iter().flat_map(|result| &result.rows).any(|row| row.count > 0);
        let has_hops = run.summary.hops.as_ref().is_some_and(|found| !found.hops.is_empty());
        let svg = picture(&[&RunDocument::from_run(&run)], "").svg();
        for title in ["Each transfer", "Where the time goes"] {
            assert!(!has_rows || svg.contains(&format!(">{title}<")), "{name}: {title}");
        }
        assert!(!has_hops || svg.contains(">Packets lost on the path, by hop<"), "{name}");
    }
}

#[test]
fn a_void_result_is_marked_across_the_picture() {
    let (_, mut run) = runs::all().swap_remove(0);
    let marked = |run: &model::run::Run| picture(&[&RunDocument::from_run(run)], "").svg().contains(">VOID<");
    assert!(!marked(&run));
    run.verdict.status = model::finding::Status::Void;
    assert!(marked(&run));
    let document = RunDocument::from_run(&run);
    drawn([("void", &document as &dyn Document)]);
}

#[test]
fn what_is_no_screen_shows_the_light_colours() {
    let (_, run) = runs::all().swap_remove(0);
    let figure = picture(&[&RunDocument::from_run(&run)], "");
    let svg = figure.svg();
    let light = svg.replace("<style>", "<desc>").replace("</style>", "</desc>");
    assert_ne!(svg, light);
    assert_eq!(light.matches("#17191c").count(), 2, "the dark colours stand in the style alone");
    assert_eq!(figure.drawing().svg().matches("#17191c").count(), 0);
}

#[test]
fn a_footer_says_once_what_was_done() {
    for (name, run) in super::all() {
        let text = RunDocument::from_run(&run).provenance();
        let done = text.split_once(": ").map_or(text.as_str(), |(_, done)| done);
        let beginning: String = done.chars().take(20).collect();
        assert_eq!(text.matches(&beginning).count(), 1, "{name}: {text}");
    }
}

//! Every document's picture: drawn, in its frame, and not empty. `CHARTS_TO=DIR` writes them there to be looked at.

use super::{labs, rfc2544, runs};
use model::hops::{Hop, Missing};
use model::units::Nanos;
use pathmeter_report::document::{Document, picture};
use pathmeter_report::format::{RunDocument, Style, by_name, render};
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
    assert_eq!(drawn(devices.iter().map(|(name, one)| (*name, one as &dyn Document))), [""; 0]);
    let labs = labs::all();
    assert_eq!(drawn(labs.iter().map(|(name, one)| (*name, one as &dyn Document))), [""; 0]);
}

#[test]
fn transfers_and_hops_have_figures() {
    for (name, run) in super::all() {
        let has_rows = run.summary.transfer.iter().flat_map(|result| &result.rows).any(|row| row.count > 0);
        let has_lost = |hops: &[Hop]| hops.iter().any(|hop| hop.missing == Missing::Loss);
        let has_losses = run.summary.hops.as_ref().is_some_and(|found| {
            has_lost(&found.hops) || found.back.as_ref().is_some_and(|back| has_lost(&back.hops))
        });
        let svg = picture(&[&RunDocument::from_run(&run)], "").svg();
        for title in ["Each transfer", "Where the time goes"] {
            assert!(!has_rows || svg.contains(&format!(">{title}<")), "{name}: {title}");
        }
        assert_eq!(has_losses, svg.contains(">Packets lost on the path, by hop<"), "{name}");
    }
}

/// A page that is sent has round trips over time, as the page of the server draws them.
#[test]
fn round_trips_are_drawn_over_time() {
    let page = |run: &model::run::Run| {
        by_name("html")
            .map(|html| render(&RunDocument::from_run(run), html, &Style::default()))
            .expect("it is there")
    };
    let named =
        |name: &str| super::latency::all().into_iter().find(|(own, _)| *own == name).expect("it is there").1;
    let mut run = named("latency_lan");
    let html = page(&run);
    let drawn =
        html.split("<figure>").find(|part| part.contains(">Round trips over time<")).expect("it is drawn");
    for part in [">Round trip, µs<", ">median<", ">p99<", ">Seconds<"] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    assert!(!drawn.contains("each point stands"), "every interval is a point");
    // Many intervals become as many points as can be distinguished, and the chart names their number.
    let first = run.latency_intervals[0].clone();
    run.latency_intervals = (0..1_000)
        .map(|number| {
            let mut sample = first.clone();
            (sample.start, sample.end) =
                (Nanos::from_millis(10 * number), Nanos::from_millis(10 * (number + 1)));
            sample
        })
        .collect();
    let html = page(&run);
    let drawn = html.split("<figure>").find(|part| part.contains(">Round trips over time<"));
    assert!(html.contains("each point stands for 9 intervals"), "{drawn:?}");
    run.latency_intervals.truncate(1);
    assert!(!page(&run).contains("Round trips over time"), "one point is no line");
    // Beside a load each phase has a line, and the goodput stands beside it.
    let html = page(&named("latency_loaded"));
    let drawn =
        html.split("<figure>").find(|part| part.contains(">Round trips over time<")).expect("it is drawn");
    for part in [">idle<", ">load up<", ">load down<", "Goodput of the load, "] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
}

/// The latency of every frame size is drawn where the report's own chart has the first and the last alone.
#[test]
fn the_latency_of_every_frame_size_is_drawn() {
    for (name, report) in rfc2544::all() {
        let html = by_name("html").map(|html| render(&report, html, &Style::default())).expect("it is there");
        let rows = |device: &model::dut::DeviceReport| {
            device.rows.iter().filter(|row| !row.latency.is_empty()).count()
        };
        let many: Vec<usize> = report.devices.iter().map(rows).filter(|rows| *rows > 2).collect();
        assert_eq!(html.matches(">Latency over load, each frame size<").count(), many.len(), "{name}");
        let drawn = html.split("<figure>").find(|part| part.contains(">Latency over load, each frame size<"));
        if let (Some(drawn), Some(rows)) = (drawn, many.first()) {
            assert_eq!(drawn.matches(">Latency of ").count(), *rows, "{name}");
        }
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
fn a_footer_states_once_what_was_done() {
    for (name, run) in super::all() {
        let text = RunDocument::from_run(&run).provenance();
        let done = text.split_once(": ").map_or(text.as_str(), |(_, done)| done);
        let beginning: String = done.chars().take(20).collect();
        assert_eq!(text.matches(&beginning).count(), 1, "{name}: {text}");
    }
}

//! The formats that are read by other programs' rules, HTML and JUnit: well-formed whatever the documents hold.

use super::{labs, latency, rfc2544, runs, written};
use model::dut::DutReport;
use model::finding::Status;
use model::lab::LabReport;
use model::run::Run;
use pathmeter_report::document::Document;
use pathmeter_report::expect::{Checked, DeviceExpectation, Expectation};
use pathmeter_report::format::{Format, RunDocument, Style, by_name};
use roxmltree::{Document as Tree, ParsingOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Pages are long, and made of the same parts: of these runs they are kept.
const KEPT: [&str; 8] = [
    "tcp_up",
    "udp_down",
    "measure",
    "latency_lan",
    "latency_five_paths",
    "mtu_black_hole",
    "frames_sweep",
    "transfer_mtu",
];

/// Whether there is a snapshot of this run in this format.
pub(super) fn is_kept(format: &Format, run: &str) -> bool {
    !matches!(format.name, "html" | "junit") || KEPT.contains(&run)
}

/// A page without its style, which is the same in all: what is kept changes with the page's own parts alone.
pub(super) fn without_style(page: &str) -> String {
    match (page.split_once("<style>"), page.split_once("</style>")) {
        (Some((head, _)), Some((_, body))) => format!("{head}<style>…</style>{body}"),
        _ => page.to_owned(),
    }
}

/// Holds a page well-formed, and looks at it.
fn parsed<T>(text: &str, look: impl FnOnce(&Tree<'_>) -> T) -> T {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let tree = Tree::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    look(&tree)
}

/// Texts of the elements of this name.
fn texts(tree: &Tree<'_>, name: &str) -> Vec<String> {
    let named = tree.descendants().filter(|node| node.tag_name().name() == name);
    let text = |node: roxmltree::Node<'_, '_>| {
        node.descendants().filter(roxmltree::Node::is_text).filter_map(|text| text.text()).collect()
    };
    named.map(text).collect()
}

#[test]
fn pages_of_reports() {
    for (name, report) in labs::all() {
        insta::assert_snapshot!(format!("{name}.html"), without_style(&written(&report, "html")));
        insta::assert_snapshot!(format!("{name}.junit"), written(&report, "junit"));
    }
    for (name, report) in rfc2544::all() {
        insta::assert_snapshot!(format!("{name}.html"), without_style(&written(&report, "html")));
        insta::assert_snapshot!(format!("{name}.junit"), written(&report, "junit"));
    }
}

#[test]
fn every_page_is_well_formed_and_has_the_verdict_first() {
    for (name, run) in super::all() {
        let page = written(&RunDocument::from_run(&run), "html");
        // What stands between backticks is code, in the page without them.
        let bare = |text: &str| text.replace('`', "");
        parsed(&page, |tree| {
            let paragraphs = texts(tree, "p");
            assert!(paragraphs[0].contains(&bare(&run.verdict.text)), "{name}: {paragraphs:?}");
            assert!(tree.descendants().all(|node| node.tag_name().name() != "script"), "{name}");
            for finding in &run.findings {
                let found = texts(tree, "li").into_iter().find(|text| text.contains(&bare(&finding.title)));
                assert!(
                    found.is_some_and(|text| text.contains(&bare(&finding.advice))),
                    "{name}: {finding:?}"
                );
            }
        });
        assert!(!page.contains("http://") || page.matches("http://").count() == namespaces(&page), "{name}");
        parsed(&written(&RunDocument::from_run(&run), "junit"), |tree| check_counts(tree, name));
    }
}

/// Names of XML's vocabularies look like addresses, and those of a run's files are ones; nothing else may.
fn namespaces(page: &str) -> usize {
    page.matches("http://www.w3.org/").count() + page.matches("<code>http://").count()
}

fn check_counts(tree: &Tree<'_>, name: &str) {
    let root = tree.root_element();
    for suite in root.children().filter(|node| node.has_tag_name("testsuite")) {
        let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
        let with = |kind: &str| {
            cases
                .iter()
                .filter(|case| case.children().any(|node| node.has_tag_name(kind)))
                .count()
                .to_string()
        };
        let attribute_of = |attribute| suite.attribute(attribute).expect(attribute).to_owned();
        assert_eq!(attribute_of("tests"), cases.len().to_string(), "{name}");
        for (attribute, kind) in [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")] {
            assert_eq!(attribute_of(attribute), with(kind), "{name}");
        }
        assert!(!cases.is_empty() && cases.iter().all(|case| case.attribute("name").is_some()), "{name}");
    }
}

#[test]
fn charts_are_drawn_in_the_page() {
    let mut drawn: Vec<(&str, bool)> = Vec::new();
    for (name, run) in super::all() {
        drawn.push((name, written(&RunDocument::from_run(&run), "html").contains("<figure><svg ")));
    }
    let is_drawn = |name| drawn.iter().find(|(of, _)| *of == name).unwrap().1;
    for name in
        ["tcp_up", "udp_down", "measure", "latency_lan", "latency_five_paths", "frames_sweep", "transfer_mtu"]
    {
        assert!(is_drawn(name), "{name}");
    }
    assert!(!is_drawn("failed"), "there is nothing to draw");
    assert!(written(&labs::all()[0].1, "html").contains("<figure><svg "));
    assert!(written(&rfc2544::all()[0].1, "html").contains("<figure><svg "));
}

/// Words of peers, of files and of users stay words.
#[test]
fn text_of_others_stays_text_in_the_page() {
    for (name, run) in super::all() {
        let mut run: Run = spoiled(&run);
        run.verdict.text.push_str(HOSTILE);
        (run.kind, run.id) = (HOSTILE.into(), HOSTILE.into());
        hold_harmless(&RunDocument::from_run(&run), name);
    }
    for (name, report) in labs::all() {
        let report: LabReport = spoiled(&report);
        hold_harmless(&report, name);
    }
    for (name, report) in rfc2544::all() {
        let mut report: DutReport = spoiled(&report);
        let checked = Checked { expectation: HOSTILE.into(), measured: Some(HOSTILE.into()), held: false };
        report.expectations = vec![checked];
        hold_harmless(&report, name);
    }
}

fn hold_harmless(document: &dyn Document, name: &str) {
    for format in ["html", "junit"] {
        let page = written(document, format);
        assert!(page.contains("&lt;script&gt;"), "{format} of {name}");
        let refused = ["<script", "\u{1b}", "\u{202e}", "\u{0}"];
        assert!(refused.iter().all(|text| !page.contains(text)), "{format} of {name}");
        parsed(&page, |tree| {
            let odd = tree.descendants().find(|node| node.attributes().any(|one| one.name() == "onload"));
            assert!(odd.is_none(), "{format} of {name}");
        });
    }
}

const HOSTILE: &str = "<script>alert('x')</script>\" onload=\"y`&amp;]]>\u{1b}[31m\u{202e}\u{0}";

/// The same document with hostile words wherever words of others can stand.
fn spoiled<T: Serialize + DeserializeOwned>(document: &T) -> T {
    let mut value = serde_json::to_value(document).expect("a document is JSON");
    spoil(&mut value, HOSTILE);
    serde_json::from_value(value).expect("only words are others")
}

fn spoil(value: &mut serde_json::Value, with: &str) {
    use serde_json::Value;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, with)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let remarks =
                    ["name", "label", "title", "advice", "text", "version", "kernel", "cpu", "why", "reason"];
                let is_word = remarks.contains(&key.as_str()) || (key == "host" && value.is_string());
                match value {
                    Value::String(text) if is_word => text.push_str(with),
                    other => spoil(other, with),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn expectations_are_test_cases() {
    let mut run = runs::tcp_up();
    let expected = ["up.goodput>=1Gbit/s", "up.goodput>=99Gbit/s", "down.goodput>=1bit/s"];
    run.hold_against(expected.map(|text| text.parse::<Expectation>().expect(text).check(&run)).into());
    let document = RunDocument::from_run(&run);
    insta::assert_snapshot!("expected.markdown", written(&document, "markdown"));
    let text = written(&document, "text");
    insta::assert_snapshot!("expected.text", text);
    let read: Run = serde_json::from_str(&written(&document, "json")).unwrap();
    assert_eq!(read.expectations, run.expectations);
    insta::assert_snapshot!("expected.junit", written(&document, "junit"));
    let page = written(&document, "html");
    parsed(&page, |tree| {
        let cells = texts(tree, "td");
        assert!(cells.iter().any(|cell| cell == "up.goodput>=99Gbit/s"), "{cells:?}");
        assert!(cells.iter().any(|cell| cell == "broken") && cells.iter().any(|cell| cell == "held"));
    });
    let (_, mut report) = rfc2544::all().swap_remove(1);
    let expectation: DeviceExpectation = "throughput>=99Gpps".parse().unwrap();
    report.expectations = vec![expectation.check(&report)];
    let suite = written(&report, "junit");
    parsed(&suite, |tree| {
        assert_eq!(tree.root_element().attribute("failures"), Some("1"), "{suite}");
        check_counts(tree, "rfc2544");
    });
}

#[test]
fn a_void_result_is_an_error_and_a_broken_expectation_of_a_lab_a_failure() {
    let mut run = runs::tcp_up();
    run.verdict.status = Status::Void;
    let suite = written(&RunDocument::from_run(&run), "junit");
    parsed(&suite, |tree| assert_eq!(tree.root_element().attribute("errors"), Some("1"), "{suite}"));
    let (_, report) = labs::all().swap_remove(1);
    let suite = written(&report, "junit");
    parsed(&suite, |tree| {
        check_counts(tree, "lab");
        let attribute_of = |name| tree.root_element().attribute(name).map(str::to_owned);
        assert_eq!(
            (attribute_of("tests"), attribute_of("failures"), attribute_of("skipped")),
            (Some("4".into()), Some("1".into()), Some("1".into()))
        );
    });
}

#[test]
fn several_documents_are_one_page_and_one_file_of_suites() {
    let (one, other) = (runs::tcp_up(), latency::all().swap_remove(0).1);
    let (one, other) = (RunDocument::from_run(&one), RunDocument::from_run(&other));
    let documents: [&dyn Document; 2] = [&one, &other];
    let page_in = |format: &str| (by_name(format).unwrap().render)(&documents, &Style::default());
    parsed(&page_in("html"), |tree| assert_eq!(texts(tree, "article").len(), 2));
    parsed(&page_in("junit"), |tree| assert_eq!(texts(tree, "testsuite").len(), 2));
}

//! A document of every kind of block, in every format: how a block looks does not depend on whose it is.

use super::{pages, written};
use model::finding::{Finding, Severity, Status};
use model::plan::Direction;
use model::time::WallTime;
use pathmeter_report::document::{
    Block, Chart, Column, Conclusion, Csv, Document, Expectation, Head, Item, Judgement, Table,
};
use pathmeter_report::format::FORMATS;
use pathmeter_report::plot::{Bar, BarChart, BarPanel, BarRow};
use serde_json::{Value, json};

struct Everything;

impl Document for Everything {
    fn head(&self) -> Head {
        let (started, finished) =
            (Some(WallTime(1_790_000_000_000_000_000)), Some(WallTime(1_790_000_001_500_000_000)));
        Head { kind: "everything".into(), title: "All of `it`".into(), depth: 2, started, finished }
    }

    fn blocks(&self) -> Vec<Block> {
        let columns = vec![Column::left("what"), Column::right("how|many")];
        let rows = vec![vec!["a".into(), "1".into()], vec!["<b>".into(), "1 000".into()]];
        let table = Table::new(columns, rows).with_notes(vec!["Below * it.".into()]);
        let finding = Finding::new("some-id", Severity::Warning, Direction::Up, "It is slow".into())
            .with("share", 0.123_456)
            .advise("Use `-w 8M`.");
        vec![
            Block::Sentences(vec!["One sentence.".into(), "Another one.".into()]),
            Block::list(["what goes on with them".to_owned()]),
            Block::Heading("A part".into()),
            Block::Paragraph("Running text.".into()),
            Block::facts([("name", "value".to_owned()), ("another", "one".to_owned())]),
            Block::Table(Table { title: "Within the part".into(), ..table.clone() }),
            Block::list(["behind a table".to_owned()]),
            Block::Table(Table { title: "Beside it".into(), apart: true, ..table }),
            Block::Chart(Chart::Bars(bars())),
            Block::List(vec![Item { line: "run 1: it is slow".into(), finding: Some(finding.clone()) }]),
            Block::Preformatted("a --- b\n".into()),
            Block::Findings(vec![finding]),
            Block::Paragraph(String::new()),
            Block::Conclusion(Conclusion {
                answer: String::new(),
                of: "a device".into(),
                status: Status::Degraded,
                text: "It works, but slowly.".into(),
            }),
            Block::Details("Behind it".into(), vec![Block::Paragraph("For those who look for it.".into())]),
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let expectation = |what: &str, judgement| Expectation {
            of: "a device".into(),
            what: what.into(),
            expected: "1".into(),
            found: "2".into(),
            judgement,
        };
        let judgements = [("one", Judgement::Held), ("other", Judgement::Broken), ("third", Judgement::Open)];
        judgements.map(|(what, judgement)| expectation(what, judgement)).into()
    }

    fn csv(&self) -> Csv {
        Csv::new(["value", "words"], [["1,5", "It is slow."].map(String::from)])
    }

    fn value(&self) -> Value {
        json!(["everything"])
    }
}

fn bars() -> BarChart {
    let bar = Bar { value: 2.0, whisker: Some([1.0, 3.0]), mark: Some(4.0) };
    let row = BarRow { name: "a".into(), bars: vec![Some(bar)], missing: String::new() };
    BarChart {
        title: "Bars".into(),
        series: vec!["one".into()],
        panels: vec![BarPanel { title: "Panel".into(), rows: vec![row] }],
        ..BarChart::default()
    }
}

#[test]
fn every_block_in_every_format() {
    for format in FORMATS {
        let text = written(&Everything, format.name);
        insta::assert_snapshot!(format!("everything.{}", format.name), pages::without_style(&text));
    }
}

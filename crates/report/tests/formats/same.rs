//! One result in every format: each number is the one of the table of figures, whatever shows it.

use super::{all, written};
use insight::figure::{Figure, Key, Level, run_figures, table_figures};
use model::plan::{Direction, Transport};
use model::run::Run;
use pathmeter_report::document::Block;
use pathmeter_report::document::Document;
use pathmeter_report::format::{RunDocument, Style, by_name, render};
use serde_json::Value;
use std::collections::BTreeMap;

const DIRECTIONS: [Direction; 2] = Direction::BOTH;

/// The runs that it is about: of each transport, in one direction and in both, and of several tests.
fn runs() -> impl Iterator<Item = (&'static str, Run)> {
    let names = ["tcp_up", "udp_down", "bidir", "measure"];
    all().into_iter().filter(move |(name, _)| names.contains(name))
}

/// Every figure of streams that a table can show, as the table of figures has it.
fn values(run: &Run) -> Vec<(Transport, Direction, &'static Figure, f64)> {
    let named = |figure: &'static Figure| {
        [Transport::Tcp, Transport::Udp].into_iter().flat_map(move |transport| {
            let directions =
                DIRECTIONS.into_iter().filter(move |_| figure.transport.is_none_or(|only| only == transport));
            directions.filter_map(move |direction| {
                let name = format!("{}.{direction}.{}", transport.to_string().to_lowercase(), figure.name);
                let value = Key::named(&name).expect("a public name").measured(run)?;
                Some((transport, direction, figure, value))
            })
        })
    };
    table_figures().flat_map(named).collect()
}

/// A table as rows of a name and cells. The transport of a row is that of the last row which begins with one.
type Rows = Vec<(String, Vec<String>)>;

/// Columns of text are two spaces apart at least, and a head has nothing at the left.
fn rows_of_text(text: &str) -> Rows {
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with("  ")).map(cells);
    rows.filter(|row| row.len() > 1).map(|row| (row[0].clone(), row[1..].to_vec())).collect()
}

fn rows_of_markdown(text: &str) -> Rows {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.map(|row| (row[0].trim_start_matches("– ").to_owned(), row[1..].to_vec())).collect()
}

fn rows_of_html(text: &str) -> Rows {
    let cell = |cell: &str| {
        let inner = cell.split_once('>').map_or("", |(_, inner)| inner);
        inner.split("</").next().unwrap_or_default().replace("&lt;", "<")
    };
    let row = |row: &str| -> Vec<String> {
        let row = row.split("</tr>").next().unwrap_or_default().replace("<th scope=\"row\"", "<td");
        row.split("<td").skip(1).map(cell).collect()
    };
    let rows = text.split("<tr>").skip(1).map(row).filter(|row| row.len() > 1);
    rows.map(|row| (row[0].trim_start_matches("– ").to_owned(), row[1..].to_vec())).collect()
}

/// The block that the page gets as JSON.
fn rows_of_page(run: &Run) -> Rows {
    let tables = RunDocument::from_run(run).blocks().into_iter().filter_map(|block| match block {
        Block::Figures(table) => Some(table.plain()),
        _ => None,
    });
    let rows = tables.flat_map(|table| table.rows);
    rows.map(|row| (row[0].trim_start_matches("– ").to_owned(), row[1..].to_vec())).collect()
}

/// Holds a table against the values: what is shown is one of them, and what the format shows of them is there.
fn hold(what: &str, run: &Run, rows: &Rows, shows: impl Fn(Level) -> bool) {
    let (shown, visible) = counted(what, run, rows, shows);
    assert_eq!(shown, visible, "{what}: as many as the table has: {rows:#?}");
}

/// The values that a table shows, each of which must be right, and those that there are.
fn counted(what: &str, run: &Run, rows: &Rows, shows: impl Fn(Level) -> bool) -> (usize, usize) {
    let values = values(run);
    let of_run = |direction: &&Direction| values.iter().any(|(_, of, ..)| of == *direction);
    let columns: Vec<Direction> = DIRECTIONS.iter().filter(of_run).copied().collect();
    let mut shown = 0;
    let mut transport = None;
    for (name, cells) in rows {
        let head = [Transport::Tcp, Transport::Udp].into_iter().find(|one| {
            let rest = name.strip_prefix(&one.to_string());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        });
        transport = head.or(transport);
        let figure = match head {
            Some(_) => table_figures().find(|figure| figure.name == "goodput"),
            None => table_figures().find(|figure| figure.label == name),
        };
        let (Some(figure), Some(transport)) = (figure, transport) else { continue };
        for (direction, cell) in columns.iter().zip(cells) {
            let known = values.iter().find(|(of, one_way, other, _)| {
                *of == transport && one_way == direction && std::ptr::eq(*other, figure)
            });
            let text = known.map_or("-".into(), |(.., value)| figure.quantity.print(*value));
            // Zero is left out of rows of what is odd, and the clock resolves no shorter jitter.
            let may_be = [("-", Level::AboveZero), ("< 1 µs", Level::OneTest)];
            let is_left_out = may_be.iter().any(|(other, level)| cell == other && figure.level == *level);
            assert!(
                *cell == text || is_left_out,
                "{what}: {name} {direction} is {cell}, the table has {text}"
            );
            shown += usize::from(*cell == text && known.is_some());
        }
    }
    let is_hidden = |figure: &Figure, value: f64| match figure.level {
        Level::AboveZero => value == 0.0,
        _ => figure.name == "jitter" && value < 1e3,
    };
    let visible =
        values.iter().filter(|(.., figure, value)| shows(figure.level) && !is_hidden(figure, *value)).count();
    (shown, visible)
}

#[test]
fn every_table_has_the_values_of_the_table_of_figures() {
    for (name, run) in runs() {
        let single = run.tests.is_empty();
        let in_brief =
            |level| matches!(level, Level::Table | Level::AboveZero) || (single && level == Level::OneTest);
        let in_whole = |level| {
            matches!(level, Level::Table | Level::AboveZero | Level::OneTest)
                || (single && level == Level::Detail)
        };
        let document = RunDocument::from_run(&run);
        let text = |detail| {
            let style = Style { detail, width: 200, ..Style::default() };
            let text = render(&document, by_name("text").expect("text"), &style);
            // Further tables follow, of streams and intervals.
            (rows_of_text(text.split("\n\n").nth(1).expect("a table")), text.lines().count())
        };
        let (rows, lines) = text(false);
        let (shown, visible) = counted(&format!("text of {name}"), &run, &rows, in_brief);
        // Spare rows are left out where the screen is full.
        assert!(shown == visible || shown > 0 && lines == 20, "text of {name}: {rows:#?}");
        hold(&format!("-v of {name}"), &run, &text(true).0, in_whole);
        hold(
            &format!("Markdown of {name}"),
            &run,
            &rows_of_markdown(&written(&document, "markdown")),
            in_whole,
        );
        hold(&format!("HTML of {name}"), &run, &rows_of_html(&written(&document, "html")), in_whole);
        hold(&format!("page of {name}"), &run, &rows_of_page(&run), in_whole);
    }
}

/// The figures of JSON, wide CSV and Prometheus by their names, and the rows of directions in CSV by their columns.
#[test]
fn every_format_for_programs_has_the_values_of_the_table_of_figures() {
    for (name, run) in runs() {
        let document = RunDocument::from_run(&run);
        let json: Value = serde_json::from_str(&written(&document, "json")).expect("JSON");
        let figures = json["figures"].as_object().expect("figures");
        for (key, value) in figures {
            let key = Key::named(key).unwrap_or_else(|| panic!("{name}: {key}"));
            let base = key.figure.quantity.base_unit().1;
            let measured = key.measured(&run).expect("what is not known is absent");
            if key.figure.quantity.is_word() {
                assert_eq!(*value, key.figure.quantity.print(measured), "JSON of {name}: {key}");
                continue;
            }
            let measured = measured / base;
            let shown = value.as_f64().expect("a number");
            // What reads JSON here may be off by the last bit.
            assert!((shown - measured).abs() <= measured.abs() * 1e-15, "JSON of {name}: {key} is {shown}");
        }
        for (transport, direction, figure, _) in values(&run) {
            for key in [
                format!("{direction}.{}", figure.name),
                format!("{}.{direction}.{}", transport.to_string().to_lowercase(), figure.name),
            ] {
                assert!(figures.contains_key(&key), "JSON of {name} lacks {key}");
            }
        }
        wide(name, &run, &written(&document, "wide"));
        prometheus(name, &run, &written(&document, "prometheus"));
        csv(name, &run, &written(&document, "csv"));
    }
}

fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().expect("a head").clone();
    let fields = |record: csv::StringRecord| {
        columns.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
    };
    reader.records().map(|record| fields(record.expect("a row"))).collect()
}

fn wide(name: &str, run: &Run, text: &str) {
    let [row]: [BTreeMap<String, String>; 1] = records(text).try_into().expect("one run");
    let mut held = 0;
    for key in Key::listed(run).iter().filter(|key| !key.figure.quantity.is_word()) {
        let shown = row.get(&key.to_string()).filter(|text| !text.is_empty());
        let shown = shown.map(|text| text.parse::<f64>().expect("a number"));
        assert_eq!(shown, key.measured(run), "wide of {name}: {key}");
        held += usize::from(shown.is_some());
    }
    assert!(held >= 2, "{row:#?}");
}

fn prometheus(name: &str, run: &Run, text: &str) {
    let mut held = 0;
    for key in Key::listed(run).iter().filter(|key| !key.figure.quantity.is_word()) {
        let Some(value) = key.measured(run) else { continue };
        let (unit, base) = key.figure.quantity.base_unit();
        let family = key.figure.name.replace('.', "_");
        let is_of = |line: &&str| {
            let transport =
                key.transport.map(|one| format!("transport=\"{}\"", one.to_string().to_lowercase()));
            let direction = key.direction.map(|one| format!("direction=\"{one}\""));
            let labels = [transport, direction].into_iter().flatten();
            line.starts_with(&format!("pathmeter_{family}{unit}{{"))
                && labels.clone().all(|one| line.contains(&one))
        };
        let line =
            text.lines().find(is_of).unwrap_or_else(|| panic!("Prometheus of {name} lacks {key}:\n{text}"));
        let shown: f64 = line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a value");
        assert_eq!(shown, value / base, "Prometheus of {name}: {key}");
        held += 1;
    }
    assert!(held >= 2, "{text}");
}

fn csv(name: &str, run: &Run, text: &str) {
    let named: BTreeMap<&str, &str> = BTreeMap::from([
        ("goodput", "bits_per_second"),
        ("wire", "wire_bps"),
        ("bytes", "bytes"),
        ("loss", "loss_share"),
        ("jitter", "jitter_ns"),
        ("loaded_rtt", "rtt_ns"),
        ("reordered", "reordered"),
        ("duplicates", "duplicates"),
        ("late", "late"),
        ("ecn_marks", "ecn_marks"),
        ("retransmits", "retransmits"),
    ]);
    let mut held = 0;
    for row in records(text).iter().filter(|row| row["row"] == "summary") {
        for (transport, direction, figure, value) in values(run) {
            let is_of = row["direction"] == direction.to_string()
                && row["transport"].eq_ignore_ascii_case(&transport.to_string());
            let Some(column) = named.get(figure.name).filter(|_| is_of) else { continue };
            assert_eq!(row[*column].parse(), Ok(value), "CSV of {name}: {column} {direction}");
            held += 1;
        }
    }
    let wanted = values(run).iter().filter(|(_, _, figure, _)| named.contains_key(figure.name)).count();
    assert_eq!(held, wanted, "CSV of {name}");
}

/// Two labels of one transport could be taken for each other.
#[test]
fn every_row_of_a_table_has_a_label_of_its_own() {
    for figure in table_figures() {
        let same = table_figures().filter(|other| {
            other.label == figure.label
                && (other.transport.is_none()
                    || figure.transport.is_none()
                    || other.transport == figure.transport)
        });
        assert_eq!(same.count(), 1, "{}", figure.label);
    }
    assert!(run_figures().count() > table_figures().count());
}

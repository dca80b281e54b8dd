//! Marks and texts that programs put around the lines of an output: the figures stay those of the bare output.

use super::{fixture, only};
use pathmeter_report::import::{Imported, Tool};
use serde_json::json;

/// The measured figures, without the place in the file and without the times of heads of lines.
fn figures(imported: &Imported) -> serde_json::Value {
    let mut document = serde_json::to_value(&imported.run.summary).expect("a document");
    document["warnings"] = json!([]);
    document
}

fn output() -> String {
    fixture("cases/iperf3-bytes.txt")
}

/// The lines of the output, each put into another by its number.
fn each(line: impl Fn(usize, &str) -> String) -> String {
    output().lines().enumerate().map(|(number, text)| line(number, text) + "\n").collect()
}

#[track_caller]
fn is_read(what: &str, text: &str) {
    let imported = only(text);
    assert_eq!(figures(&imported), figures(&only(&output())), "{what}");
}

#[test]
fn marks_around_each_line() {
    is_read(
        "logfmt",
        &each(|n, line| format!("time=\"2026-11-25T10:00:{n:02}Z\" level=info msg=\"{line}\"")),
    );
    is_read("CSV", &each(|n, line| format!("\"2026-11-25T10:00:{n:02}Z\",\"host-a\",\"{line}\"")));
    is_read(
        "a table",
        &format!("| run | output |\n|---|---|\n{}", each(|_, line| format!("| 1 | `{line}` |"))),
    );
    is_read("a box", &each(|_, line| format!("│ {line:<90} │")));
}

/// The time of a head in quotation marks is that of the line.
#[test]
fn times_in_quotation_marks() {
    let text = each(|n, line| format!("time=\"2026-11-25T10:00:{n:02}Z\" level=info msg=\"{line}\""));
    let started = only(&text).run.started.map(|time| time.to_string());
    assert_eq!(started.as_deref(), Some("2026-11-25T10:00:00.000Z"));
}

/// Rust escapes a text as Python and Go do.
#[test]
fn texts_with_escaped_ends_of_lines() {
    let escaped = json!(output()).to_string();
    is_read("logfmt", &format!("time=\"2026-11-25T10:00:00Z\" level=info msg={escaped}\n"));
    is_read("YAML", &format!("results:\n  - name: a\n    output: {escaped}\n"));
    let single = output().replace('\n', "\\n");
    is_read("bytes of Python", &format!("b'{single}'\n"));
    is_read("a string of Python", &format!("stdout: '{single}'\n"));
    is_read("what a process of Python returned", &format!("(b'{single}', b'')\n"));
    let lines: Vec<String> = output().lines().map(|line| format!("'{line}'")).collect();
    is_read("a list of Python", &format!("[{}]\n", lines.join(", ")));
}

#[test]
fn a_dictionary_of_python_is_a_document() {
    let document = fixture("cases/mss-1460.json");
    let value: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let python = value.to_string().replace('"', "'").replace(":true", ": True").replace(":false", ": False");
    let (plain, of_python) = (only(&document), only(&format!("{python}\n")));
    assert_eq!((of_python.tool, figures(&of_python)), (Tool::Iperf3, figures(&plain)));
}

/// `--json-stream-full-output`: the lines, and behind them the document of the same test.
#[test]
fn lines_of_json_and_their_document_are_one_run() {
    let document: serde_json::Value = serde_json::from_str(&fixture("iperf3-3.21-tcp.json")).expect("JSON");
    let line =
        |event: &str, data: &serde_json::Value| json!({"event": event, "data": data}).to_string() + "\n";
    let mut lines = line("start", &document["start"]);
    document["intervals"]
        .as_array()
        .expect("intervals")
        .iter()
        .for_each(|data| lines += &line("interval", data));
    lines += &line("end", &document["end"]);
    let whole = serde_json::to_string_pretty(&document).expect("JSON");
    let expected = figures(&only(&whole));
    assert_eq!(figures(&only(&lines)), expected);
    assert_eq!(figures(&only(&format!("{lines}{whole}\n"))), expected);
}

/// Texts that only look like them are left alone.
#[test]
fn apostrophes_and_brackets_of_other_lines() {
    let around = "it's a test, don't\\n worry\n['unclosed\n{'a': 1, }\n";
    is_read("before and behind", &format!("{around}{}{around}", output()));
}

/// A log from which intervals were cut contradicts no summary, and without one has the rate of those that are there.
#[test]
fn intervals_that_were_left_out() {
    let row = |from: u32| {
        let times = format!("{from}.00-{}.00", from + 10);
        format!("[  5] {times:>13} sec  1.09 GBytes   940 Mbits/sec    0   1.00 MBytes       \n")
    };
    let head = "Connecting to host 192.0.2.1, port 5201\n\
        [  5] local 192.0.2.2 port 40000 connected to 192.0.2.1 port 5201\n\
        [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n";
    let rows: String = [0, 10, 86_380, 86_390].map(row).concat();
    let summary = "- - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bitrate         Retr\n\
        [  5] 0.00-86400.00 sec  9.24 TBytes   940 Mbits/sec    7             sender\n\
        [  5] 0.00-86400.04 sec  9.24 TBytes   940 Mbits/sec                  receiver\n\niperf Done.\n";
    for text in [format!("{head}{rows}{summary}"), format!("{head}{rows}")] {
        let imported = only(&text);
        let up = imported.run.summary.up.as_ref().expect("up");
        super::near(up.goodput.0 as f64, 940e6, 0.006);
        assert!(!super::found(&imported, "contradictory-figures"), "{:?}", imported.run.verdict);
    }
}

#[test]
fn marks_of_pytest_before_each_line_of_a_failure() {
    is_read(
        "pytest",
        &format!("    def test_rate():\n>       assert False\n{}", each(|_, line| format!("E       {line}"))),
    );
}

/// Where a chat, a fence or a log stands before the first line alone, the host of the heading is known all the same.
#[test]
fn words_before_the_first_line_alone() {
    let host = |text: &str| only(text).run.throughput().map(|plan| plan.target.host.clone());
    let (first, rest) = output().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("lines");
    let right = host(&output());
    assert!(right.is_some());
    for head in ["[25.11.2026 10:00] Bob: ", "```", "20261125 10:00:00.123 :  INFO : ", "<system-out>"] {
        let text = format!("{head}{first}\n{rest}");
        is_read(head, &text);
        assert_eq!(host(&text), right, "{head}");
    }
}

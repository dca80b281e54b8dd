//! Bad input and its exit codes: 2 for impossible requests, 3 for unreachable hosts; the text names the object.

use super::{pathmeter, run};
use std::net::TcpListener;
use std::process::{Command, Stdio};

#[test]
fn a_fault_of_ours_is_70() {
    let output = Command::new(env!("CARGO_BIN_EXE_pathmeter"))
        .arg("--version")
        .env("PATHMETER_TEST_FAULT", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{text}");
    assert!(text.contains("internal error: ") && text.contains("please report it"), "{text}");
}

#[test]
fn an_error_is_a_document_in_the_format_of_the_result() {
    for (line, fault, code) in [
        ("throughput h -P 0", "", "usage"),
        ("throughput h --nonsense", "", "usage"),
        ("doctor", "PATHMETER_TEST_FAULT", "internal"),
    ] {
        for format in ["json", "ndjson", "csv"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pathmeter"));
            command.args(line.split(' ')).args(["--format", format]).stdin(Stdio::null());
            if !fault.is_empty() {
                command.env(fault, "1");
            }
            let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
            if format == "csv" {
                assert_eq!(text, "", "{line}");
                continue;
            }
            let document: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(document["error"]["code"], code, "{line}: {text}");
            let is_line = text.lines().count() == 1 && document["event"] == "error";
            assert_eq!(is_line, format == "ndjson", "{line}: {text}");
        }
    }
}

/// Each command that may send it announces it.
#[test]
fn a_dry_run_announces_the_load_that_names_a_limit() {
    for (line, announced) in [
        ("throughput 192.0.2.1", true),
        ("throughput 192.0.2.1 --no-explain", false),
        ("latency 192.0.2.1 --loaded", true),
        ("latency 192.0.2.1", false),
    ] {
        let ended = run(&format!("{line} --dry-run"));
        let is_announced = ended.stderr.starts_with("note: after ");
        assert_eq!((ended.code, is_announced), (Some(0), announced), "{line}: {}", ended.stderr);
    }
}

#[test]
fn an_empty_variable_names_no_store() {
    let scratch = super::Scratch::new("store");
    let output = Command::new(env!("CARGO_BIN_EXE_pathmeter"))
        .arg("history")
        .env("PATHMETER_STORE", "")
        .env("XDG_DATA_HOME", &scratch.0)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("No run is kept here yet"), "{output:?}");
}

#[test]
fn what_cannot_be_asked_is_2() {
    for (line, named) in [
        ("nonsense", "nonsense"),
        ("throughput", "HOST"),
        ("throughput h --nonsense", "--nonsense"),
        ("throughput h -t soon", "soon"),
        ("throughput h -b 10Q", "10Q"),
        ("throughput h -b -1G", "invalid value '-1G' for '--bitrate"),
        ("throughput h --chart no-picture", "neither an .svg nor a .png"),
        ("doctor --chart x.svg", "no figures to draw"),
        ("lab list --chart x.svg", "no figures to draw"),
        ("mesh show --results nosuch.jsonl --chart x.svg", "nosuch.jsonl: No such file"),
        ("throughput h --dscp af99", "af99"),
        ("throughput h --format xml", "xml"),
        ("throughput h --format csv --json", "--json"),
        ("throughput h --reverse --bidir", "--bidir"),
        ("throughput h -t 1 -n 1", "--bytes"),
        ("throughput h -u -M 1400", "--mss"),
        ("throughput h -u -l 70000", "--length 70000"),
        ("throughput h -P 0", "--parallel 0"),
        ("throughput h --dscp ef --tos 1", "--tos"),
        ("throughput h:70000", "70000"),
        ("throughput h -p 0", "0"),
        ("throughput h --tls", "--fingerprint"),
        ("transfer http://127.0.0.1/x http://127.0.0.2/x --capture", "one far host"),
        ("measure h -4 -6", "-6"),
        ("measure 127.0.0.1 -6", "127.0.0.1"),
        ("serve --max-tests 0", "--max-tests"),
        ("serve --bind nowhere", "nowhere"),
        ("linerate", "--link"),
        ("linerate --link 0", "--link"),
        ("linerate --link 25G --encap bogus", "bogus"),
        ("linerate --link 25G --goodput 1G --pps 1M", "--pps"),
        ("completions tcsh", "tcsh"),
    ] {
        let ended = run(line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{line}: {}", ended.stderr);
        assert!(
            ended.stderr.starts_with("error: ") && ended.stderr.contains(named),
            "{line}: {}",
            ended.stderr
        );
    }
}

/// A program that reads JSON finds the reason where the result would stand; people read it where they always did.
#[test]
fn an_error_with_json_is_a_document() {
    let reason = |line: &str| {
        let (json, text) = (run(&format!("{line} --json")), run(line));
        let first = |ended: &super::Ended| ended.stderr.lines().next().unwrap_or_default().to_owned();
        assert_eq!((json.code, first(&json)), (text.code, first(&text)), "{line}");
        let document: serde_json::Value = serde_json::from_str(&json.stdout).expect(line);
        assert_eq!(document.as_object().map(|keys| keys.len()), Some(1), "{line}: {document}");
        let error = &document["error"];
        let word = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        (word("code"), word("text"), word("hint"))
    };
    for (line, code, text, hint) in [
        ("throughput h --nonsense", "usage", "unexpected argument '--nonsense' found", "--help"),
        ("throughput", "usage", "`pathmeter throughput` needs a host", "pathmeter serve"),
        ("throughput h -P 0", "usage", "--parallel 0", "1 to 128 streams"),
        (
            "throughput h --reverse --bidir",
            "usage",
            "--reverse cannot be used with --bidir",
            "drop one of them",
        ),
        ("throughput h --expect down.godput>=1G", "usage", "no figure `down.godput`", ""),
        ("linerate", "usage", "--link", ""),
        ("compare nosuch.json nosuch.json", "usage", "nosuch.json", ""),
        ("import nosuch.json", "usage", "nosuch.json", ""),
        ("plan run nosuch.toml", "usage", "nosuch.toml", ""),
        ("rfc2544 --lab nosuch", "usage", "nosuch", ""),
        ("lab show nosuch", "usage", "nosuch", ""),
    ] {
        let (is_code, is_text, is_hint) = reason(line);
        assert_eq!(is_code, code, "{line}: {is_text}");
        assert!(is_text.contains(text), "{line}: {is_text}");
        assert!(is_hint.contains(hint), "{line}: {is_hint}");
        assert!(!is_text.contains('\n') && !is_text.starts_with("error"), "{line}: {is_text}");
    }
    for command in ["throughput", "measure", "latency", "mtu", "hops", "frames"] {
        let (code, text, _) = reason(&format!("{command} no-such-host.invalid"));
        assert_eq!(code, "unreachable", "{command}");
        assert!(text.contains("no-such-host.invalid"), "{command}: {text}");
    }
}

/// A document of an error needs a format for programs, and a result that cannot be written stands alone.
#[test]
fn no_error_document_beside_another_text() {
    for line in
        ["throughput h -P 0", "throughput h --format csv --json", "throughput h -P 0 --format markdown"]
    {
        assert_eq!(run(line).stdout, "", "{line}");
    }
    let ended = run("linerate --link 25G --json -o /nonexistent/directory/file");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("one document");
    assert!(document["error"].is_object() != document["link_bps"].is_number(), "{document}");
}

#[test]
fn help_is_a_command_too() {
    let (all, one) = (run("help"), run("help measure"));
    assert_eq!((all.code, one.code), (Some(0), Some(0)));
    assert!(
        all.stdout.contains("EXIT CODES") && one.stdout.contains("--quick"),
        "{}{}",
        all.stdout,
        one.stdout
    );
}

#[test]
fn our_refusals_say_the_remedy() {
    let ended = run("throughput h --reverse --bidir");
    let expected = "error: --reverse cannot be used with --bidir: --bidir measures both directions already\n  drop one of them\n";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn what_cannot_be_reached_is_3() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    for command in ["throughput", "measure"] {
        let ended = run(&format!("{command} 127.0.0.1:{port}"));
        assert_eq!(ended.code, Some(3), "{command}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("127.0.0.1:{port}")), "{command}: {}", ended.stderr);
        let ended = run(&format!("{command} no-such-host.invalid"));
        assert_eq!(ended.code, Some(3), "{command}: {}", ended.stderr);
        assert!(ended.stderr.contains("no-such-host.invalid"), "{command}: {}", ended.stderr);
    }
}

#[test]
fn output_that_cannot_be_written_is_2_and_named() {
    for path in ["/dev/full", "/nonexistent/directory/file", "/"] {
        let ended = run(&format!("linerate --link 25G -o {path}"));
        assert_eq!(ended.code, Some(2), "{path}: {}", ended.stderr);
        assert!(ended.stderr.contains(path), "{path}: {}", ended.stderr);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error_too() {
    let lines = ["--help", "-h", "help", "--version", "-V", "throughput --help", "help mtu", "man"];
    let own = lines.map(|line| (line, 2));
    for (line, code) in own.into_iter().chain([("iperf3 -h", 1), ("iperf -v", 1), ("sockperf --help", 1)]) {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is Linux");
        let output = pathmeter(line).stdout(full).stderr(Stdio::piped()).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {text}");
        assert!(text.contains("standard output") && text.contains("No space left"), "{line}: {text}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for line in ["linerate --link 25G", "--help", "-V"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = pathmeter(line).stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    }
}

#[test]
fn no_control_codes_without_a_terminal() {
    for line in ["--help", "linerate --link 25G", "throughput h --nonsense"] {
        let ended = run(line);
        assert!(!(ended.stdout + &ended.stderr).contains('\x1b'), "{line}");
    }
}

#[test]
fn a_full_disk_keeps_the_file_that_was_there() {
    let scratch = super::Scratch::new("full");
    let script = "mount -t tmpfs -o size=16k tmpfs \"$1\" || exit 99\n\
                  printf 'the old one' >\"$1/result\"\n\
                  head -c 99999 /dev/zero >\"$1/rest\" 2>/dev/null\n\
                  \"$2\" linerate --link 25G --format csv -o \"$1/result\"\n\
                  code=$?\n\
                  cat \"$1/result\"\n\
                  exit $code";
    let disk = scratch.0.join("disk");
    std::fs::create_dir(&disk).expect("it is ours");
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(&disk).arg(env!("CARGO_BIN_EXE_pathmeter"));
    let output = command.stdin(Stdio::null()).output().expect("unshare(1), of util-linux");
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(99) || error.starts_with("unshare:") {
        skip::skip(format!("a_full_disk_keeps_the_file_that_was_there: {error}"));
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("No space left"), "{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "the old one");
}

//! The command lines that must run as typed, in both roles, with text as iPerf3 prints it.

use crate::process::{Tool, ToolOutput, free_port};

/// Options after `-c HOST`, with the lines the output must have: the number of rows for intervals, and for the end.
const AS_TYPED: &[(&str, usize)] = &[
    ("-u -b 0 --omit 1 --get-server-output", 1),
    ("-u -b 0 --omit 1 --get-server-output -l 1472", 1),
    ("-b 0 --omit 1 --get-server-output -P 20", 21),
];

#[test]
fn the_command_lines_of_the_issue() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    std::thread::scope(|scope| {
        for (client, server) in
            [(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours), (Tool::Ours, Tool::Ours)]
        {
            scope.spawn(move || {
                AS_TYPED.iter().for_each(|(options, rows)| typed(client, server, options, *rows))
            });
        }
    });
}

fn typed(client: Tool, server: Tool, options: &str, rows: usize) {
    let port = free_port();
    let serving = server.serve(port, "-1");
    let printed = client.run(&format!("-c 127.0.0.1 -p {port} -t 1 {options}")).good();
    let served = serving.wait().good();
    let (own, output) = printed.stdout.split_once("\nServer output:\n").expect("--get-server-output");
    check_rows(&printed, own, rows, ["sender", "receiver"]);
    check_rows(&printed, output, rows, ["receiver", "receiver"]);
    assert!(printed.stdout.ends_with("\niperf Done.\n"), "{printed:#?}");
    let report = output.strip_suffix("\n\niperf Done.\n").expect("checked above").trim_end();
    let report = &report[report.find("Accepted").expect("the client was accepted")..];
    assert!(served.stdout.contains(report), "the report {report}\nis not what was printed: {served:#?}");
}

/// Rows of the omitted time, of the intervals, and of the end.
fn check_rows(output: &ToolOutput, text: &str, rows: usize, ends: [&str; 2]) {
    let count =
        |part: &str| text.lines().filter(|line| line.starts_with('[') && line.ends_with(part)).count();
    assert!(count("(omitted)") >= rows, "rows of the omitted time in {output:#?}");
    for end in ends {
        assert_eq!(count(end), rows, "rows that end with {end} in {output:#?}");
    }
    let summary = text.lines().position(|line| line.starts_with("- - -")).expect("a separator");
    let header = text.lines().skip(summary).find(|line| line.starts_with("[ ID] Interval"));
    assert!(header.is_some(), "a header of the end in {output:#?}");
}

#[test]
fn a_link_named_iperf3_speaks_its_command_line() {
    let scratch = crate::process::Scratch::new("link");
    let link = scratch.path("iperf3");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pathmeter"), &link).expect("a new directory");
    let mut command = std::process::Command::new(&link);
    command.arg("--version");
    let output = crate::process::Running::start(command).wait().good();
    assert!(output.stdout.starts_with("iperf 3."), "{output:#?}");
}

#[test]
fn a_server_asked_for_json_gets_it_into_the_clients_document() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for (client, server) in [(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours)] {
        let port = free_port();
        let serving = server.serve(port, "-1 -J");
        let options = format!("-c 127.0.0.1 -p {port} -J -n 200K --get-server-output");
        let document = client.run(&options).good().json();
        let served = serving.wait().good().json();
        let report = document.get("server_output_json").expect("--get-server-output");
        assert_eq!(report["start"]["cookie"], document["start"]["cookie"]);
        assert_eq!(report["end"]["sum_received"], served["end"]["sum_received"]);
    }
}

#[test]
fn serve_answers_with_its_output_too() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let (native, port) = (free_port(), free_port());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pathmeter"));
    command.args(["serve", "--port", &native.to_string(), &format!("--iperf3={port}")]);
    let serving = crate::process::Running::start(command);
    crate::process::wait_for_listener(port);
    let printed =
        Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} -t 1 -b 20M -R --get-server-output")).good();
    let (_, output) = printed.stdout.split_once("\nServer output:\n").expect("--get-server-output");
    assert!(output.starts_with("Accepted connection from 127.0.0.1, port "), "{output}");
    assert!(output.lines().any(|line| line.ends_with("sender")), "{output}");
    serving.stop().good();
}

//! The command lines that must run as typed, and the words around them.

use crate::process::{Running, Scratch, Tool, free_port};
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

#[test]
fn the_command_lines_of_the_issue() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    std::thread::scope(|scope| {
        for (client, server) in
            [(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours), (Tool::Ours, Tool::Ours)]
        {
            scope.spawn(move || {
                let port = free_port();
                let serving = server.serve(port, "--tcp");
                let typed = format!("ping-pong -i 127.0.0.1 --tcp -m 350 -t 1 -p {port} --full-rtt");
                let output = client.run(&typed).good();
                let served = serving.stop().good();
                assert!(output.stdout.contains("Summary: Round trip is "), "{output:#?}");
                assert!(
                    output.stdout.contains(&format!("[ 0] IP = 127.0.0.1       PORT = {port} # TCP\n")),
                    "{output:#?}"
                );
                assert!(served.stdout.contains("[SERVER] listen on:\n[ 0] IP = 127.0.0.1"), "{served:#?}");
                assert!(served.stdout.ends_with("sockperf: cleanupAfterLoop() exit\n"), "{served:#?}");
            });
        }
    });
}

#[test]
fn a_link_named_sockperf_speaks_its_command_line() {
    let scratch = Scratch::new("link");
    let link = scratch.path("sockperf");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pathmeter"), &link).expect("a new directory");
    let run = |word: &str| {
        let mut command = Command::new(&link);
        command.args(word.split_whitespace());
        Running::start(command).wait()
    };
    assert!(run("--version").good().stdout.starts_with("sockperf, version 3.10-pathmeter."));
    assert!(run("").good().stdout.contains("ping-pong (pp)"));
    assert!(run("ul --help").good().stdout.contains("--reply-every N"));
    let refused = run("pp -m 13");
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(refused.stderr.starts_with("sockperf: '-m' Invalid message size: 13"), "{refused:#?}");
}

/// Both programs say the same before and after a test, but for their figures.
#[test]
fn the_text_has_the_same_shape() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let shape = |client: Tool, mode: &str| {
        let port = free_port();
        let _serving = Tool::Theirs.serve(port, "");
        let options = if client == Tool::Ours { "--as-version 3.7" } else { "" };
        let output = client.run(&format!("{mode} -i 127.0.0.1 -p {port} -m 200 --mps=500 {options}")).good();
        let lines: Vec<String> = output
            .stdout
            .lines()
            .filter(|line| !CHANCE.iter().any(|chance| line.contains(chance)))
            .map(plain)
            .collect();
        lines
    };
    let modes = [
        "pp",
        "pp -b 4",
        "pp -r 50 --full-rtt",
        "pp --data-integrity",
        "ul --reply-every=5",
        "ul -b 4 -r 9 --reply-every=2",
        "tp",
        "tp -r 50",
    ];
    std::thread::scope(|scope| {
        for mode in modes {
            scope.spawn(move || {
                // On a busy host every reply to one of them may come within its warm-up, and it reports that.
                let shapes = || (shape(Tool::Ours, mode), shape(Tool::Theirs, mode));
                let (ours, theirs) =
                    (0..4).map(|_| shapes()).find(|(ours, theirs)| ours == theirs).unwrap_or_else(shapes);
                assert_eq!(ours, theirs, "{mode}");
            });
        }
    });
}

/// Lines that a run has or has not by what else the host does.
const CHANCE: [&str; 2] = ["interrupted by signal", "message-per-second rate is too high"];

/// A line without its numbers and its version.
fn plain(line: &str) -> String {
    let line = line.split("#3.7").next().unwrap_or(line);
    let line: String = line.chars().filter(|byte| !byte.is_ascii_digit() && *byte != '.').collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_interrupt_ends_a_client_with_its_figures() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let port = server.local_addr().expect("bound").port();
    let mut running = Tool::Ours.start(&format!("pp -i 127.0.0.1 -p {port} -t 50 --mps=100"));
    let mut message = [0; 100];
    server.set_read_timeout(Some(Duration::from_millis(50))).expect("not zero");
    let (mut echoed, mut interrupted) = (0, false);
    while running.runs() {
        // The first 40 of 100 messages/s are for warming up.
        if echoed > 80 && !std::mem::replace(&mut interrupted, true) {
            running.signal("INT");
        }
        let Ok((size, client)) = server.recv_from(&mut message) else { continue };
        message[9] &= !1;
        server.send_to(&message[..size], client).expect("loopback takes it");
        echoed += 1;
    }
    let output = running.wait().good();
    assert!(output.stdout.contains("Test end (interrupted by user)"), "{output:#?}");
    assert!(output.stdout.contains("Summary: Latency is "), "{output:#?}");
}

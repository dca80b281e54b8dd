//! Rights of the program: a server that root starts drops its rights, and an internal command refuses users.

use super::support::{Server, run};
use std::process::{Command, Stdio};

/// A line of the kernel's status of a process.
fn status(pid: u32, line: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = text.lines().find_map(|other| other.strip_prefix(line));
    value.unwrap_or_else(|| panic!("no {line} in {text}")).trim().to_owned()
}

/// The rights of every thread of every server are tested beside a client of each: `tests/abuse/rights.rs`.
#[test]
fn a_server_that_root_starts_goes_on_as_the_user_that_is_named() {
    if !linux::privilege::is_root() {
        skip::skip("a_server_that_root_starts_goes_on_as_the_user_that_is_named: it needs root");
        return;
    }
    for (argv, user, kept) in [
        (&[][..], "65534", "0000000000803000"),
        (&["--user", "4711"], "4711", "0000000000803000"),
        (&["--user", "4711", "--no-capabilities"], "4711", "0000000000000000"),
        (&["--user", "root", "--no-capabilities"], "0", "0000000000000000"),
    ] {
        let server = Server::start(argv);
        server.process.wait_for("pathmeter's own protocol");
        let pid = server.process.pid();
        let all = format!("{user}\t{user}\t{user}\t{user}");
        assert_eq!((status(pid, "Uid:"), status(pid, "NoNewPrivs:")), (all, "1".to_owned()));
        // Network administration, raw packets and priorities: bits 12, 13 and 23.
        assert_eq!(status(pid, "CapPrm:"), kept);
        server.measured(&["-n", "1M"]);
        server.stop();
    }
    let server = Server::start(&["--user", "root"]);
    server.process.wait_for("pathmeter's own protocol");
    assert_eq!(status(server.process.pid(), "Uid:"), "0\t0\t0\t0");
    server.stop();
    run(&["serve", "--bind", "127.0.0.1", "--user", "no such user"]).code(2).prints("no such user");
}

#[test]
fn the_guard_is_not_for_people() {
    run(&["guard", "link", "lo", "1500"]).code(2).prints("starts it with a pipe");
}

#[test]
fn too_few_open_files_are_named_with_a_remedy() {
    let server = Server::start(&[]);
    let host = server.host();
    for argv in ["throughput", "latency", "mtu", "measure"] {
        let limited = format!("ulimit -n 7 && exec \"$0\" {argv} {host}");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_pathmeter")]).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{argv}: {text}");
        assert!(text.contains("ulimit -n"), "{argv}: {text}");
    }
    // Each stream is a file, too.
    let limited = format!("ulimit -n 20 && exec \"$0\" throughput {host} -P 64");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_pathmeter")]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains("64 streams need"), "{text}");
    server.stop();
}

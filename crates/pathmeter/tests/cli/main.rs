//! The built program as a user runs it: help, exit codes, arithmetic, completions and manual pages.

mod analyse;
mod config;
mod devices;
mod exits;
mod foreign;
mod formats;
mod help;
mod import;
mod iperf3;
mod linerate;
mod packaging;
mod rfc2544;

use std::process::{Command, Output, Stdio};

/// The program with these words, in a fixed environment: 100 columns, no colour.
fn pathmeter(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathmeter"));
    command.args(line.split_whitespace()).stdin(Stdio::null()).env("COLUMNS", "100").env("NO_COLOR", "1");
    command
}

/// The end of a run.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs the program to its end.
fn run(line: &str) -> Ended {
    pathmeter(line).output().expect("the program starts").into()
}

/// Runs what must succeed, and gives its standard output.
fn succeed(line: &str) -> String {
    let ended = run(line);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{line}");
    ended.stdout
}

/// A directory of its own for a test, removed at the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pathmeter-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("make a directory");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! Marks a test that cannot run here: writes a line that no test runner captures and `scripts/test` counts.

use std::fmt::Display;
use std::io::{self, Write};
use std::panic::Location;
use std::thread;

/// Writes `SKIPPED test (file:line): why` to standard error; the test then returns. `scripts/test` prints all of these at
/// its end, and in CI it fails on one that `scripts/skips` does not list.
#[track_caller]
pub fn skip(why: impl Display) {
    let line = line(thread::current().name().unwrap_or("main"), Location::caller(), why);
    // One write past libtest's capture: lines of tests that run side by side stay whole.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Reports and returns true when this host lacks one of these programs; the test returns then.
#[track_caller]
pub fn lacks(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing = programs.iter().find(|program| !is_here(program));
    if let Some(program) = missing {
        skip(format!("no {program}: scripts/test installs it"));
    }
    missing.is_some()
}

fn line(test: &str, at: &Location<'_>, why: impl Display) -> String {
    let why = why.to_string().replace('\n', " ");
    format!("SKIPPED {test} ({}:{}): {why}\n", at.file(), at.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_every_host_has_is_not_missing() {
        assert!(!lacks(&["sh"]));
    }

    #[test]
    fn a_reason_is_one_line_with_its_place() {
        let at = Location::caller();
        let printed = line("forwarding", at, "no netem\nhere");
        assert_eq!(printed, format!("SKIPPED forwarding ({}:{}): no netem here\n", at.file(), at.line()));
    }
}

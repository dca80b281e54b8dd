//! Output on a terminal of 80 columns that `script` (util-linux) makes.

use super::support::{Server, skip};
use std::process::{Command, Stdio};

/// The output of a command on a terminal of this kind; absent: there is no `script`.
fn on_terminal(kind: &str, args: &str) -> Option<String> {
    let line = format!("stty cols 80 rows 24; {} {args}", env!("CARGO_BIN_EXE_pathmeter"));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", kind).env_remove("NO_COLOR").stdin(Stdio::null());
    let output = command.output().ok()?;
    assert!(output.status.success(), "{args}: {output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_dumb_terminal_gets_no_control_codes() {
    let server = Server::start(&[]);
    let host = server.host();
    let lines = ["--help".to_owned(), "linerate --link 25G".into(), format!("throughput {host} -t 1")];
    for args in lines {
        let Some(plain) = on_terminal("dumb", &args) else {
            skip("a_dumb_terminal_gets_no_control_codes", "no script(1): apt-get install bsdutils");
            return;
        };
        let codes = plain.chars().filter(|c| c.is_control() && !matches!(c, '\r' | '\n' | '\t')).count();
        assert_eq!(codes, 0, "{args}: {plain:?}");
        // Its carriage returns end lines: none goes back to write over a line.
        assert_eq!(plain.matches('\r').count(), plain.matches("\r\n").count(), "{args}: {plain:?}");
    }
    // The same on a terminal that has colours and a live region.
    let coloured = on_terminal("xterm-256color", &format!("throughput {host} -t 1")).unwrap_or_default();
    assert!(coloured.contains('\x1b'), "{coloured:?}");
}

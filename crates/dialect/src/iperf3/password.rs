//! The password of `--username`: from the environment, else read from the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The value of `IPERF3_PASSWORD`, else a line from the terminal, typed unseen.
///
/// # Errors
/// When there is neither.
pub(crate) fn password() -> io::Result<String> {
    match std::env::var("IPERF3_PASSWORD") {
        Ok(password) => Ok(password),
        Err(_) => read_from_terminal().map_err(|error| {
            let reported = format!("read the password: set IPERF3_PASSWORD, or run on a terminal ({error})");
            io::Error::new(error.kind(), reported)
        }),
    }
}

fn read_from_terminal() -> io::Result<String> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    terminal.write_all(b"Password: ")?;
    echo(&terminal, "-echo")?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    echo(&terminal, "echo")?;
    terminal.write_all(b"\n")?;
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Whether the terminal shows what is typed.
fn echo(terminal: &File, mode: &str) -> io::Result<()> {
    let status = Command::new("stty").arg(mode).stdin(Stdio::from(terminal.try_clone()?)).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("stty could not hide what is typed")) }
}

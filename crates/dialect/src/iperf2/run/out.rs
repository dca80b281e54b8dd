//! Where the reports go: standard output, or the file of `-o`; and the socket buffer that the settings name.

use crate::iperf2::CommandLine;
use model::plan::Transport;
use model::units::Bytes;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};

/// The output of a client or of a server.
pub(super) struct Out {
    file: Option<File>,
    name: String,
    broken: Option<io::Error>,
}

impl Out {
    /// Opens the file, where there is one; what it holds stays.
    ///
    /// # Errors
    /// A sentence for the user.
    pub(super) fn open(line: &CommandLine) -> Result<Out, String> {
        let Some(path) = &line.both.output else {
            return Ok(Out { file: None, name: "standard output".into(), broken: None });
        };
        let name = path.display().to_string();
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| format!("ERROR: open {name}: {error}"))?;
        Ok(Out { file: Some(file), name, broken: None })
    }

    /// Writes whole lines and flushes them at once.
    pub(super) fn write(&mut self, text: &str) {
        if self.broken.is_some() || text.is_empty() {
            return;
        }
        let written = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
        };
        self.broken = written.err();
    }

    /// The reason why not everything was written. A closed pipe (`| head`) is no failure.
    pub(super) fn close(&self) -> Result<(), String> {
        match self.broken.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
            Some(error) => Err(format!("ERROR: write {}: {error}", self.name)),
            None => Ok(()),
        }
    }
}

/// The buffer of the socket that a test will use, as the kernel gives it (tcp(7), socket(7)): its default, or twice the
/// requested size within the limit.
pub(super) fn window(transport: Transport, sends: bool, asked: Option<u32>) -> Bytes {
    let core = if sends { "wmem" } else { "rmem" };
    let limit = || setting(&format!("core/{core}_max"), 0).unwrap_or(u64::from(u32::MAX));
    let given = match (asked, transport) {
        (Some(asked), _) => Some(u64::from(asked).min(limit()) * 2),
        (None, Transport::Tcp) => setting(&format!("ipv4/tcp_{core}"), 1),
        (None, Transport::Udp) => setting(&format!("core/{core}_default"), 0),
    };
    Bytes(given.unwrap_or_default())
}

fn setting(name: &str, field: usize) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/{name}")).ok()?;
    text.split_whitespace().nth(field)?.parse().ok()
}

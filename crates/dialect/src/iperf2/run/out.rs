//! Where the reports go: standard output, or the file of `-o`; and the socket buffer that the settings name.

use crate::iperf2::CommandLine;
use crate::out::Out;
use model::plan::Transport;
use model::units::Bytes;

/// Opens it.
///
/// # Errors
/// A sentence for the user.
pub(super) fn open(line: &CommandLine) -> Result<Out, String> {
    Out::open(line.both.output.as_deref()).map_err(|failure| format!("ERROR: open {failure}"))
}

/// Whether everything was written.
///
/// # Errors
/// A sentence for the user.
pub(super) fn close(out: &Out) -> Result<(), String> {
    out.failure().map_or(Ok(()), |failure| Err(format!("ERROR: write {failure}")))
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

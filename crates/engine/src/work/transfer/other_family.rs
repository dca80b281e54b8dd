//! Whether a transfer that stalls over IPv6 goes on over IPv4.

use super::exchange::Courier;
use super::source::{Source, host_and_port};
use super::wire::Setup;
use crate::host::address::{Family, lookup};
use crate::host::interrupt::Interrupt;
use linux::clock::mono_now;
use model::transfer::TransferFile;
use model::units::Nanos;

/// Tries it for a moment, where the host has both and the user did not choose; a warning, if more moves than a few packets.
pub(super) fn over_ipv4(courier: &Courier<'_>, file: &TransferFile, source: &Source) -> Option<String> {
    if file.address.is_ipv4() || courier.family != Family::Any || courier.setup.interrupt.is_raised() {
        return None;
    }
    let (host, port) = host_and_port(&source.url(courier.plan.method)).ok()?;
    let address = lookup(&host, port, Family::V4("-4")).ok()?;
    let (stop, user) = (Interrupt::default(), courier.setup.interrupt.clone());
    let setup = Setup { silence: SILENCE, interrupt: stop.clone(), ..courier.setup.clone() };
    let other = Courier { plan: courier.plan, setup, family: Family::V4("-4") };
    let again = TransferFile { address, ..file.clone() };
    let (transfer, trouble) = std::thread::scope(|scope| {
        let tried = scope.spawn(|| other.transfer(&again, source));
        let until = mono_now() + LIMIT;
        while !tried.is_finished() && mono_now() < until && !user.is_raised() {
            std::thread::sleep(STEP);
        }
        stop.raise();
        tried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let moves = trouble.is_none() || transfer.bytes.0 >= MOVES;
    moves.then(|| {
        format!(
            "The transfer stalls over IPv6 alone: over IPv4 ({}) it goes on. -4 measures that.",
            address.ip()
        )
    })
}

/// Longest time in which no byte moves.
const SILENCE: Nanos = Nanos::from_secs(2);
/// Time for the attempt.
const LIMIT: Nanos = Nanos::from_secs(4);
const STEP: std::time::Duration = std::time::Duration::from_millis(20);
/// More than what first fits the windows of both ends.
const MOVES: u64 = 256 << 10;

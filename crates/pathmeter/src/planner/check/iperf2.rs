//! What iPerf2's protocol cannot say.

use super::{MAX_WRITE, exclude, range, within};
use crate::cli::ThroughputArgs;
use engine::error::Failure;
use model::units::Nanos;

/// Options that need what the protocol does not have.
pub(super) fn check(args: &ThroughputArgs) -> Result<(), Failure> {
    let (test, socket) = (&args.test, &args.socket);
    let back = test.reverse || test.bidir;
    let unknown = [
        ("--omit", test.omit > Nanos::ZERO, "it has no omitted time"),
        ("--receive-discard", socket.receive_discard && !back, "only the receiver can do that"),
        ("--congestion", socket.congestion.is_some() && test.reverse, "the sending server cannot be told"),
        ("--nodelay", socket.nodelay && test.reverse, "the sending server cannot be told"),
        ("--zero-copy", socket.zero_copy && test.reverse, "the sending server cannot be told"),
    ];
    if let Some((name, _, why)) = unknown.iter().find(|(_, asked, _)| *asked) {
        let advice = format!("drop {name}, or use --protocol native");
        return exclude(name, "--protocol iperf2", why, &advice);
    }
    if let Some(time) = test.time
        && time < SHORTEST
    {
        return Err(Failure::usage(
            format!("--time {time} with --protocol iperf2: it counts in hundredths of a second"),
            format!("give {SHORTEST} or more"),
        ));
    }
    if let (Some(bytes), true) = (test.bytes, back) {
        let why = "so much can a server be asked for; of more it would send a part";
        let most = u64::from(test.parallel.max(1)) * MAX_AMOUNT;
        range("--bytes with --protocol iperf2", bytes.0, 1, most, "bytes", why)?;
    }
    match test.length {
        Some(length) if test.udp => {
            let why = "each datagram holds the 76 bytes of the test header";
            range("--length with --protocol iperf2", length.0, MIN_UDP, super::MAX_UDP, "bytes", why)
        }
        Some(length) => within("--length with --protocol iperf2", length.0, 1, MAX_WRITE, "bytes"),
        None => Ok(()),
    }
}

/// Time travels in hundredths of a second.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// Of an amount 31 bits travel.
const MAX_AMOUNT: u64 = 0x7fff_ffff;
/// Number, time and header.
const MIN_UDP: u64 = 76;

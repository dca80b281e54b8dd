//! Groups of options that several commands share, of whichever command was typed.

use super::{Cli, Command, KeepArgs};

impl Cli {
    /// Where the result is kept.
    pub(crate) fn keep_mut(&mut self) -> Option<&mut KeepArgs> {
        match &mut self.command {
            Command::Measure(args) => Some(&mut args.keep),
            Command::Throughput(args) => Some(&mut args.keep),
            Command::Latency(args) => Some(&mut args.keep),
            Command::Mtu(args) => Some(&mut args.keep),
            Command::Hops(args) => Some(&mut args.keep),
            Command::Transfer(args) => Some(&mut args.keep),
            Command::Frames(args) => Some(&mut args.keep),
            _ => None,
        }
    }
}

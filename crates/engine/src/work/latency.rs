//! Round trips: the client's loops, the server's, and the tool's own floor.
//!
//! | file | what it holds |
//! |---|---|
//! | `run` | a whole run: opens the paths, runs the mode, reports the result |
//! | `open` | a path's socket and session, for each protocol |
//! | `ping_pong`, `schedule` | the modes |
//! | `housekeeping` | what is done between two round trips: reports, keep-alives, the end |
//! | `flow` | one path at work |
//! | `sizes` | the size of each message |
//! | `tally`, `in_flight`, `gaps`, `raw`, `far_count` | what one way gives |
//! | `wire_times` | round trips timed by the kernel and the network card |
//! | `floor` | the tool against itself |
//! | `loaded` | the load beside the round trips, and responsiveness |
//! | `control`, `session`, `twamp` | the dialogue beside the round trips: with our own server, with a TWAMP server |

pub mod choose;
mod control;
mod far_count;
mod floor;
mod flow;
mod gaps;
mod housekeeping;
mod in_flight;
#[cfg(test)]
mod link;
mod loaded;
mod open;
mod ping_pong;
pub mod raw;
mod result;
mod run;
mod schedule;
mod session;
mod sizes;
mod tally;
mod twamp;
mod wire_times;

pub use run::run;

use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::session::foreign_tls::ForeignTls;
use model::latency::{EgressPath, LatencyMode, LatencyPlan};
use model::plan::LocalOptions;
use model::playback::Item;
use model::units::Nanos;
use raw::RawFile;
use wire::stamp;

/// The inputs of a run.
pub struct LatencyJob<'a> {
    /// The plan of the measurement.
    pub plan: &'a LatencyPlan,
    /// How the ends know each other.
    pub security: &'a Security,
    /// SockPerf's connections are encrypted so (`--tls`).
    pub tls: Option<&'a ForeignTls>,
    /// The key of STAMP's authenticated mode.
    pub key: Option<&'a stamp::Key>,
    /// The messages of a playback.
    pub playback: &'a [Item],
    /// Where every round trip is written.
    pub raw: Option<RawFile>,
    /// Asks it to stop.
    pub interrupt: &'a Interrupt,
}

/// This end's choices for a connection to the server of a path.
fn local_options(egress: &EgressPath, connect_timeout: Nanos) -> LocalOptions {
    LocalOptions {
        bind: egress.bind,
        device: egress.device.clone(),
        connect_timeout: Some(connect_timeout),
        ..LocalOptions::default()
    }
}

impl LatencyJob<'_> {
    /// Bytes of the largest message.
    pub fn largest(&self) -> u32 {
        if self.plan.mode == LatencyMode::Playback {
            return self.playback.iter().map(|item| item.size).max().unwrap_or(0);
        }
        self.plan.sizes.map_or(self.plan.size, |sizes| sizes.most.max(self.plan.size))
    }
}

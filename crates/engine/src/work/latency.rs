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
//! | `tally`, `in_flight`, `gaps`, `raw`, `far_clock`, `far_count` | what one way gives |
//! | `wire_times` | round trips timed by the kernel and the network card |
//! | `floor` | the tool against itself |
//! | `loaded` | the load beside the round trips, and responsiveness |
//! | `control`, `session`, `twamp` | the dialogue beside the round trips: with our own server, with a TWAMP server |

pub mod choose;
mod control;
mod far_clock;
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

pub use run::{LatencyJob, run};

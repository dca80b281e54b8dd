//! Round trips: the client's loops, the server's, and the tool's own floor.
//!
//! | file | what it holds |
//! |---|---|
//! | `run` | a whole run: opens the ways, runs the mode, tells the result |
//! | `open` | a way's socket and session, for each protocol |
//! | `ping_pong`, `schedule` | the modes |
//! | `house` | what is done between two round trips: reports, keep-alives, the end |
//! | `lane` | one way at work |
//! | `sizes` | the size of each message |
//! | `tally`, `flights`, `raw`, `far_clock` | what one way gives |
//! | `wait`, `socket` | messages in and out, and the waiting between |
//! | `wire_times` | round trips timed by the kernel and the network card |
//! | `floor` | the tool against itself |
//! | `loaded` | the load beside the round trips, and responsiveness |
//! | `reflector`, `server`, `session` | the loops of our server, servers of foreign protocols; the dialogue with our own |

pub(crate) mod choose;
mod far_clock;
mod flights;
mod floor;
mod house;
mod lane;
mod loaded;
mod open;
mod ping_pong;
pub(crate) mod raw;
pub(crate) mod reflector;
mod result;
mod run;
mod schedule;
pub(crate) mod server;
mod session;
mod sizes;
pub(crate) mod socket;
mod tally;
pub(crate) mod wait;
mod wire_times;

pub(crate) use run::{Job, run};

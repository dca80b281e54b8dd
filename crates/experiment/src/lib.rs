//! The work of `pathmeter plan`: a file of paths, tests and repetitions becomes a sequence of requests to the engine, which are
//! carried out one after the other, here or in labs, judged and compared. This crate has no store and no terminal.
//!
//! The form of the file is described in `docs/plans.md`.

mod agents;
mod compare;
mod estimate;
mod file;
mod outline;
mod plan;
mod progress;
mod request;
mod run;
mod sites;

pub use agents::{Agents, Carried, Lease, request_of_plan};
pub use estimate::time as time_of;
pub use file::{Known, KnownAgent, ReadError, Target};
pub use outline::outline;
pub use plan::{Against, Cell, Limits, Path, PathPlace, Plan, RunSequence, Step, Test, Variant};
pub use progress::{Head, Journal, Recorded};
pub use run::{Moment, Options, run};

//! The meaning of figures: the findings and the verdict of a run, the advice that follows, conclusions about a device, and
//! analyses of many runs. Pure functions of the documents of `model`, without I/O, clock or thread.
//!
//! ```
//! use model::finding::Status;
//!
//! let run = pathmeter_insight::run_of_events("1", "throughput", &[]);
//! assert_eq!(run.verdict.status, Status::Void);
//! ```

mod advice;
pub mod analysis;
pub mod answer;
pub mod device;
pub mod figure;
pub mod finding;
pub mod fix;
pub mod frames;
pub mod matrix;
mod run;

pub use finding::limit;
pub use run::{judge, run_of_events, run_of_failure, run_of_frames, run_of_pairs, run_of_tests};

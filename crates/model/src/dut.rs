//! Benchmarks of a device under test beside the searches: plans of trials, recovery and reset, services, comparisons.

mod comparison;
mod plan;
mod recovery;
pub mod y1564;

pub use comparison::{Change, Rates};
pub use plan::{PlanRow, Test, Times, TrialPlan};
pub use recovery::{Overload, ResetTime, recovery_time};

//! Benchmarks of a device under test beside the searches: orders of trials, their plan, recovery and reset, services,
//! comparisons, and the document of it all.

mod burst;
mod comparison;
mod headline;
mod order;
mod plan;
mod rates;
mod recovery;
mod report;
mod setup;
mod suite;
mod test;
mod times;
mod tools;
pub mod y1564;

pub use burst::{Burst, Pace, Sent};
pub use comparison::{compare, compare_devices, compare_with};
pub use order::{Action, BenchRequest, DirectionObservation, Frames, Observation, Stream};
pub use plan::{BenchmarkPlan, PlanRow, TrialPlan};
pub use rates::{Change, Rates};
pub use recovery::{Overload, ResetTime, recovery_time};
pub use report::{
    BackToBackReport, DelayVariationDirection, DelayVariationReport, DeviceComparison, DeviceReport,
    DutReport, HopDrops, LatencyDirection, LatencyReport, LeftOut, LoadLimit, MrrReport, NamedGoal,
    PortFacts, RateChange, RateReport, RecoveryReport, ResetReport, SCHEMA, SearchMethod, ServiceReport,
    ServiceStep, Setup, StreamReport, TunnelEnds,
};
pub use setup::SetupError;
pub use suite::{Progress, Suite};
pub use test::Test;
pub use times::{SERVICE_PIECE, Times};
pub use tools::{Alone, SinkKind, SourceKind, Tools, Tried};

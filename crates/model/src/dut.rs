//! Benchmarks of a device under test beside the searches: orders of trials, their plan, recovery and reset, services,
//! comparisons, and the document of it all.

mod burst;
mod comparison;
mod headline;
mod order;
mod plan;
mod recovery;
mod report;
mod setup;
mod suite;
mod times;
mod tools;
pub mod y1564;

pub use burst::{Burst, Pace, Sent};
pub use comparison::{Change, Rates, compare, compare_devices, compare_with};
pub use order::{Action, BenchRequest, DirectionObservation, Frames, Observation, Stream};
pub use plan::{BenchmarkPlan, PlanRow, Test, TrialPlan};
pub use recovery::{Overload, ResetTime, recovery_time};
pub use report::{
    BackToBackReport, DelayVariationDirection, DelayVariationReport, DeviceComparison, DeviceReport,
    DutReport, HopDrops, LatencyDirection, LatencyReport, LeftOut, LoadLimit, MrrReport, NamedGoal,
    PortFacts, RateChange, RateReport, RecoveryReport, ResetReport, SCHEMA, SearchMethod, ServiceReport,
    ServiceStep, Setup, StreamReport, TunnelEnds,
};
pub use setup::SetupError;
pub use suite::{Progress, Suite};
pub use times::{SERVICE_PIECE, Times};
pub use tools::{Alone, SinkKind, SourceKind, Tools, Tried};

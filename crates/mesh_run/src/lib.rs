//! What joins the fleet and the engine: the jobs that agents carry out as requests of the engine, and what a coordinator makes of
//! their results. `fleet` takes a job as an opaque text, the engine knows no other host than its peer, and a plan knows agents by
//! one trait; here they meet.

mod errand;
mod inventory;
mod job;
mod mesh;
mod roster;
mod together;
mod work;

pub use errand::Errands;
pub use inventory::{AgentReport, agents, inventory, known_agents};
pub use job::{JobResult, MeshJob, MeshTest, PlanJob};
pub use mesh::{Link, MeshRequest, PlanError, Planned, Reports, Uplink, chosen, pair_of, plan};
pub use roster::{Roster, RosterRow};
pub use together::document;
pub use work::carry_out;

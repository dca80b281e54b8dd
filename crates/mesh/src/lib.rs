//! Meshes: measurements that agents make as jobs of the crate `fleet`, and their results as a document and as kept runs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`job`] | the test that an agent runs |
//! | [`roll`] | who takes part, and who is expected and not there |
//! | [`interfaces`] | which interface of an agent a run uses |
//! | [`rounds`] | which runs a mesh has: all pairs in rounds, some, or some at the same time |
//! | [`expected`] | what is expected of runs, whichever end carries them out |
//! | [`work`] | a job carried out by the agent that has it |
//! | [`errand`] | runs of a plan that agents carry out |
//! | [`together`] | pairs that started at the same time, as one run |
//! | [`timetable`] | a mesh that is measured again and again, and what was missed |
//! | [`leases`] | who holds what, what waits for it, and freeing it |
//! | [`metrics`] | how an agent and a coordinator stand, for Prometheus |
//! | [`inventory`], [`roster`] | what agents report of themselves, and all of them as a document |
//! | [`runs`] | every run of a mesh as a document |
//! | [`matrix`] | outcomes as the document of a mesh |
//! | `keep` | outcomes as runs of a store |
//! | `alerts` | what is measured again, and what is reported of it |

#[cfg(feature = "store")]
pub mod alerts;
pub mod allowed;
pub mod errand;
pub mod expected;
pub mod interfaces;
pub mod inventory;
pub mod job;
#[cfg(feature = "store")]
pub mod keep;
pub mod leases;
pub mod matrix;
pub mod metrics;
#[cfg(test)]
mod outcomes;
pub mod roll;
pub mod roster;
pub mod rounds;
pub mod runs;
pub mod timetable;
pub mod together;
pub mod work;

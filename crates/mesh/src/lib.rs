//! Meshes: what agents measure as jobs of the crate `fleet`, and what comes of it as a document and as kept runs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`job`] | what an agent is asked to measure, carried out by the engine |
//! | [`matrix`] | outcomes as the document of a mesh |
//! | `keep` | outcomes as runs of a store |
//! | `alerts` | what is measured again, and what is reported of it |

#[cfg(feature = "store")]
pub mod alerts;
pub mod job;
#[cfg(feature = "store")]
pub mod keep;
pub mod matrix;
#[cfg(test)]
mod outcomes;

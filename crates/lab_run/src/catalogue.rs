//! The topologies as documents: all of them in a list, and each with its drawing and what a measurement must find in it.

mod document;
mod drawing;
mod list;
mod shown;

pub use document::TopologyDocument;
pub use list::{Topologies, TopologyRow, lacking};
pub use shown::{Shown, shipped};

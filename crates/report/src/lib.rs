//! Reading results: documents in every output format, the text and JSON of foreign tools, and expectations.
//!
//! Everything here is pure: a run or an event in, text out.

pub mod document;
pub mod expect;
pub mod format;
pub mod harmless;
pub mod mesh;
pub mod plot;
mod xml;

pub use import;

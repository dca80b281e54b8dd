//! Reading results: output formats, the text and JSON of foreign tools, and expectations.
//!
//! Everything here is pure: a run or an event in, text out.

pub mod expect;
pub mod format;
pub mod import;
pub mod plot;

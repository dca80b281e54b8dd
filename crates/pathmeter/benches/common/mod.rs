//! What the benchmarks share: the track, the machine, processes at work, the command line, and tables.

pub(crate) mod lab;
pub(crate) mod machine;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod table;

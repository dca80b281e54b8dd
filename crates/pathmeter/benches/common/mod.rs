//! Code that the benchmarks share: the track, the machine, processes at work, the command line, turns, and what is stored.

pub(crate) mod document;
pub(crate) mod lab;
pub(crate) mod link;
pub(crate) mod machine;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod turns;

//! Findings and verdicts, each seen from a whole run.

mod egress;
mod hops;
mod latency;
mod lies;
mod paths;
mod reach;
mod rules;
mod scene;
mod verdict;

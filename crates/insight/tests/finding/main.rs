//! Findings and verdicts, each seen from a whole run.

mod hops;
mod latency;
mod lies;
mod paths;
mod reach;
mod rules;
mod scene;
mod verdict;
mod ways;

//! Findings and verdicts, each seen from a whole run.

mod lies;
mod rules;
mod scene;
mod verdict;

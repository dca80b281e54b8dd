//! Findings and verdicts, each seen from a whole run.

mod rules;
mod scene;
mod verdict;

//! Findings and verdicts, each checked on a whole run.

mod busy;
mod crippled;
mod egress;
mod fixture;
mod hops;
mod latency;
mod lies;
mod paths;
mod reach;
mod recorded;
mod rules;
mod verdict;

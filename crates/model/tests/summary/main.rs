//! The figures of a direction, folded from both ends' counters and held against what a reader reckons by hand.

mod rates;
mod test;
mod udp;

//! The foremost figures of a run: those that a list shows, and those that two sets of runs are compared by.

use super::Expectation;
use model::history::Headline;
use model::run::Run;

/// A figure that runs are compared by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name, as an expectation names it.
    pub(crate) name: &'static str,
    /// Of two values the higher one is better.
    pub(crate) higher_is_better: bool,
    /// A list shows it.
    listed: bool,
}

const fn key(name: &'static str, higher_is_better: bool, listed: bool) -> Key {
    Key { name, higher_is_better, listed }
}

/// Every figure that runs are compared by, in the order of tables.
pub(crate) const KEYS: [Key; 19] = [
    key("tcp.up.goodput", true, true),
    key("tcp.down.goodput", true, true),
    key("udp.up.goodput", true, true),
    key("udp.down.goodput", true, true),
    key("pairs.up.goodput", true, true),
    key("pairs.down.goodput", true, true),
    key("udp.up.loss", false, true),
    key("udp.down.loss", false, true),
    key("tcp.up.loaded_rtt", false, false),
    key("tcp.down.loaded_rtt", false, false),
    key("udp.up.jitter", false, false),
    key("udp.down.jitter", false, false),
    key("rtt.p50", false, true),
    key("rtt.p99", false, true),
    key("up.path_mtu", true, true),
    key("down.path_mtu", true, true),
    key("transfer.rate", true, true),
    key("transfer.total", false, false),
    key("transfer.first_byte", false, false),
];

/// Those that a list shows, of this run.
pub fn headlines(run: &Run) -> Vec<Headline> {
    let listed = KEYS.iter().filter(|key| key.listed);
    listed
        .filter_map(|key| {
            let figure = named(key.name)?;
            let value = figure.measured(run)?;
            Some(Headline { name: key.name.into(), value, text: figure.print(value) })
        })
        .collect()
}

/// The figure of this name, to be read of runs and printed.
pub(crate) fn named(name: &str) -> Option<Expectation> {
    format!("{name}>=0").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_figure() {
        for key in KEYS {
            assert!(named(key.name).is_some(), "{}", key.name);
        }
    }
}

//! The foremost figures of a run: those that a list shows, and those that two sets of runs are compared by.

use super::Expectation;
use super::quantity::Quantity;
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
            let (value, text) = figure(run, key.name)?;
            Some(Headline { name: key.name.into(), value, text })
        })
        .collect()
}

/// The value of a figure in base units (bits per second, nanoseconds, bytes, shares), and the same with its unit.
pub(crate) fn figure(run: &Run, name: &str) -> Option<(f64, String)> {
    let named: Expectation = format!("{name}>=0").parse().ok()?;
    let value = named.measured(run)?;
    Some((value, named.figure.quantity.print(value)))
}

/// A value of this figure with its unit.
pub(crate) fn print(name: &str, value: f64) -> String {
    let named: Option<Expectation> = format!("{name}>=0").parse().ok();
    named.map_or(Quantity::Count, |named| named.figure.quantity).print(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_figure() {
        for key in KEYS {
            let read: Result<Expectation, _> = format!("{}>=0", key.name).parse();
            assert!(read.is_ok(), "{}: {read:?}", key.name);
        }
    }
}

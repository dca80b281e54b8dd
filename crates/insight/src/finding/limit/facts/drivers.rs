//! The counters of drivers that are facts.

use model::limit::FactName;

/// The fact that a counter of a driver is, and its name without the numbers of queues; `None`: nothing that the table knows.
#[must_use]
pub fn driver_counter(driver: &str, counter: &str) -> Option<(FactName, String)> {
    let common = without_numbers(counter);
    let known = DRIVERS.iter().find(|(name, pattern, _)| *name == driver && *pattern == common);
    known.map(|(_, pattern, fact)| (*fact, (*pattern).to_owned()))
}

/// `queue_3_tx_queue_stop` and `tx_stop[3]` become `queue_N_tx_queue_stop` and `tx_stop[N]`, `rx3_drops` `rxN_drops`.
fn without_numbers(counter: &str) -> String {
    let mut text = String::new();
    for letter in counter.chars() {
        match letter {
            '0'..='9' if text.ends_with('N') => {}
            '0'..='9' => text.push('N'),
            other => text.push(other),
        }
    }
    text
}

/// Counters of drivers, as their sources in Linux name them (`ena_ethtool.c`, `gve_ethtool.c`, `mana_ethtool.c`, `netvsc_drv.c`,
/// `virtio_net.c`, `en_stats.c` of mlx5).
const DRIVERS: &[(&str, &str, FactName)] = &[
    ("ena", "bw_in_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "bw_out_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "pps_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "conntrack_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "linklocal_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "queue_N_rx_empty_rx_ring", FactName::DriverDrops),
    ("ena", "queue_N_tx_queue_stop", FactName::DriverStops),
    ("gve", "rx_queue_drop_cnt[N]", FactName::DriverDrops),
    ("gve", "rx_no_buffers_posted[N]", FactName::DriverDrops),
    ("gve", "tx_stop[N]", FactName::DriverStops),
    ("mana", "hc_rx_discards_no_wqe", FactName::DriverDrops),
    ("mana", "stop_queue", FactName::DriverStops),
    ("hv_netvsc", "tx_no_memory", FactName::DriverDrops),
    ("hv_netvsc", "tx_no_space", FactName::DriverDrops),
    ("hv_netvsc", "rx_no_memory", FactName::DriverDrops),
    ("hv_netvsc", "tx_busy", FactName::DriverStops),
    ("hv_netvsc", "tx_send_full", FactName::DriverStops),
    ("hv_netvsc", "stop_queue", FactName::DriverStops),
    ("virtio_net", "rxN_drops", FactName::DriverDrops),
    ("mlx5_core", "rx_out_of_buffer", FactName::DriverDrops),
    ("mlx5_core", "rx_discards_phy", FactName::DriverDrops),
    ("mlx5_core", "tx_queue_stopped", FactName::DriverStops),
];

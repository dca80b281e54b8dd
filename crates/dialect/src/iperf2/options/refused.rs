//! Options that iPerf2 has and this program does not serve, each with what to do instead.

use super::{Row, row};
use crate::getopt::Value;
use crate::iperf2::Fault;

/// A row that refuses its option.
macro_rules! refused {
    ($letter:expr, $name:literal, $value:expr, $shown:literal, $instead:literal) => {
        row($letter, $name, $value, "", |_, _| Err(Fault::not_served($shown, $instead)))
    };
}

const NEEDED: Value = Value::Needed("");
const OPTIONAL: Value = Value::Optional("");
const NONE: Value = Value::None;

pub(super) const REFUSED: &[Row] = &[
    refused!(Some('H'), "ssm-host", NEEDED, "-H/--ssm-host", "there is no multicast here"),
    refused!(Some('W'), "suggest_win_size", NONE, "-W", "give the size with -w"),
    refused!(Some('A'), "awdl", NONE, "-A/--awdl", "it is macOS's"),
    refused!(None, "local-only", OPTIONAL, "--local-only", "bind to an address of the link with -B"),
    refused!(None, "incr-dstip", NONE, "--incr-dstip", "start a client for each address"),
    refused!(None, "incr-srcip", NONE, "--incr-srcip", "start a client for each address"),
    refused!(None, "incr-dstport", NONE, "--incr-dstport", "start a client for each port"),
    refused!(None, "incr-srcport", NONE, "--incr-srcport", "ports of several streams differ by themselves"),
    refused!(None, "sum-dstip", NONE, "--sum-dstip", "sums are of one client's streams"),
    refused!(None, "tap-dev", OPTIONAL, "--tap-dev", "it receives through sockets only"),
    refused!(None, "tun-dev", OPTIONAL, "--tun-dev", "it receives through sockets only"),
    refused!(None, "l2checks", NONE, "--l2checks", "capture with `pathmeter throughput --pcap`"),
    refused!(None, "tcp-rx-window-clamp", NEEDED, "--tcp-rx-window-clamp", "limit the buffer with -w"),
    refused!(None, "tcp-quickack", NONE, "--tcp-quickack", "bounceback asks for it by itself"),
    refused!(None, "tos-override", NEEDED, "--tos-override", "the server answers with the client's -S"),
    refused!(None, "txdelay-time", NEEDED, "--txdelay-time", "give a time of day with --txstart-time"),
    refused!(None, "udp-l4s", NONE, "--udp-l4s", "-S sets the ECN bits too"),
    refused!(
        None,
        "omit",
        NEEDED,
        "--omit",
        "2.2.1 has no such option either; `pathmeter throughput --omit` leaves a begin out"
    ),
    refused!(
        None,
        "send-delay",
        NEEDED,
        "--send-delay",
        "start later, or give a time of day with --txstart-time"
    ),
    refused!(
        None,
        "set-rand-seed",
        NEEDED,
        "--set-rand-seed",
        "leave it out: nothing here is drawn from that seed"
    ),
];

//! Options that iPerf2 has and this program does not serve, each with what to do instead.

use super::Iperf2Option;
use crate::getopt::row;
use crate::iperf2::Fault;

/// A row that refuses its option.
macro_rules! refused {
    ($usage:literal, $shown:literal, $instead:literal) => {
        row($usage, "", |_, _| Err(Fault::not_served($shown, $instead)))
    };
}

pub(super) const REFUSED: &[Iperf2Option] = &[
    refused!("-H --ssm-host X", "-H/--ssm-host", "there is no multicast here"),
    refused!("-W --suggest_win_size", "-W", "give the size with -w"),
    refused!("-A --awdl", "-A/--awdl", "it is macOS's"),
    refused!("--local-only[=X]", "--local-only", "bind to an address of the link with -B"),
    refused!("--incr-dstip", "--incr-dstip", "start a client for each address"),
    refused!("--incr-srcip", "--incr-srcip", "start a client for each address"),
    refused!("--incr-dstport", "--incr-dstport", "start a client for each port"),
    refused!("--incr-srcport", "--incr-srcport", "ports of several streams differ by themselves"),
    refused!("--sum-dstip", "--sum-dstip", "sums are of one client's streams"),
    refused!("--tap-dev[=X]", "--tap-dev", "it receives through sockets only"),
    refused!("--tun-dev[=X]", "--tun-dev", "it receives through sockets only"),
    refused!("--l2checks", "--l2checks", "capture with `pathmeter throughput --pcap`"),
    refused!("--tcp-rx-window-clamp X", "--tcp-rx-window-clamp", "limit the buffer with -w"),
    refused!("--tcp-quickack", "--tcp-quickack", "bounceback asks for it by itself"),
    refused!("--tos-override X", "--tos-override", "the server answers with the client's -S"),
    refused!("--txdelay-time X", "--txdelay-time", "give a time of day with --txstart-time"),
    refused!("--udp-l4s", "--udp-l4s", "-S sets the ECN bits too"),
    refused!(
        "--omit X",
        "--omit",
        "2.2.1 has no such option either; `pathmeter throughput --omit` leaves a begin out"
    ),
    refused!("--send-delay X", "--send-delay", "start later, or give a time of day with --txstart-time"),
    refused!("--set-rand-seed X", "--set-rand-seed", "leave it out: nothing here is drawn from that seed"),
];

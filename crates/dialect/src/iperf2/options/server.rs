//! The options of a server, one row each.

use super::Iperf2Option;
use crate::getopt::{row, set};
use crate::iperf2::Fault;
use crate::iperf2::numbers::real;
use crate::numbers::nanos;

/// Options of the server alone.
pub(in crate::iperf2) const SERVER: &[Iperf2Option] = &[
    row("-s --server", "serve clients, many at once", |line, _| set(&mut line.server.asked, true)),
    row("-1 --singleclient", "serve one client at a time", |line, _| {
        set(&mut line.server.one_at_a_time, true)
    }),
    row("-U --single_udp", "the same, over UDP", |line, _| {
        line.server.one_at_a_time = true;
        line.client.test.transport = model::plan::Transport::Udp;
        Ok(())
    }),
    row("-D --daemon", "go to the background", |line, _| set(&mut line.server.daemon, true)),
    row(
        "--jitter-histograms[=MICROSECONDS]",
        "datagrams' jitter in bins so wide (100)",
        super::histograms::jitter,
    ),
    row(
        "--test-exchange-timeout SECONDS",
        "longest wait for what a connection begins with, up to 10",
        |line, text| {
            let seconds = real("--test-exchange-timeout", text, 0.0, 86_400.0)?;
            line.server.timeout = Some(nanos(seconds)).filter(|timeout| timeout.0 > 0);
            if seconds > LONGEST_TIMEOUT || seconds == 0.0 {
                line.warnings.push(
                    "WARNING: --test-exchange-timeout: no client is waited for longer than 10 seconds".into(),
                );
            }
            Ok(())
        },
    ),
    row(
        "--udp-reverse",
        "send UDP to any address that asks, as iPerf2 does: also to a forged one",
        |line, _| set(&mut line.server.udp_reverse, true),
    ),
    row("--permit-key-timeout SECONDS", "not served", |_, _| {
        Err(Fault::not_served("--permit-key-timeout", "a server without it keeps its key; end it with -t"))
    }),
];

/// Seconds that the engine waits at most.
const LONGEST_TIMEOUT: f64 = 10.0;

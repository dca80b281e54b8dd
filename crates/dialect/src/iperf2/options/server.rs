//! The options of a server, one row each.

use super::{Row, row};
use crate::getopt::Value;
use crate::iperf2::Fault;
use crate::iperf2::numbers::real;
use crate::numbers::nanos;

/// Options of the server alone.
pub(in crate::iperf2) const SERVER: &[Row] = &[
    row(Some('s'), "server", Value::None, "serve clients, many at once", |line, _| {
        line.server.asked = true;
        Ok(())
    }),
    row(Some('1'), "singleclient", Value::None, "serve one client at a time", |line, _| {
        line.server.one_at_a_time = true;
        line.server_only.push("-1");
        Ok(())
    }),
    row(Some('U'), "single_udp", Value::None, "the same, over UDP", |line, _| {
        line.server.one_at_a_time = true;
        line.client.test.transport = model::plan::Transport::Udp;
        line.server_only.push("-U");
        Ok(())
    }),
    row(Some('D'), "daemon", Value::None, "go to the background", |line, _| {
        line.server.daemon = true;
        line.server_only.push("-D");
        Ok(())
    }),
    row(
        None,
        "jitter-histograms",
        Value::Optional("MICROSECONDS"),
        "datagrams' jitter in bins so wide (100)",
        super::histograms::jitter,
    ),
    row(
        None,
        "test-exchange-timeout",
        Value::Needed("SECONDS"),
        "longest wait for what a connection begins with, up to 10",
        |line, text| {
            let seconds = real("--test-exchange-timeout", text, 0.0, 86_400.0)?;
            line.server.timeout = Some(nanos(seconds)).filter(|timeout| timeout.0 > 0);
            if seconds > LONGEST_TIMEOUT || seconds == 0.0 {
                line.warnings.push(
                    "WARNING: --test-exchange-timeout: no client is waited for longer than 10 seconds".into(),
                );
            }
            line.server_only.push("--test-exchange-timeout");
            Ok(())
        },
    ),
    row(
        None,
        "udp-reverse",
        Value::None,
        "send UDP to any address that asks, as iPerf2 does: also to a forged one",
        |line, _| {
            line.server.udp_reverse = true;
            line.server_only.push("--udp-reverse");
            Ok(())
        },
    ),
    row(None, "permit-key-timeout", Value::Needed("SECONDS"), "not served", |_, _| {
        Err(Fault::not_served("--permit-key-timeout", "a server without it keeps its key; end it with -t"))
    }),
];

/// Seconds that the engine waits at most.
const LONGEST_TIMEOUT: f64 = 10.0;

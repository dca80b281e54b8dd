//! The options of a server, one row each.

use super::{DURATION, Iperf3Option, MAX_TIME, Taken, both_roles};
use crate::getopt::{row, set};
use crate::iperf3::numbers::{nanos, rate, seconds, within};
use crate::iperf3::{CommandLine, Fault};
use model::units::{BitRate, Nanos};

/// Options of the server alone.
pub(in crate::iperf3) const SERVER: &[Iperf3Option] = &[
    row("-s --server", "serve clients, many at once", |line, _| {
        if line.client.host.is_some() {
            return Err(both_roles());
        }
        line.server.asked = true;
        Ok(())
    }),
    row("-D --daemon", "go to the background", |line, _| set(&mut line.server.daemon, true)),
    row("-1 --one-off", "end after one test", |line, _| set(&mut line.server.one_off, true)),
    row(
        "--server-bitrate-limit N[KMGT][/SECONDS]",
        "end tests above this total rate, averaged over 5 s",
        bitrate_limit,
    ),
    row("--server-max-duration SECONDS", "refuse longer tests", |line, text| {
        let seconds = within(text, 0, MAX_TIME, DURATION)?;
        line.server.max_duration = (seconds > 0).then(|| Nanos::from_secs(seconds.into()));
        Ok(())
    }),
    row("--idle-timeout SECONDS", "accepted; an idle server here never gets stuck", |line, text| {
        let refusal = "idle timeout parameter is not positive or larger than allowed limit";
        line.server.idle_timeout = Some(Nanos::from_secs(within(text, 1, MAX_TIME, refusal)?.into()));
        Ok(())
    }),
    row("--rsa-private-key-path FILE", "key that opens what clients say of themselves", |line, text| {
        set(&mut line.server.private_key, Some(text.into()))
    }),
    row(
        "--authorized-users-path FILE",
        "who may run tests: lines of NAME,SHA256({NAME}PASSWORD)",
        |line, text| set(&mut line.server.users, Some(text.into())),
    ),
    row("--time-skew-threshold SECONDS", "most that a client's clock may differ (10)", |line, text| {
        let refusal = "skew threshold must be a positive number";
        line.server.skew = Nanos::from_secs(within(text, 1, i64::from(i32::MAX), refusal)?.into());
        Ok(())
    }),
];

fn bitrate_limit(line: &mut CommandLine, text: &str) -> Taken {
    let (limit, window) = text.split_once('/').map_or((text, None), |(limit, window)| (limit, Some(window)));
    let window = match window {
        Some(text) => seconds(text)
            .filter(|time| *time == 0.0 || (0.1..=60.0).contains(time))
            .ok_or_else(|| Fault::parameter("invalid time interval for calculating average data rate"))?,
        None => 5.0,
    };
    let limit = rate(limit)?;
    line.server.bitrate_limit = (limit > BitRate(0)).then(|| (limit, nanos(window)));
    Ok(())
}

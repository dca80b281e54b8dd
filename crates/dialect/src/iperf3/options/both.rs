//! The options of both roles, one row each.

use super::{Iperf3Option, MAX_TIME, Taken, host_and_device, of_sctp, port};
use crate::getopt::{row, set};
use crate::iperf3::numbers::{any_base, nanos, seconds, whole, within};
use crate::iperf3::output::WHOLE_TEST;
use crate::iperf3::{CommandLine, Fault, Json, Keepalive, Request};
use model::plan::Transport;
use model::units::Nanos;

/// Options of client and server.
pub(in crate::iperf3) const BOTH: &[Iperf3Option] = &[
    row("-p --port N", "port of control and data, 5201 without it", |line, text| {
        set(&mut line.both.port, port(text)?)
    }),
    row("-f --format kmgtKMGT", "unit of rates: k, m, g, t bits, or K, M, G, T bytes", unit),
    row("-i --interval SECONDS", "time between reports, 0.1 to 60; 0 for the end only", interval),
    row("-I --pidfile FILE", "write the process id to FILE", |line, text| {
        set(&mut line.both.pidfile, Some(text.into()))
    }),
    row("-F --file NAME", "send this file, or write to it what is received", |line, text| {
        set(&mut line.both.local.file, Some(text.into()))
    }),
    row("-A --affinity N[,M]", "run on CPU N; as client, let the server run on CPU M", affinity),
    row("-B --bind HOST[%DEV]", "local address, and interface", |line, text| {
        let (host, device) = host_and_device(text);
        line.both.bind = Some(host);
        line.both.local.device = device.or(line.both.local.device.take());
        Ok(())
    }),
    row("--cport PORT", "local port; +1 for each further stream", |line, text| {
        set(&mut line.both.local.client_port, Some(port(text)?))
    }),
    row("--bind-dev DEV", "interface to send through", |line, text| {
        set(&mut line.both.local.device, Some(text.into()))
    }),
    row("-V --verbose", "say more", |line, _| set(&mut line.both.verbose, true)),
    row("-J --json", "one JSON document at the end", |line, _| {
        if line.both.json == Json::Off {
            line.both.json = Json::Document;
        }
        Ok(())
    }),
    row("--json-stream", "one JSON event a line, as it happens", |line, _| {
        let document = matches!(line.both.json, Json::Stream { document: true });
        line.both.json = Json::Stream { document };
        Ok(())
    }),
    row("--json-stream-full-output", "with --json-stream: and the document at the end", |line, _| {
        line.both.json = Json::Stream { document: true };
        Ok(())
    }),
    row("--logfile FILE", "write the output to FILE", |line, text| {
        set(&mut line.both.logfile, Some(text.into()))
    }),
    row("--forceflush", "flush the output at every interval", |line, _| set(&mut line.both.forceflush, true)),
    row("--timestamps[=FORMAT]", "time before each line, as strftime(3) has it", |line, text| {
        line.both.timestamps = Some(if text.is_empty() { "%c " } else { text }.into());
        Ok(())
    }),
    row("--rcv-timeout MS", "give up when a receiver sees nothing for so long (120000)", |line, text| {
        let most = MAX_TIME * 1000;
        let refusal = "receive timeout value is incorrect or not in range";
        line.both.local.receive_timeout = Some(millis(within(text, 100, most, refusal)?));
        Ok(())
    }),
    row("--snd-timeout MS", "give up when TCP data stays unacknowledged for so long", |line, text| {
        let refusal = "send timeout value is incorrect or not in range";
        line.both.send_timeout = Some(millis(within(text, 0, MAX_TIME * 1000, refusal)?));
        Ok(())
    }),
    row("--cntl-ka[=IDLE/INTERVAL/COUNT]", "keep the control connection alive (TCP keepalive)", keepalive),
    row("-4 --version4", "IPv4 only", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (true, false);
        Ok(())
    }),
    row("-6 --version6", "IPv6 only", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (false, true);
        Ok(())
    }),
    row("-m --mptcp", "Multipath TCP, where the kernel has it", |line, _| {
        (line.client.test.transport, line.client.test.mptcp) = (Transport::Tcp, true);
        Ok(())
    }),
    row("-d --debug[=LEVEL]", "say everything; 1 to 4", |line, text| {
        let level = whole(text).and_then(|level| u32::try_from(level).ok());
        line.both.debug = Some(level.unwrap_or(4));
        Ok(())
    }),
    row("-v --version", "say the version and end", |line, _| set(&mut line.stop, Some(Request::Version))),
    row("-h --help", "say this and end", |line, _| set(&mut line.stop, Some(Request::Help))),
    row("-X --xbind NAME", "", |_, _| Err(of_sctp("-X/--xbind", "-B binds TCP and UDP"))),
    row(
        "--use-pkcs1-padding",
        "authenticate as before iPerf3 3.17 (PKCS #1 v1.5 and not OAEP)",
        |line, _| {
            (line.client.pkcs1, line.server.pkcs1) = (true, true);
            Ok(())
        },
    ),
];

fn unit(line: &mut CommandLine, text: &str) -> Taken {
    let letter = text.chars().next().filter(|letter| "kmgtKMGT".contains(*letter));
    let refusal = "bad format specifier (valid formats are in the set [kmgtKMGT])";
    line.both.unit = letter.ok_or_else(|| Fault::parameter(refusal))?;
    Ok(())
}

fn interval(line: &mut CommandLine, text: &str) -> Taken {
    let parsed = seconds(text).filter(|time| *time == 0.0 || (0.1..=60.0).contains(time));
    let refusal = "invalid report interval (min = 0.1, max = 60 seconds)";
    let parsed = nanos(parsed.ok_or_else(|| Fault::parameter(refusal))?);
    // 0 is one interval, as long as the test.
    line.both.local.interval = if parsed == Nanos::ZERO { WHOLE_TEST } else { parsed };
    Ok(())
}

fn affinity(line: &mut CommandLine, text: &str) -> Taken {
    let cpu = |text| {
        let number = any_base(text).filter(|number| (0..=1024).contains(number));
        number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| Fault::parameter(BAD_CPU))
    };
    let (ours, theirs) = text.split_once(',').map_or((text, None), |(ours, theirs)| (ours, Some(theirs)));
    line.both.local.affinity = vec![cpu(ours)?];
    match theirs {
        Some(theirs) => {
            line.client.extras.server_affinity = Some(cpu(theirs)?);
            line.client_only = true;
            Ok(())
        }
        None => Ok(()),
    }
}

/// `IDLE/INTERVAL/COUNT`, each of which may be empty or absent.
fn keepalive(line: &mut CommandLine, text: &str) -> Taken {
    let mut parts =
        text.splitn(3, '/').map(|part| whole(part).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0));
    let [idle, interval, count] = std::array::from_fn(|_| parts.next().flatten());
    let retries = u64::from(interval.unwrap_or(0)) * u64::from(count.unwrap_or(0));
    if idle.is_some_and(|idle| u64::from(idle) <= retries) {
        return Err(Fault::parameter(
            "control connection Keepalive period should be larger than the full retry period (interval * count)",
        ));
    }
    let time = |seconds: u32| Nanos::from_secs(seconds.into());
    line.both.keepalive = Some(Keepalive { idle: idle.map(time), interval: interval.map(time), count });
    Ok(())
}

fn millis(count: u32) -> Nanos {
    Nanos::from_millis(count.into())
}

const BAD_CPU: &str = "unable to set CPU affinity: a CPU is a number from 0 to 1024";

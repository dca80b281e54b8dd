//! Options of clients.

use super::super::numbers::within;
use super::both::vma;
use super::{Fault, Line, Of, SockperfOption, Taken, address, cpus, port, row};
use crate::getopt::set;
use crate::sockperf::output::Bins;
use model::units::Nanos;

/// Options of every client.
pub(crate) const CLIENT: &[SockperfOption] = &[
    row("--srv-num N", Of::CLIENTS, "servers that answer each message; only 1", |_, v, o| {
        match within(v, 1, i64::from(i32::MAX), o, "server num val")? {
            1 => Ok(()),
            _ => Err(Fault::not_served(
                &format!("{o} {v}"),
                "one server answers; measure the others one by one",
            )),
        }
    }),
    row("--sender-affinity CPUS", Of::CLIENTS, "CPUs of the thread that sends, such as 0,2-3", |l, v, o| {
        set(&mut l.client.sender_cpus, cpus(v, o)?)
    }),
    row("--receiver-affinity CPUS", Of::CLIENTS, "likewise of the one that receives", |l, v, o| {
        set(&mut l.client.receiver_cpus, cpus(v, o)?)
    }),
    row("--full-log FILE", Of::CLIENTS, "write the times of all messages to a CSV file", |l, v, _| {
        set(&mut l.client.full_log, Some(v.into()))
    }),
    row("--full-rtt", Of::CLIENTS, "round trips, not halves of them", |l, _, _| {
        set(&mut l.client.asked.full_rtt, true)
    }),
    row("--giga-size", Of::CLIENTS, "sizes in gigabytes", |l, _, _| set(&mut l.client.asked.giga, true)),
    row("--increase_output_precision", Of::CLIENTS, "nine decimals of throughput", |l, _, _| {
        set(&mut l.client.asked.precise, true)
    }),
    row(
        "--tcp_nb_connect_timeout_ms MSEC",
        Of::CLIENTS,
        "for a connection to open (default 5000)",
        |l, v, o| {
            let millis = within(v, 0, i64::from(i32::MAX), o, "TCP connect timeout value")?;
            l.connect_timeout = Some(Nanos::from_millis(millis.into()));
            Ok(())
        },
    ),
    row("--dummy-send[=RATE]", Of::CLIENTS, "taken, without effect", vma),
];

/// Options of the tests that have them.
pub(crate) const TEST: &[SockperfOption] = &[
    row("-t --time SECONDS", Of::PACED, "length of the test (default 1)", |l, v, o| {
        set(&mut l.seconds, Some(within(v, 1, 36_000_000, o, "duration")?))
    }),
    row("-n --number-of-packets N", Of::PING_PONG, "observations, instead of -t", |l, v, o| {
        set(&mut l.number, Some(within(v, 1, 100_000_000, o, "number of packets")?.into()))
    }),
    row("--client_port PORT", Of::PACED, "local port", |l, v, o| {
        l.client.bind.1 = if v == "0" { None } else { Some(port(v, o)?) };
        Ok(())
    }),
    row("--client_ip --client_addr HOST", Of::PACED, "local address", |l, v, o| {
        set(&mut l.client.bind.0, address(v, o)?)
    }),
    row("-b --burst N", Of::PACED, "messages sent in a row (default 1)", |l, v, o| {
        set(&mut l.burst, Some(within(v, 1, 1 << 20, o, "burst size")?))
    }),
    row("--reply-every N", Of::SPARSE, "one reply for so many messages (default 100)", |l, v, o| {
        set(&mut l.reply_every, Some(within(v, 1, 1 << 30, o, "val")?))
    }),
    row("--mps --pps N|max", Of::PACED, "messages per second (default: 10000 of ul, else max)", |l, v, o| {
        l.rate = Some(match v {
            "max" | "MAX" => None,
            _ => Some(within(v, 1, 1 << 30, o, "val")?),
        });
        Ok(())
    }),
    row("-m --msg-size BYTES", Of::PACED, "of a message (default 14, the least)", |l, v, o| {
        set(&mut l.client.asked.size, within(v, 14, MAX_SIZE, o, "message size")?)
    }),
    row("-r --range BYTES", Of::PACED, "sizes differ at random by so much, in both directions", |l, v, o| {
        set(&mut l.client.asked.range, within(v, 0, i64::from(i32::MAX), o, "message range")?)
    }),
    row("--data-integrity", Of::PING_PONG, "compare each reply with its request", |l, _, _| {
        set(&mut l.client.integrity, true)
    }),
    row("--ci_sig_level[=PERCENT]", Of::TIMED, "of the confidence interval (default 99)", |l, v, o| {
        set(&mut l.client.asked.confidence, within(v, 1, 99, o, "Significance level")?)
    }),
    row("--histogram BIN:LOW:HIGH", Of::TIMED, "count latencies in bins, microseconds", histogram),
    row("--data-file FILE", Of::PLAYBACK, "the messages: seconds, bytes a line", |l, v, _| {
        set(&mut l.client.playback, Some(v.into()))
    }),
];

fn histogram(line: &mut Line, text: &str, option: &str) -> Taken {
    let wrong = || {
        Fault::bad(format!(
            "'{option}' Invalid argument: {text} Format should be binsize:lowerrange:upperrange"
        ))
    };
    let numbers: Vec<u32> = text.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let &[width, low, high] = numbers.as_slice() else { return Err(wrong()) };
    if width == 0 || high <= low {
        return Err(wrong());
    }
    line.client.asked.histogram = Some(Bins { width, low, high });
    Ok(())
}

/// Over TCP; over UDP it is less.
const MAX_SIZE: i64 = 1_048_575;

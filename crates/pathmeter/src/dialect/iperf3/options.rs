//! The options, one row each: letter, name, value, help, and what it sets. Limits and refusals are iPerf3 3.21's.

use super::getopt::{OptionRow, Value};
use super::numbers::{amount, any_base, nanos, rate, seconds, whole, within};
use super::{CommandLine, Fault, Json, Keepalive, Request};
use crate::cli::Dscp;
use model::plan::{Directions, End, Transport};
use model::units::{BitRate, Bytes, Nanos};
use std::net::Ipv6Addr;

type Row = OptionRow<CommandLine>;
type Taken = Result<(), Fault>;

/// Every option, in the groups of the help.
pub(super) const ALL: [&[Row]; 3] = [BOTH, SERVER, CLIENT];

const fn row(
    letter: Option<char>,
    name: &'static str,
    value: Value,
    help: &'static str,
    take: fn(&mut CommandLine, &str) -> Taken,
) -> Row {
    OptionRow { letter, name, value, help, take }
}

/// Of client and server.
pub(super) const BOTH: &[Row] = &[
    row(Some('p'), "port", Value::Needed("N"), "port of control and data, 5201 without it", |line, text| {
        line.both.port = port(text)?;
        Ok(())
    }),
    row(
        Some('f'),
        "format",
        Value::Needed("kmgtKMGT"),
        "unit of rates: k, m, g, t bits, or K, M, G, T bytes",
        unit,
    ),
    row(
        Some('i'),
        "interval",
        Value::Needed("SECONDS"),
        "time between reports, 0.1 to 60; 0 for the end only",
        interval,
    ),
    row(Some('I'), "pidfile", Value::Needed("FILE"), "write the process id to FILE", |line, text| {
        line.both.pidfile = Some(text.into());
        Ok(())
    }),
    row(Some('F'), "file", Value::Needed("NAME"), "not served", |_, _| {
        Err(Fault::not_served("-F/--file", "it sends made-up data only"))
    }),
    row(
        Some('A'),
        "affinity",
        Value::Needed("N[,M]"),
        "run on CPU N; as client, let the server run on CPU M",
        affinity,
    ),
    row(Some('B'), "bind", Value::Needed("HOST[%DEV]"), "local address, and interface", |line, text| {
        let (host, device) = host_and_device(text);
        line.both.bind = Some(host);
        line.both.bind_device = device.or(line.both.bind_device.take());
        Ok(())
    }),
    row(None, "bind-dev", Value::Needed("DEV"), "interface to send through", |line, text| {
        line.both.bind_device = Some(text.into());
        Ok(())
    }),
    row(Some('V'), "verbose", Value::None, "say more", |line, _| {
        line.both.verbose = true;
        Ok(())
    }),
    row(Some('J'), "json", Value::None, "one JSON document at the end", |line, _| {
        if line.both.json == Json::Off {
            line.both.json = Json::Document;
        }
        Ok(())
    }),
    row(None, "json-stream", Value::None, "one JSON event a line, as it happens", |line, _| {
        let document = matches!(line.both.json, Json::Stream { document: true });
        line.both.json = Json::Stream { document };
        Ok(())
    }),
    row(
        None,
        "json-stream-full-output",
        Value::None,
        "with --json-stream: and the document at the end",
        |line, _| {
            line.both.json = Json::Stream { document: true };
            Ok(())
        },
    ),
    row(None, "logfile", Value::Needed("FILE"), "write the output to FILE", |line, text| {
        line.both.logfile = Some(text.into());
        Ok(())
    }),
    row(None, "forceflush", Value::None, "flush the output at every interval", |line, _| {
        line.both.forceflush = true;
        Ok(())
    }),
    row(
        None,
        "timestamps",
        Value::Optional("FORMAT"),
        "time before each line, as strftime(3) has it",
        |line, text| {
            line.both.timestamps = Some(if text.is_empty() { "%c " } else { text }.into());
            Ok(())
        },
    ),
    row(
        None,
        "rcv-timeout",
        Value::Needed("MS"),
        "give up when a receiver sees nothing for so long (120000)",
        |line, text| {
            let most = MAX_TIME * 1000;
            let refusal = "receive timeout value is incorrect or not in range";
            line.both.receive_timeout = Some(millis(within(text, 100, most, refusal)?));
            Ok(())
        },
    ),
    row(
        None,
        "snd-timeout",
        Value::Needed("MS"),
        "give up when TCP data stays unacknowledged for so long",
        |line, text| {
            let refusal = "send timeout value is incorrect or not in range";
            line.both.send_timeout = Some(millis(within(text, 0, MAX_TIME * 1000, refusal)?));
            Ok(())
        },
    ),
    row(
        None,
        "cntl-ka",
        Value::Optional("IDLE/INTERVAL/COUNT"),
        "keep the control connection alive (TCP keepalive)",
        keepalive,
    ),
    row(Some('4'), "version4", Value::None, "IPv4 only", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (true, false);
        Ok(())
    }),
    row(Some('6'), "version6", Value::None, "IPv6 only", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (false, true);
        Ok(())
    }),
    row(Some('m'), "mptcp", Value::None, "not served", |_, _| {
        Err(Fault::not_served("-m/--mptcp", "leave it away for plain TCP"))
    }),
    row(Some('d'), "debug", Value::Optional("LEVEL"), "say everything; 1 to 4", |line, text| {
        let level = whole(text).and_then(|level| u32::try_from(level).ok());
        line.both.debug = Some(level.unwrap_or(4));
        Ok(())
    }),
    row(Some('v'), "version", Value::None, "say the version and end", |line, _| {
        line.stop = Some(Request::Version);
        Ok(())
    }),
    row(Some('h'), "help", Value::None, "say this and end", |line, _| {
        line.stop = Some(Request::Help);
        Ok(())
    }),
    row(Some('X'), "xbind", Value::Needed("NAME"), "", |_, _| Err(no_sctp())),
    row(
        None,
        "use-pkcs1-padding",
        Value::None,
        "authenticate as before iPerf3 3.17 (PKCS #1 v1.5 and not OAEP)",
        |line, _| {
            (line.client.pkcs1, line.server.pkcs1) = (true, true);
            Ok(())
        },
    ),
];

/// Of the server alone.
pub(super) const SERVER: &[Row] = &[
    row(Some('s'), "server", Value::None, "serve clients, many at once", |line, _| {
        if line.client.host.is_some() {
            return Err(both_roles());
        }
        line.server.asked = true;
        Ok(())
    }),
    row(Some('D'), "daemon", Value::None, "go to the background", |line, _| {
        line.server.daemon = true;
        server_only(line)
    }),
    row(Some('1'), "one-off", Value::None, "end after one test", |line, _| {
        line.server.one_off = true;
        server_only(line)
    }),
    row(
        None,
        "server-bitrate-limit",
        Value::Needed("N[KMGT][/SECONDS]"),
        "end tests above this total rate, averaged over 5 s",
        bitrate_limit,
    ),
    row(None, "server-max-duration", Value::Needed("SECONDS"), "refuse longer tests", |line, text| {
        let seconds = within(text, 0, MAX_TIME, DURATION)?;
        line.server.max_duration = (seconds > 0).then(|| Nanos::from_secs(seconds.into()));
        server_only(line)
    }),
    row(
        None,
        "idle-timeout",
        Value::Needed("SECONDS"),
        "accepted; an idle server here never gets stuck",
        |line, text| {
            let refusal = "idle timeout parameter is not positive or larger than allowed limit";
            line.server.idle_timeout = Some(Nanos::from_secs(within(text, 1, MAX_TIME, refusal)?.into()));
            server_only(line)
        },
    ),
    row(
        None,
        "rsa-private-key-path",
        Value::Needed("FILE"),
        "key that opens what clients say of themselves",
        |line, text| {
            line.server.private_key = Some(text.into());
            server_only(line)
        },
    ),
    row(
        None,
        "authorized-users-path",
        Value::Needed("FILE"),
        "who may run tests: lines of NAME,SHA256({NAME}PASSWORD)",
        |line, text| {
            line.server.users = Some(text.into());
            server_only(line)
        },
    ),
    row(
        None,
        "time-skew-threshold",
        Value::Needed("SECONDS"),
        "most that a client's clock may differ (10)",
        |line, text| {
            let refusal = "skew threshold must be a positive number";
            line.server.skew = Nanos::from_secs(within(text, 1, i64::from(i32::MAX), refusal)?.into());
            server_only(line)
        },
    ),
];

/// Of the client alone.
pub(super) const CLIENT: &[Row] = &[
    row(
        Some('c'),
        "client",
        Value::Needed("HOST[%DEV]"),
        "run a test with the server at HOST",
        |line, text| {
            if line.server.asked {
                return Err(both_roles());
            }
            let (host, device) = host_and_device(text);
            line.client.host = Some(host);
            line.both.bind_device = device.or(line.both.bind_device.take());
            Ok(())
        },
    ),
    row(None, "sctp", Value::None, "not served", |_, _| Err(no_sctp())),
    row(None, "nstreams", Value::Needed("N"), "", |_, _| Err(no_sctp())),
    row(Some('u'), "udp", Value::None, "UDP and not TCP", |line, _| {
        line.client.test.transport = Transport::Udp;
        client_only(line)
    }),
    row(
        None,
        "connect-timeout",
        Value::Needed("MS"),
        "longest wait for the control connection",
        |line, text| {
            line.client.connect_timeout =
                Some(Nanos::from_millis(amount(text)?)).filter(|time| *time > Nanos::ZERO);
            client_only(line)
        },
    ),
    row(
        Some('b'),
        "bitrate",
        Value::Needed("N[KMGT][/BURST]"),
        "rate of each stream, 0 for no limit; without it UDP 1M, TCP 0",
        bitrate,
    ),
    row(None, "bandwidth", Value::Needed("N[KMGT][/BURST]"), "", bitrate),
    row(None, "pacing-timer", Value::Needed("US"), "accepted; pacing here needs no timer", |line, text| {
        amount(text)?;
        client_only(line)
    }),
    row(
        None,
        "fq-rate",
        Value::Needed("N[KMGT]"),
        "have the kernel pace each stream to this rate",
        |line, text| {
            line.client.test.fq_rate = Some(rate(text)?).filter(|rate| rate.0 > 0);
            client_only(line)
        },
    ),
    row(None, "no-fq-socket-pacing", Value::None, "", |line, _| {
        line.warnings.push("--no-fq-socket-pacing is deprecated".into());
        line.client.test.fq_rate = None;
        client_only(line)
    }),
    row(
        Some('t'),
        "time",
        Value::Needed("SECONDS"),
        "length of the test (10); 0 until it is stopped",
        |line, text| {
            line.client.time_given = true;
            let seconds = within(text, 0, MAX_TIME, DURATION)?;
            let time = if seconds == 0 { Nanos::MAX } else { Nanos::from_secs(seconds.into()) };
            set_end(line, End::Time(time))
        },
    ),
    row(Some('n'), "bytes", Value::Needed("N[KMGT]"), "end after so many bytes", |line, text| match amount(
        text,
    )? {
        0 => client_only(line),
        bytes => set_end(line, End::Bytes(Bytes(bytes))),
    }),
    row(
        Some('k'),
        "blockcount",
        Value::Needed("N[KMGT]"),
        "end after so many writes or datagrams",
        |line, text| match amount(text)? {
            0 => client_only(line),
            blocks => set_end(line, End::Blocks(blocks)),
        },
    ),
    row(
        Some('l'),
        "length",
        Value::Needed("N[KMGT]"),
        "bytes of a write (128K) or of a datagram (the path's MSS)",
        |line, text| {
            let length = amount(text)?;
            line.client.test.length = u32::try_from(length).map_err(|_| Fault::parameter(BLOCK_SIZE))?;
            client_only(line)
        },
    ),
    row(None, "cport", Value::Needed("PORT"), "local port; +1 for each further stream", |line, text| {
        line.client.port = Some(port(text)?);
        Ok(())
    }),
    row(Some('P'), "parallel", Value::Needed("N"), "parallel streams, 1 to 128", |line, text| {
        line.client.test.streams =
            within(text, 1, 128, "invalid number of parallel streams (min = 1, max = 128)")?;
        client_only(line)
    }),
    row(Some('R'), "reverse", Value::None, "the server sends", |line, _| direction(line, Directions::Down)),
    row(None, "bidir", Value::None, "both ends send", |line, _| direction(line, Directions::Both)),
    row(Some('w'), "window", Value::Needed("N[KMGT]"), "socket buffer size of both ends", |line, text| {
        let refusal = || Fault::parameter("socket buffer size too large (maximum = 536870912 bytes)");
        let size = amount(text)?;
        let size = u32::try_from(size).ok().filter(|size| *size <= 512 << 20).ok_or_else(refusal)?;
        line.client.test.window = Some(size).filter(|size| *size > 0);
        client_only(line)
    }),
    row(Some('C'), "congestion", Value::Needed("NAME"), "TCP congestion control of both ends", congestion),
    row(None, "linux-congestion", Value::Needed("NAME"), "", congestion),
    row(Some('M'), "set-mss", Value::Needed("N"), "TCP maximum segment size, at most 32767", |line, text| {
        let mss = within(text, 0, 32_767, "TCP MSS too large (maximum = 32767 bytes)")?;
        line.client.test.mss = Some(mss).filter(|mss| *mss > 0);
        client_only(line)
    }),
    row(Some('N'), "no-delay", Value::None, "send each TCP write at once", |line, _| {
        line.client.test.nodelay = true;
        client_only(line)
    }),
    row(Some('S'), "tos", Value::Needed("N"), "TOS byte, 0 to 255, 0x for hexadecimal", |line, text| {
        let tos = any_base(text).and_then(|tos| u8::try_from(tos).ok());
        let refusal = "bad TOS value (must be between 0 and 255 inclusive)";
        line.client.test.tos = tos.ok_or_else(|| Fault::parameter(refusal))?;
        client_only(line)
    }),
    row(
        None,
        "dscp",
        Value::Needed("DSCP"),
        "mark by name (ef, af41, …) or number, 0 to 63",
        |line, text| {
            line.client.test.tos = dscp(text).ok_or_else(|| Fault::parameter(BAD_DSCP))?;
            client_only(line)
        },
    ),
    row(Some('L'), "flowlabel", Value::Needed("N"), "IPv6 flow label", |line, text| {
        let label = any_base(text).and_then(|label| u32::try_from(label).ok());
        let label = label.filter(|label| (1..=0xf_ffff).contains(label));
        line.client.test.flow_label =
            Some(label.ok_or_else(|| Fault::parameter("unable to set IPv6 flow label: it is 1 to 0xfffff"))?);
        client_only(line)
    }),
    row(Some('Z'), "zerocopy", Value::None, "send TCP without copying", |line, _| {
        line.client.test.zero_copy = true;
        client_only(line)
    }),
    row(None, "skip-rx-copy", Value::None, "receive TCP without copying (MSG_TRUNC)", |line, _| {
        line.client.test.skip_receive_copy = true;
        client_only(line)
    }),
    row(
        Some('O'),
        "omit",
        Value::Needed("SECONDS"),
        "leading time that is not counted, at most 600",
        |line, text| {
            let seconds = within(text, 0, 600, "bogus value for --omit (maximum = 600 seconds)")?;
            line.client.test.omit = Nanos::from_secs(seconds.into());
            client_only(line)
        },
    ),
    row(Some('T'), "title", Value::Needed("TEXT"), "put TEXT before each line", |line, text| {
        line.client.title = Some(text.into());
        client_only(line)
    }),
    row(None, "extra-data", Value::Needed("TEXT"), "put TEXT into the JSON of both ends", |line, text| {
        line.client.extra_data = Some(text.into());
        client_only(line)
    }),
    row(None, "get-server-output", Value::None, "show the server's own output too", |line, _| {
        line.client.get_server_output = true;
        client_only(line)
    }),
    row(None, "udp-counters-64bit", Value::None, "64-bit sequence numbers in UDP", |line, _| {
        line.client.test.wide_counters = true;
        client_only(line)
    }),
    row(
        None,
        "gsro",
        Value::None,
        "UDP segmentation and receive offload (GSO and GRO) at both ends",
        |line, _| {
            line.client.gsro = true;
            client_only(line)
        },
    ),
    row(
        None,
        "repeating-payload",
        Value::None,
        "send a repeating pattern and not random bytes",
        |line, _| {
            line.client.test.repeating_payload = true;
            client_only(line)
        },
    ),
    row(None, "dont-fragment", Value::None, "forbid fragments of IPv4 UDP", |line, _| {
        line.client.test.dont_fragment = true;
        client_only(line)
    }),
    row(
        None,
        "username",
        Value::Needed("NAME"),
        "who runs the test; the password is in IPERF3_PASSWORD, or asked for",
        |line, text| {
            line.client.username = Some(text.into());
            client_only(line)
        },
    ),
    row(
        None,
        "rsa-public-key-path",
        Value::Needed("FILE"),
        "the server's key, for name and password",
        |line, text| {
            line.client.public_key = Some(text.into());
            client_only(line)
        },
    ),
];

fn client_only(line: &mut CommandLine) -> Taken {
    line.client_only = true;
    Ok(())
}

fn server_only(line: &mut CommandLine) -> Taken {
    line.server_only = true;
    Ok(())
}

fn both_roles() -> Fault {
    Fault::parameter("cannot be both server and client")
}

fn no_sctp() -> Fault {
    Fault::parameter("no SCTP support available: use TCP, or -u for UDP")
}

fn port(text: &str) -> Result<u16, Fault> {
    let port = within(text, 1, 65_535, BAD_PORT)?;
    u16::try_from(port).map_err(|_| Fault::parameter(BAD_PORT))
}

fn unit(line: &mut CommandLine, text: &str) -> Taken {
    let letter = text.chars().next().filter(|letter| "kmgtKMGT".contains(*letter));
    let refusal = "bad format specifier (valid formats are in the set [kmgtKMGT])";
    line.both.unit = letter.ok_or_else(|| Fault::parameter(refusal))?;
    Ok(())
}

fn interval(line: &mut CommandLine, text: &str) -> Taken {
    let asked = seconds(text).filter(|time| *time == 0.0 || (0.1..=60.0).contains(time));
    let refusal = "invalid report interval (min = 0.1, max = 60 seconds)";
    line.both.interval = nanos(asked.ok_or_else(|| Fault::parameter(refusal))?);
    Ok(())
}

fn affinity(line: &mut CommandLine, text: &str) -> Taken {
    let cpu = |text| {
        let number = any_base(text).filter(|number| (0..=1024).contains(number));
        number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| Fault::parameter(BAD_CPU))
    };
    let (ours, theirs) = text.split_once(',').map_or((text, None), |(ours, theirs)| (ours, Some(theirs)));
    line.both.affinity = Some(cpu(ours)?);
    match theirs {
        Some(theirs) => {
            line.client.server_affinity = Some(cpu(theirs)?);
            client_only(line)
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
    server_only(line)
}

fn bitrate(line: &mut CommandLine, text: &str) -> Taken {
    let (asked, burst) = text.split_once('/').map_or((text, None), |(asked, burst)| (asked, Some(burst)));
    if let Some(burst) = burst {
        line.client.test.burst = within(burst, 1, 1000, "invalid burst count (maximum = 1000)")?;
    }
    line.client.test.bitrate = Some(rate(asked)?).filter(|rate| rate.0 > 0);
    line.client.rate_given = true;
    client_only(line)
}

/// What ends the test; only one thing can.
fn set_end(line: &mut CommandLine, end: End) -> Taken {
    let test = &mut line.client.test;
    let by_amount = !matches!(test.end, End::Time(_));
    let same = std::mem::discriminant(&test.end) == std::mem::discriminant(&end);
    if by_amount && !same {
        return Err(Fault::parameter(ONE_END));
    }
    if line.client.time_given && !matches!(end, End::Time(_)) {
        return Err(Fault::parameter(ONE_END));
    }
    test.end = end;
    client_only(line)
}

fn direction(line: &mut CommandLine, asked: Directions) -> Taken {
    let test = &mut line.client.test;
    if test.directions != Directions::Up && test.directions != asked {
        return Err(Fault::parameter("cannot be both reverse and bidirectional"));
    }
    test.directions = asked;
    client_only(line)
}

fn congestion(line: &mut CommandLine, text: &str) -> Taken {
    line.client.test.congestion = Some(text.into());
    client_only(line)
}

/// The byte of a name or of a code point in any base. The last three names are those of RFC 1349.
fn dscp(text: &str) -> Option<u8> {
    let old = [("lowdelay", 0x10), ("throughput", 0x08), ("reliability", 0x04)];
    if let Some((_, byte)) = old.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Some(*byte);
    }
    let number = || {
        let (digits, base) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None if text.len() > 1 && text.starts_with('0') => (text, 8),
            None => (text, 10),
        };
        u8::from_str_radix(digits, base).ok().filter(|value| *value < 64).map(Dscp)
    };
    Dscp::named(text).or_else(number).map(Dscp::tos)
}

/// `HOST%DEV` apart; a link-local IPv6 address keeps its zone.
fn host_and_device(text: &str) -> (String, Option<String>) {
    match text.split_once('%') {
        Some((host, device)) if !device.is_empty() && !is_link_local(host) => {
            (host.into(), Some(device.into()))
        }
        _ => (text.into(), None),
    }
}

fn is_link_local(host: &str) -> bool {
    host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unicast_link_local())
}

fn millis(count: u32) -> Nanos {
    Nanos::from_millis(count.into())
}

/// Seconds of a day, iPerf3's longest test.
const MAX_TIME: i64 = 86_400;
const DURATION: &str = "test duration valid values are 0 to 86400 seconds";
const BAD_PORT: &str = "port number must be between 1 and 65535 inclusive";
const BAD_CPU: &str = "unable to set CPU affinity: a CPU is a number from 0 to 1024";
const ONE_END: &str = "only one test end condition (-t, -n, -k) may be specified";
pub(super) const BLOCK_SIZE: &str = "block size too large (maximum = 1048576 bytes)";
const BAD_DSCP: &str = "bad DSCP value (numeric: 0-63 inclusive, symbolic: one of [af11-13, af21-23, af31-33, \
                        af41-43, cs1-7, ef, va, lowdelay, throughput, reliability])";

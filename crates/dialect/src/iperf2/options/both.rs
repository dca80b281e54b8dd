//! The options of both roles, one row each.

use super::histograms::histograms;
use super::{Row, Taken, host_port_device, row};
use crate::getopt::Value;
use crate::iperf2::numbers::{amount, real, within};
use crate::iperf2::{CommandLine, Fault, Request};
use crate::numbers::{any_base, code_point, nanos};
use model::marks::Dscp;
use model::plan::Transport;

/// Options of client and server.
pub(in crate::iperf2) const BOTH: &[Row] = &[
    row(Some('e'), "enhanced", Value::None, "say more of each interval", |line, _| {
        line.both.enhanced = true;
        Ok(())
    }),
    row(Some('f'), "format", Value::Needed("bkmgBKMGaA"), "unit: small letters bits, capitals bytes", unit),
    row(
        Some('i'),
        "interval",
        Value::Needed("SECONDS"),
        "time between reports; without it the end only",
        |line, text| {
            line.both.interval = Some(nanos(real("-i", text, 0.005, 4294.0)?));
            Ok(())
        },
    ),
    row(
        Some('l'),
        "len",
        Value::Needed("N[kmKM]"),
        "bytes of a write or datagram; TCP 128K, UDP 1470 or 1450",
        |line, text| {
            line.client.test.length = within("-l", text, 1, 16 << 20)?;
            Ok(())
        },
    ),
    row(
        None,
        "histograms",
        Value::Optional("WIDTH[u|m],N,LOW,HIGH"),
        "times in bins: of writes, delays, bursts, round trips",
        histograms,
    ),
    row(None, "udp-histograms", Value::Optional("WIDTH[u|m],N,LOW,HIGH"), "", histograms),
    row(Some('m'), "print_mss", Value::None, "print the largest TCP segment", |line, _| {
        line.both.print_mss = true;
        Ok(())
    }),
    row(Some('o'), "output", Value::Needed("FILE"), "write the reports to FILE", |line, text| {
        line.both.output = Some(text.into());
        Ok(())
    }),
    row(
        Some('p'),
        "port",
        Value::Needed("N[-M]"),
        "port to listen on (all from N to M) or connect to (5001)",
        |line, text| {
            let (first, last) =
                text.split_once('-').map_or((text, None), |(first, last)| (first, Some(last)));
            line.both.port = port(first)?;
            line.both.last_port = last.map(port).transpose()?;
            let ports = line.both.last_port.map_or(1, |last| last.saturating_sub(line.both.port));
            if ports == 0 || ports > MOST_PORTS {
                return Err(Fault::value("-p", text, "N-M with M above N, and at most 100 ports"));
            }
            Ok(())
        },
    ),
    row(
        None,
        "permit-key",
        Value::Optional("KEY"),
        "serve only clients that know KEY (TCP)",
        |line, text| {
            if !(4..=128).contains(&text.len()) {
                return Err(Fault::value("--permit-key", text, "--permit-key=KEY of 4 to 128 characters"));
            }
            line.both.key = Some(text.into());
            Ok(())
        },
    ),
    row(None, "sum-only", Value::None, "print the sums only", |line, _| {
        line.both.sum_only = true;
        Ok(())
    }),
    row(None, "hide-ips", Value::None, "hide addresses", |line, _| {
        line.both.hide_ips = true;
        Ok(())
    }),
    row(
        Some('t'),
        "time",
        Value::Needed("SECONDS"),
        "how long to send (10) or, as server, to serve",
        |line, text| {
            line.both.time = Some(nanos(real("-t", text, 0.0, LONGEST)?));
            Ok(())
        },
    ),
    row(Some('u'), "udp", Value::None, "UDP and not TCP", |line, _| {
        line.client.test.transport = Transport::Udp;
        Ok(())
    }),
    row(Some('w'), "window", Value::Needed("N[KM]"), "size of the socket's buffer", |line, text| {
        line.client.test.window = Some(within("-w", text, 1, 1 << 30)?);
        Ok(())
    }),
    row(
        Some('x'),
        "reportexclude",
        Value::Needed("CDMSV"),
        "leave out reports: connection, data, multicast, settings, server",
        exclude,
    ),
    row(Some('y'), "reportstyle", Value::Needed("C"), "comma-separated values", |line, text| {
        if !text.eq_ignore_ascii_case("c") {
            return Err(Fault::value("-y", text, "C is the only style"));
        }
        line.both.csv = true;
        Ok(())
    }),
    row(
        Some('B'),
        "bind",
        Value::Needed("HOST[:PORT][%DEV]"),
        "local address, port and interface",
        |line, text| {
            let (host, port, device) = host_port_device(text)?;
            (line.both.bind, line.both.bind_port) = (Some(host).filter(|host| !host.is_empty()), port);
            line.both.device = device.or(line.both.device.take());
            Ok(())
        },
    ),
    row(Some('M'), "mss", Value::Needed("N"), "largest TCP segment (TCP_MAXSEG)", |line, text| {
        line.client.test.mss = Some(within("-M", text, 88, 32_767)?);
        Ok(())
    }),
    row(Some('N'), "nodelay", Value::None, "send each write at once (TCP_NODELAY)", |line, _| {
        line.client.test.nodelay = true;
        Ok(())
    }),
    row(Some('S'), "tos", Value::Needed("TOS"), "TOS byte or its name, such as ef or 0x10", tos),
    row(None, "dscp", Value::Needed("DSCP"), "DSCP by name (ef, af41, …) or number, 0 to 63", dscp),
    row(Some('Z'), "tcp-congestion", Value::Needed("NAME"), "TCP congestion control", |line, text| {
        line.client.test.congestion = Some(text.into());
        Ok(())
    }),
    row(None, "linux-congestion", Value::Needed("NAME"), "", |line, text| {
        line.client.test.congestion = Some(text.into());
        Ok(())
    }),
    row(Some('4'), "v4", Value::None, "IPv4 only", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (true, false);
        Ok(())
    }),
    row(Some('6'), "v6", Value::None, "IPv6", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (false, true);
        Ok(())
    }),
    row(Some('V'), "ipv6_domain", Value::None, "IPv6", |line, _| {
        (line.both.ipv4, line.both.ipv6) = (false, true);
        Ok(())
    }),
    row(Some('z'), "realtime", Value::None, "accepted; this program needs no such priority", |_, _| Ok(())),
    row(None, "NUM_REPORT_STRUCTS", Value::Needed("N"), "", |_, text| {
        amount("--NUM_REPORT_STRUCTS", text).map(drop)
    }),
    row(None, "utc", Value::None, "print times of day in UTC", |line, _| {
        line.both.utc = true;
        Ok(())
    }),
    row(Some('h'), "help", Value::None, "say this and end", |line, _| {
        line.stop = Some(Request::Help);
        Ok(())
    }),
    row(Some('v'), "version", Value::None, "say the version and end", |line, _| {
        line.stop = Some(Request::Version);
        Ok(())
    }),
];

pub(super) fn port(text: &str) -> Result<u16, Fault> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| Fault::value("-p", text, "1 to 65535"))
}

fn unit(line: &mut CommandLine, text: &str) -> Taken {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if "bkmgtaBKMGTA".contains(letter) => line.both.unit = Some(letter),
        _ => return Err(Fault::value("-f", text, "one letter of bkmgtaBKMGTA")),
    }
    Ok(())
}

fn exclude(line: &mut CommandLine, text: &str) -> Taken {
    let exclude = &mut line.both.exclude;
    for letter in text.chars() {
        match letter.to_ascii_uppercase() {
            'C' => exclude.connections = true,
            'D' => exclude.data = true,
            'S' => exclude.settings = true,
            'V' => exclude.server = true,
            'M' => {}
            _ => return Err(Fault::value("-x", text, "letters of CDMSV")),
        }
    }
    Ok(())
}

/// A byte in any base, or a name; the last ones are iPerf2's own.
fn tos(line: &mut CommandLine, text: &str) -> Taken {
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, byte)| *byte);
    let number = || {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric());
        any_base(text).filter(|_| plain).and_then(|value| u8::try_from(value).ok())
    };
    let byte = named.or_else(|| Dscp::named(text).map(Dscp::tos)).or_else(number);
    line.client.test.tos =
        byte.ok_or_else(|| Fault::value("-S", text, "0 to 255, 0x00 to 0xff, or a name"))?;
    Ok(())
}

/// A code point by name or in any base.
fn dscp(line: &mut CommandLine, text: &str) -> Taken {
    let refused = || Fault::value("--dscp", text, "0 to 63, or a name such as ef");
    line.client.test.tos = code_point(text).ok_or_else(refused)?.tos();
    Ok(())
}

const NAMES: [(&str, u8); 10] = [
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
    ("le", 0x04),
    ("nqb", 0xb4),
    ("nqb2", 0x14),
    ("ac_be", 0x00),
    ("ac_bk", 0x20),
    ("ac_vi", 0x80),
    ("ac_vo", 0xb8),
];
/// Ports of a server, less the first one.
const MOST_PORTS: u16 = 99;
/// Hundredths of a second in 31 bits, as they travel.
const LONGEST: f64 = 21_000_000.0;

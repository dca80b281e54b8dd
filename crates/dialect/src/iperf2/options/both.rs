//! The options of both roles, one row each.

use super::histograms::histograms;
use super::{Iperf2Option, Taken, host_port_device};
use crate::getopt::{row, set};
use crate::iperf2::numbers::{amount, real, within};
use crate::iperf2::{CommandLine, Fault, Request};
use crate::numbers::{any_base, code_point, nanos};
use model::marks::Dscp;
use model::plan::Transport;
use model::units::BitRate;

/// Options of client and server.
pub(in crate::iperf2) const BOTH: &[Iperf2Option] = &[
    row(
        "-b --bandwidth N[kmgKMG|pps]",
        "rate of each stream, bits or packets per second; UDP 1M, TCP no limit",
        rate,
    ),
    row("-e --enhanced", "say more of each interval", |line, _| set(&mut line.both.shown.enhanced, true)),
    row("-f --format bkmgBKMGaA", "unit: small letters bits, capitals bytes", unit),
    row("-i --interval SECONDS", "time between reports; without it the end only", |line, text| {
        set(&mut line.both.interval, Some(nanos(real("-i", text, 0.005, 4294.0)?)))
    }),
    row("-l --len N[kmKM]", "bytes of a write or datagram; TCP 128K, UDP 1470 or 1450", |line, text| {
        set(&mut line.client.test.length, Some(within("-l", text, 1, 16 << 20)?))
    }),
    row(
        "--histograms[=WIDTH[u|m],N,LOW,HIGH]",
        "times in bins: of writes, delays, bursts, round trips",
        histograms,
    ),
    row("--udp-histograms[=WIDTH[u|m],N,LOW,HIGH]", "", histograms),
    row("-m --print_mss", "print the largest TCP segment", |line, _| set(&mut line.both.print_mss, true)),
    row("-o --output FILE", "write the reports to FILE", |line, text| {
        set(&mut line.both.output, Some(text.into()))
    }),
    row("-p --port N[-M]", "port to listen on (all from N to M) or connect to (5001)", |line, text| {
        let (first, last) = text.split_once('-').map_or((text, None), |(first, last)| (first, Some(last)));
        line.both.port = port(first)?;
        line.both.last_port = last.map(port).transpose()?;
        let ports = line.both.last_port.map_or(1, |last| last.saturating_sub(line.both.port));
        if ports == 0 || ports > MOST_PORTS {
            return Err(Fault::value("-p", text, "N-M with M above N, and at most 100 ports"));
        }
        Ok(())
    }),
    row("--permit-key[=KEY]", "serve only clients that know KEY (TCP)", |line, text| {
        if !(4..=128).contains(&text.len()) {
            return Err(Fault::value("--permit-key", text, "--permit-key=KEY of 4 to 128 characters"));
        }
        line.both.key = Some(text.into());
        Ok(())
    }),
    row("--sum-only", "print the sums only", |line, _| set(&mut line.both.shown.sum_only, true)),
    row("--hide-ips", "hide addresses", |line, _| set(&mut line.both.shown.hide_ips, true)),
    row("-t --time SECONDS", "how long to send (10) or, as server, to serve", |line, text| {
        set(&mut line.both.time, Some(nanos(real("-t", text, 0.0, LONGEST)?)))
    }),
    row("-u --udp", "UDP and not TCP", |line, _| set(&mut line.client.test.transport, Transport::Udp)),
    row("-w --window N[KM]", "size of the socket's buffer", |line, text| {
        set(&mut line.client.test.window, Some(within("-w", text, 1, 1 << 30)?))
    }),
    row(
        "-x --reportexclude CDMSV",
        "leave out reports: connection, data, multicast, settings, server",
        exclude,
    ),
    row("-y --reportstyle C", "comma-separated values", |line, text| {
        if !text.eq_ignore_ascii_case("c") {
            return Err(Fault::value("-y", text, "C is the only style"));
        }
        line.both.shown.csv = true;
        Ok(())
    }),
    row("-B --bind HOST[:PORT][%DEV]", "local address, port and interface", |line, text| {
        let (host, port, device) = host_port_device(text)?;
        (line.both.bind, line.both.bind_port) = (Some(host).filter(|host| !host.is_empty()), port);
        line.both.device = device.or(line.both.device.take());
        Ok(())
    }),
    row("-P --parallel N", "streams, 1 to 128; a server ends after N clients", |line, text| {
        line.client.test.streams = within("-P", text, 1, 128)?;
        line.server.clients = Some(line.client.test.streams);
        Ok(())
    }),
    row("-M --mss N", "largest TCP segment (TCP_MAXSEG)", |line, text| {
        set(&mut line.client.test.mss, Some(within("-M", text, 88, 32_767)?))
    }),
    row("-N --nodelay", "send each write at once (TCP_NODELAY)", |line, _| {
        set(&mut line.client.test.nodelay, true)
    }),
    row("-S --tos TOS", "TOS byte or its name, such as ef or 0x10", tos),
    row("--dscp DSCP", "DSCP by name (ef, af41, …) or number, 0 to 63", dscp),
    row("-Z --tcp-congestion NAME", "TCP congestion control", |line, text| {
        set(&mut line.client.test.congestion, Some(text.into()))
    }),
    row("--linux-congestion NAME", "", |line, text| set(&mut line.client.test.congestion, Some(text.into()))),
    row("-4 --v4", "IPv4 only", |line, _| family(line, true)),
    row("-6 --v6", "IPv6", |line, _| family(line, false)),
    row("-V --ipv6_domain", "IPv6", |line, _| family(line, false)),
    row("-z --realtime", "accepted; this program needs no such priority", |_, _| Ok(())),
    row("--NUM_REPORT_STRUCTS N", "", |_, text| amount("--NUM_REPORT_STRUCTS", text).map(drop)),
    row("--utc", "print times of day in UTC", |line, _| set(&mut line.both.utc, true)),
    row("-h --help", "say this and end", |line, _| set(&mut line.stop, Some(Request::Help))),
    row("-v --version", "say the version and end", |line, _| set(&mut line.stop, Some(Request::Version))),
];

pub(super) fn port(text: &str) -> Result<u16, Fault> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| Fault::value("-p", text, "1 to 65535"))
}

fn family(line: &mut CommandLine, ipv4: bool) -> Taken {
    (line.both.ipv4, line.both.ipv6) = (ipv4, !ipv4);
    Ok(())
}

fn unit(line: &mut CommandLine, text: &str) -> Taken {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if "bkmgtaBKMGTA".contains(letter) => line.both.shown.unit = Some(letter),
        _ => return Err(Fault::value("-f", text, "one letter of bkmgtaBKMGTA")),
    }
    Ok(())
}

fn rate(line: &mut CommandLine, text: &str) -> Taken {
    let packets = text.strip_suffix("pps").or_else(|| text.strip_suffix("PPS"));
    if text.contains(',') {
        return Err(Fault::not_served("-b with a deviation", "give one rate"));
    }
    line.client.rate_given = true;
    match packets {
        Some(packets) => {
            line.client.extras.packet_rate = Some(amount("-b", packets)?).filter(|rate| *rate > 0)
        }
        None => line.client.test.bitrate = Some(BitRate(amount("-b", text)?)).filter(|rate| rate.0 > 0),
    }
    Ok(())
}

fn exclude(line: &mut CommandLine, text: &str) -> Taken {
    let exclude = &mut line.both.shown.exclude;
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

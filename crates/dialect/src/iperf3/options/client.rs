//! The options of a client, one row each.

use super::{
    BLOCK_SIZE, DURATION, Iperf3Option, MAX_TIME, Taken, both_roles, host_and_device, no_sctp, of_sctp,
};
use crate::getopt::{row, set};
use crate::iperf3::numbers::{amount, any_base, rate, within};
use crate::iperf3::{CommandLine, Fault};
use crate::numbers::code_point;
use model::marks::Dscp;
use model::plan::{Directions, End, Transport};
use model::units::{Bytes, Nanos};

/// Options of the client alone.
pub(in crate::iperf3) const CLIENT: &[Iperf3Option] = &[
    row("-c --client HOST[%DEV]", "run a test with the server at HOST", |line, text| {
        if line.server.asked {
            return Err(both_roles());
        }
        let (host, device) = host_and_device(text);
        line.client.host = Some(host);
        line.both.local.device = device.or(line.both.local.device.take());
        Ok(())
    }),
    row("--sctp", "not served", |_, _| Err(no_sctp())),
    row("--nstreams N", "", |_, _| Err(of_sctp("--nstreams", "-P opens several TCP or UDP streams"))),
    row("-u --udp", "UDP and not TCP", |line, _| set(&mut line.client.test.transport, Transport::Udp)),
    row("--connect-timeout MS", "longest wait for the control connection", |line, text| {
        set(
            &mut line.both.local.connect_timeout,
            Some(Nanos::from_millis(amount(text)?)).filter(|time| *time > Nanos::ZERO),
        )
    }),
    row(
        "-b --bitrate N[KMGT][/BURST]",
        "rate of each stream, 0 for no limit; without it UDP 1M, TCP 0",
        bitrate,
    ),
    row("--bandwidth N[KMGT][/BURST]", "", bitrate),
    row("--pacing-timer US", "accepted; pacing here needs no timer", |_, text| {
        amount(text)?;
        Ok(())
    }),
    row("--fq-rate N[KMGT]", "have the kernel pace each stream to this rate", |line, text| {
        set(&mut line.client.test.fq_rate, Some(rate(text)?).filter(|rate| rate.0 > 0))
    }),
    row("--no-fq-socket-pacing", "", |line, _| {
        line.warnings.push("--no-fq-socket-pacing is deprecated".into());
        line.client.test.fq_rate = None;
        Ok(())
    }),
    row("-t --time SECONDS", "length of the test (10); 0 until it is stopped", |line, text| {
        line.client.time_given = true;
        let seconds = within(text, 0, MAX_TIME, DURATION)?;
        let time = if seconds == 0 { Nanos::MAX } else { Nanos::from_secs(seconds.into()) };
        set_end(line, End::Time(time))
    }),
    row("-n --bytes N[KMGT]", "end after so many bytes", |line, text| match amount(text)? {
        0 => Ok(()),
        bytes => set_end(line, End::Bytes(Bytes(bytes))),
    }),
    row("-k --blockcount N[KMGT]", "end after so many writes or datagrams", |line, text| {
        match amount(text)? {
            0 => Ok(()),
            blocks => set_end(line, End::Blocks(blocks)),
        }
    }),
    row("-l --length N[KMGT]", "bytes of a write (128K) or of a datagram (the path's MSS)", |line, text| {
        let length = amount(text)?;
        let length = u32::try_from(length).map_err(|_| Fault::parameter(BLOCK_SIZE))?;
        line.client.test.length = Some(length).filter(|length| *length > 0);
        Ok(())
    }),
    row("-P --parallel N", "parallel streams, 1 to 128", |line, text| {
        set(
            &mut line.client.test.streams,
            within(text, 1, 128, "invalid number of parallel streams (min = 1, max = 128)")?,
        )
    }),
    row("-R --reverse", "the server sends", |line, _| direction(line, Directions::Down)),
    row("--bidir", "both ends send", |line, _| direction(line, Directions::Both)),
    row("-w --window N[KMGT]", "socket buffer size of both ends", |line, text| {
        let refusal = || Fault::parameter("socket buffer size too large (maximum = 536870912 bytes)");
        let size = amount(text)?;
        let size = u32::try_from(size).ok().filter(|size| *size <= 512 << 20).ok_or_else(refusal)?;
        line.client.test.window = Some(size).filter(|size| *size > 0);
        Ok(())
    }),
    row("-C --congestion NAME", "TCP congestion control of both ends", congestion),
    row("--linux-congestion NAME", "", congestion),
    row("-M --set-mss N", "TCP maximum segment size, at most 32767", |line, text| {
        let mss = within(text, 0, 32_767, "TCP MSS too large (maximum = 32767 bytes)")?;
        line.client.test.mss = Some(mss).filter(|mss| *mss > 0);
        Ok(())
    }),
    row("-N --no-delay", "send each TCP write at once", |line, _| set(&mut line.client.test.nodelay, true)),
    row("-S --tos N", "TOS byte, 0 to 255, 0x for hexadecimal", |line, text| {
        let tos = any_base(text).and_then(|tos| u8::try_from(tos).ok());
        let refusal = "bad TOS value (must be between 0 and 255 inclusive)";
        line.client.test.tos = tos.ok_or_else(|| Fault::parameter(refusal))?;
        Ok(())
    }),
    row("--dscp DSCP", "mark by name (ef, af41, …) or number, 0 to 63", |line, text| {
        set(&mut line.client.test.tos, dscp(text).ok_or_else(|| Fault::parameter(BAD_DSCP))?)
    }),
    row("-L --flowlabel N", "IPv6 flow label", |line, text| {
        let label = any_base(text).and_then(|label| u32::try_from(label).ok());
        let label = label.filter(|label| (1..=0xf_ffff).contains(label));
        line.client.test.flow_label =
            Some(label.ok_or_else(|| Fault::parameter("unable to set IPv6 flow label: it is 1 to 0xfffff"))?);
        Ok(())
    }),
    row("-Z --zerocopy", "send TCP without copying", |line, _| set(&mut line.client.test.zero_copy, true)),
    row("--skip-rx-copy", "receive TCP without copying (MSG_TRUNC)", |line, _| {
        set(&mut line.client.test.receive_discard, true)
    }),
    row("-O --omit SECONDS", "leading time that is not counted, at most 600", |line, text| {
        let seconds = within(text, 0, 600, "bogus value for --omit (maximum = 600 seconds)")?;
        line.client.test.omit = Nanos::from_secs(seconds.into());
        Ok(())
    }),
    row("-T --title TEXT", "put TEXT before each line", |line, text| {
        set(&mut line.client.extras.title, Some(text.into()))
    }),
    row("--extra-data TEXT", "put TEXT into the JSON of both ends", |line, text| {
        set(&mut line.client.extras.extra_data, Some(text.into()))
    }),
    row("--get-server-output", "show the server's own output too", |line, _| {
        set(&mut line.client.extras.get_server_output, true)
    }),
    row("--udp-counters-64bit", "64-bit sequence numbers in UDP", |line, _| {
        set(&mut line.client.test.wide_counters, true)
    }),
    row("--gsro", "UDP segmentation and receive offload (GSO and GRO) at both ends", |line, _| {
        set(&mut line.client.gsro, true)
    }),
    row("--repeating-payload", "send a repeating pattern and not random bytes", |line, _| {
        set(&mut line.client.test.repeating_payload, true)
    }),
    row("--dont-fragment", "forbid fragments of IPv4 UDP", |line, _| {
        set(&mut line.client.test.dont_fragment, true)
    }),
    row(
        "--username NAME",
        "who runs the test; the password is in IPERF3_PASSWORD, or asked for",
        |line, text| set(&mut line.client.username, Some(text.into())),
    ),
    row("--rsa-public-key-path FILE", "the server's key, for name and password", |line, text| {
        set(&mut line.client.public_key, Some(text.into()))
    }),
];

fn bitrate(line: &mut CommandLine, text: &str) -> Taken {
    let (asked, burst) = text.split_once('/').map_or((text, None), |(asked, burst)| (asked, Some(burst)));
    if let Some(burst) = burst {
        line.client.test.burst = Some(within(burst, 1, 1000, "invalid burst count (maximum = 1000)")?);
    }
    line.client.test.bitrate = Some(rate(asked)?).filter(|rate| rate.0 > 0);
    line.client.rate_given = true;
    Ok(())
}

/// Sets the condition that ends the test; only one is allowed.
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
    Ok(())
}

fn direction(line: &mut CommandLine, asked: Directions) -> Taken {
    let test = &mut line.client.test;
    if test.directions != Directions::Up && test.directions != asked {
        return Err(Fault::parameter("cannot be both reverse and bidirectional"));
    }
    test.directions = asked;
    Ok(())
}

fn congestion(line: &mut CommandLine, text: &str) -> Taken {
    line.client.test.congestion = Some(text.into());
    Ok(())
}

/// The byte of a name or of a code point in any base. The last three names are those of RFC 1349.
fn dscp(text: &str) -> Option<u8> {
    let old = [("lowdelay", 0x10), ("throughput", 0x08), ("reliability", 0x04)];
    if let Some((_, byte)) = old.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Some(*byte);
    }
    code_point(text).map(Dscp::tos)
}

const ONE_END: &str = "only one test end condition (-t, -n, -k) may be specified";
const BAD_DSCP: &str = "bad DSCP value (numeric: 0-63 inclusive, symbolic: one of [af11-13, af21-23, af31-33, \
                        af41-43, cs1-7, ef, va, lowdelay, throughput, reliability])";

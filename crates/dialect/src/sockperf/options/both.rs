//! Options of clients and servers.

use super::super::Activity;
use super::super::numbers::{whole, within};
use super::{Fault, Line, Of, SockperfOption, Taken, address, ignored, port, row};
use crate::getopt::set;
use crate::sockperf::output::Version;
use engine::session::foreign_tls::Suite;
use model::units::Nanos;

pub(crate) const BOTH: &[SockperfOption] = &[
    row("-h -? --help --usage", Of::ALL, "this text", |l, _, _| set(&mut l.help, true)),
    row("--tcp --stream", Of::ALL, "TCP (default: UDP)", |l, _, _| set(&mut l.tcp, true)),
    row("-i --ip --addr HOST", Of::ALL, "send to, or listen on, this name or address", |l, v, o| {
        set(&mut l.host, address(v, o)?)
    }),
    row("-p --port PORT", Of::ALL, "send to, or listen on, this port (default 11111)", |l, v, o| {
        set(&mut l.port, Some(port(v, o)?))
    }),
    row("-f --file FILE", Of::ALL, "sockets from a file: [U|T:]ip:port[:mc_src_ip] a line", |l, v, _| {
        set(&mut l.feed, Some(v.into()))
    }),
    row("-F --iomux-type TYPE", Of::ALL, "with -f: s(elect), p(oll), e(poll) or r(ecvfrom)", mux),
    row("--timeout MSEC", Of::ALL, "taken, without effect", |l, v, o| {
        if v != "-1" {
            within(v, 0, i64::from(u32::MAX), o, "select/poll/epoll timeout val")?;
        }
        ignored(l, o, "nothing here depends on it");
        Ok(())
    }),
    row("-a --activity N", Of::ALL, "print a dot each N messages", |l, v, o| {
        set(&mut l.both.activity, Some(Activity::Dots(messages(v, o)?)))
    }),
    row("-A --Activity N", Of::ALL, "print a row with the time taken each N messages", |l, v, o| {
        set(&mut l.both.activity, Some(Activity::Rows(messages(v, o)?)))
    }),
    row("--tcp-avoid-nodelay", Of::ALL, "the opposite of what is usual for the mode", |l, _, _| {
        set(&mut l.avoid_nodelay, true)
    }),
    row("--tcp-skip-blocking-send", Of::ALL, "leave out messages that would block", |l, _, _| {
        set(&mut l.both.skip_blocking_send, true)
    }),
    row("--tos BYTE", Of::ALL, "TOS or traffic class", |l, v, o| set(&mut l.both.tos, byte(v, o, "tos")?)),
    row("--mc-rx-if --mc-rx-ip IF", Of::ALL, "join groups on this address or interface number", |l, v, _| {
        set(&mut l.both.multicast.receive, Some(v.into()))
    }),
    row("--mc-tx-if --mc-tx-ip IF", Of::ALL, "send to groups from this one", |l, v, _| {
        set(&mut l.both.multicast.send, Some(v.into()))
    }),
    row("--mc-loopback-enable", Of::ALL, "hear one's own host's multicast", |l, _, _| {
        set(&mut l.both.multicast.loopback, true)
    }),
    row("--mc-ttl N", Of::ALL, "hops of multicast (default 2)", |l, v, o| {
        set(&mut l.both.multicast.ttl, byte(v, o, "value")?)
    }),
    row("--mc-source-filter HOST", Of::ALL, "hear this source of a group only", |l, v, o| {
        set(&mut l.both.multicast.source, address(v, o)?)
    }),
    row("--uc-reuseaddr", Of::ALL, "SO_REUSEADDR", |l, _, _| set(&mut l.both.reuse_address, true)),
    row("--lls USEC", Of::ALL, "SO_BUSY_POLL", |l, v, o| {
        let micros = within(v, 0, i64::from(i32::MAX), o, "LLS value")?;
        l.both.busy_poll = Some(Nanos(u64::from(micros) * 1000));
        Ok(())
    }),
    row("--buffer-size BYTES", Of::ALL, "of sockets, in each direction", |l, v, o| {
        set(&mut l.both.buffer, Some(within(v, 1, i64::from(i32::MAX), o, "socket buffer size")?))
    }),
    row("--nonblocked", Of::ALL, "spin instead of sleeping", |l, _, _| set(&mut l.both.spin, true)),
    row("--recv_looping_num N", Of::ALL, "taken, without effect", |l, v, o| {
        let refused = || Fault::bad(format!("Invalid number of loops: {v}"));
        l.loops = Some(whole(v).ok_or_else(refused)?);
        ignored(l, o, "everything that is there is received in any case");
        Ok(())
    }),
    row("--dontwarmup", Of::ALL, "no warm-up on multicast sockets", |l, _, _| {
        set(&mut l.both.warm_up, false)
    }),
    row("--pre-warmup-wait SECONDS", Of::ALL, "wait before the start", |l, v, o| {
        set(&mut l.both.pause, Nanos::from_secs(within(v, 1, 86_400, o, "pre warmup wait")?.into()))
    }),
    row("--daemonize", Of::ALL, "run in the background", |l, _, _| set(&mut l.both.daemon, true)),
    row("--no-rdtsc", Of::ALL, "taken: the monotonic clock is used in any case", |_, _, _| Ok(())),
    row("--rate-limit BYTES", Of::ALL, "SO_MAX_PACING_RATE, bytes per second", |l, v, o| {
        set(&mut l.both.pacing, Some(within(v, 1, i64::from(u32::MAX), o, "rate limit")?))
    }),
    row("--vmazcopyread --zcopyread", Of::ALL, "taken, without effect", vma),
    row("--load-vma --load-xlio[=LIB]", Of::ALL, "taken, without effect", vma),
    row("--set-sock-accl", Of::ALL, "taken, without effect", vma),
    row("--tls[=CIPHER]", Of::ALL, "encrypt TCP: a suite of TLS 1.3, or ECDHE-…", |l, v, o| {
        let name = if v.is_empty() { SOCKPERFS_SUITE } else { v };
        Suite::named(name).map_err(|error| {
            let advice = error.advice().map(|advice| format!(": {advice}")).unwrap_or_default();
            Fault::not_served(o, &format!("{error}{advice}"))
        })?;
        l.both.tls = Some(name.into());
        Ok(())
    }),
    row("-d --debug", Of::ALL, "taken, without effect", |l, _, o| {
        ignored(l, o, "there is nothing more to say");
        Ok(())
    }),
    row(
        "--as-version 3.7|3.10",
        Of::ALL,
        "whose output is printed (default 3.10); pathmeter's own",
        |l, v, o| {
            l.both.version = match v {
                "3.7" => Version::V3_7,
                "3.10" => Version::V3_10,
                _ => return Err(Fault::bad(format!("'{o}' Invalid version: {v} (3.7 or 3.10)"))),
            };
            Ok(())
        },
    ),
];

/// SockPerf's suite where none is given.
const SOCKPERFS_SUITE: &str = "AES128-GCM-SHA256";

fn messages(text: &str, option: &str) -> Result<u64, Fault> {
    within(text, 1, i64::from(u32::MAX), option, "message rate stats print value").map(u64::from)
}

fn mux(line: &mut Line, value: &str, option: &str) -> Taken {
    line.call = Some(match value {
        "s" | "select" => "select",
        "p" | "poll" => "poll",
        "e" | "epoll" => "epoll",
        "r" | "recvfrom" => "recvfrom",
        "x" | "socketxtreme" => {
            return Err(Fault::not_served(
                &format!("{option} {value}"),
                "it needs NVIDIA's VMA; use e, p, s or r",
            ));
        }
        _ => return Err(Fault::bad(format!("'{option}' Invalid muliply io hanlde type: {value}"))),
    });
    Ok(())
}

fn byte(text: &str, option: &str, what: &str) -> Result<u8, Fault> {
    let number = within(text, 0, 255, option, what)?;
    Ok(u8::try_from(number).unwrap_or(u8::MAX))
}

pub(super) fn vma(line: &mut Line, _: &str, option: &str) -> Taken {
    ignored(line, option, "pathmeter uses the kernel's sockets, not VMA's or XLIO's");
    Ok(())
}

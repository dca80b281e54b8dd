//! Options of clients and servers.

use super::super::Activity;
use super::super::numbers::{whole, within};
use super::{Fault, Line, Of, Row, Taken, Value, address, ignored, port, row};
use crate::sockperf::output::Version;
use engine::session::foreign_tls::Suite;
use model::units::Nanos;

use Value::{Needed, None as Flag, Optional};

pub(crate) const BOTH: &[Row] = &[
    row(&['h', '?'], &["help", "usage"], Flag, Of::ALL, "this text", |l, _, _| set(&mut l.help)),
    row(&[], &["tcp", "stream"], Flag, Of::ALL, "TCP (default: UDP)", |l, _, _| set(&mut l.tcp)),
    row(
        &['i'],
        &["ip", "addr"],
        Needed("HOST"),
        Of::ALL,
        "send to, or listen on, this name or address",
        |l, v, o| {
            l.host = address(v, o)?;
            Ok(())
        },
    ),
    row(
        &['p'],
        &["port"],
        Needed("PORT"),
        Of::ALL,
        "send to, or listen on, this port (default 11111)",
        |l, v, o| {
            l.port = Some(port(v, o)?);
            Ok(())
        },
    ),
    row(
        &['f'],
        &["file"],
        Needed("FILE"),
        Of::ALL,
        "sockets from a file: [U|T:]ip:port[:mc_src_ip] a line",
        |l, v, _| {
            l.feed = Some(v.into());
            Ok(())
        },
    ),
    row(
        &['F'],
        &["iomux-type"],
        Needed("TYPE"),
        Of::ALL,
        "with -f: s(elect), p(oll), e(poll) or r(ecvfrom)",
        mux,
    ),
    row(&[], &["timeout"], Needed("MSEC"), Of::ALL, "taken, without effect", |l, v, o| {
        if v != "-1" {
            within(v, 0, i64::from(u32::MAX), o, "select/poll/epoll timeout val")?;
        }
        ignored(l, o, "nothing here depends on it");
        Ok(())
    }),
    row(&['a'], &["activity"], Needed("N"), Of::ALL, "print a dot each N messages", |l, v, o| {
        l.activity = Some(Activity::Dots(
            within(v, 1, i64::from(u32::MAX), o, "message rate stats print value")?.into(),
        ));
        Ok(())
    }),
    row(
        &['A'],
        &["Activity"],
        Needed("N"),
        Of::ALL,
        "print a row with the time taken each N messages",
        |l, v, o| {
            l.activity = Some(Activity::Rows(
                within(v, 1, i64::from(u32::MAX), o, "message rate stats print value")?.into(),
            ));
            Ok(())
        },
    ),
    row(
        &[],
        &["tcp-avoid-nodelay"],
        Flag,
        Of::ALL,
        "the other way round than is usual for the mode",
        |l, _, _| set(&mut l.avoid_nodelay),
    ),
    row(&[], &["tcp-skip-blocking-send"], Flag, Of::ALL, "leave out messages that would block", |l, _, _| {
        set(&mut l.skip_blocking_send)
    }),
    row(&[], &["tos"], Needed("BYTE"), Of::ALL, "TOS or traffic class", |l, v, o| {
        l.tos = byte(v, o, "tos")?;
        Ok(())
    }),
    row(
        &[],
        &["mc-rx-if", "mc-rx-ip"],
        Needed("IF"),
        Of::ALL,
        "join groups on this address or interface number",
        |l, v, _| {
            l.receive_interface = Some(v.into());
            Ok(())
        },
    ),
    row(&[], &["mc-tx-if", "mc-tx-ip"], Needed("IF"), Of::ALL, "send to groups from this one", |l, v, _| {
        l.send_interface = Some(v.into());
        Ok(())
    }),
    row(&[], &["mc-loopback-enable"], Flag, Of::ALL, "hear one's own host's multicast", |l, _, _| {
        set(&mut l.loopback)
    }),
    row(&[], &["mc-ttl"], Needed("N"), Of::ALL, "hops of multicast (default 2)", |l, v, o| {
        l.ttl = Some(byte(v, o, "value")?);
        Ok(())
    }),
    row(
        &[],
        &["mc-source-filter"],
        Needed("HOST"),
        Of::ALL,
        "hear this source of a group only",
        |l, v, o| {
            l.source = address(v, o)?;
            Ok(())
        },
    ),
    row(&[], &["uc-reuseaddr"], Flag, Of::ALL, "SO_REUSEADDR", |l, _, _| set(&mut l.reuse_address)),
    row(&[], &["lls"], Needed("USEC"), Of::ALL, "SO_BUSY_POLL", |l, v, o| {
        let micros = within(v, 0, i64::from(i32::MAX), o, "LLS value")?;
        l.busy_poll = Some(Nanos(u64::from(micros) * 1000));
        Ok(())
    }),
    row(&[], &["buffer-size"], Needed("BYTES"), Of::ALL, "of sockets, in each direction", |l, v, o| {
        l.buffer = Some(within(v, 1, i64::from(i32::MAX), o, "socket buffer size")?);
        Ok(())
    }),
    row(&[], &["nonblocked"], Flag, Of::ALL, "spin instead of sleeping", |l, _, _| set(&mut l.spin)),
    row(&[], &["recv_looping_num"], Needed("N"), Of::ALL, "taken, without effect", |l, v, o| {
        let refused = || Fault::bad(format!("Invalid number of loops: {v}"));
        l.loops = Some(whole(v).ok_or_else(refused)?);
        ignored(l, o, "everything that is there is received in any case");
        Ok(())
    }),
    row(&[], &["dontwarmup"], Flag, Of::ALL, "no warm-up on multicast sockets", |l, _, _| {
        set(&mut l.no_warm_up)
    }),
    row(&[], &["pre-warmup-wait"], Needed("SECONDS"), Of::ALL, "wait before the start", |l, v, o| {
        l.pause = Nanos::from_secs(within(v, 1, 86_400, o, "pre warmup wait")?.into());
        Ok(())
    }),
    row(&[], &["daemonize"], Flag, Of::ALL, "run in the background", |l, _, _| set(&mut l.daemon)),
    row(
        &[],
        &["no-rdtsc"],
        Flag,
        Of::ALL,
        "taken: the monotonic clock is used in any case",
        |_, _, _| Ok(()),
    ),
    row(&[], &["rate-limit"], Needed("BYTES"), Of::ALL, "SO_MAX_PACING_RATE, bytes a second", |l, v, o| {
        l.pacing = Some(within(v, 1, i64::from(u32::MAX), o, "rate limit")?);
        Ok(())
    }),
    row(&[], &["vmazcopyread", "zcopyread"], Flag, Of::ALL, "taken, without effect", vma),
    row(&[], &["load-vma", "load-xlio"], Optional("LIB"), Of::ALL, "taken, without effect", vma),
    row(&[], &["set-sock-accl"], Flag, Of::ALL, "taken, without effect", vma),
    row(
        &[],
        &["tls"],
        Optional("CIPHER"),
        Of::ALL,
        "encrypt TCP: a suite of TLS 1.3, or ECDHE-…",
        |l, v, o| {
            let name = if v.is_empty() { SOCKPERFS_SUITE } else { v };
            Suite::named(name).map_err(|error| {
                let advice = error.advice().map(|advice| format!(": {advice}")).unwrap_or_default();
                Fault::not_served(o, &format!("{error}{advice}"))
            })?;
            l.tls = Some(name.into());
            Ok(())
        },
    ),
    row(&['d'], &["debug"], Flag, Of::ALL, "taken, without effect", |l, _, o| {
        ignored(l, o, "there is nothing more to say");
        Ok(())
    }),
    row(
        &[],
        &["as-version"],
        Needed("3.7|3.10"),
        Of::ALL,
        "whose output is printed (default 3.10); pathmeter's own",
        |l, v, o| {
            l.version = Some(match v {
                "3.7" => Version::V3_7,
                "3.10" => Version::V3_10,
                _ => return Err(Fault::bad(format!("'{o}' Invalid version: {v} (3.7 or 3.10)"))),
            });
            Ok(())
        },
    ),
];

/// SockPerf's suite where none is given.
const SOCKPERFS_SUITE: &str = "AES128-GCM-SHA256";

pub(super) fn set(flag: &mut bool) -> Taken {
    *flag = true;
    Ok(())
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

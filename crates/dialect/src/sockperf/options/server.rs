//! Options of a server.

use super::super::numbers::within;
use super::both::{set, vma};
use super::{Of, Row, Value, cpus, row};

use Value::{Needed, None as Flag};

pub(crate) const SERVER: &[Row] = &[
    row(&[], &["threads-num"], Needed("N"), Of::SERVER, "with -f: threads", |l, v, o| {
        l.threads = Some(within(v, 1, 1024, o, "threads number")?);
        Ok(())
    }),
    row(
        &[],
        &["cpu-affinity"],
        Needed("CPUS"),
        Of::SERVER,
        "CPUs of the threads, such as 0,2-3",
        |l, v, o| {
            l.server_cpus = cpus(v, o)?;
            Ok(())
        },
    ),
    row(&[], &["vmarxfiltercb", "rxfiltercb"], Flag, Of::SERVER, "taken, without effect", vma),
    row(
        &[],
        &["force-unicast-reply"],
        Flag,
        Of::SERVER,
        "answer the sender of a multicast message alone",
        |l, _, _| set(&mut l.unicast_reply),
    ),
    row(&[], &["dont-reply"], Flag, Of::SERVER, "answer nothing (UDP)", |l, _, _| set(&mut l.silent)),
    row(
        &['m'],
        &["msg-size"],
        Needed("BYTES"),
        Of::SERVER,
        "longest message taken (default 65507)",
        |l, v, o| {
            l.size = Some(within(v, 0, 1_048_575, o, "message size")?);
            Ok(())
        },
    ),
    row(&['g'], &["gap-detection"], Flag, Of::SERVER, "report missing numbers", |l, _, _| set(&mut l.gaps)),
];

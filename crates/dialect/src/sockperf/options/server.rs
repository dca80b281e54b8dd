//! Options of a server.

use super::super::numbers::within;
use super::both::vma;
use super::{Of, SockperfOption, cpus, row};
use crate::getopt::set;

pub(crate) const SERVER: &[SockperfOption] = &[
    row("--threads-num N", Of::SERVER, "with -f: threads", |l, v, o| {
        set(&mut l.threads, Some(within(v, 1, 1024, o, "threads number")?))
    }),
    row("--cpu-affinity CPUS", Of::SERVER, "CPUs of the threads, such as 0,2-3", |l, v, o| {
        set(&mut l.server.cpus, cpus(v, o)?)
    }),
    row("--vmarxfiltercb --rxfiltercb", Of::SERVER, "taken, without effect", vma),
    row("--force-unicast-reply", Of::SERVER, "answer the sender of a multicast message alone", |l, _, _| {
        set(&mut l.server.unicast_reply, true)
    }),
    row("--dont-reply", Of::SERVER, "answer nothing (UDP)", |l, _, _| set(&mut l.server.silent, true)),
    row("-m --msg-size BYTES", Of::SERVER, "longest message taken (default 65507)", |l, v, o| {
        set(&mut l.server.max, within(v, 0, 1_048_575, o, "message size")?)
    }),
    row("-g --gap-detection", Of::SERVER, "report missing numbers", |l, _, _| set(&mut l.server.gaps, true)),
];

//! How a run was measured: its method in a sentence, where that is described, and what was asked of the sockets.

use crate::document::Block;
use crate::format::text::phrases;
use model::plan::{Plan, ProtocolName, Wait};
use model::run::Run;
use model::units::Nanos;

/// The sentence of its kind, and the plan of a single test as facts.
pub(super) fn method_blocks(run: &Run) -> Vec<Block> {
    let known = METHODS.iter().find(|(kind, ..)| *kind == run.kind && is_ours(run));
    let sentence = known.map(|(_, sentence, page)| {
        Block::Paragraph(format!("{sentence} The method is described in `docs/methods/{page}.md`."))
    });
    let plan = run.throughput().filter(|_| run.tests.is_empty());
    sentence.into_iter().chain(plan.map(|plan| Block::facts(facts(plan)))).collect()
}

/// How other tools and other ends measure is theirs to say.
fn is_ours(run: &Run) -> bool {
    let here = run.host.as_ref().is_some_and(|host| host.version.starts_with("pathmeter"));
    here && run.throughput().is_none_or(|plan| plan.protocol == ProtocolName::Native)
}

fn facts(plan: &Plan) -> Vec<(&'static str, String)> {
    let (test, local) = (&plan.test, &plan.local);
    let bytes = |size: u32| format!("{size} B");
    let length = test.length.map_or_else(|| "each end's best".into(), bytes);
    let settings = [
        ("Test", Some(phrases::test(test))),
        ("Omitted at the begin", Some(test.omit).filter(|omit| *omit > Nanos::ZERO).map(|o| o.to_string())),
        ("Write or datagram length", Some(length)),
        (
            "Rate of each stream",
            Some(test.bitrate.map_or_else(|| "as fast as it goes".into(), |r| r.to_string())),
        ),
        ("MSS asked for", test.mss.map(bytes)),
        ("Socket buffers asked for", test.window.map(bytes)),
        ("Congestion control asked for", test.congestion.clone()),
        ("TOS byte", Some(test.tos).filter(|tos| *tos > 0).map(|tos| format!("0x{tos:02x}"))),
        ("Report interval", Some(local.interval).filter(|i| *i > Nanos::ZERO).map(|i| i.to_string())),
        ("Waiting threads", waiting(local.wait).map(str::to_owned)),
    ];
    settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn waiting(wait: Wait) -> Option<&'static str> {
    match wait {
        Wait::Auto => None,
        Wait::Spin => Some("poll the socket"),
        Wait::Block => Some("sleep in the kernel"),
    }
}

/// The kind of a run, how it measures, and the page that states more.
const METHODS: [(&str, &str, &str); 7] = [
    (
        "measure",
        "One session asks the far end for each part in turn: round trips on the idle path, which packet sizes cross in \
         each direction, then TCP and UDP in each direction with round trips beside them.",
        "README",
    ),
    (
        "throughput",
        "Goodput is the payload that the receiver counted, over the time in which it came; losses are distinguished by \
         where they happened: at the sender, on the path, in the receiving socket.",
        "loss",
    ),
    (
        "latency",
        "Every round trip is timed by itself and kept in a histogram; percentiles are those of all of them.",
        "rtt",
    ),
    (
        "mtu",
        "Datagrams of chosen sizes and shapes are sent in both directions, and each end reports what arrived.",
        "path-mtu",
    ),
    ("hops", "Probes with a limited number of hops are answered by the routers on the path.", "hops"),
    (
        "frames",
        "The same test over Ethernet frames of each size, against what the link's framing allows.",
        "frames",
    ),
    (
        "transfer",
        "Real transfers are repeated and timed, from the first byte asked for to the last that came.",
        "transfer",
    ),
];

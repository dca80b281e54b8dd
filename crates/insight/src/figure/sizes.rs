//! Figures of packet sizes, of a direction and of a UDP service.

use super::Quantity::{Count, Size, Time};
use super::{Figure, Get, Names, Note, Scope, Source, figure, nanos, whole};
use model::path::{PathDirection, PathResult, TcpDirection};
use model::run::Run;

const fn size(names: Names, get: Get<PathDirection>, note: Note) -> Figure {
    figure(names, Size, Source::Path(get), note).within(Scope::Sizes)
}

/// Every figure of packet sizes.
#[rustfmt::skip]
pub(super) static SIZES: &[Figure] = &[
    // A size that is only known not to cross is not a path MTU.
    size(("path_mtu", "path MTU"), |d| d.crosses().map(f64::from), "largest packet that crosses whole").higher().listed(9),
    size(("max_udp_payload", "UDP payload"), |d| d.max_udp_payload.map(f64::from), "largest UDP payload in one packet").higher(),
    size(("interface_mtu", "interface MTU"), |d| d.interface_mtu.map(f64::from), "MTU of the sender's interface"),
    size(("cached_mtu", "cached MTU"), |d| d.cached_mtu.map(f64::from),
        "path MTU that the sender's kernel believed in before the test"),
    size(("black_hole.first", "black hole from"), |d| d.black_hole.map(|hole| f64::from(hole.first)),
        "smallest size that vanishes without a message"),
    size(("black_hole.last", "black hole to"), |d| d.black_hole.map(|hole| f64::from(hole.last)), "largest of these"),
    size(("mss_sent", "MSS sent"), |d| tcp(d, |tcp| tcp.mss_sent), "MSS option of the SYN in this direction as it left"),
    size(("mss_received", "MSS received"), |d| tcp(d, |tcp| tcp.mss_received), "the same as it arrived"),
    size(("largest_segment", "largest segment"), |d| tcp(d, |tcp| tcp.largest_segment),
        "largest TCP segment that crossed").higher(),
    whole(("service.max_payload", "largest answered payload"), Size, |r| path(r)?.service.as_ref()?.payload.map(f64::from),
        "largest datagram that the service answers (`mtu --service`)").higher().within(Scope::Service),
    whole(("path.packets", "probes"), Count, |r| path(r).map(|path| path.packets as f64),
        "probe packets that both ends sent").lower().within(Scope::Probing),
    whole(("path.elapsed", "time of the search"), Time, |r| path(r).map(|path| nanos(path.elapsed)),
        "time from the first probe to the answer").lower().within(Scope::Probing),
];

fn tcp(direction: &PathDirection, of: fn(&TcpDirection) -> Option<u32>) -> Option<f64> {
    direction.tcp.as_ref().and_then(of).map(f64::from)
}

fn path(run: &Run) -> Option<&PathResult> {
    run.summary.path.as_ref()
}

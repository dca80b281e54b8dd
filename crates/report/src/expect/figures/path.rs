//! Figures of packet sizes, of a direction and of a UDP service.

use super::super::quantity::Quantity;
use super::{Figure, Source};
use model::path::{PathDirection, PathResult, TcpDirection};
use model::run::Run;

const fn path_figure(
    name: &'static str,
    quantity: Quantity,
    of: fn(&PathDirection) -> Option<f64>,
) -> Figure {
    Figure { name, quantity, source: Source::Path(of) }
}

const fn run(name: &'static str, quantity: Quantity, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { name, quantity, source: Source::Run(of) }
}

/// Every figure of packet sizes.
pub(in super::super) static PATH: &[Figure] = &[
    // What is only known not to cross is no size that does.
    path_figure("path_mtu", Quantity::Size, |w| w.crosses().map(f64::from)),
    path_figure("max_udp_payload", Quantity::Size, |w| w.max_udp_payload.map(f64::from)),
    path_figure("interface_mtu", Quantity::Size, |w| w.interface_mtu.map(f64::from)),
    path_figure("cached_mtu", Quantity::Size, |w| w.cached_mtu.map(f64::from)),
    path_figure("black_hole.first", Quantity::Size, |w| w.black_hole.map(|hole| f64::from(hole.first))),
    path_figure("black_hole.last", Quantity::Size, |w| w.black_hole.map(|hole| f64::from(hole.last))),
    path_figure("mss_sent", Quantity::Size, |w| tcp(w, |t| t.mss_sent)),
    path_figure("mss_received", Quantity::Size, |w| tcp(w, |t| t.mss_received)),
    path_figure("largest_segment", Quantity::Size, |w| tcp(w, |t| t.largest_segment)),
    run("service.max_payload", Quantity::Size, |r| path(r)?.service.as_ref()?.payload.map(f64::from)),
    run("path.packets", Quantity::Count, |r| path(r).map(|path| path.packets as f64)),
    run("path.elapsed", Quantity::Time, |r| path(r).map(|path| super::nanos(path.elapsed))),
];

fn tcp(direction: &PathDirection, of: fn(&TcpDirection) -> Option<u32>) -> Option<f64> {
    direction.tcp.as_ref().and_then(of).map(f64::from)
}

fn path(run: &Run) -> Option<&PathResult> {
    run.summary.path.as_ref()
}

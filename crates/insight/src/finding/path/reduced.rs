//! A path that takes less than the interfaces send, takes different sizes in each direction, or loses large packets oftener.

use super::super::text::percent;
use super::super::{Finding, Severity};
use super::{Side, with_hop};
use model::path::{BlackHoleCause, Bound, Discovery, HopSource, PathDirection, explanation};
use model::run::Run;

/// Less than the interface's MTU crosses, and senders can learn it: normal with tunnels, and good to know.
pub(in super::super) fn reduced(side: Side<'_>) -> Option<Finding> {
    let (mtu, interface) = (side.one_way.path_mtu?, side.one_way.interface_mtu?);
    let known = side.one_way.bound == Bound::Exact && mtu < interface && !side.one_way.untold();
    // Senders learn nothing of a router that cuts what forbids it: `df-ignored` names it.
    let known = known && side.one_way.cut_despite_df.is_none();
    known.then(|| less(side, mtu, interface))
}

/// The two directions carry different sizes for certain.
pub(in super::super) fn asymmetric(run: &Run) -> Option<Finding> {
    let path = run.summary.path.as_ref()?;
    differ(path.up.as_ref()?, path.down.as_ref()?)
}

/// The path changed while it was looked at.
pub(in super::super) fn changed(side: Side<'_>) -> Option<Finding> {
    let mtu = side.one_way.path_mtu.filter(|_| side.one_way.changed)?;
    let title = format!(
        "The path {} changed while it was looked at: what crossed no longer did, or the reverse; {mtu} bytes is the last answer",
        side.direction
    );
    let finding = Finding::new("path-changed", Severity::Warning, side.direction, title);
    Some(finding.with("path_mtu_bytes", mtu).advise(
        "Look again. If it comes back, packets take several paths of different size (equal-cost routes, bonds, two uplinks): the least of them is the size to use.",
    ))
}

/// Large packets are lost oftener than small ones, without being all lost.
pub(in super::super) fn size_dependent_loss(side: Side<'_>) -> Option<Finding> {
    let loss = side.one_way.size_dependent_loss.filter(|loss| loss.large > loss.small)?;
    let sizes = match loss.from {
        Some(from) if from < loss.size => format!("{from} to {}", loss.size),
        _ => loss.size.to_string(),
    };
    let title = format!(
        "Large packets are lost more often than small ones {}: {} of those of {sizes} bytes, {} of the small",
        side.direction,
        percent(loss.large),
        percent(loss.small)
    );
    let finding = Finding::new("size-dependent-loss", Severity::Warning, side.direction, title)
        .with("large_loss_share", loss.large)
        .with("small_loss_share", loss.small)
        .with("large_bytes", loss.size);
    let Some(from) = loss.from else {
        return Some(finding.advise(
            "A line with bit errors loses long packets more often, and so does a queue counted in bytes: look at the error counters of each interface (`ip -s link`, `ethtool -S`), at cables, optics and radio links, and at duplex settings.",
        ));
    };
    let payload = (from - 1).saturating_sub(side.one_way.headers());
    Some(finding.with("first_large_bytes", from).advise(format!(
        "Keep to packets of {} bytes, UDP payloads of {payload} (`-l {payload}`): a tunnel or link on the path loses part of what is larger, as where it cuts such packets and loses pieces. A bad line would lose packets of nearly the same size as often.",
        from - 1
    )))
}

fn less(side: Side<'_>, mtu: u32, interface: u32) -> Finding {
    let own = side.one_way.limiting_hop.as_ref().is_some_and(|hop| hop.found_by == HopSource::Sender);
    let limit = match (side.hop(), own) {
        (_, true) => format!("the route of {} limits it", side.sender()),
        (Some(hop), _) => format!("{hop} limits it"),
        (None, false) => "something on the path limits it".into(),
    };
    let reported = match side.one_way.discovery {
        Discovery::Works => " and notifies senders",
        _ => "",
    };
    let reported = if own { "" } else { reported };
    let looks = explanation(mtu, side.one_way.ipv6).map(|text| format!(" ({text})")).unwrap_or_default();
    let title = format!(
        "The path {} takes packets of up to {mtu} bytes, less than the interface's {interface}: {limit}{reported}{looks}",
        side.direction
    );
    let finding = Finding::new("mtu-reduced", Severity::Info, side.direction, title)
        .with("path_mtu_bytes", mtu)
        .with("interface_mtu_bytes", interface);
    let payload = mtu.saturating_sub(side.one_way.headers());
    with_hop(finding, side.one_way).advise(format!(
        "Nothing is broken: TCP learns the size by itself. Programs that send datagrams do best with payloads of at most {payload} bytes (`-l {payload}`)."
    ))
}

fn differ(up: &PathDirection, down: &PathDirection) -> Option<Finding> {
    // The path carries the packets that a receiver's own firewall drops.
    let is_filter = |one_way: &PathDirection| {
        one_way.black_hole.is_some_and(|hole| hole.cause == BlackHoleCause::ReceiverFilter)
    };
    if is_filter(up) || is_filter(down) {
        return None;
    }
    let (up_mtu, down_mtu) = (up.path_mtu?, down.path_mtu?);
    let (up_range, down_range) = (range(up)?, range(down)?);
    if up_range.1 >= down_range.0 && down_range.1 >= up_range.0 {
        return None;
    }
    let known = [up, down].iter().all(|one_way| !one_way.untold());
    let severity = if known { Severity::Info } else { Severity::Warning };
    let (up_size, down_size) = (bounded(up_mtu, up.bound), bounded(down_mtu, down.bound));
    let title = format!(
        "The two directions carry different sizes: packets of {up_size} bytes up, of {down_size} down"
    );
    let finding = Finding::new("mtu-asymmetric", severity, None, title);
    let finding = finding.with("up_path_mtu_bytes", up_mtu).with("down_path_mtu_bytes", down_mtu);
    let least = up_mtu.min(down_mtu);
    let ping = match up.ipv6 {
        true => "`ping -6 -M do` from here measures the upload direction alone, as the far host cuts its replies once it is notified".to_owned(),
        false => format!("`ping -M do` from here finds {up_mtu}, the upload direction, as replies may be cut on their return path"),
    };
    Some(finding.advise(format!(
        "Where one number is set for both, take {least}. A look from one end does not show this: {ping}."
    )))
}

fn bounded(mtu: u32, bound: Bound) -> String {
    match bound {
        Bound::Exact | Bound::Unknown => mtu.to_string(),
        Bound::AtLeast => format!("at least {mtu}"),
        Bound::AtMost => format!("at most {mtu}"),
    }
}

/// The bounds of the path MTU.
fn range(one_way: &PathDirection) -> Option<(u32, u32)> {
    let mtu = one_way.path_mtu?;
    match one_way.bound {
        Bound::Exact => Some((mtu, mtu)),
        Bound::AtLeast => Some((mtu, u32::MAX)),
        Bound::AtMost => Some((0, mtu)),
        Bound::Unknown => None,
    }
}

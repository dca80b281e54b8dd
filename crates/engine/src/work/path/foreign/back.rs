//! The return path, without help from there: replies to echo requests that are too large for it come in fragments.

use super::echo::{Echo, SizeReplies};
use super::facts::Facts;
use crate::error::Result;
use crate::host::interrupt::Interrupt;
use linux::options::MtuDiscovery;
use model::path::{Bound, FragmentTest, SizeProbe, least_mtu};

/// The facts that replies carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Back {
    /// Largest reply that came whole.
    pub(super) path_mtu: Option<u32>,
    /// How sure it is that no larger one would.
    pub(super) bound: Bound,
    /// Datagrams that both ends had to cut: requests sent, replies received.
    pub(super) cut: Option<FragmentTest>,
    /// Replies of each size that came whole; those that came in pieces did not vanish, and are left out.
    pub(super) sizes: Vec<SizeProbe>,
    /// The same size with leave to be cut on the forward path: answered or not.
    pub(super) may_be_cut: Option<SizeReplies>,
    /// The far end cuts its replies short, so that they show nothing of the return path.
    pub(super) is_short: bool,
}

/// Looks at replies. `forward`: the largest request that arrives whole; `facts`: with what the kernel believes by now.
pub(super) fn find(echo: &mut Echo, forward: u32, facts: &Facts, interrupt: &Interrupt) -> Result<Back> {
    let mut back = Back::default();
    let (mode, reach) = leave_to_cut(forward, facts);
    let mut rows = echo.probe_train(&pair(forward, reach), COPIES, mode, interrupt)?;
    if !facts.ipv6 {
        back.may_be_cut = rows.iter().find(|row| row.size == facts.most).copied();
    }
    if let Some(row) = over(echo, forward, facts, interrupt)? {
        let test = facts.cut_test(row.size, forward, (row.sent, row.received));
        back.cut = Some(FragmentTest { largest_piece: row.fragment, ..test });
        rows.push(row);
    }
    if let Some(fragment) = rows.iter().filter_map(|row| row.fragment).min() {
        let sizes: Vec<u32> = (fragment..=fragment.saturating_add(8)).filter(|size| *size <= reach).collect();
        if !sizes.is_empty() {
            rows.extend(echo.probe_train(&sizes, COPIES, mode, interrupt)?);
        }
    }
    back.is_short = echo.cut_to.is_some();
    if !back.is_short {
        judge(&mut back, &rows, facts.interface);
    }
    Ok(back)
}

/// How requests are sent that may be cut, and up to which size they arrive then; the replies are as large.
fn leave_to_cut(forward: u32, facts: &Facts) -> (MtuDiscovery, u32) {
    match facts.ipv6 {
        // Routers cut them.
        false => (MtuDiscovery::Interface, facts.most),
        // This host does, once a router has reported a smaller MTU.
        true if facts.cached == Some(forward) => (MtuDiscovery::Want, facts.most),
        true => (MtuDiscovery::Interface, forward),
    }
}

/// Requests that this host has to cut, as their replies have to be.
fn over(echo: &mut Echo, forward: u32, facts: &Facts, interrupt: &Interrupt) -> Result<Option<SizeReplies>> {
    let Some(size) = facts.cut_size() else { return Ok(None) };
    if facts.ipv6 {
        let piece = forward.min(facts.interface);
        // The kernel makes none smaller, and such do not cross.
        if piece < least_mtu(true) {
            return Ok(None);
        }
        echo.set_fragment_mtu(piece)?;
    }
    let mut row = SizeReplies { size, ..SizeReplies::default() };
    for _ in 0..TURNS {
        let next = echo.probe_train(&[size], COPIES, MtuDiscovery::Omit, interrupt)?;
        for next in next {
            row.sent += next.sent;
            row.received += next.received;
            row.fragment = row.fragment.max(next.fragment);
        }
        // The far end learns its path MTU from replies that were lost, and cuts the next ones to it.
        if row.received > 0 || !facts.ipv6 {
            break;
        }
    }
    Ok(Some(row))
}

/// The largest whole reply, and whether one byte more came in pieces.
fn judge(back: &mut Back, rows: &[SizeReplies], interface: u32) {
    let whole = |row: &&SizeReplies| row.whole > 0 && row.size <= interface;
    back.sizes = rows
        .iter()
        .filter(whole)
        .map(|row| SizeProbe { size: row.size, sent: row.received, received: row.whole })
        .collect();
    back.sizes.sort_by_key(|probe| probe.size);
    back.sizes.dedup_by_key(|probe| probe.size);
    let fragment = rows.iter().filter_map(|row| row.fragment).min();
    let observed = rows.iter().filter(whole).map(|row| row.size).max();
    // A fragment that came is a packet that came.
    back.path_mtu = observed.max(fragment).filter(|size| *size <= interface);
    let Some(mtu) = back.path_mtu else { return };
    let cut_above = rows.iter().any(|row| row.size == mtu + 1 && row.whole == 0 && row.fragment.is_some());
    // Fragments carry multiples of 8 bytes: with 8 more the next larger would have fitted.
    let last_of_eight = fragment.is_some_and(|fragment| observed == Some(fragment + 7));
    let exact = mtu >= interface || (observed == Some(mtu) && (cut_above || last_of_eight));
    back.bound = if exact { Bound::Exact } else { Bound::AtLeast };
}

fn pair(one: u32, other: u32) -> Vec<u32> {
    if one == other { vec![one] } else { vec![one, other] }
}

const COPIES: u32 = 3;
const TURNS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(size: u32, whole: u32, fragment: Option<u32>) -> SizeReplies {
        SizeReplies { size, sent: 3, received: whole.max(fragment.map_or(0, |_| 3)), whole, fragment }
    }

    fn judged(rows: &[SizeReplies]) -> (Option<u32>, Bound) {
        let mut back = Back::default();
        judge(&mut back, rows, 1500);
        (back.path_mtu, back.bound)
    }

    #[test]
    fn whole_replies_as_large_as_the_interface_are_all_there_is() {
        assert_eq!(judged(&[row(1500, 3, None), row(1700, 0, Some(1500))]), (Some(1500), Bound::Exact));
        assert_eq!(judged(&[row(1400, 3, None)]), (Some(1400), Bound::AtLeast));
        assert_eq!(judged(&[row(1400, 0, None)]), (None, Bound::Unknown));
    }

    #[test]
    fn a_fragment_and_the_bytes_above_it_give_the_very_byte() {
        let cut = row(1400, 0, Some(1300));
        assert_eq!(judged(&[cut]), (Some(1300), Bound::AtLeast));
        let near = |whole: u32| {
            (1300..=1308).map(move |size| match size <= whole {
                true => row(size, 3, None),
                false => row(size, 0, Some(1300)),
            })
        };
        for mtu in [1300, 1301, 1306, 1307] {
            let rows: Vec<SizeReplies> = [cut].into_iter().chain(near(mtu)).collect();
            assert_eq!(judged(&rows), (Some(mtu), Bound::Exact));
        }
        let lost: Vec<SizeReplies> = (1300..=1303).map(|size| row(size, 3, None)).chain([cut]).collect();
        assert_eq!(judged(&lost), (Some(1303), Bound::AtLeast), "1304 was not heard of");
    }
}

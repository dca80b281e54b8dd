//! Sizes that vanish between sizes that cross: a sweep in even steps after the search, which looked at few of them.

use super::pace::lost;
use super::{DirectionSearch, SURE_COPIES, whole};
use crate::error::Result;
use model::path::{SizeHole, SizeProbe};
use std::collections::BTreeMap;
use wire::native::probe::{MAX_SIZES, MIN_SIZE};

impl DirectionSearch<'_> {
    /// Looks for sizes that vanish below the path MTU. `also`: sizes to be probed in any case, larger ones too.
    ///
    /// Each size goes once; those of which nothing came go again, beside one that crosses, until chance is out of the question.
    pub(super) fn holes(&mut self, also: &[u32]) -> Result<()> {
        let Some(mtu) = self.one_way.path_mtu.filter(|_| self.one_way.bound.is_lower()) else {
            return Ok(());
        };
        let mut tried = self.swept_ahead(mtu);
        let swept = self.swept(mtu, also);
        let rest: Vec<u32> = swept.iter().copied().filter(|size| !tried.contains_key(size)).collect();
        self.sweep(&rest, &mut tried)?;
        // Packets sent and lost, at each pace.
        let mut sweeps = vec![counts(&tried)];
        while self.is_lost_by_rate(&lost(&tried))? {
            // Where the largest alone were lost, all sizes go again, to count whether they stay as many.
            let lost = lost(&tried);
            let large = swept.get(swept.len() / 4 * 3);
            let is_of_large = lost.len() >= SOME_LOST && lost.first() >= large;
            let sizes = if is_of_large { &swept } else { &lost };
            let mut again = BTreeMap::new();
            self.sweep(sizes, &mut again)?;
            sweeps.push(counts(&again));
            // A size that came at any pace crosses.
            for (size, probe) in again {
                let known = tried.entry(size).or_insert(SizeProbe { size, sent: 0, received: 0 });
                known.sent += probe.sent;
                known.received += probe.received;
            }
        }
        self.loses_anyway = loses_anyway(&sweeps);
        let sizes: Vec<u32> = tried.keys().copied().collect();
        if lost(&tried).is_empty() || lost(&tried).len() > MAX_SIZES - 1 {
            return Ok(());
        }
        // Most of what chance or a busy host took comes the second time. Loss with a period may fall on one size of as many: once more,
        // beside fewer.
        for copies in [FEW_COPIES, SURE_COPIES, SURE_COPIES] {
            let still: Vec<u32> = lost(&tried).into_iter().chain([mtu]).collect();
            if still.len() > 1 {
                self.ask(&still, copies, &mut tried)?;
            }
        }
        let around = around(&lost(&tried), &sizes);
        if !around.is_empty() {
            self.ask(&around, EDGE_COPIES, &mut tried)?;
        }
        let mut found = holes(&tried);
        while self.is_lost_by_rate(&found.iter().map(|hole| hole.first).collect::<Vec<_>>())? {
            let is_in_hole = |size: &u32| found.iter().any(|hole| (hole.first..=hole.last).contains(size));
            let again: Vec<u32> = tried.keys().copied().filter(is_in_hole).collect();
            for part in again.chunks(MAX_SIZES) {
                self.ask(part, EDGE_COPIES, &mut tried)?;
            }
            found = holes(&tried);
        }
        self.one_way.holes = found;
        self.one_way
            .sizes
            .extend(tried.iter().filter(|(_, probe)| probe.received == 0).map(|(_, probe)| *probe));
        self.one_way.sizes.sort_by_key(|probe| probe.size);
        Ok(())
    }

    /// Sends one packet of each of these sizes.
    fn sweep(&mut self, sizes: &[u32], tried: &mut BTreeMap<u32, SizeProbe>) -> Result<()> {
        sizes.chunks(MAX_SIZES).try_for_each(|part| self.ask(part, 1, tried))
    }

    /// Even steps from the least size that every path is to carry up to the path MTU, finer where tunnels and links have their limits:
    /// there what is eight bytes wide is met, as far as that takes no more than [`MOST_FINE`] packets.
    pub(super) fn swept(&self, mtu: u32, also: &[u32]) -> Vec<u32> {
        let headers = self.one_way.headers();
        let least = (MIN_SIZE + headers).max(FIRST.min(mtu));
        let dense = DENSE.clamp(least, mtu);
        let step = ((mtu - dense) / MOST_FINE).max(FINEST);
        let known =
            |size: &u32| self.one_way.sizes.iter().any(|probe| probe.size == *size && probe.received > 0);
        let wanted = also.iter().copied().filter(|size| (MIN_SIZE + headers..=mtu).contains(size));
        let steps = (least..dense).step_by(COARSE).chain((dense..mtu).step_by(step as usize));
        let mut sizes: Vec<u32> = steps.chain(wanted).filter(|size| !known(size)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Sends packets of these sizes and adds what came.
    pub(super) fn ask(
        &mut self,
        sizes: &[u32],
        copies: u32,
        tried: &mut BTreeMap<u32, SizeProbe>,
    ) -> Result<()> {
        let headers = self.one_way.headers();
        let payloads: Vec<u32> = sizes.iter().map(|size| size - headers).collect();
        let rows = self.send(&payloads, copies)?;
        for (size, payload) in sizes.iter().zip(&payloads) {
            let probe = tried.entry(*size).or_insert(SizeProbe { size: *size, sent: 0, received: 0 });
            probe.sent += copies;
            probe.received += whole(&rows, *payload);
        }
        Ok(())
    }
}

/// Packets sent, and those that did not come.
fn counts(tried: &BTreeMap<u32, SizeProbe>) -> (u32, u32) {
    let add = |(sent, lost): (u32, u32), probe: &SizeProbe| {
        (sent + probe.sent, lost + probe.sent.saturating_sub(probe.received))
    };
    tried.values().fold((0, 0), add)
}

/// At a slower pace about as large a part of what is sent is lost: the rate is not the reason, or not alone.
fn loses_anyway(sweeps: &[(u32, u32)]) -> bool {
    let [(sent, lost), slower @ ..] = sweeps else { return false };
    let (again, lost_again) =
        slower.iter().fold((0, 0), |(all, lost), (sent, of_them)| (all + sent, lost + of_them));
    lost_again >= 2 && 2 * lost_again * sent >= lost * again
}

/// The sizes between those that are lost and the next ones that are not, as many as one order takes.
fn around(lost: &[u32], swept: &[u32]) -> Vec<u32> {
    let mut sizes = Vec::new();
    for pair in swept.windows(2) {
        if lost.contains(&pair[0]) != lost.contains(&pair[1]) {
            sizes.extend(pair[0] + 1..pair[1]);
        }
    }
    let every = sizes.len().div_ceil(MAX_SIZES).max(1);
    sizes.into_iter().step_by(every).collect()
}

/// Runs of sizes that are lost, between such as cross.
fn holes(tried: &BTreeMap<u32, SizeProbe>) -> Vec<SizeHole> {
    let mut holes: Vec<SizeHole> = Vec::new();
    let mut is_open = false;
    for probe in tried.values() {
        // Fewer may be chance.
        let is_lost = probe.received == 0 && (probe.sent >= SURE_COPIES || is_open);
        match holes.last_mut().filter(|_| is_open && is_lost) {
            Some(hole) => (hole.last, hole.sent) = (probe.size, hole.sent + probe.sent),
            None if is_lost => holes.push(SizeHole { first: probe.size, last: probe.size, sent: probe.sent }),
            None => {}
        }
        is_open = is_lost;
    }
    // A size that is lost just before one that was lost belongs to the same hole.
    for hole in &mut holes {
        while let Some(probe) =
            tried.range(..hole.first).next_back().map(|(_, probe)| probe).filter(|probe| probe.received == 0)
        {
            (hole.first, hole.sent) = (probe.size, hole.sent + probe.sent);
        }
    }
    holes
}

/// RFC 791: every host takes datagrams of 576 bytes.
const FIRST: u32 = 576;
/// From here on limits of tunnels and links are common.
const DENSE: u32 = 1_200;
/// Steps below it.
const COARSE: usize = 16;
/// Steps above it: what is as wide is met.
const FINEST: u32 = 8;
/// Packets above it, those of a test beside.
const MOST_FINE: u32 = 42;
/// Copies of each size that did not come the first time.
const FEW_COPIES: u32 = 2;
/// Sizes that are lost together by chance seldom.
const SOME_LOST: usize = 3;
/// Copies of each size at the edges of a hole.
const EDGE_COPIES: u32 = 4;

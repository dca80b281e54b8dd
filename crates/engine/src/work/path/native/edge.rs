//! Sizes just below the path MTU that are lost more often than smaller ones, without being all lost: tunnels that cut some packets, links
//! that carry their largest packets badly.

use super::DirectionSearch;
use crate::error::Result;
use crate::work::probe::Pace;
use model::path::{Discovery, SizeLoss, SizeProbe};
use std::collections::BTreeMap;
use wire::native::probe::MIN_SIZE;

impl DirectionSearch<'_> {
    /// Compares the path MTU with smaller sizes where larger packets vanish silently, where packets were lost in the search, or where a
    /// test lost some (`suspected`). Packets that differ by few bytes meet a full queue or a bad line alike.
    pub(super) fn edge(&mut self, suspected: bool) -> Result<()> {
        // Where the rate of the probes alone loses some, these are too many to be sent one by one.
        if self.pace != Pace::FAST && !self.loses_anyway {
            return Ok(());
        }
        let Some(compared) = self.compared(suspected || self.loses_anyway) else { return Ok(()) };
        let pace = self.pace;
        self.set_pace(Pace::FAST);
        let outcome = self.compare(compared);
        if self.pace == Pace::FAST {
            self.set_pace(pace);
        }
        outcome
    }

    fn compare(&mut self, compared: [u32; 3]) -> Result<()> {
        let mut tried = BTreeMap::new();
        self.ask(&compared, COPIES, &mut tried)?;
        let [small, near, large] = compared.map(|size| lost(&tried[&size]));
        let [.., mtu] = compared;
        if large == 0 || large <= small.min(near) {
            return Ok(());
        }
        let steps: Vec<u32> = STEPS.iter().map(|step| mtu - step).collect();
        self.ask(&steps, COPIES, &mut tried)?;
        let probes: Vec<SizeProbe> = tried.values().copied().collect();
        let Some(split) = split(&probes) else { return Ok(()) };
        let (below, from) = (probes[split - 1].size, probes[split].size);
        let every = ((from - below) / MOST_BETWEEN).max(1);
        let between: Vec<u32> = (below + 1..from).step_by(every as usize).collect();
        if !between.is_empty() {
            self.ask(&between, COPIES, &mut tried)?;
        }
        let probes: Vec<SizeProbe> = tried.into_values().collect();
        // A policer drops large packets first.
        if let Some(loss) = loss_by_size(&probes)
            && !self.is_share_by_rate(loss.size, loss.large)?
        {
            self.one_way.size_dependent_loss = Some(loss);
        }
        Ok(())
    }

    /// The sizes that are compared first, where there is a reason to: a small one, one near the path MTU, and it.
    pub(super) fn compared(&self, suspected: bool) -> Option<[u32; 3]> {
        let has_reason = suspected
            || self.one_way.discovery == Discovery::Silent
            || self.one_way.size_dependent_loss.is_some();
        let mtu = self.one_way.path_mtu.filter(|_| has_reason && self.one_way.bound.is_lower())?;
        let least = (MIN_SIZE + self.one_way.headers()).max(SMALL.min(mtu));
        (mtu >= least + WIDEST).then(|| [least, mtu - WIDEST, mtu])
    }
}

fn lost(probe: &SizeProbe) -> u32 {
    probe.sent.saturating_sub(probe.received)
}

/// The loss above and below the split, where two shares explain it far better than one (a likelihood ratio of over e⁷: by chance once in
/// 5,000 splits) and one is four times the other.
fn loss_by_size(probes: &[SizeProbe]) -> Option<SizeLoss> {
    let at = split(probes)?;
    let (small, large) = (Shares::of_probes(&probes[..at]), Shares::of_probes(&probes[at..]));
    let gain = small.likelihood() + large.likelihood() - Shares::of_probes(probes).likelihood();
    let is_clear = gain > CLEAR && large.share() > 4.0 * small.share();
    let (first, last) = (probes[at].size, probes[probes.len() - 1].size);
    is_clear.then(|| SizeLoss { small: small.share(), large: large.share(), size: last, from: Some(first) })
}

/// Where the sizes are best parted into such as lose more and such as lose less: the first of the larger (maximum likelihood).
fn split(probes: &[SizeProbe]) -> Option<usize> {
    let likelihood = |at: &usize| {
        let (small, large) = (Shares::of_probes(&probes[..*at]), Shares::of_probes(&probes[*at..]));
        (large.share() > small.share()).then(|| small.likelihood() + large.likelihood())
    };
    let parted = (1..probes.len()).filter_map(|at| Some((at, likelihood(&at)?)));
    parted.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(at, _)| at)
}

/// Copies of several sizes together.
struct Shares {
    sent: f64,
    lost: f64,
}

impl Shares {
    fn of_probes(probes: &[SizeProbe]) -> Shares {
        let sum = |count: fn(&SizeProbe) -> u32| probes.iter().map(|probe| f64::from(count(probe))).sum();
        Shares { sent: sum(|probe| probe.sent), lost: sum(lost) }
    }

    fn share(&self) -> f64 {
        if self.sent > 0.0 { self.lost / self.sent } else { 0.0 }
    }

    /// Logarithm of how likely these losses are at their own share.
    fn likelihood(&self) -> f64 {
        let part = |count: f64| if count > 0.0 { count * (count / self.sent).ln() } else { 0.0 };
        part(self.lost) + part(self.sent - self.lost)
    }
}

/// RFC 791: every host takes datagrams of 576 bytes.
const SMALL: u32 = 576;
/// Copies of each size: of one that loses 5 % some are lost in 95 of 100 looks.
pub(super) const COPIES: u32 = 60;
/// Bytes below the path MTU, where the sizes that lose are looked for.
const STEPS: [u32; 7] = [64, 32, 16, 8, 4, 2, 1];
/// Bytes below the path MTU of the size that it is compared with first.
const WIDEST: u32 = 128;
/// Logarithm of the likelihood ratio.
const CLEAR: f64 = 7.0;
/// Sizes between the last that is not lost and the first that is.
const MOST_BETWEEN: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(size: u32, lost: u32) -> SizeProbe {
        SizeProbe { size, sent: COPIES, received: COPIES - lost }
    }

    #[test]
    fn sizes_that_lose_more_begin_where_they_do() {
        let probes = [
            (576, 0),
            (1322, 0),
            (1418, 0),
            (1434, 1),
            (1440, 0),
            (1441, 3),
            (1442, 2),
            (1446, 3),
            (1449, 4),
            (1450, 3),
        ];
        let loss = loss_by_size(&probes.map(|(size, lost)| probe(size, lost))).expect("a loss by size");
        assert_eq!((loss.from, loss.size), (Some(1441), 1450));
        assert!((loss.large - 0.05).abs() < 1e-9 && loss.small < 0.01, "{loss:?}");
        let sparse = [(576, 0), (1322, 0), (1449, 3), (1450, 3)];
        assert_eq!(loss_by_size(&sparse.map(|(size, lost)| probe(size, lost))), None, "it may be chance");
    }

    #[test]
    fn losses_of_all_sizes_are_not_of_some() {
        let alike = [(576, 3), (1322, 2), (1386, 4), (1434, 3), (1442, 2), (1450, 4)];
        assert_eq!(loss_by_size(&alike.map(|(size, lost)| probe(size, lost))), None);
        let none = [(576, 0), (1322, 0), (1450, 0)];
        assert_eq!(loss_by_size(&none.map(|(size, lost)| probe(size, lost))), None);
        let single = [(576, 0), (1322, 0), (1386, 0), (1449, 0), (1450, 1)];
        assert_eq!(loss_by_size(&single.map(|(size, lost)| probe(size, lost))), None);
    }
}

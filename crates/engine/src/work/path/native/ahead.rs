//! Probes that go before what would have called for them is known: on a path whose round trips are long they cost less than the wait.

use super::{DATAGRAMS, DirectionSearch, FEW, MOST_HOPS, SURE_COPIES, around, edge, whole};
use crate::error::Result;
use crate::work::probe::ProbeTrain;
use model::path::{Bound, FragmentShape, SizeProbe};
use model::plan::Direction;
use std::collections::{BTreeMap, VecDeque};
use wire::native::PathObservation;
use wire::native::probe::{MAX_SIZES, SizeCount};

/// Totals of a receiver's kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Fragments received.
    pub(super) pieces: Option<u64>,
    /// Packets that it delivered nowhere.
    pub(super) undelivered: Option<u64>,
}

impl From<&PathObservation> for Counted {
    fn from(observed: &PathObservation) -> Counted {
        Counted { pieces: observed.fragments_received, undelivered: observed.undelivered }
    }
}

/// A train, and what came of it.
struct Done {
    train: Planned,
    rows: Vec<SizeCount>,
}

/// A train that keeps its sizes.
struct Planned {
    sizes: Vec<u32>,
    count: u32,
    cut: Option<FragmentShape>,
    trace: bool,
}

/// Results of probes that went ahead, kept until a step needs them.
#[derive(Default)]
pub(super) struct Ahead {
    trains: Vec<Done>,
    /// Sizes that went once each.
    swept: BTreeMap<u32, SizeProbe>,
    /// Totals of the receiver before the tests of fragments, and after each group of them.
    counted: VecDeque<Counted>,
    /// The far end's facts as the sender.
    far_sender: Option<PathObservation>,
    /// The least TTL that reached the receiver.
    least_ttl: Option<u8>,
    /// Packets that the receiver's host had delivered nowhere before the last look at what crosses, and after it.
    undelivered: Option<[Option<u64>; 2]>,
}

impl Planned {
    fn whole(sizes: Vec<u32>, count: u32) -> Planned {
        Planned { sizes, count, cut: None, trace: false }
    }

    fn cut(shape: FragmentShape, payload: u32, count: u32) -> Planned {
        Planned { sizes: vec![payload], count, cut: Some(shape), trace: false }
    }

    fn train(&self) -> ProbeTrain<'_> {
        ProbeTrain { sizes: &self.sizes, count: self.count, cut: self.cut, trace: self.trace }
    }
}

impl Ahead {
    /// The result of this train, if it went ahead; only once.
    fn take(&mut self, train: &ProbeTrain<'_>) -> Option<Vec<SizeCount>> {
        let at = self.trains.iter().position(|done| done.train.train() == *train)?;
        Some(self.trains.swap_remove(at).rows)
    }

    /// Packets that the receiver's host had delivered nowhere around the last look, if that went ahead; only once.
    pub(super) fn take_undelivered(&mut self) -> Option<[Option<u64>; 2]> {
        self.undelivered.take()
    }
}

impl DirectionSearch<'_> {
    /// The first round of the search, and beside it what is wanted whatever comes of it: the sweep for holes and the tests of fragments.
    pub(super) fn go_ahead(&mut self, sizes: &[u32], copies: u32, most: u32) -> Result<()> {
        let headers = self.one_way.headers();
        let mut first = vec![Planned::whole(sizes.to_vec(), copies)];
        let swept: Vec<u32> = self
            .swept(most, &[])
            .into_iter()
            .map(|size| size - headers)
            .filter(|size| !sizes.contains(size))
            .collect();
        let parts = in_parts(&swept);
        first.extend(parts.iter().map(|part| Planned::whole(part.clone(), 1)));
        if !self.one_way.ipv6 {
            first.push(Planned::cut(FragmentShape::MayBeCut, most - headers, FEW));
        }
        let mut groups = vec![first];
        let test = |(shape, payload, _)| Planned::cut(shape, payload, DATAGRAMS);
        let tests = self.planned_fragments().into_iter().filter(|group| !group.is_empty());
        groups.extend(tests.map(|group| group.into_iter().map(test).collect::<Vec<_>>()));
        let observed = self.together(groups)?;
        // Before the first group nothing is counted that the tests of fragments need.
        self.ahead.counted = observed.iter().skip(1).map(Counted::from).collect();
        for part in &parts {
            let train = ProbeTrain { sizes: part, count: 1, cut: None, trace: false };
            let rows = self.ahead.take(&train).unwrap_or_default();
            for payload in part {
                let size = payload + headers;
                let probe = SizeProbe { size, sent: 1, received: whole(&rows, *payload) };
                self.ahead.swept.insert(size, probe);
            }
        }
        Ok(())
    }

    /// Sends the trains that follow once the path MTU is known: where larger packets end, whether those just
    /// below it are lost more often, and what crosses in the end.
    pub(super) fn go_on(&mut self, is_traced: bool) -> Result<()> {
        let (headers, Some(mtu)) = (self.one_way.headers(), self.one_way.path_mtu) else { return Ok(()) };
        let mut groups = Vec::new();
        if is_traced {
            let sizes = vec![mtu + 1 - headers, mtu - headers];
            groups.push(vec![Planned { sizes, count: MOST_HOPS, cut: None, trace: true }]);
        }
        if let Some(compared) = self.compared(false) {
            let sizes = compared.map(|size| size - headers).to_vec();
            groups.push(vec![Planned::whole(sizes, edge::COPIES)]);
        }
        let is_confirmed = self.one_way.bound == Bound::Exact;
        if is_confirmed {
            groups.push(vec![Planned::whole(around(&self.one_way, mtu), SURE_COPIES)]);
        }
        if groups.is_empty() {
            return Ok(());
        }
        let observed = self.together(groups)?;
        if let ([.., before, after], true) = (observed.as_slice(), is_confirmed) {
            self.ahead.undelivered = Some([before.undelivered, after.undelivered]);
        }
        Ok(())
    }

    /// Sends trains that are waited for, or takes what came of them ahead.
    pub(super) fn trains(&mut self, trains: &[ProbeTrain<'_>]) -> Result<Vec<Vec<SizeCount>>> {
        let taken: Vec<Option<Vec<SizeCount>>> = trains.iter().map(|train| self.ahead.take(train)).collect();
        if taken.iter().all(Option::is_some) {
            return Ok(taken.into_iter().flatten().collect());
        }
        if !self.is_long {
            return self.prober.probe_trains(self.direction, trains);
        }
        let planned = trains.iter().map(|train| Planned {
            sizes: train.sizes.to_vec(),
            count: train.count,
            cut: train.cut,
            trace: train.trace,
        });
        self.together(vec![planned.collect()])?;
        Ok(trains.iter().map(|train| self.ahead.take(train).unwrap_or_default()).collect())
    }

    /// Sends groups of trains without waiting between them; returns what the receiver knew before the first and after each.
    fn together(&mut self, groups: Vec<Vec<Planned>>) -> Result<Vec<PathObservation>> {
        let trains: Vec<Vec<ProbeTrain<'_>>> =
            groups.iter().map(|group| group.iter().map(Planned::train).collect()).collect();
        let found = self.prober.probe_groups(self.direction, &trains)?;
        self.ahead.least_ttl = found.receiver.iter().filter_map(|observed| observed.least_ttl).min();
        self.ahead.far_sender = found.sender;
        let done = groups.into_iter().flatten().zip(found.rows).map(|(train, rows)| Done { train, rows });
        self.ahead.trains.extend(done);
        Ok(found.receiver)
    }

    /// The facts that the sender has. On a long path the far end's answer that came with the last probes is taken, once.
    pub(super) fn messages(&mut self) -> Result<PathObservation> {
        match self.ahead.far_sender.take().filter(|_| self.direction == Direction::Down) {
            Some(observed) => Ok(observed),
            None => self.prober.sender(self.direction),
        }
    }

    /// The least TTL that reached the receiver.
    pub(super) fn least_ttl(&mut self) -> Result<Option<u8>> {
        match self.ahead.least_ttl.take() {
            Some(ttl) => Ok(Some(ttl)),
            None => Ok(self.prober.sender(self.direction.reversed())?.least_ttl),
        }
    }

    /// Totals of the receiver's kernel.
    pub(super) fn counted(&mut self) -> Result<Counted> {
        match self.ahead.counted.pop_front() {
            Some(counted) => Ok(counted),
            None => Ok(Counted::from(&self.prober.sender(self.direction.reversed())?)),
        }
    }

    /// Forgets tests of fragments that went ahead, unless these are all among them: their counts follow one another.
    pub(super) fn keep_counts_of(&mut self, groups: &[Vec<(FragmentShape, u32, u32)>]) {
        let is_there = |(shape, payload, _): &(FragmentShape, u32, u32)| {
            let planned = Planned::cut(*shape, *payload, DATAGRAMS);
            self.ahead.trains.iter().any(|done| done.train.train() == planned.train())
        };
        if !groups.iter().flatten().all(is_there) {
            self.ahead.counted.clear();
            self.ahead.trains.retain(|done| done.train.cut.is_none());
        }
    }

    /// Sizes up to the path MTU that went ahead, each once.
    pub(super) fn swept_ahead(&mut self, mtu: u32) -> BTreeMap<u32, SizeProbe> {
        let mut swept = std::mem::take(&mut self.ahead.swept);
        swept.split_off(&(mtu + 1));
        swept
    }

    /// The sizes that went ahead, for a search whose largest packets did not cross.
    pub(super) fn swept_for_search(&self) -> impl Iterator<Item = SizeProbe> {
        self.ahead.swept.values().copied()
    }
}

/// Splits the sizes into as many as one order takes, with small and large ones in each: where large ones vanish, some of each
/// order still arrive.
fn in_parts(sizes: &[u32]) -> Vec<Vec<u32>> {
    let parts = sizes.len().div_ceil(MAX_SIZES);
    (0..parts).map(|part| sizes.iter().copied().skip(part).step_by(parts).collect()).collect()
}

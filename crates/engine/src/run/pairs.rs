//! Several sessions at once as one measurement, and the search for how many it takes.

use super::{Measured, Options, is_start, link, link_rate, run_id};
use crate::error::{Error, Failure, Result, sentence, too_early};
use crate::run::together;
use crate::session::protocol::attribute;
use insight::{analysis::sum_pairs, run_of_events, run_of_pairs};
use model::event::{Event, Outcome};
use model::pairs::{BrokenPair, PairStep};
use model::plan::{End, Plan};
use model::run::Run;
use model::units::{BitRate, Bytes};
use std::str::FromStr;

/// Sessions at once.
#[derive(Clone, Debug, PartialEq)]
pub struct PairsPlan {
    /// The plans of all pairs that may run.
    pub plans: Vec<Plan>,
    /// How many there are to be.
    pub count: PairCount,
    /// How many a search begins with.
    pub least: usize,
}

/// How many sessions run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairCount {
    /// This number of pairs.
    Fixed(u32),
    /// Until the sum grows no more.
    Auto,
}

impl FromStr for PairCount {
    type Err = String;

    fn from_str(text: &str) -> Result<PairCount, String> {
        let count =
            || text.parse().ok().filter(|count| (1..=MAX_PAIRS).contains(count)).map(PairCount::Fixed);
        let auto = text.eq_ignore_ascii_case("auto").then_some(PairCount::Auto);
        auto.or_else(count).ok_or_else(|| format!("a number from 1 to {MAX_PAIRS}, or auto"))
    }
}

/// Most sessions at once.
pub const MAX_PAIRS: u32 = 128;

impl PairsPlan {
    /// The test of each host, in turn, as often as it takes.
    ///
    /// # Errors
    /// `Kind::Usage` for fewer sessions than hosts.
    pub fn new(hosts: &[Plan], count: PairCount) -> Result<PairsPlan, Failure> {
        let least = hosts.len();
        let most = match count {
            PairCount::Fixed(count) if (count as usize) < least => {
                let message = format!("--pairs {count} for {least} hosts: some would have none");
                return Err(Failure::usage(message, format!("give --pairs {least} or more")));
            }
            PairCount::Fixed(count) => count,
            PairCount::Auto => MAX_PAIRS,
        };
        Ok(PairsPlan { plans: hosts.iter().cycle().take(most as usize).cloned().collect(), count, least })
    }
}

pub(super) fn run(plan: &PairsPlan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    if options.capture.is_wanted() {
        let message = "--pairs and a capture: one capture sees one path";
        return Err(Failure::usage(message, "capture a run without --pairs").into());
    }
    let mut ended = at_once(plan, options, sink)?;
    ended.error.take_if(|_| options.stop.is_raised());
    Ok(ended)
}

/// The same, with the error of a run that was stopped.
pub(super) fn at_once(plan: &PairsPlan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let mut job = PairsJob { plans: &plan.plans, options, sink };
    match plan.count {
        PairCount::Fixed(count) => job.measure(&plan.plans, count as usize),
        PairCount::Auto => job.search(plan.least),
    }
}

/// Sessions to run at once.
struct PairsJob<'a> {
    /// The plans of all pairs that may run.
    plans: &'a [Plan],
    options: &'a Options,
    sink: &'a mut dyn FnMut(&Event),
}

impl PairsJob<'_> {
    /// Runs this number of pairs at once.
    fn measure(&self, plans: &[Plan], count: usize) -> Result<Measured> {
        let plans = plans.get(..count).unwrap_or(plans);
        let known = plans.first().and_then(|plan| link(&plan.target, &plan.local));
        let mut tests = Vec::new();
        let (mut broken, mut error) = (Vec::new(), None);
        for (index, outcome) in
            together::run(plans, &self.options.security, &self.options.stop).into_iter().enumerate()
        {
            let begun = outcome.events.iter().any(is_start);
            if let Some(reason) = short(&outcome.events, outcome.error.as_ref()) {
                broken.push(BrokenPair { pair: index as u64 + 1, reason });
            }
            if begun {
                tests.push(pair(&outcome.events, known.as_ref())?);
            }
            if let (Some(cause), None, Some(plan)) = (outcome.error, &error, plans.get(index)) {
                error = Some(attribute(&plan.target, plan.protocol, begun, cause));
            }
        }
        if tests.is_empty() {
            return Err(error
                .filter(|_| !self.options.stop.is_raised())
                .unwrap_or_else(|| too_early().into()));
        }
        let pairs =
            sum_pairs(count as u64, &tests.iter().collect::<Vec<_>>(), broken, link_rate(known.as_ref()));
        let probes: Vec<Event> = known.into_iter().collect();
        let run = run_of_pairs(&run_id()?, &probes, tests, pairs);
        Ok(Measured { run, error })
    }

    /// Runs this number of pairs at once, and once more for longer where they ran too little of the time together.
    fn step(&mut self, count: usize) -> Result<Measured> {
        let measured = self.measure(self.plans, count)?;
        if !apart(&measured.run) || measured.error.is_some() || self.options.stop.is_raised() {
            return Ok(measured);
        }
        let share = overlap(&measured.run) * 100.0;
        let doing = format!("{count} at once: all ran for {share:.0} % of the time: again, for longer");
        (self.sink)(&Event::progress(doing));
        let longer: Vec<Plan> = self.plans.iter().map(longer).collect();
        self.measure(&longer, count)
    }

    /// One more pair at a time, until two in a row have added little.
    fn search(&mut self, least: usize) -> Result<Measured> {
        let mut steps: Vec<PairStep> = Vec::new();
        let mut best: Option<Measured> = None;
        let mut idle = 0;
        let mut count = least;
        let stopped = loop {
            let measured = self.step(count)?;
            if apart(&measured.run) && !self.options.stop.is_raised() && measured.error.is_none() {
                // A sum over a part of the time is of too little to be held against the others.
                let share = overlap(&measured.run) * 100.0;
                if best.is_none() {
                    best = Some(measured);
                }
                break format!(
                    "{count} at once all ran for {share:.0} % of the time alone, a longer test too: give a longer -t"
                );
            }
            let goodput = sum(&measured.run);
            (self.sink)(&Event::progress(format!("{count} at once: {goodput}")));
            let before = best.as_ref().map_or(BitRate(0), |best| sum(&best.run));
            steps.push(PairStep { pairs: count as u64, goodput });
            let broke = measured.error.is_some();
            idle = if goodput.0 as f64 > before.0 as f64 * GROWTH { 0 } else { idle + 1 };
            if goodput > before && (idle == 0 || best.is_none()) || best.is_none() {
                best = Some(measured);
            }
            if broke || self.options.stop.is_raised() {
                break "a pair failed".to_owned();
            }
            if idle == 2 {
                break "two more pairs added less than 3 %".to_owned();
            }
            count += 1;
            if count > self.plans.len() {
                break format!("{} are the most", self.plans.len());
            }
        };
        let mut best = best.ok_or_else(too_early)?;
        let why = reason(&best.run);
        if let Some(pairs) = &mut best.run.summary.pairs {
            (pairs.steps, pairs.stopped) = (steps, Some(format!("{stopped}; {why}")));
        }
        Ok(best)
    }
}

/// The same test over three times the time or the amount.
fn longer(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.test.end = match plan.test.end {
        End::Time(time) => End::Time(time.saturating_mul(LONGER)),
        End::Bytes(bytes) => End::Bytes(Bytes(bytes.0.saturating_mul(LONGER))),
        End::Blocks(blocks) => End::Blocks(blocks.saturating_mul(LONGER)),
    };
    plan
}

/// Share of the time from the first begin to the last end in which all pairs ran.
fn overlap(run: &Run) -> f64 {
    run.summary.pairs.as_ref().map_or(1.0, |pairs| pairs.overlap_share)
}

/// Is that too little for a sum to be held against others?
fn apart(run: &Run) -> bool {
    overlap(run) < TOGETHER
}

/// The run of one pair. It began when its data began to flow, not when it was connected.
fn pair(events: &[Event], link: Option<&Event>) -> Result<Run> {
    let all: Vec<Event> = link.into_iter().chain(events).cloned().collect();
    let mut run = run_of_events(&run_id()?, "throughput", &all);
    let began = events.iter().find_map(|event| match event {
        Event::Started(started) => Some(started.wall),
        _ => None,
    });
    run.started = began.or(run.started);
    Ok(run)
}

/// Why a pair did not do its part, where it did not.
fn short(events: &[Event], error: Option<&Error>) -> Option<String> {
    let outcome = events.iter().find_map(|event| match event {
        Event::Finished(finished) => Some(&finished.outcome),
        _ => None,
    });
    match (error, outcome) {
        (Some(error), _) => Some(sentence(error)),
        (None, Some(Outcome::PeerStopped { reason } | Outcome::Failed { reason })) => Some(reason.clone()),
        (None, Some(Outcome::Interrupted)) => Some("it was interrupted".into()),
        (None, _) => None,
    }
}

/// The goodput of one pair alone, or of several together.
fn sum(run: &Run) -> BitRate {
    let pairs = run.summary.pairs.as_ref().map(|pairs| pairs.goodput()).filter(|sum| sum.0 > 0);
    let directions =
        || run.tests.iter().flat_map(|test| [test.summary.up.as_ref(), test.summary.down.as_ref()]);
    pairs.unwrap_or_else(|| BitRate(directions().flatten().map(|direction| direction.goodput.0).sum()))
}

/// The resource that was full when the sum grew no more.
fn reason(run: &Run) -> String {
    let together = run.summary.pairs.as_ref().and_then(|pairs| pairs.together.as_ref());
    let directions = together.iter().flat_map(|sum| [sum.up, sum.down]).flatten();
    let alone = run.tests.iter().flat_map(|test| [test.summary.up.as_ref(), test.summary.down.as_ref()]);
    let shares = directions.filter_map(|direction| direction.line_rate_share);
    let share = shares
        .chain(alone.flatten().filter_map(|direction| direction.wire.line_rate_share))
        .fold(0.0, f64::max);
    let ends = run
        .tests
        .iter()
        .flat_map(|test| [("this host", &test.summary.local), ("the far host", &test.summary.peer)]);
    let cpus = ends.filter_map(|(name, side)| Some((name, side.as_ref()?.cpu.busiest_cpu)));
    let busiest = cpus.max_by(|(_, one), (_, other)| one.total_cmp(other));
    match busiest {
        _ if share >= FULL => format!("the link is full: {:.0} % of its rate", share * 100.0),
        Some((name, cpu)) if cpu >= FULL => format!("a CPU of {name} is full: {:.0} %", cpu * 100.0),
        _ => "neither the link nor a CPU is known to be full".into(),
    }
}

/// Overlap that a step needs.
const TOGETHER: f64 = 0.8;
/// How many times as long a step is that is repeated.
const LONGER: u64 = 3;
/// A pair more must add 3 %.
const GROWTH: f64 = 1.03;
/// Share from which a link or a CPU counts as full.
const FULL: f64 = 0.93;

#[cfg(test)]
mod tests {
    use super::*;
    use model::pairs::Pairs;

    #[test]
    fn steps_that_hardly_ran_together_are_known() {
        let with = |overlap_share| {
            let mut run = run_of_events("id", "throughput", &[]);
            let pairs = sum_pairs(2, &[], Vec::new(), None);
            run.summary.pairs = Some(Box::new(Pairs { overlap_share, ..pairs }));
            run
        };
        assert!(apart(&with(0.79)) && !apart(&with(0.8)));
        assert!(!apart(&run_of_events("id", "throughput", &[])), "one pair runs beside no other");
    }
}

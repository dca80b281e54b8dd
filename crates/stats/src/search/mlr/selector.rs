//! The load that one goal nominates next: its targets from the coarsest to the last, each by a list of strategies.

use super::goal::Target;
use super::records::{Bounds, Records};
use super::scale::{Scale, middle};
use units::Nanos;

/// The trial that a goal nominates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nomination {
    pub(super) step: i64,
    pub(super) duration: Nanos,
    /// The common width from now on, when this one is measured.
    pub(super) width: i64,
    /// A search for a missing bound, which takes a larger step when it finds the other one.
    grows: Option<Grows>,
}

/// When the step of an external search grows.
#[derive(Clone, Copy, Debug)]
enum Grows {
    /// Searching upwards, the load is yet another lower bound.
    OnLower,
    /// Searching downwards, the load is yet another upper bound.
    OnUpper,
}

/// The least load fails a goal that is to end the whole search then.
pub(super) struct LeastLoadFails;

/// The state of one goal's search.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    /// Coarsest first.
    targets: Vec<Target>,
    current: usize,
    /// Where the current target begins: the bounds of the one before, one of which may be missing.
    initial: Bounds,
    /// The step of the next external search.
    next_width: i64,
}

/// The inputs of a strategy.
struct View<'a> {
    target: &'a Target,
    initial: Bounds,
    bounds: Bounds,
    scale: &'a Scale,
    /// The step of an external search.
    reach: i64,
}

/// The proposal of a strategy.
struct Proposal {
    step: i64,
    width: i64,
    grows: Option<Grows>,
    /// The external search begins again from this width, whether or not the load is measured.
    restart: Option<i64>,
}

impl Nomination {
    /// Orders nominations: the lower load first, then the longer trial, then the larger width.
    pub(super) fn goes_before(&self, other: &Nomination) -> bool {
        let key = |one: &Nomination| (-one.step, one.duration, one.width);
        key(self) > key(other)
    }
}

impl Selector {
    pub(super) fn new(targets: Vec<Target>, lower: i64, upper: i64, scale: &Scale) -> Selector {
        let initial = Bounds { lower: Some(lower), upper: Some(upper) };
        let mut selector = Selector { targets, current: 0, initial, next_width: 0 };
        selector.restart(upper - lower, scale);
        selector
    }

    /// The next trial; `None` when this goal is reached.
    pub(super) fn nominate(
        &mut self,
        records: &Records,
        scale: &Scale,
        common_width: i64,
    ) -> Result<Option<Nomination>, LeastLoadFails> {
        loop {
            let target = &self.targets[self.current];
            let bounds = records.bounds(target);
            let reach = self.next_width.max(common_width);
            let view = View { target, initial: self.initial, bounds, scale, reach };
            if let Some(proposal) = STRATEGIES.iter().find_map(|strategy| strategy(&view)) {
                let Proposal { step, width, grows, restart } = proposal;
                let nomination = Nomination { step, duration: target.trial_duration, width, grows };
                if let Some(width) = restart {
                    self.restart(width, scale);
                }
                return Ok(Some(nomination));
            }
            if self.current + 1 == self.targets.len() {
                let fails = bounds.lower.is_none() && target.fail_fast;
                return if fails { Err(LeastLoadFails) } else { Ok(None) };
            }
            self.current += 1;
            self.initial = bounds;
            let width = bounds.upper.zip(bounds.lower).map_or(0, |(upper, lower)| upper - lower);
            self.restart(width, scale);
        }
    }

    /// Takes note that its nomination was measured; returns the new common width, when the external search goes on with larger
    /// steps.
    pub(super) fn won(&mut self, nomination: &Nomination, records: &Records, scale: &Scale) -> Option<i64> {
        let bounds = records.bounds(&self.targets[self.current]);
        let grows = match nomination.grows? {
            Grows::OnLower => bounds.lower == Some(nomination.step),
            Grows::OnUpper => bounds.upper == Some(nomination.step),
        };
        grows.then(|| {
            self.next_width = self.expanded(self.next_width, scale);
            self.next_width
        })
    }

    fn restart(&mut self, width: i64, scale: &Scale) {
        self.next_width = self.expanded(width.max(self.targets[self.current].width), scale);
    }

    fn expanded(&self, width: i64, scale: &Scale) -> i64 {
        scale.limit(width.saturating_mul(self.targets[self.current].expansion))
    }
}

/// The first that has a proposal decides.
const STRATEGIES: [fn(&View) -> Option<Proposal>; 6] =
    [halve, confirm_lower, confirm_upper, extend_down, extend_up, bisect];

/// Between the initial bounds, when they are one to two widths apart.
fn halve(view: &View) -> Option<Proposal> {
    let (lower, upper) = view.initial.lower.zip(view.initial.upper)?;
    let width = upper - lower;
    if width > 2 * view.target.width || width <= view.target.width {
        return None;
    }
    view.refine(lower + middle(width, view.target.width))
}

/// The initial lower bound: does it hold for this target too?
fn confirm_lower(view: &View) -> Option<Proposal> {
    view.refine(view.initial.lower?)
}

/// The initial upper bound, likewise.
fn confirm_upper(view: &View) -> Option<Proposal> {
    view.refine(view.initial.upper?)
}

/// Down from the upper bound, as long as there is no lower one.
fn extend_down(view: &View) -> Option<Proposal> {
    let Bounds { lower: None, upper: Some(upper @ 1..) } = view.bounds else { return None };
    let step = view.keep_away(view.scale.down(upper, view.reach))?;
    view.is_worth(step).then(|| view.external(step, Grows::OnUpper))
}

/// Up from the lower bound, as long as there is no upper one.
fn extend_up(view: &View) -> Option<Proposal> {
    let Bounds { lower: Some(lower), upper: None } = view.bounds else { return None };
    let step = view.keep_away(view.scale.up(lower, view.reach))?;
    view.is_worth(step).then(|| view.external(step, Grows::OnLower))
}

/// Between both bounds. Another goal may have set them far from where the coarser target pointed: then it proposes not the
/// middle, but the load of an external search from the one bound towards that place, when that is nearer to it.
fn bisect(view: &View) -> Option<Proposal> {
    let (lower, upper) = view.bounds.lower.zip(view.bounds.upper)?;
    if upper - lower <= view.target.width {
        return None;
    }
    let half = middle(upper - lower, view.target.width);
    let step = lower + half;
    if let Some(below) = view.initial.upper.filter(|initial| step < *initial)
        && let Some(down) = view.keep_away(view.scale.down(upper, view.reach))
        && step < down
        && down < below
    {
        return Some(view.external(down, Grows::OnUpper));
    }
    if let Some(above) = view.initial.lower.filter(|initial| step > *initial)
        && let Some(up) = view.keep_away(view.scale.up(lower, view.reach))
        && step > up
        && up > above
    {
        return Some(view.external(up, Grows::OnLower));
    }
    let width = half.min(upper - step);
    Some(Proposal { step, width, grows: None, restart: Some(width) })
}

impl View<'_> {
    fn keep_away(&self, step: i64) -> Option<i64> {
        self.scale.keep_away(step, self.target.width, self.bounds.lower, self.bounds.upper)
    }

    /// Whether measuring there can give or improve a bound, and one is still wanted.
    fn is_worth(&self, step: i64) -> bool {
        let Bounds { lower, upper } = self.bounds;
        let inside = lower.is_none_or(|lower| lower < step) && upper.is_none_or(|upper| step < upper);
        let open = lower.zip(upper).is_none_or(|(lower, upper)| upper - lower > self.target.width);
        inside && open
    }

    fn refine(&self, step: i64) -> Option<Proposal> {
        let width = self.target.width;
        self.is_worth(step).then_some(Proposal { step, width, grows: None, restart: Some(width) })
    }

    fn external(&self, step: i64, grows: Grows) -> Proposal {
        Proposal { step, width: self.reach, grows: Some(grows), restart: None }
    }
}

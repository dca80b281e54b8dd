//! The rows of a test while it runs: what the receiver counted, which the other end reports a moment later.

use super::intervals;
use crate::format::Style;
use model::plan::{Plan, ProtocolName};
use model::sample::{IntervalSample, Side};

/// An interval of this end waits for that of the other, and until the next interval at most.
#[derive(Debug, Default)]
pub struct LiveRows {
    near: Option<IntervalSample>,
    far: Option<IntervalSample>,
}

impl LiveRows {
    /// The rows that are complete with this sample: one for each direction, as they stand in the document.
    pub fn rows(&mut self, sample: &IntervalSample, plan: &Plan, style: &Style) -> String {
        match sample.side {
            Side::Local => {
                let before = self.rest(plan, style);
                self.near = Some(sample.clone());
                // The other end of other protocols reports nothing before the test is over.
                let now = match plan.protocol {
                    ProtocolName::Native => self.both(plan, style),
                    _ => self.rest(plan, style),
                };
                before + &now
            }
            Side::Peer => {
                self.far = Some(sample.clone());
                self.both(plan, style)
            }
        }
    }

    /// The rows of an interval of which the other end has reported nothing.
    pub fn rest(&mut self, plan: &Plan, style: &Style) -> String {
        self.near.take().map(|near| intervals::rows(&[near], plan, style)).unwrap_or_default()
    }

    /// The rows of an interval that both ends have measured.
    fn both(&mut self, plan: &Plan, style: &Style) -> String {
        let is_same = |near: &&IntervalSample| {
            self.far.as_ref().is_some_and(|far| intervals::is_same_interval(near, far))
        };
        if self.near.as_ref().filter(is_same).is_none() {
            return String::new();
        }
        let both: Vec<IntervalSample> = [self.near.take(), self.far.take()].into_iter().flatten().collect();
        intervals::rows(&both, plan, style)
    }
}

//! The rate that stands for a stream, and what other than the device set it.

use super::{LoadLimit, RateReport, StreamReport};
use crate::search::Irregular;
use crate::wire_rate::LINE_RATE;

impl StreamReport {
    /// The rate that stands for this stream: RFC 2544's throughput, or else the no-drop rate, or else the first goal's.
    #[must_use]
    pub fn headline(&self) -> Option<&RateReport> {
        let named = |name: &str| self.rates.iter().find(|rate| rate.goal == name);
        named("throughput").or_else(|| named("ndr")).or_else(|| self.rates.first())
    }

    /// The rate fills the link.
    #[must_use]
    pub fn is_at_line_rate(&self, rate: &RateReport) -> bool {
        let most = self.line_rate.filter(|line| line.0 > 0.0);
        most.zip(rate.lower).is_some_and(|(line, lower)| lower.0 / line.0 >= LINE_RATE)
    }

    /// The limit other than the device that ended the search for this rate; `None` when the device did.
    #[must_use]
    pub fn bound_by(&self, rate: &RateReport) -> Option<LoadLimit> {
        rate.lower.filter(|_| rate.is_least())?;
        let short = rate.irregular.contains(&Irregular::GeneratorLimited);
        Some(match self.limit {
            _ if self.is_at_line_rate(rate) => LoadLimit::LineRate,
            Some(limit) if !short => limit,
            _ => LoadLimit::Generator,
        })
    }
}

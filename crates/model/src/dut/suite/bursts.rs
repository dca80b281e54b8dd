//! Back-to-back frames (RFC 2544 section 26.4, RFC 9004).

use super::super::{Action, BackToBackReport, LoadLimit, Observation, ServiceReport, Setup, StreamReport};
use super::job::DeviceTest;
use crate::search::{BackToBack, Load, Search};

/// The searches for the longest burst without loss.
#[derive(Debug)]
pub(super) struct Bursts {
    search: BackToBack,
    begun: bool,
    rate: Load,
    limit: LoadLimit,
    throughput: Load,
}

impl Bursts {
    pub(super) fn new(
        setup: &Setup,
        row: &StreamReport,
        throughput: Load,
        rate: Load,
    ) -> Result<Bursts, String> {
        let limit = row.limit.unwrap_or(LoadLimit::Generator);
        if throughput >= rate {
            return Err(match limit {
                LoadLimit::LineRate => {
                    "the throughput is that of the link: no burst fills a buffer (RFC 9004)"
                }
                LoadLimit::Asked => "the throughput is the most load asked for: no burst fills a buffer",
                LoadLimit::Generator => {
                    "the device forwards all that the generator sends: no burst fills a buffer"
                }
            }
            .to_owned());
        }
        let search = BackToBack::new(setup.burst_config(rate)).map_err(|error| error.to_string())?;
        Ok(Bursts { search, begun: false, rate, limit, throughput })
    }
}

impl DeviceTest for Bursts {
    fn action(&self) -> Option<Action> {
        self.search.trial().map(Action::Trial)
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        self.begun = true;
        self.search.take(&observation.result);
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        let outcome = self.search.outcome();
        let buffer = outcome.buffer(self.rate, self.throughput);
        let report = BackToBackReport { rate: self.rate, limit: self.limit, outcome, buffer };
        row.back_to_back = self.begun.then_some(report);
    }
}

//! Where a benchmark departs from what the standards ask for, in words.

use super::super::{Setup, Test};
use crate::plan::Directions;
use crate::units::{Bytes, Nanos};

impl Setup {
    /// Where this departs from what the standards ask for; to be kept in `departures` when all else is filled in.
    #[must_use]
    pub fn find_departures(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.departures_of_frames(&mut found);
        self.departures_of_throughput(&mut found);
        self.departures_of_tests(&mut found);
        found
    }

    fn has(&self, tests: &[Test]) -> bool {
        tests.iter().any(|test| self.tests.contains(test))
    }

    fn departures_of_frames(&self, found: &mut Vec<String>) {
        let mut networks: Vec<_> = self.streams.iter().map(|stream| stream.network).collect();
        networks.dedup();
        for network in networks {
            let sent = |size: &Bytes| {
                self.streams.iter().any(|stream| stream.network == network && stream.frames.sizes == [*size])
            };
            let sizes = super::super::Stream::standard_sizes(network);
            let missing: Vec<String> =
                sizes.iter().filter(|size| !sent(size)).map(|size| size.0.to_string()).collect();
            if !missing.is_empty() {
                found.push(format!(
                    "{network}: no frames of {} bytes (RFC 2544 section 9.1)",
                    missing.join(", ")
                ));
            }
        }
        if self.streams.iter().any(|stream| stream.directions != Directions::Both) {
            found.push("frames go one way, RFC 2544 section 14 asks for both at once".to_owned());
        }
        if self.link.is_none() {
            found.push(
                "the speed of the link is not known: 100 % is what the generator reaches, or what was asked for"
                    .to_owned(),
            );
        } else if self.link_is_nominal {
            found.push(
                "the interfaces have no speed of their own: line rate is of the speed given".to_owned(),
            );
        }
        if self.times.pause < PAUSE {
            found.push(format!(
                "pauses of {} around a trial, RFC 2544 section 23 asks for {PAUSE}",
                self.times.pause
            ));
        }
    }

    fn departures_of_throughput(&self, found: &mut Vec<String>) {
        if !self.has(&[Test::Throughput]) {
            return;
        }
        let conforms = self.goals.iter().any(|named| {
            let goal = &named.goal;
            goal.loss_ratio == 0.0 && goal.exceed_ratio == 0.0 && goal.final_duration >= MINUTE
        });
        if !conforms {
            found.push(
                "no goal asks for a trial of 60 s without any loss (RFC 2544 sections 24 and 26.1)"
                    .to_owned(),
            );
        }
    }

    fn departures_of_tests(&self, found: &mut Vec<String>) {
        let times = &self.times;
        let mut short = |tests: &[Test], what: &str, is: Nanos, least: Nanos, source: &str| {
            if self.has(tests) && is < least {
                found.push(format!("{what} of {is}, {source} asks for {least}"));
            }
        };
        let trials = [Test::FrameLoss, Test::Recovery, Test::Reset];
        short(&trials, "trials", times.trial, MINUTE, "RFC 2544 section 24");
        short(&[Test::DelayVariation], "runs of delay variation", times.trial, MINUTE, VARIATION);
        short(&[Test::Latency], "latency streams", times.latency, Nanos::from_secs(120), LATENCY);
        short(&[Test::BackToBack], "bursts", times.burst, Nanos::from_secs(2), BURSTS);
        short(&[Test::Service], "service steps", times.service_step, Nanos::from_secs(1), SERVICE);
        short(&[Test::Service], "a performance test", times.service, Nanos::from_secs(900), SERVICE);
        let mut few = |test: Test, what: &str, is: u32, least: u32, source: &str| {
            if self.has(&[test]) && is < least {
                found.push(format!("{is} {what}, {source} asks for {least}"));
            }
        };
        few(Test::Latency, "latency streams at each load", times.latency_repeats, 20, LATENCY);
        few(Test::BackToBack, "searches for the longest burst", times.burst_repeats, 50, BURSTS);
        few(
            Test::BackToBack,
            "losses that end a burst",
            times.burst_verify,
            2,
            "RFC 9004's loss verification",
        );
        few(Test::DelayVariation, "runs of delay variation", times.variation_repeats, 20, VARIATION);
    }
}

/// RFC 2544 section 23: 2 s after routing updates, 2 s after learning frames, 2 s for residual frames, 5 s to settle.
const PAUSE: Nanos = Nanos::from_secs(11);
const MINUTE: Nanos = Nanos::from_secs(60);
// Where the standards describe the tests.
const LATENCY: &str = "RFC 2544 section 26.2";
const BURSTS: &str = "RFC 2544 section 26.4";
const VARIATION: &str = "RFC 8219 section 7.3";
const SERVICE: &str = "ITU-T Y.1564";

//! Expectations on the runs of a mesh, whichever end carries them out.

use crate::job::JobResult;
use fleet::job::End;
use fleet::results::Results;
use model::expectation::Checked;
use report::expect::Expectation;

/// An expectation on a run between two hosts.
#[derive(Debug)]
pub struct Expected {
    /// The expectation as written: up is from the first host to the second.
    pub written: Expectation,
    /// For a run that the second host carries out, as it opens the connections: what it calls down is up between the hosts.
    mirrored: Expectation,
}

impl Expected {
    /// Reads it.
    ///
    /// # Errors
    /// The text is no expectation of a run.
    pub fn read(text: &str) -> Result<Expected, String> {
        let parse = |text: &str| text.parse::<Expectation>().map_err(|error| error.to_string());
        let swapped = |part| match part {
            "up" => "down",
            "down" => "up",
            other => other,
        };
        let mirrored: Vec<&str> = text.split('.').map(swapped).collect();
        Ok(Expected { written: parse(text)?, mirrored: parse(&mirrored.join("."))? })
    }
}

/// The expectations that runs do not hold, a line each.
#[must_use]
pub fn broken(results: &Results, expected: &[Expected]) -> Vec<String> {
    let mut lines = Vec::new();
    for outcome in results.outcomes.values() {
        let End::Done { body } = &outcome.end else { continue };
        let Ok(JobResult { job, run }) = JobResult::read(body, &outcome.title) else { continue };
        for one in expected {
            let checked = if job.reverse { &one.mirrored } else { &one.written }.check(&run);
            if !checked.held {
                let checked = Checked { expectation: one.written.check(&run).expectation, ..checked };
                lines.push(format!("{}: {checked}", outcome.title));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_is_between_the_hosts_at_either_opener() {
        let expected = Expected::read("up.goodput>=1Gbit/s").expect("an expectation");
        let run = insight::run_of_events("1", "throughput", &[]);
        assert_eq!(expected.written.check(&run).expectation, "up.goodput>=1Gbit/s");
        assert_eq!(expected.mirrored.check(&run).expectation, "down.goodput>=1Gbit/s");
        assert!(Expected::read("up.godput>=1").is_err());
    }
}

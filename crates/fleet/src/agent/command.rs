//! Commands to one agent, and the start of a group.

use super::Agent;
use super::prepared::Prepared;
use super::work::{Active, LOST};
use crate::broker;
use crate::error::Result;
use crate::job::AgentJob;
use model::time::WallTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// There may be jobs: look now.
    Look,
    /// Read the agent's wall clock.
    Clock,
    /// Be ready to start a job of a group; the start comes on `pm.go.GROUP`.
    Prepare(Box<AgentJob>),
    /// A question that only the program understands, not the loop.
    Ask(String),
    /// End these runs: no coordinator awaits them any more.
    Stop(Vec<StoppedRun>),
}

/// A run that is to end, or not to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedRun {
    /// Its name.
    pub run: String,
    /// When it was handed out: what was handed out after the stop is not meant.
    pub handed_out: WallTime,
}

/// The reply of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Its wall clock when it read the question.
    Clock(WallTime),
    /// The agent holds the leases and waits for the start.
    Ready,
    /// The agent cannot take part.
    Refused(String),
    /// The runs end now.
    Stopped,
    /// The reply of the program.
    Text(String),
}

/// When each agent of a group starts, by its own wall clock.
pub(crate) type Starts = BTreeMap<String, WallTime>;

impl Agent<'_> {
    /// Waits for a command, then obeys those that are there.
    pub(super) fn obey(&mut self, wait: Nanos) -> Result<()> {
        let mut wait = wait;
        while let Some(message) = self.commands.next(wait)? {
            wait = Nanos::ZERO;
            if !self.has_name() {
                // The request is for the agent that has the name, or comes again.
                continue;
            }
            let answer = match serde_json::from_slice(&message.data) {
                Ok(Command::Look) => {
                    // A coordinator is at work, which may await what lies here.
                    self.deliver_soon();
                    continue;
                }
                Ok(Command::Clock) => Answer::Clock(self.context.clock.wall()),
                Ok(Command::Prepare(job)) => self.prepare(*job)?,
                Ok(Command::Stop(runs)) => self.stop_runs(runs),
                Ok(Command::Ask(question)) => match self.context.runner.answer(&question) {
                    Some(text) => Answer::Text(text),
                    None => Answer::Refused("it does not know this question".to_owned()),
                },
                Err(error) => Answer::Refused(format!("it does not know this command: {error}")),
            };
            if let Some(reply) = message.reply {
                broker::reply(self.context.broker, &reply, &serde_json::to_vec(&answer).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Ends those of the runs that are here, and remembers all of them: a job may still be in transit.
    fn stop_runs(&mut self, runs: Vec<StoppedRun>) -> Answer {
        let now = self.context.clock.wall();
        self.stopped.retain(|_, handed_out| now - *handed_out <= REMEMBERED);
        for StoppedRun { run, handed_out } in runs {
            let active = self.active.iter_mut().filter(|active| active.job.run == run);
            active.filter(|active| active.job.handed_out == handed_out).for_each(Active::stop);
            self.prepared.iter_mut().filter(|prepared| prepared.job.run == run).for_each(Prepared::stop);
            self.stopped.insert(run, handed_out);
        }
        Answer::Stopped
    }

    /// Whether a job was stopped before it came.
    pub(super) fn was_stopped(&self, job: &AgentJob) -> bool {
        self.stopped.get(&job.run) == Some(&job.handed_out)
    }

    fn prepare(&mut self, job: AgentJob) -> Result<Answer> {
        if self.spool.answers(&job) {
            return Ok(Answer::Refused("it has carried this run out already".to_owned()));
        }
        let now = self.context.clock.mono();
        if now < self.context.quiet_until {
            return Ok(Answer::Refused(LOST.to_owned()));
        }
        if let Some(prepared) = self.prepared.iter_mut().find(|prepared| prepared.job.run == job.run) {
            prepared.wait_on(now);
            return Ok(Answer::Ready);
        }
        self.claims += 1;
        match Prepared::new(job, self.claims, &self.context) {
            Ok(prepared) => {
                self.prepared.push(prepared);
                Ok(Answer::Ready)
            }
            Err(reason) => Ok(Answer::Refused(reason)),
        }
    }

    /// Starts the groups whose start has come, and brings their jobs on.
    pub(super) fn go(&mut self) -> Result<()> {
        while let Some(message) = self.starts.next(Nanos::ZERO)? {
            let group = message.subject.strip_prefix("pm.go.").unwrap_or_default().to_owned();
            let Ok(starts) = serde_json::from_slice::<Starts>(&message.data) else { continue };
            let Some(at) = starts.get(&self.context.options.name).copied() else { continue };
            for prepared in self.prepared.iter_mut().filter(|prepared| prepared.job.group == group) {
                self.spool.begin(&prepared.job)?;
                prepared.start(at, &self.context);
            }
        }
        let mut ended = Vec::new();
        self.prepared.retain_mut(|each| each.bring_on(&self.context, &mut ended));
        ended.into_iter().for_each(|outcome| self.keep(outcome));
        Ok(())
    }
}

/// The time for which the server keeps a job.
const REMEMBERED: Nanos = Nanos::from_secs(7 * 86_400);

//! Execution of a plan, run after run. A failure is reported, and the other runs go on.

mod row;

use crate::agents::{Agents, Carried, Lease};
use crate::compare::{judge, together};
use crate::estimate;
use crate::plan::{Cell, PathPlace, Plan, RunSequence};
use crate::progress::{Journal, Recorded};
use crate::sites::Sites;
use engine::error::{Result, sentence};
use engine::host;
use engine::host::interrupt::Interrupt;
use engine::request::{Host, resolve};
use engine::run as engine_run;
use linux::clock::{mono_now, wall_now};
use model::event::Event;
use model::experiment::{Experiment, SCHEMA};
use model::history::Kept;
use model::run::Run;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use report::expect::Expectation;
use row::{Came, Gathered};

/// Inputs of the execution beside the plan.
#[derive(Debug, Default)]
pub struct Options {
    /// Asks it to stop.
    pub stop: Interrupt,
    /// Where each run is written down, and what is known from there.
    pub journal: Option<Journal>,
}

/// An event of the execution.
#[derive(Debug)]
#[non_exhaustive]
pub enum Moment<'a> {
    /// A run begins: its number from 1, how many there are, and its name.
    Begins {
        /// From 1.
        number: u32,
        /// Runs in all.
        all: u32,
        /// The cell.
        cell: Cell<'a>,
        /// The round, from 1.
        round: u32,
    },
    /// Something happened in it.
    Event(&'a Event),
    /// The run has ended, and may be given another name.
    Ended(&'a mut Run),
    /// The run was measured before, by an execution of the plan that was interrupted.
    Recalled(&'a Run),
    /// Something to be known beside.
    Note(String),
}

/// Callback for the events.
pub(crate) type Watch<'a> = &'a mut (dyn FnMut(Moment<'_>) -> Result<()> + Send);

/// Carries a plan out. Labs take [`lab::privilege::gain_and_enclose`], before the first thread is started.
///
/// `agents`: who measures the paths of agents; without them each is a row with the reason.
///
/// # Errors
/// What `watch` refuses ends it; so does a lab in which no server can be started. What fails of a path is in its row.
pub fn run(
    plan: &Plan,
    options: &mut Options,
    agents: Option<&mut dyn Agents>,
    watch: Watch<'_>,
) -> Result<Experiment> {
    let started = wall_now();
    let mut reported = Ok(());
    let sites = Sites::build(plan, &mut |text| {
        if reported.is_ok() {
            reported = watch(Moment::Note(text));
        }
    });
    reported?;
    let serving = Interrupt::default();
    // Inside of an option the lifetime would not become shorter by itself.
    let agents = agents.map(|agents| agents as &mut dyn Agents);
    let mut job = PlanExecution::new(plan, &sites, options, agents, watch);
    let ended = std::thread::scope(|scope| {
        let ended = sites.serve(scope, &serving).and_then(|()| job.steps());
        serving.raise();
        ended
    });
    ended?;
    let mut notes = job.notes;
    notes.extend(sites.notes());
    let mut rows: Vec<_> = job.rows.into_iter().map(|row| row.finish(plan.repetitions)).collect();
    judge(&mut rows, &plan.tests);
    Ok(Experiment {
        schema: SCHEMA.into(),
        name: plan.name.clone(),
        title: plan.title.clone(),
        labels: plan.labels.clone(),
        started: Some(started),
        finished: Some(wall_now()),
        host: Some(host::describe(None)),
        repetitions: plan.repetitions,
        interleaved: plan.order == RunSequence::Interleaved,
        findings: together(&rows),
        rows,
        notes,
    })
}

/// A running plan.
struct PlanExecution<'a> {
    plan: &'a Plan,
    sites: &'a Sites,
    stop: Interrupt,
    journal: Option<&'a mut Journal>,
    /// Results of an earlier execution of the plan that was interrupted.
    known: Vec<Recorded>,
    agents: Option<&'a mut dyn Agents>,
    rows: Vec<Gathered<'a>>,
    watch: Watch<'a>,
    began: MonoTime,
    bytes: Bytes,
    notes: Vec<String>,
}

impl<'a> PlanExecution<'a> {
    fn new(
        plan: &'a Plan,
        sites: &'a Sites,
        options: &'a mut Options,
        agents: Option<&'a mut dyn Agents>,
        watch: Watch<'a>,
    ) -> PlanExecution<'a> {
        let mut journal = options.journal.as_mut();
        let mut known = Vec::new();
        while let Some(recorded) = journal.as_mut().and_then(|journal| journal.recall()) {
            known.push(recorded);
        }
        let row = |cell: Cell<'a>| {
            let refused = cell.path.refused().or_else(|| sites.namespace(cell.path).err());
            // The file was refused if one of them could not be read.
            let expected = cell.test.expect.iter().filter_map(|text| text.parse().ok());
            Gathered::new(cell, refused, expected.collect::<Vec<Expectation>>())
        };
        let rows = plan.cells().into_iter().map(row).collect();
        let (stop, began, notes) = (options.stop.clone(), mono_now(), Vec::new());
        PlanExecution {
            plan,
            sites,
            stop,
            journal,
            known,
            agents,
            rows,
            watch,
            began,
            bytes: Bytes::ZERO,
            notes,
        }
    }

    /// Every step, in its order.
    fn steps(&mut self) -> Result<()> {
        let steps = self.plan.steps();
        for (number, step) in steps.iter().enumerate() {
            let (cell, is_over) = (self.rows[step.cell].cell, self.rows[step.cell].is_over());
            if is_over {
                continue;
            }
            if let Some(recorded) = self.recall(&cell, step.round) {
                let (run, lease) = recorded;
                (self.watch)(Moment::Recalled(&run))?;
                self.rows[step.cell].take(step.round, Came::Ran(run, None, lease));
                continue;
            }
            if let Some(why) = self.limit(&cell) {
                self.leave(&why);
                break;
            }
            if self.stop.is_raised() {
                self.leave("it was stopped");
                break;
            }
            let all = steps.len() as u32;
            (self.watch)(Moment::Begins { number: number as u32 + 1, all, cell, round: step.round })?;
            let came = match cell.path.place {
                PathPlace::Agent { .. } | PathPlace::Together(_) => self.one_of_agent(&cell)?,
                _ => self.run_cell(&cell)?,
            };
            if let Came::Stopped = came {
                self.leave("it was stopped");
                break;
            }
            self.write_down(&cell, step.round, &came)?;
            self.rows[step.cell].take(step.round, came);
        }
        Ok(())
    }

    /// One run.
    fn run_cell(&mut self, cell: &Cell<'_>) -> Result<Came> {
        let request = cell.request();
        let security = cell.path.security.clone();
        let options =
            engine_run::Options { stop: self.stop.clone(), security, ..engine_run::Options::default() };
        let watch = &mut self.watch;
        let mut reported = Ok(());
        let mut measure = || {
            let plan = resolve(&request, &Host::here())?;
            engine_run::run(&plan, &options, &mut |event| {
                if reported.is_ok() {
                    reported = watch(Moment::Event(event));
                }
            })
        };
        // A lab that could not be built has no steps.
        let ended = match self.sites.namespace(cell.path) {
            Ok(Some(namespace)) => namespace.run(measure)?,
            _ => measure(),
        };
        reported?;
        let ended = match ended {
            Err(_) if self.stop.is_raised() => return Ok(Came::Stopped),
            Err(error) => return Ok(Came::failed(&error)),
            Ok(ended) => ended,
        };
        let Kept::Run(mut run) = ended.document else {
            return Ok(Came::Failed("it made another document than a run".into()));
        };
        let error = ended.error.map(|error| sentence(&error));
        if self.stop.is_raised() {
            return Ok(Came::Stopped);
        }
        self.ended(&mut run)?;
        Ok(Came::Ran(run, error, None))
    }

    /// One run that an agent carries out.
    fn one_of_agent(&mut self, cell: &Cell<'_>) -> Result<Came> {
        let Some(agents) = &mut self.agents else { return Ok(Came::Failed("it needs a fleet".into())) };
        let watch = &mut self.watch;
        let mut reported = Ok(());
        let carried = agents.carry_out(cell, &self.stop, &mut |note| {
            if reported.is_ok() {
                reported = watch(Moment::Note(note));
            }
        });
        reported?;
        match carried {
            Err(_) if self.stop.is_raised() => Ok(Came::Stopped),
            Err(why) => Ok(Came::Failed(why)),
            Ok(Carried { mut run, lease }) => {
                self.ended(&mut run)?;
                Ok(Came::Ran(run, None, Some(lease)))
            }
        }
    }

    fn ended(&mut self, run: &mut Run) -> Result<()> {
        self.bytes = self.bytes.saturating_add(row::payload(run));
        (self.watch)(Moment::Ended(run))
    }

    /// An earlier result, if the cell need not be measured again.
    fn recall(&mut self, cell: &Cell<'_>, round: u32) -> Option<(Box<Run>, Option<Lease>)> {
        let at = self.known.iter().position(|recorded| recorded.is_of(cell, round))?;
        let Recorded { run, lease, .. } = self.known.swap_remove(at);
        Some((run?, lease))
    }

    /// Writes down what came of a run. A journal that cannot be written costs no result.
    fn write_down(&mut self, cell: &Cell<'_>, round: u32, came: &Came) -> Result<()> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let (run, error, lease) = match came {
            Came::Ran(run, error, lease) => (Some(run.clone()), error.clone(), lease.clone()),
            Came::Failed(why) => (None, Some(why.clone()), None),
            Came::Stopped => return Ok(()),
        };
        let recorded = Recorded {
            path: cell.path.name.clone(),
            test: cell.test.name.clone(),
            settings: cell.variant.settings.clone(),
            round,
            run,
            error,
            lease,
        };
        match journal.write(&recorded) {
            Some(error) => (self.watch)(Moment::Note(format!(
                "{}; a plan that is cut off begins anew",
                sentence(&error)
            ))),
            None => Ok(()),
        }
    }

    /// Why the next run must not begin.
    fn limit(&self, cell: &Cell<'_>) -> Option<String> {
        let limits = self.plan.limits;
        let spent = mono_now().saturating_since(self.began);
        let next = estimate::time(&cell.request()).unwrap_or(Nanos::ZERO);
        if let Some(limit) = limits.time.filter(|limit| spent.saturating_add(next) > *limit) {
            return Some(format!("the plan's limit on time, {limit}, is reached"));
        }
        let limit = limits.bytes.filter(|limit| self.bytes >= *limit)?;
        Some(format!("the plan's limit on bytes, {limit}, is reached"))
    }

    /// Nothing more is done.
    fn leave(&mut self, why: &str) {
        self.notes.push(format!("Some runs are missing: {why}."));
        let repetitions = self.plan.repetitions;
        self.rows.iter_mut().for_each(|row| row.leave(why, repetitions));
    }
}

//! Throughput in Ethernet frames of each size, row by row.

use super::pairs::{self, PairCount, PairsPlan};
use super::{FramesPlan, FramesStep, Measured, Options, is_start, limit, link, link_rate, run_id, test};
use crate::error::{Error, Result, sentence, too_early};
use crate::host::guard::{Guard, OldState};
use crate::session::protocol::attribute;
use insight::{fix, frames, run_of_events, run_of_frames};
use linux::clock::wall_now;
use linux::nic::{Nic, Offload, set_offload};
use linux::privilege::{Capabilities, Capability};
use model::event::{Event, Warning};
use model::frames::FrameRow;
use model::plan::{Direction, LocalOptions, Plan, ProtocolName, Target, Transport};
use model::run::Run;

pub(super) fn run(plan: &FramesPlan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let (mut real, note) = if plan.no_offload { real_frames(plan)? } else { (None, None) };
    let mut sweep = Sweep { plan, options, link: link(&plan.target, &plan.local), note, sink };
    let measured = sweep.measure();
    real.as_mut().map_or(Ok(()), Guard::put_back)?;
    let mut ended = measured?;
    ended.error.take_if(|_| options.stop.is_raised());
    Ok(ended)
}

/// State that all rows share.
struct Sweep<'a> {
    plan: &'a FramesPlan,
    options: &'a Options,
    /// The link's speed, where it is known.
    link: Option<Event>,
    /// A note on the offloads.
    note: Option<Event>,
    sink: &'a mut dyn FnMut(&Event),
}

/// Switches off the offloads that join packets at the interface toward the target, until the guard is dropped: TCP has no such
/// option for a connection. A failure is returned as an event.
fn real_frames(plan: &FramesPlan) -> Result<(Option<Guard>, Option<Event>)> {
    let Some(tcp) = plan.rows.iter().find(|row| row.protocol == Transport::Tcp) else {
        return Ok((None, None));
    };
    let reply = |text: String| Some(Event::Warning(Warning::new("offloads-on", text)));
    let Some(nic) = toward(&plan.target, &plan.local) else { return Ok((None, None)) };
    let name = nic.link.name.clone();
    if tcp.asked.direction == Direction::Down {
        let text = format!(
            "--no-offload: the far end sends, and its offloads are its own: TCP may leave it as super-packets. \
             There: `ethtool -K INTERFACE tso off gso off`; {name} here only receives."
        );
        return Ok((None, reply(text)));
    }
    let on: Vec<Offload> =
        [Offload::Tso, Offload::Gso].into_iter().filter(|offload| nic.has(*offload)).collect();
    if on.is_empty() {
        return Ok((None, None));
    }
    if !Capabilities::of_this_thread()?.has(Capability::NetAdmin) {
        let text = format!(
            "--no-offload: TCP's super-packets stay on, as switching {name} needs the capability \
             CAP_NET_ADMIN: run it as root, or `{}`.",
            fix::rights(None)
        );
        return Ok((None, reply(text)));
    }
    let guard = Guard::start(OldState::Offloads { name: name.clone(), on: on.clone() })?;
    let refused = on.into_iter().find_map(|offload| set_offload(&name, offload, false).err());
    Ok((
        Some(guard),
        refused.and_then(|why| reply(format!("--no-offload: {why}; TCP may cross as super-packets."))),
    ))
}

impl Sweep<'_> {
    /// Measures row by row. An error is reported with the result, and ends the rows of its transport.
    ///
    /// # Errors
    /// The first test did not begin, or the user stopped it before any did.
    fn measure(&mut self) -> Result<Measured> {
        let started = wall_now();
        let mut so_far = SoFar::default();
        let mut rows = Vec::new();
        for step in &self.plan.rows {
            let row = self.row(step, &mut so_far)?;
            (self.sink)(&Event::FrameRow(Box::new(row.clone())));
            rows.push(row);
        }
        if so_far.tests.is_empty() && self.options.stop.is_raised() {
            return Err(too_early().into());
        }
        let mut known = self.known();
        let mut run = run_of_frames(&run_id()?, &known, so_far.tests, rows);
        let found = match so_far.broke {
            None => limit::decide_rows(self.plan, self.options, &run, self.sink),
            Some(_) => Vec::new(),
        };
        if !found.is_empty() {
            found.iter().for_each(|event| (self.sink)(event));
            known.extend(found);
            run = run_of_frames(&run.id, &known, run.tests, run.summary.rows);
        }
        (run.started, run.finished) = (Some(started), Some(wall_now()));
        Ok(Measured { run, error: so_far.broke })
    }

    fn row(&mut self, step: &FramesStep, so_far: &mut SoFar) -> Result<FrameRow> {
        let requested = &step.asked;
        if let Some(why) = &step.skipped {
            return Ok(skipped(requested.row(), why));
        }
        let Some(plan) = step.plan.as_ref().filter(|_| !self.options.stop.is_raised()) else {
            return Ok(skipped(requested.row(), STOPPED));
        };
        if let Some((_, why)) = so_far.down.as_ref().filter(|(protocol, _)| *protocol == requested.protocol) {
            return Ok(skipped(requested.row(), &format!("not tried after a size that failed: {why}")));
        }
        // A search for how many pairs it takes counts frames of all that it tries.
        let alone = self.plan.pairs != Some(PairCount::Auto);
        let counter =
            alone.then(|| Counter::start(&self.plan.target, &self.plan.local, requested.direction)).flatten();
        match self.test(plan) {
            Ok(measured) => {
                let mut row = frames::measured(
                    requested,
                    &measured.run,
                    link_rate(self.link.as_ref()),
                    counter.and_then(Counter::frames),
                );
                if self.options.stop.is_raised() {
                    row.notes.push("stopped before its time was over".into());
                } else if let Some(error) = measured.error {
                    row.notes.push(sentence(&error));
                    so_far.broke.get_or_insert(error);
                }
                so_far.tests.push(measured.run);
                Ok(row)
            }
            Err(_) if self.options.stop.is_raised() => Ok(skipped(requested.row(), STOPPED)),
            Err(error) if so_far.tests.is_empty() => Err(error),
            Err(error) => {
                let why = sentence(&error);
                let row = skipped(requested.row(), &why);
                so_far.down = Some((requested.protocol, why));
                so_far.broke.get_or_insert(error);
                Ok(row)
            }
        }
    }

    /// One test, or pairs of them.
    fn test(&mut self, plan: &Plan) -> Result<Measured> {
        match self.plan.pairs {
            None => self.alone(plan),
            Some(count) => {
                let plan = PairsPlan::new(std::slice::from_ref(plan), count)?;
                pairs::at_once(&plan, self.options, self.sink)
            }
        }
    }

    fn alone(&mut self, plan: &Plan) -> Result<Measured> {
        let mut events: Vec<Event> = self.link.iter().cloned().collect();
        let outcome = test(plan, self.options, self.sink, &mut events);
        let begun = events.iter().any(is_start);
        let error = outcome.err().map(|error| attribute(&plan.target, ProtocolName::Native, begun, error));
        match error {
            Some(error) if !begun => Err(error),
            error => Ok(Measured { run: run_of_events(&run_id()?, "throughput", &events), error }),
        }
    }

    /// The events above the rows: the link, or that its speed is not known.
    fn known(&self) -> Vec<Event> {
        let unknown = || {
            let text = "The speed of the link is not known, so there is no line rate to compare with: give --link 25G.";
            Event::Warning(Warning::new("link-unknown", text))
        };
        std::iter::once(self.link.clone().unwrap_or_else(unknown)).chain(self.note.clone()).collect()
    }
}

/// The tests so far, and their first error.
#[derive(Default)]
struct SoFar {
    tests: Vec<Run>,
    /// The first error, reported after the result.
    broke: Option<Error>,
    /// A transport that failed, and why.
    down: Option<(Transport, String)>,
}

fn skipped(row: FrameRow, why: &str) -> FrameRow {
    FrameRow { skipped: Some(why.to_owned()), ..row }
}

/// Frames that the interface toward the target counts, in the direction of the data.
struct Counter {
    interface: String,
    direction: Direction,
    before: u64,
}

impl Counter {
    fn start(target: &Target, local: &LocalOptions, direction: Direction) -> Option<Counter> {
        let nic = toward(target, local)?;
        Some(Counter { before: count(&nic, direction), interface: nic.link.name, direction })
    }

    fn frames(self) -> Option<(String, u64)> {
        let after = count(&Nic::named(&self.interface).ok()?, self.direction);
        Some((self.interface, after.checked_sub(self.before)?))
    }
}

/// The interface toward the target.
fn toward(target: &Target, local: &LocalOptions) -> Option<Nic> {
    let nic = match &local.device {
        Some(device) => Nic::named(device),
        None => Nic::toward(target.address.ip().to_canonical()),
    };
    nic.ok()
}

fn count(nic: &Nic, direction: Direction) -> u64 {
    direction.choose(nic.link.statistics.tx_packets, nic.link.statistics.rx_packets)
}

const STOPPED: &str = "stopped before it";

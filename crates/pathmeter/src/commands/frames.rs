//! `pathmeter frames`: what the path carries in Ethernet frames of each size, against line rate.

use super::chart;
use super::pairs::{Job, Measured};
use super::session::{blame, conclude, expectations, link, print_plan, run_id, security, too_early};
use crate::cli::{Common, FrameTest, FramesArgs, MAX_PAIRS, PairCount};
use crate::exit::Exit;
use crate::planner::{self, Step};
use crate::signals;
use engine::client;
use engine::connect::Security;
use engine::error::sentence;
use engine::flows::believed_mtu;
use engine::guard::{Guard, OldState};
use engine::interrupt::Interrupt;
use engine::preflight;
use insight::{frames, run_of_events, run_of_frames};
use linux::clock::wall_now;
use linux::nic::{Nic, Offload, set_offload};
use linux::privilege::{Capabilities, Capability};
use model::event::{Event, Probe, Warning};
use model::frames::FrameRow;
use model::plan::{Direction, LocalOptions, Plan, ProtocolName, Target, Transport};
use model::run::Run;
use model::units::BitRate;
use report::format::frames as format;
use std::io::Write;
use wire::iperf3::Extras;

/// Runs the command.
pub(crate) fn run(args: &FramesArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = expectations(&args.session)?;
    let security = security(&args.session)?;
    chart::check(&args.chart)?;
    let (target, local, steps) = planner::frames(args, |target, local| {
        preflight::way(target, local)?;
        believed_mtu(target.address, local)
    })?;
    if args.session.dry_run {
        return print_plan(&steps, global);
    }
    let interrupt = signals::interrupt()?;
    let link = link(&target, &local);
    let (mut real, told) = if args.no_offload { real_frames(args, &target, &local)? } else { (None, None) };
    let sweep = Sweep { target, local, pairs: args.pairs, security, interrupt, link, told };
    let measured = sweep.measure(steps);
    real.as_mut().map_or(Ok(()), Guard::put_back)?;
    let (run, broke) = measured?;
    chart::write(&args.chart, || format::chart(&run).svg())?;
    let exit = conclude(&run, false, &expected, global)?;
    broke.filter(|_| !sweep.interrupt.is_raised()).map_or(Ok(exit), Err)
}

/// What all rows share.
struct Sweep {
    target: Target,
    local: LocalOptions,
    pairs: Option<PairCount>,
    security: Security,
    interrupt: Interrupt,
    /// The link's speed, where it is known.
    link: Option<Event>,
    /// What is to be known of the offloads.
    told: Option<Event>,
}

/// Switches off what joins packets at the interface toward the target, until the guard is dropped: TCP has no such choice for
/// a connection. Where that cannot be, it is told.
fn real_frames(
    args: &FramesArgs,
    target: &Target,
    local: &LocalOptions,
) -> anyhow::Result<(Option<Guard>, Option<Event>)> {
    if !args.tests.contains(&FrameTest::Tcp) {
        return Ok((None, None));
    }
    let told = |text: String| Some(Event::Warning(Warning::new("offloads-on", text)));
    let Some(nic) = toward(target, local) else { return Ok((None, None)) };
    let name = nic.link.name.clone();
    if args.reverse {
        let text = format!(
            "--no-offload: the far end sends, and its offloads are its own: TCP may leave it as super-packets. \
             There: `ethtool -K INTERFACE tso off gso off`; {name} here only receives."
        );
        return Ok((None, told(text)));
    }
    let on: Vec<Offload> =
        [Offload::Tso, Offload::Gso].into_iter().filter(|offload| nic.has(*offload)).collect();
    if on.is_empty() {
        return Ok((None, None));
    }
    if !Capabilities::of_this_thread()?.has(Capability::NetAdmin) {
        let text = format!(
            "--no-offload: TCP's super-packets stay on, as switching {name} needs the capability \
             CAP_NET_ADMIN: run it as root, or `setcap cap_net_admin+ep $(which pathmeter)`."
        );
        return Ok((None, told(text)));
    }
    let guard = Guard::start(OldState::Offloads { name: name.clone(), on: on.clone() })?;
    let refused = on.into_iter().find_map(|offload| set_offload(&name, offload, false).err());
    Ok((
        Some(guard),
        refused.and_then(|why| told(format!("--no-offload: {why}; TCP may cross as super-packets."))),
    ))
}

impl Sweep {
    /// Measures row by row. What breaks a row is told with the result, and ends the rows of its transport.
    ///
    /// # Errors
    /// The first test did not begin, or the user stopped it before any did.
    fn measure(&self, steps: Vec<Step>) -> anyhow::Result<(Run, Option<anyhow::Error>)> {
        let started = wall_now();
        let mut so_far = SoFar::default();
        let mut rows = Vec::new();
        for step in steps {
            let row = self.row(step, &mut so_far)?;
            // Progress is a courtesy: a closed standard error stops nothing.
            let _ = writeln!(std::io::stderr(), "{}", format::progress(&row));
            rows.push(row);
        }
        if so_far.tests.is_empty() && self.interrupt.is_raised() {
            return Err(too_early().into());
        }
        let mut run = run_of_frames(&run_id()?, &self.known(), so_far.tests, rows);
        (run.started, run.finished) = (Some(started), Some(wall_now()));
        Ok((run, so_far.broke))
    }

    fn row(&self, step: Step, so_far: &mut SoFar) -> anyhow::Result<FrameRow> {
        let asked = step.asked;
        if let Some(why) = step.skipped {
            return Ok(skipped(asked.row(), &why));
        }
        let Some(plan) = step.plan.filter(|_| !self.interrupt.is_raised()) else {
            return Ok(skipped(asked.row(), STOPPED));
        };
        if let Some((_, why)) = so_far.down.as_ref().filter(|(protocol, _)| *protocol == asked.protocol) {
            return Ok(skipped(asked.row(), &format!("not tried after a size that failed: {why}")));
        }
        // A search for how many pairs it takes counts frames of all that it tries.
        let alone = self.pairs != Some(PairCount::Auto);
        let counter = alone.then(|| Counter::start(&self.target, &self.local, asked.direction)).flatten();
        match self.test(plan) {
            Ok(measured) => {
                let mut row =
                    frames::measured(&asked, &measured.run, self.rate(), counter.and_then(Counter::frames));
                if self.interrupt.is_raised() {
                    row.notes.push("stopped before its time was over".into());
                } else if let Some(error) = measured.error {
                    row.notes.push(sentence(&error));
                    so_far.broke.get_or_insert(error);
                }
                so_far.tests.push(measured.run);
                Ok(row)
            }
            Err(_) if self.interrupt.is_raised() => Ok(skipped(asked.row(), STOPPED)),
            Err(error) if so_far.tests.is_empty() => Err(error),
            Err(error) => {
                let why = sentence(&error);
                let row = skipped(asked.row(), &why);
                so_far.down = Some((asked.protocol, why));
                so_far.broke.get_or_insert(error);
                Ok(row)
            }
        }
    }

    /// One test, or pairs of them.
    fn test(&self, plan: Plan) -> anyhow::Result<Measured> {
        let most = match self.pairs {
            None => return self.alone(&plan),
            Some(PairCount::Fixed(count)) => count,
            Some(PairCount::Auto) => MAX_PAIRS,
        };
        let plans = vec![plan; most as usize];
        let job = Job { plans, security: &self.security, interrupt: &self.interrupt };
        match self.pairs {
            Some(PairCount::Auto) => job.search(1),
            _ => job.measure(&job.plans, most as usize),
        }
    }

    fn alone(&self, plan: &Plan) -> anyhow::Result<Measured> {
        let mut events: Vec<Event> = self.link.iter().cloned().collect();
        let mut keep = |event: &Event| events.push(event.clone());
        let outcome = client::run(plan, &self.security, &Extras::default(), &self.interrupt, &mut keep);
        let begun = events.iter().any(|event| matches!(event, Event::Started(_)));
        let error = outcome.err().map(|error| blame(&self.target, ProtocolName::Native, begun, error));
        match error {
            Some(error) if !begun => Err(error),
            error => Ok(Measured { run: run_of_events(&run_id()?, "throughput", &events), error }),
        }
    }

    fn rate(&self) -> Option<BitRate> {
        match &self.link {
            Some(Event::Probe(Probe::Link { rate, .. })) => Some(*rate),
            _ => None,
        }
    }

    /// What stands above the rows: the link, or that it is not known.
    fn known(&self) -> Vec<Event> {
        let unknown = || {
            let text = "The speed of the link is not known, so there is no line rate to compare with: give --link 25G.";
            Event::Warning(Warning::new("link-unknown", text))
        };
        std::iter::once(self.link.clone().unwrap_or_else(unknown)).chain(self.told.clone()).collect()
    }
}

/// What has been measured, and what went wrong.
#[derive(Default)]
struct SoFar {
    tests: Vec<Run>,
    /// The first error: told after the result.
    broke: Option<anyhow::Error>,
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
    match direction {
        Direction::Up => nic.link.statistics.tx_packets,
        Direction::Down => nic.link.statistics.rx_packets,
    }
}

const STOPPED: &str = "stopped before it";

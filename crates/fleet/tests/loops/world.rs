//! A mesh in simulated time: agents and coordinators that can be killed, cut off and started again, and a referee that sees every
//! packet's permission.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_fleet::agent::{Agent, AgentOptions, Instance, Permit, Runner, Task, TaskEnd};
use pathmeter_fleet::broker::{
    Appended, Broker, Bucket, Consumer, Delivery, Entry, Expected, Listing, Log, Mailbox,
};
use pathmeter_fleet::clock::Clock;
use pathmeter_fleet::coordinator::{Coordinator, Sink};
use pathmeter_fleet::job::{AgentJob, Outcome};
use pathmeter_fleet::lease::Class;
use pathmeter_fleet::ledger::{LedgerRow, Stored};
use pathmeter_fleet::mesh::MeshPlan;
use pathmeter_fleet::spool::Spool;
use pathmeter_fleet::{FleetError, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use world::broker::{Local, Time};

/// The simulated clocks: one monotonic time for all, a wall clock each.
#[derive(Clone, Default)]
pub(crate) struct SimClock {
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) ahead: u64,
}

impl Clock for SimClock {
    fn mono(&self) -> MonoTime {
        MonoTime(self.now.load(Ordering::SeqCst))
    }

    fn wall(&self) -> WallTime {
        WallTime(EPOCH + self.ahead + self.now.load(Ordering::SeqCst))
    }
}

/// The broker as one process sees it: it can be cut off.
pub(crate) struct Cable {
    broker: Local,
    is_cut: AtomicBool,
    /// How often something was appended to a log.
    pub(crate) appends: AtomicUsize,
}

impl Cable {
    fn through(&self) -> Result<&Local> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(FleetError::Unreachable { server: "local".into(), why: "cut".into() });
        }
        Ok(&self.broker)
    }
}

impl Broker for Cable {
    fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>> {
        self.through()?.get(bucket, key)
    }
    fn put(
        &self,
        bucket: Bucket,
        key: &str,
        value: &[u8],
        expected: Expected,
        lifetime: Option<Nanos>,
    ) -> Result<u64> {
        self.through()?.put(bucket, key, value, expected, lifetime)
    }
    fn remove(&self, bucket: Bucket, key: &str, revision: u64) -> Result<()> {
        self.through()?.remove(bucket, key, revision)
    }
    fn keys(&self, bucket: Bucket) -> Result<Vec<String>> {
        self.through()?.keys(bucket)
    }
    fn list(&self, bucket: Bucket, pattern: &str, after: u64) -> Result<Listing> {
        self.through()?.list(bucket, pattern, after)
    }
    fn publish(&self, subject: &str, data: &[u8]) -> Result<()> {
        self.through()?.publish(subject, data)
    }
    fn subscribe(&self, subject: &str) -> Result<Box<dyn Mailbox>> {
        self.broker.subscribe(subject)
    }
    fn request(&self, subject: &str, data: &[u8]) -> Result<Box<dyn Mailbox>> {
        self.through()?.request(subject, data)
    }
    fn append(&self, log: Log, subject: &str, id: &str, data: &[u8]) -> Result<Appended> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        self.through()?.append(log, subject, id, data)
    }
    fn consume(
        &self,
        log: Log,
        name: &str,
        subject: Option<&str>,
        again: Nanos,
    ) -> Result<Box<dyn Consumer>> {
        self.through()?.consume(log, name, subject, again)
    }
    fn restore(&self) -> Result<()> {
        self.through()?.restore()
    }
    fn done(&self, delivery: &Delivery) -> Result<()> {
        self.through()?.done(delivery)
    }
    fn extend(&self, delivery: &Delivery) -> Result<()> {
        self.through()?.extend(delivery)
    }
}

/// The observations of the referee.
#[derive(Default)]
pub(crate) struct Observation {
    /// The runs that send now, with the time until which they may, by resource.
    users: BTreeMap<String, Vec<(String, Arc<Permit>)>>,
    /// How often each run was measured to its end under a valid permit.
    pub(crate) measured: BTreeMap<String, usize>,
}

/// Carries jobs out in simulated time, and checks that no other job uses their resources.
pub(crate) struct SimRunner {
    clock: SimClock,
    observed: Arc<Mutex<Observation>>,
}

impl Runner for SimRunner {
    fn start(&self, job: &AgentJob, _: Option<WallTime>, permit: &Arc<Permit>) -> Box<dyn Task> {
        let now = self.clock.mono();
        let mut observed = self.observed.lock().expect("whole");
        let is_light = matches!(job.class, Class::Background | Class::BackgroundMulti);
        for resource in job.resources.iter().filter(|_| !is_light) {
            let users = observed.users.entry(resource.name.clone()).or_default();
            users.retain(|(_, permit)| permit.is_valid(now));
            users.push((job.run.clone(), Arc::clone(permit)));
            assert!(
                users.len() <= resource.capacity as usize,
                "{} is used by {}",
                resource.name,
                users.len()
            );
        }
        drop(observed);
        Box::new(SimTask {
            clock: self.clock.clone(),
            observed: Arc::clone(&self.observed),
            permit: Arc::clone(permit),
            run: job.run.clone(),
            started: self.clock.wall(),
            end: now + job.span,
        })
    }
}

struct SimTask {
    clock: SimClock,
    observed: Arc<Mutex<Observation>>,
    permit: Arc<Permit>,
    run: String,
    started: WallTime,
    end: MonoTime,
}

impl Task for SimTask {
    fn poll(&mut self) -> Option<TaskEnd> {
        let now = self.clock.mono();
        // The task ends by itself, however late it is polled.
        let is_valid = self.permit.is_valid(now.min(self.end));
        if is_valid && now < self.end {
            return None;
        }
        let mut observed = self.observed.lock().expect("whole");
        if is_valid {
            *observed.measured.entry(self.run.clone()).or_default() += 1;
        }
        observed.leave(&self.run);
        let result = if is_valid { Ok(format!("result of {}", self.run)) } else { Err("stopped".to_owned()) };
        Some(TaskEnd { started: self.started, finished: self.clock.wall(), ended: now.min(self.end), result })
    }

    fn look_after(&self) -> Nanos {
        self.end - self.clock.mono()
    }
}

/// A process that is killed sends no more.
impl Drop for SimTask {
    fn drop(&mut self) {
        self.observed.lock().expect("whole").leave(&self.run);
    }
}

impl Observation {
    /// How many use something now.
    pub(crate) fn users(&self) -> usize {
        self.users.values().map(Vec::len).sum()
    }

    fn leave(&mut self, run: &str) {
        self.users.values_mut().for_each(|users| users.retain(|(user, _)| user != run));
    }
}

/// A sink in memory that outlives coordinators.
#[derive(Clone, Default)]
pub(crate) struct MemorySink(pub(crate) Arc<Mutex<Kept>>);

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) outcomes: BTreeMap<String, Outcome>,
    pub(crate) stores: BTreeMap<String, usize>,
    pub(crate) missed: BTreeMap<String, LedgerRow>,
}

impl Sink for MemorySink {
    fn stored(&self, run: &str) -> Option<Stored> {
        self.0.lock().expect("whole").outcomes.get(run).map(Stored::new)
    }
    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String> {
        let mut kept = self.0.lock().expect("whole");
        *kept.stores.entry(outcome.run.clone()).or_default() += 1;
        kept.outcomes.insert(outcome.run.clone(), outcome.clone());
        Ok(())
    }
    fn awaited(&self, run: &str) -> Option<LedgerRow> {
        self.0.lock().expect("whole").missed.get(run).cloned()
    }
    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String> {
        self.0.lock().expect("whole").missed.insert(run.to_owned(), row.clone());
        Ok(())
    }
}

/// Everything that outlives the processes of a simulation.
pub(crate) struct World {
    pub(crate) clock: SimClock,
    pub(crate) broker: Local,
    pub(crate) observed: Arc<Mutex<Observation>>,
    pub(crate) sink: MemorySink,
    pub(crate) names: Vec<String>,
    clocks: Vec<SimClock>,
    pub(crate) cables: Vec<Cable>,
    runners: Vec<SimRunner>,
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(agents: usize) -> World {
        let clock = SimClock::default();
        let broker = Local::new(Time::Simulated(Arc::clone(&clock.now)));
        let observed = Arc::<Mutex<Observation>>::default();
        let runner = |_| SimRunner { clock: clock.clone(), observed: Arc::clone(&observed) };
        World {
            names: (0..agents).map(|number| format!("s{number}")).collect(),
            clocks: vec![clock.clone(); agents],
            cables: (0..agents)
                .map(|_| Cable { broker: broker.clone(), is_cut: false.into(), appends: 0.into() })
                .collect(),
            runners: (0..agents).map(runner).collect(),
            // In memory where there is such a place: a hundred spools sync 30,000 lines.
            folder: tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder"),
            sink: MemorySink::default(),
            observed,
            broker,
            clock,
        }
    }

    /// Sets an agent's wall clock ahead.
    pub(crate) fn set_ahead(&mut self, agent: usize, span: Nanos) {
        self.clocks[agent].ahead = span.0;
        self.runners[agent].clock.ahead = span.0;
    }

    pub(crate) fn cut(&self, agent: usize, is_cut: bool) {
        self.cables[agent].is_cut.store(is_cut, Ordering::SeqCst);
    }

    pub(crate) fn agent(&self, number: usize) -> Agent<'_> {
        let name = self.names[number].clone();
        let spool = Spool::open(&self.spool_of(number)).expect("its spool");
        let options = AgentOptions::named(name);
        Agent::new(options, &self.cables[number], &self.clocks[number], &self.runners[number], spool)
            .expect("an agent")
    }

    /// Another agent of the same name, on a host of its own.
    pub(crate) fn namesake(&self, number: usize) -> Agent<'_> {
        let spool = Spool::open(&self.spool_of(number).with_extension("other")).expect("its spool");
        let instance = Instance { id: "another".into(), host: "elsewhere".into() };
        let options = AgentOptions { instance, ..AgentOptions::named(self.names[number].clone()) };
        Agent::new(options, &self.broker, &self.clocks[number], &self.runners[number], spool)
            .expect("an agent")
    }

    pub(crate) fn spool_of(&self, number: usize) -> std::path::PathBuf {
        Path::new(self.folder.path()).join(format!("{number}.jsonl"))
    }

    pub(crate) fn advance(&self, span: Nanos) {
        self.clock.now.fetch_add(span.0, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> MonoTime {
        self.clock.mono()
    }
}

/// The processes of a simulation; those that are `None` are dead.
pub(crate) struct Processes<'w> {
    pub(crate) world: &'w World,
    pub(crate) agents: Vec<Option<Agent<'w>>>,
    due: Vec<MonoTime>,
    coordinator_due: MonoTime,
    measured: usize,
}

impl<'w> Processes<'w> {
    pub(crate) fn new(world: &'w World) -> Processes<'w> {
        let agents = (0..world.names.len()).map(|number| Some(world.agent(number))).collect();
        Processes {
            world,
            agents,
            due: vec![MonoTime::ZERO; world.names.len()],
            coordinator_due: MonoTime::ZERO,
            measured: 0,
        }
    }

    /// Begins an agent anew, or ends it.
    pub(crate) fn kill(&mut self, number: usize) {
        self.agents[number] = None;
    }

    pub(crate) fn restart(&mut self, number: usize) {
        if self.agents[number].is_none() {
            self.agents[number] = Some(self.world.agent(number));
            self.due[number] = MonoTime::ZERO;
        }
    }

    /// Every process does what is due, or what another one woke it for; each turn takes 5 ms. Returns when something will be
    /// due next.
    pub(crate) fn turn(&mut self, coordinator: Option<&mut Coordinator<'_>>) -> MonoTime {
        let mut coordinator = coordinator;
        for _ in 0..2 {
            let measured: usize = self.world.observed.lock().expect("whole").measured.values().sum();
            let mut is_handed_out = false;
            if let Some(coordinator) = coordinator.as_deref_mut()
                && (self.world.now() >= self.coordinator_due || measured != self.measured)
            {
                let before = coordinator.ledger().rows().count();
                self.coordinator_due = coordinator.step().expect("a step");
                is_handed_out = coordinator.ledger().rows().count() != before;
            }
            self.measured = measured;
            self.world.advance(Nanos::from_millis(5));
            let now = self.world.now();
            for (agent, due) in self.agents.iter_mut().zip(&mut self.due) {
                if let Some(agent) = agent.as_mut().filter(|_| is_handed_out || now >= *due) {
                    *due = agent.step().expect("a step");
                }
            }
        }
        let alive = self.agents.iter().zip(&self.due).filter(|(agent, _)| agent.is_some());
        alive.map(|(_, due)| *due).min().unwrap_or(self.world.now())
    }

    /// Lets time pass to what is due next, at most a second.
    pub(crate) fn pass(&self, due: MonoTime) {
        let span = (due - self.world.now()).max(Nanos::from_millis(1)).min(Nanos::from_secs(1));
        self.world.advance(span);
    }

    /// Runs until all is done.
    pub(crate) fn run(&mut self, coordinator: &mut Coordinator<'_>, longest: Nanos) {
        let end = self.world.now() + longest;
        loop {
            assert!(self.world.now() < end, "not complete: {:#?}", coordinator.ledger());
            let step = self.coordinator_due;
            let due = self.turn(Some(coordinator));
            // A look at all rows costs more than the turn.
            let may_have_changed = step != self.coordinator_due;
            if may_have_changed && coordinator.is_complete() {
                return;
            }
            self.pass(due);
        }
    }
}

pub(crate) fn coordinator<'w>(
    world: &'w World,
    name: &str,
    plan: &MeshPlan,
    sink: &'w mut MemorySink,
) -> Coordinator<'w> {
    Coordinator::new(name, &world.broker, &world.clock, plan.clone(), (sink, |_, _| Ok(())))
        .expect("a coordinator")
}

/// 2026-11-23T00:00:00Z.
const EPOCH: u64 = 1_795_392_000_000_000_000;

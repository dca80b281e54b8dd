//! The decision phase of one direction: which load is sent after which, until the limit of the path is met and known. The path
//! itself is behind a trait, so that tests have simulated ones.

mod place;
mod reading;
mod routers;

use super::StepOutcome;
use super::routers::RouterProbes;
use crate::error::Result;
use model::limit::{FLOOD, LoadProbing, Purpose, StepRequest};
use model::plan::Direction;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use place::Behind;
use reading::Reading;
use routers::FullQueue;

/// A path that carries steps of load.
pub(crate) trait LoadPath {
    /// The time.
    fn now(&self) -> MonoTime;
    /// Sends these steps one after another without a pause, and goes on with the last of them until something else is asked for.
    fn run(&mut self, steps: &[StepRequest]) -> Result<Vec<StepOutcome>>;
    /// Sends this step until so many datagrams per second arrive at most, twice in a row.
    fn saturate(&mut self, step: StepRequest, most: f64) -> Result<Saturation>;
    /// Sends nothing for this long.
    fn rest(&mut self, time: Nanos) -> Result<()>;
    /// The shortest round trip to each router and to the far end, while what is sent goes on; `None`: it did not answer.
    fn router_trips(&mut self, probes: RouterProbes) -> Result<Vec<Option<Nanos>>>;
    /// Datagrams that the hosts' kernels have dropped so far.
    fn host_drops(&self) -> u64;
}

/// The outcome of a step that was to saturate the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saturation {
    /// At the end it delivered its rate alone.
    pub(crate) is_reached: bool,
    /// The longest transit of the step; absent: it has not saturated the path.
    pub(crate) longest: Option<i64>,
}

/// The question that the steps answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quest {
    /// The direction.
    pub(crate) direction: Direction,
    /// The rate that TCP reached, in frames.
    pub(crate) reached: BitRate,
    /// UDP payload of a full frame.
    pub(crate) payload: u32,
    /// Bytes of a frame beyond the payload.
    pub(crate) overhead: u32,
    /// The highest rate that is allowed, in frames.
    pub(crate) most: Option<BitRate>,
    /// Share of TCP's segments that were lost.
    pub(crate) lost: f64,
    /// The test has met the limit: datagrams of it were lost, and no ladder is needed.
    pub(crate) is_met: bool,
    /// The short form: no place, fewer steps.
    pub(crate) short: bool,
    /// The place may be looked for.
    pub(crate) place: bool,
    /// The time that it may take.
    pub(crate) budget: Nanos,
}

/// Carries the phase out. What goes wrong ends it early, with what was found until then.
pub(crate) fn probe(path: &mut dyn LoadPath, quest: Quest) -> LoadProbing {
    let began = path.now();
    let drops = path.host_drops();
    let mut phase = Phase {
        path,
        quest,
        began,
        reading: Reading::new(quest.overhead),
        next: 1,
        saturated: false,
        answer: Nanos::ZERO,
        router_time: Nanos::ZERO,
        is_placed: false,
    };
    let ended = phase.carry_out();
    let Phase { path, reading, saturated, .. } = phase;
    let mut probing = LoadProbing::without(quest.direction, String::new());
    probing.note = ended.err().map(|error| crate::error::sentence(&error)).or_else(|| reading.note.clone());
    probing.links = reading.links;
    probing.place = reading.place;
    probing.router_growth.clone_from(&reading.router_growth);
    probing.steps = reading.steps();
    (probing.most, probing.saturated) = (quest.most, saturated);
    probing.host_drops = path.host_drops().saturating_sub(drops);
    probing.elapsed = path.now().saturating_since(began);
    probing
}

struct Phase<'a> {
    path: &'a mut dyn LoadPath,
    quest: Quest,
    began: MonoTime,
    reading: Reading,
    /// Number of the next step.
    next: u32,
    saturated: bool,
    /// The time from the end of the last step until what came of it was known: a round trip and the queue.
    answer: Nanos,
    /// The time that the routers' answers on the idle path take.
    router_time: Nanos,
    /// The place has been looked for.
    is_placed: bool,
}

impl Phase<'_> {
    fn carry_out(&mut self) -> Result<()> {
        let capped = if self.quest.is_met { Some(self.below()?) } else { self.ladder()? };
        let Some(capped) = capped else { return self.idle(None) };
        let flood = self.step(self.allowed(capped * FLOOD), self.quest.payload, Nanos::from_secs(1));
        let most = capped * SATURATED / self.bits(self.quest.payload);
        let time = self.saturation_time(Nanos(self.left_for_load().0 / 2));
        let saturation = self.path.saturate(StepRequest { time, ..flood }, most)?;
        self.saturated = saturation.is_reached;
        let queue = saturation.longest.map_or(Nanos::ZERO, |longest| self.reading.growth_of(longest));
        self.hot_steps(capped, queue)?;
        let rate = self.reading.rate().unwrap_or(capped);
        let full = routers::under_load(self, rate)?;
        if self.quest.place && !self.quest.short && !self.is_placed {
            place::look(self, rate)?;
        }
        self.idle(full)?;
        // The answer comes through the queue that this load has filled.
        let time = COLD + self.answer + queue.max(self.reading.hot_queue());
        if self.quest.short || self.left() < time { Ok(()) } else { self.cold(rate) }
    }

    /// Sends steps, and waits for what comes of them.
    fn run(&mut self, steps: &[StepRequest]) -> Result<Vec<StepOutcome>> {
        let began = self.path.now();
        let outcome = self.path.run(steps)?;
        let planned: Nanos = steps.iter().map(|step| step.time).sum();
        self.answer = self.path.now().saturating_since(began).saturating_sub(planned);
        Ok(outcome)
    }

    /// The longest time that a saturating step may take, where what follows it takes so long.
    fn saturation_time(&self, following: Nanos) -> Nanos {
        let longest = if self.quest.short { SHORT_SATURATION } else { SATURATION };
        longest.min(self.left_for_load().saturating_sub(following))
    }

    /// The time left for load: the idle path comes after it.
    fn left_for_load(&self) -> Nanos {
        let idle = if self.quest.short { SHORT_IDLE } else { IDLE };
        self.left().saturating_sub(self.reading.queue() + DRAIN + idle + self.answer + self.router_time)
    }

    /// After the pause of the idle path: what a bucket lets pass at once.
    fn cold(&mut self, rate: f64) -> Result<()> {
        let step = self.step(self.allowed(rate * COLD_FLOOD), self.quest.payload, COLD);
        let outcome = self.run(&[step])?;
        self.reading.take(Purpose::Cold, step, outcome.first());
        self.path.rest(Nanos::ZERO)
    }

    /// Less than the test got: what is lost then no limit of rate takes. The rate that the test got.
    fn below(&mut self) -> Result<f64> {
        let reached = (self.quest.reached.0 as f64).max(LEAST_RATE);
        let time = self.step_time(BELOW * reached).saturating_mul(2).min(LONGEST_STEP);
        let step = self.step(BELOW * reached, self.quest.payload, time);
        let outcome = self.run(&[step])?;
        self.reading.take(Purpose::Ladder, step, outcome.first());
        Ok(reached)
    }

    /// Higher and higher, until a step is capped; what the path delivers then, bits per second.
    fn ladder(&mut self) -> Result<Option<f64>> {
        let reached = (self.quest.reached.0 as f64).max(LEAST_RATE);
        let highest = if self.quest.lost > SOME_LOSS { MOST_TIMES_LOSSY } else { MOST_TIMES };
        let (mut times, mut slow, mut again) = (LADDER_START, 0, 0);
        let (mut most_asked, mut most_sent, mut most_passed) = (0.0, 0.0_f64, 0.0_f64);
        // Where TCP lost packets by chance, a step that seems to be capped is sent once more.
        let mut is_sure = self.quest.lost <= SOME_LOSS;
        let hot = if self.quest.short { SHORT_HOT_TIME } else { HOT_TIME };
        while times <= highest && self.left_for_load() > hot + self.step_time(reached * times) {
            let rate = self.allowed(reached * times);
            // The higher rates need time, too.
            let time = self.step_time(rate).min(STEP.max(Nanos(self.left_for_load().0 / LADDER_SHARE)));
            let step = self.step(rate, self.quest.payload, time);
            let outcome = self.run(&[step])?;
            let Some(last) = self.reading.take(Purpose::Ladder, step, outcome.first()) else {
                return Ok(None);
            };
            if last.stalled && again < MOST_AGAIN {
                again += 1;
                continue;
            }
            if last.delivered <= 0.0 {
                self.reading.note = Some("nothing of the load arrived".into());
                return Ok(None);
            }
            if last.is_capped(self.quest.lost) {
                // A sender that stood still sends less than the path has taken already.
                if last.stalled && last.delivered < most_passed {
                    self.reading.note = Some("this host was too busy to load the path".into());
                    return Ok(None);
                }
                if is_sure || !last.is_doubtful() {
                    return Ok(Some(last.delivered));
                }
                is_sure = true;
                continue;
            }
            is_sure = self.quest.lost <= SOME_LOSS;
            most_passed = last.delivered.max(most_passed);
            // More was asked for, and hardly more was sent.
            let is_slow = rate > most_asked * 1.05 && last.sent < most_sent * 1.1;
            (most_asked, most_sent) = (rate.max(most_asked), last.sent.max(most_sent));
            slow = if is_slow && last.sent < rate * SENT_AS_ASKED { slow + 1 } else { 0 };
            if last.sent < rate * HARDLY_SENT || slow == MOST_SLOW {
                self.reading.note = Some("this host sends no faster".into());
                return Ok(None);
            }
            if rate < reached * times {
                self.reading.note = Some("no higher rate is allowed".into());
                return Ok(None);
            }
            times = match times {
                LADDER_START => 2.0,
                // Far below what the path takes: TCP that losses hold down.
                6.0.. if self.quest.lost > SOME_LOSS => times * 3.0,
                4.0.. => times * 2.0,
                _ => times * 1.6,
            };
        }
        Ok(None)
    }

    /// `queue`: how long it is, as far as that is known.
    fn hot_steps(&mut self, capped: f64, queue: Nanos) -> Result<()> {
        let size = self.quest.payload;
        let small = SMALL_FRAME.saturating_sub(self.quest.overhead).max(LEAST_PAYLOAD);
        let small_rate = 2.0 * capped / self.bits(size) * self.bits(small);
        // At a low rate each step takes long, for it needs packets.
        let few = self.quest.short || capped < SLOW;
        let mut wanted = vec![(Purpose::Hot, capped * FLOOD, size), (Purpose::Hot, capped * FLOOD, size)];
        if !few {
            wanted.extend([(Purpose::Lower, capped * 1.3, size), (Purpose::Higher, capped * 3.1, size)]);
        }
        let last_hot = wanted.len();
        wanted.push((Purpose::Hot, capped * FLOOD, size));
        // Then the first flow has a bucket again, where each has its own.
        let after = [(Purpose::FourFlows, capped * FLOOD, size), (Purpose::Small, small_rate, small)];
        let share = Nanos(self.left_for_load().0 * 3 / 4 / (wanted.len() + after.len()) as u64);
        let time = self.hot_time(capped).min(share).max(LEAST_TIME);
        let mut delayed = Vec::new();
        // A long queue does not drain in a step.
        if !few && (SHORTEST_QUEUE..=SHORT_QUEUE).contains(&queue) {
            let ends = self.path.now() + time.saturating_mul(wanted.len() as u64 + 1) + SLOW_ANSWER;
            delayed = self.take_wanted(&wanted, last_hot, time, None)?;
            wanted.clear();
            self.edge(time)?;
            // The load does not go on for ever while the far end's answer is repeated.
            if self.path.now() > ends {
                let longest = self.saturation_time(Nanos(self.left_for_load().0 / 2));
                self.saturate(capped, longest)?;
            }
        }
        wanted.extend(after);
        delayed.extend(self.take_wanted(&wanted, last_hot, time, Some((capped, queue)))?);
        if delayed.is_empty()
            || self.left_for_load() < time.saturating_mul(delayed.len() as u64 + 1) + self.answer
        {
            return Ok(());
        }
        // Saturated again first: a path that was left alone has a bucket.
        let full = self.flood(capped, time);
        let mut repeated = vec![(Purpose::Ladder, full)];
        for (purpose, step) in delayed {
            repeated.push((purpose, StepRequest { step: self.number(), ..step }));
        }
        let (purposes, steps): (Vec<Purpose>, Vec<StepRequest>) = repeated.into_iter().unzip();
        self.take_all(&purposes, &steps, None)?;
        Ok(())
    }

    /// Runs steps of these purposes, rates and sizes; `before_place`, the rate and the queue as far as they are known: the loads of the
    /// place follow, where they fit.
    fn take_wanted(
        &mut self,
        wanted: &[(Purpose, f64, u32)],
        last_hot: usize,
        time: Nanos,
        before_place: Option<(f64, Nanos)>,
    ) -> Result<Vec<(Purpose, StepRequest)>> {
        let mut steps = Vec::new();
        for (index, &(purpose, rate, size)) in wanted.iter().enumerate() {
            let step = self.step(self.allowed(rate), size, time);
            let flows = if purpose == Purpose::FourFlows { 4 } else { 1 };
            // The last hot step alone counts: where each flow has a limit of its own, they are no part of the rate.
            let sparse = if purpose == Purpose::Hot && index == last_hot { OTHER_FLOW } else { 0 };
            steps.push(StepRequest { flows, sparse, ..step });
        }
        let purposes: Vec<Purpose> = wanted.iter().map(|(purpose, ..)| *purpose).collect();
        // Later steps have higher numbers.
        let hot = time.saturating_mul(steps.len() as u64);
        let behind = before_place.and_then(|(rate, queue)| Behind::new(self, rate, hot, queue));
        self.take_all(&purposes, &steps, behind)
    }

    /// A few percent above the rate, while buckets are empty: a short queue drains there, if a policer beside it is what drops.
    fn edge(&mut self, time: Nanos) -> Result<()> {
        let (queue, rate) = (self.reading.hot_queue(), self.reading.rate().unwrap_or(0.0));
        let drains = queue.saturating_mul(DRAIN_TIMES).clamp(time, LONGEST_EDGE.max(time));
        let is_short = (SHORTEST_QUEUE..=SHORT_QUEUE).contains(&queue);
        if !is_short || self.left_for_load() < drains + time + time + self.answer + self.answer {
            return Ok(());
        }
        let step = self.step(self.allowed(rate * EDGE), self.quest.payload, drains);
        self.take_all(&[Purpose::Edge], &[step], None)?;
        Ok(())
    }

    /// Runs steps, with those that follow them, and returns which of the first were delayed at their sender.
    fn take_all(
        &mut self,
        purposes: &[Purpose],
        steps: &[StepRequest],
        behind: Option<Behind>,
    ) -> Result<Vec<(Purpose, StepRequest)>> {
        let all: Vec<StepRequest> =
            steps.iter().copied().chain(behind.iter().flat_map(Behind::steps)).collect();
        let outcome = self.run(&all)?;
        let mut delayed = Vec::new();
        for (purpose, (step, outcome)) in purposes.iter().zip(steps.iter().zip(&outcome)) {
            let rates = self.reading.take(*purpose, *step, Some(outcome));
            if rates.is_none_or(|rates| rates.stalled) {
                delayed.push((*purpose, *step));
            }
        }
        if let Some(behind) = behind {
            self.is_placed = behind.take(self, outcome.get(steps.len()..).unwrap_or_default());
        }
        Ok(delayed)
    }

    /// The idle path, once its queue has drained. `full`: what that queue did to the round trips to routers.
    fn idle(&mut self, full: Option<FullQueue>) -> Result<()> {
        let queue = self.reading.queue();
        self.path.rest(queue + DRAIN)?;
        if let Some(full) = full {
            let idle = self.path.router_trips(full.compared())?;
            self.reading.router_growth = full.growth(&idle);
        }
        let time = if self.quest.short { SHORT_IDLE } else { IDLE };
        let step = StepRequest { gap: IDLE_GAP, ..self.step(0.0, LEAST_PAYLOAD, time) };
        let outcome = self.run(&[step])?;
        self.reading.take(Purpose::Idle, step, outcome.first());
        self.path.rest(Nanos::ZERO)
    }

    /// One flow at a rate in frames.
    fn step(&mut self, rate: f64, size: u32, time: Nanos) -> StepRequest {
        let gap = Nanos((self.bits(size) * 1e9 / rate.max(1.0)) as u64);
        StepRequest { step: self.number(), size, gap, time, flows: 1, sparse: 0, ttl: None }
    }

    /// A load that is allowed and far above this rate of the path.
    fn flood(&mut self, rate: f64, time: Nanos) -> StepRequest {
        self.step(self.allowed(rate * FLOOD), self.quest.payload, time)
    }

    /// Sends such a load until the path delivers its rate alone.
    fn saturate(&mut self, rate: f64, time: Nanos) -> Result<Saturation> {
        let flood = self.flood(rate, time);
        self.path.saturate(flood, rate * SATURATED / self.bits(self.quest.payload))
    }

    fn number(&mut self) -> u32 {
        // One between them is the sender's, which goes on with the last.
        self.next += 2;
        self.next
    }

    fn bits(&self, size: u32) -> f64 {
        f64::from((size + self.quest.overhead) * 8)
    }

    fn allowed(&self, rate: f64) -> f64 {
        self.quest.most.map_or(rate, |most| rate.min(most.0 as f64))
    }

    fn left(&self) -> Nanos {
        self.quest.budget.saturating_sub(self.path.now().saturating_since(self.began) + LAST_ANSWER)
    }

    /// Long enough for some packets.
    fn step_time(&self, rate: f64) -> Nanos {
        let (least, packets) = if self.quest.short { (SHORT_STEP, 100.0) } else { (STEP, 150.0) };
        self.time_of(packets, rate).clamp(least, LONGEST_STEP)
    }

    fn hot_time(&self, capped: f64) -> Nanos {
        let (least, packets) = match self.quest.short {
            true => (SHORT_STEP, 60.0),
            // Each of them takes long, and the place needs time, too.
            false if capped < FEW_PACKETS => (HOT_STEP, 105.0),
            false => (HOT_STEP, 140.0),
        };
        self.time_of(packets, capped).clamp(least, LONGEST_STEP)
    }

    fn time_of(&self, packets: f64, rate: f64) -> Nanos {
        Nanos((packets * self.bits(self.quest.payload) / rate.max(1.0) * 1e9) as u64)
    }
}

/// A path that delivers so many times its rate has still something in a bucket.
const SATURATED: f64 = 1.2;
const SATURATION: Nanos = Nanos::from_millis(1200);
const SHORT_SATURATION: Nanos = Nanos::from_millis(250);
/// A bucket that was filled in the pause before is empty in the first part of such a step.
const COLD_FLOOD: f64 = 3.1;
const COLD: Nanos = Nanos::from_millis(350);
const BELOW: f64 = 0.8;
const LADDER_START: f64 = 1.25;
const MOST_TIMES: f64 = 12.0;
const MOST_TIMES_LOSSY: f64 = 300.0;
/// TCP lost more than this: a policer may be near.
const SOME_LOSS: f64 = 0.002;
/// Slower several times in a row, or far slower once, the sender is what limits.
const SENT_AS_ASKED: f64 = 0.92;
const HARDLY_SENT: f64 = 0.3;
const MOST_SLOW: u32 = 2;
/// No step of the ladder takes a larger part of the time that is left.
const LADDER_SHARE: u64 = 5;
/// The shortest time that saturation and the hot steps take.
const HOT_TIME: Nanos = Nanos::from_millis(800);
const SHORT_HOT_TIME: Nanos = Nanos::from_millis(300);
/// At a lower rate too few packets are sent to see a cap.
const LEAST_RATE: f64 = 800_000.0;
const STEP: Nanos = Nanos::from_millis(200);
const SHORT_STEP: Nanos = Nanos::from_millis(120);
const HOT_STEP: Nanos = Nanos::from_millis(160);
/// No step is shorter, whatever is left.
const LEAST_TIME: Nanos = Nanos::from_millis(80);
const LONGEST_STEP: Nanos = Nanos::from_millis(1000);
/// A load that is so little above the rate of a policer drains the queue of a link before it that is a tenth faster.
const EDGE: f64 = 1.06;
/// Queues whose draining shows in a step.
const SHORTEST_QUEUE: Nanos = Nanos::from_millis(2);
const SHORT_QUEUE: Nanos = Nanos::from_millis(40);
/// Times its length a queue takes to drain, at 0.94 of the rate of its link.
const DRAIN_TIMES: u64 = 16;
const LONGEST_EDGE: Nanos = Nanos::from_millis(400);
/// An answer over the loaded path has been lost then.
const SLOW_ANSWER: Nanos = Nanos::from_millis(600);
/// One in so many datagrams of a hot step goes over another flow.
const OTHER_FLOW: u8 = 25;
/// Steps of the ladder that were delayed are repeated.
const MOST_AGAIN: u32 = 2;
/// Below this rate few steps are taken.
const SLOW: f64 = 3e6;
/// Below this rate the steps have fewer packets.
const FEW_PACKETS: f64 = 6e6;
const SMALL_FRAME: u32 = 256;
/// Smallest datagram of load, bytes.
const LEAST_PAYLOAD: u32 = wire::native::load::HEADER as u32;
/// By so much the last answer may be later than the one before.
const LAST_ANSWER: Nanos = Nanos::from_millis(180);
const DRAIN: Nanos = Nanos::from_millis(60);
const IDLE: Nanos = Nanos::from_millis(200);
const SHORT_IDLE: Nanos = Nanos::from_millis(120);
const IDLE_GAP: Nanos = Nanos::from_millis(6);

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

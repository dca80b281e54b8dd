//! The signs that the rows of the decision table look for in the evidence, each calculated once.

use super::End;
use model::limit::{Confidence, Evidence, HostFact, LoadProbing, LoadStep, Purpose, TcpSigns};
use model::units::Nanos;

/// The evidence of one direction, and what follows from it.
pub(super) struct Signs<'a> {
    pub(super) evidence: &'a Evidence,
    /// TCP's rate in frames, bits per second.
    pub(super) rate: f64,
    /// The highest rate that UDP was sent at and that was not capped.
    pub(super) passed: f64,
    /// The path under a load that is more than it takes; absent: none was.
    pub(super) hot: Option<Hot>,
    /// The load that was to be more than the path takes passed all the same.
    is_free: bool,
}

/// The figures of a saturated path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hot {
    /// At least one step was sent without being delayed.
    pub(super) is_steady: bool,
    /// The rate that it delivers, in frames, bits per second.
    pub(super) rate: f64,
    /// How much the rate of the hot steps varies.
    pub(super) variation: f64,
    /// Growth of the one-way delay.
    pub(super) queue: f64,
    /// Its 98th percentile.
    pub(super) queue_p98: f64,
    /// The share that is lost.
    pub(super) loss: f64,
    /// Time of one full frame.
    pub(super) packet: f64,
    /// Growth that is observed on this path.
    pub(super) visible: f64,
    /// The wait that the idle path still has: the median above the least.
    pub(super) standing: f64,
    /// The least that it grew, nearly.
    pub(super) queue_p10: f64,
    /// How much the delay of the idle path varies.
    pub(super) idle_spread: f64,
    /// The fewest datagrams in a step.
    pub(super) datagrams: u64,
    /// Hot steps.
    pub(super) steps: usize,
}

impl<'a> Signs<'a> {
    pub(super) fn new(evidence: &'a Evidence) -> Signs<'a> {
        let rate = evidence.rate.0 as f64;
        let load = evidence.load.as_ref();
        let hot = load.and_then(|load| Hot::new(load, evidence.frame));
        let free = hot.filter(|hot| load.is_some_and(|load| is_free(load, hot.visible)));
        let hot = hot.filter(|_| free.is_none());
        let mut signs = Signs { evidence, rate, passed: 0.0, hot, is_free: free.is_some() };
        let passed = signs.passed_with(by_chance(signs.lost()));
        signs.passed = free.map_or(passed, |free| free.rate.max(passed));
        signs
    }

    /// The highest rate of the ladder of which less than a share was lost, and at which the path was not capped.
    pub(super) fn passed_with(&self, most_lost: f64) -> f64 {
        let passes = |step: &&LoadStep| {
            step.loss < most_lost
                && step.delivered.0 as f64 >= (MOST_DELIVERED - most_lost) * step.sent.0 as f64
        };
        let ladder = self.load().into_iter().flat_map(|load| load.for_purpose(Purpose::Ladder));
        let passed = ladder.filter(passes).map(|step| step.delivered.0 as f64);
        // A bucket lets a short step pass that is above its rate; a path whose rate jumps has none.
        let is_bound = |hot: &Hot| hot.variation < CONTRADICTS;
        let bound = self.hot.filter(is_bound).map_or(f64::INFINITY, |hot| hot.rate * 1.1);
        passed.filter(|rate| *rate <= bound).fold(0.0, f64::max)
    }

    pub(super) fn tcp(&self) -> Option<&'a TcpSigns> {
        self.evidence.tcp.as_ref()
    }

    pub(super) fn load(&self) -> Option<&'a LoadProbing> {
        self.evidence.load.as_ref()
    }

    /// The facts of one end, or of both.
    pub(super) fn facts(&self, end: End) -> impl Iterator<Item = &'a HostFact> + use<'a> {
        let host = &self.evidence.host;
        let (sender, receiver) = match end {
            End::Sender => (host.sender.as_slice(), [].as_slice()),
            End::Receiver => ([].as_slice(), host.receiver.as_slice()),
            End::Either => (host.sender.as_slice(), host.receiver.as_slice()),
        };
        sender.iter().chain(receiver)
    }

    /// TCP's own growth of the round trip under its load, nanoseconds.
    pub(super) fn rtt_growth(&self) -> Option<f64> {
        let tcp = self.tcp()?;
        Some(tcp.loaded_rtt?.0 as f64 - tcp.idle_rtt?.0 as f64)
    }

    /// Round trips in the time that TCP was busy, as long as they were under its load.
    pub(super) fn round_trips(&self) -> Option<f64> {
        let tcp = self.tcp()?;
        Some(tcp.busy.0 as f64 / tcp.loaded_rtt.filter(|rtt| rtt.0 > 0)?.0 as f64)
    }

    /// Share of the test's packets that were lost.
    pub(super) fn lost(&self) -> f64 {
        let (packets, lost) = self.packets();
        lost as f64 / packets.max(1) as f64
    }

    /// The same behind slow start, which may lose more at once than chance takes in seconds.
    pub(super) fn lost_late(&self) -> f64 {
        match self.tcp().filter(|tcp| tcp.late_segments > 0) {
            Some(tcp) => tcp.late_lost as f64 / tcp.late_segments as f64,
            None => self.lost(),
        }
    }

    /// Packets of the test, and those of them that were lost.
    pub(super) fn packets(&self) -> (u64, u64) {
        match (self.tcp(), &self.evidence.udp) {
            (Some(tcp), _) => (tcp.segments, tcp.lost),
            (None, Some(udp)) => (udp.datagrams, udp.lost),
            (None, None) => (0, 0),
        }
    }

    /// UDP passes clearly more than TCP got.
    pub(super) fn passes(&self) -> bool {
        self.passed >= PASSES * self.rate
    }

    /// TCP got clearly less than the path gives, as far as that is known.
    pub(super) fn is_below(&self) -> bool {
        self.hot.is_none_or(|hot| self.rate < AGREES * hot.rate)
    }

    /// UDP was sent at a higher rate than TCP got, one way or the other.
    pub(super) fn exceeded(&self) -> bool {
        let sent = self.load().into_iter().flat_map(|load| &load.steps).map(|step| step.sent.0 as f64);
        sent.fold(0.0, f64::max) >= EXCEEDED * self.rate
    }

    /// The path took no more, and no step of that shows how much: this host was too busy to send steadily.
    pub(super) fn is_delayed(&self) -> bool {
        let hot = self.load().is_some_and(|load| load.for_purpose(Purpose::Hot).next().is_some());
        hot && self.hot.is_none() && !self.is_free
    }

    /// A step of one purpose.
    pub(super) fn step(&self, purpose: Purpose) -> Option<&'a LoadStep> {
        self.load()?.for_purpose(purpose).find(|step| step.datagrams > 1 && step.stalled < STALLED)
    }

    /// High where all that section 5 of the method asks is there.
    pub(super) fn confidence(&self) -> Confidence {
        let Some(hot) = self.hot else { return Confidence::Medium };
        let is_saturated = self.load().is_some_and(|load| load.saturated);
        let agrees = self.rate >= AGREES * hot.rate;
        match hot.variation {
            CONTRADICTS.. => Confidence::Low,
            variation
                if variation < STEADY
                    && hot.is_steady
                    && hot.steps >= 2
                    && hot.datagrams >= 60
                    && is_saturated
                    && agrees =>
            {
                Confidence::High
            }
            _ => Confidence::Medium,
        }
    }

    /// One less sure.
    pub(super) fn lowered(&self, confidence: Confidence) -> Confidence {
        match confidence {
            Confidence::High => Confidence::Medium,
            Confidence::Medium | Confidence::Low => Confidence::Low,
        }
    }
}

impl Hot {
    fn new(load: &LoadProbing, frame: u32) -> Option<Hot> {
        let all: Vec<&LoadStep> = load
            .for_purpose(Purpose::Hot)
            .filter(|step| step.datagrams > 1 && step.delivered.0 > 0)
            .collect();
        // While a sender was delayed, the path was not full.
        let steady: Vec<&LoadStep> = all.iter().copied().filter(|step| step.stalled < STALLED).collect();
        let is_steady = !steady.is_empty();
        let steps = if is_steady { steady } else { still_full(&all) };
        // Sparse datagrams go over another flow: where each flow has a limit of its own, they are no part of the rate.
        let alone: Vec<&LoadStep> = steps.iter().copied().filter(|step| step.sparse == 0).collect();
        let steps = if alone.is_empty() { steps } else { alone };
        if steps.is_empty() {
            return None;
        }
        let median = |of: fn(&LoadStep) -> f64| median(steps.iter().map(|step| of(step)));
        let rate = median(|step| step.delivered.0 as f64);
        let queue = median(|step| step.growth.0 as f64);
        let rates: Vec<f64> = steps.iter().map(|step| step.delivered.0 as f64).collect();
        let packet = f64::from(frame) * 8e9 / rate.max(1.0);
        let idle = load.for_purpose(Purpose::Idle).find(|step| step.datagrams > 5);
        let spread = idle.map_or(0.0, |idle| idle.spread.0 as f64);
        let visible = (MILLI).max((3.0 * spread).min(5.0 * MILLI)).max(1.3 * packet);
        Some(Hot {
            is_steady,
            rate,
            variation: variation(&rates),
            queue,
            queue_p98: median(|step| step.growth_p98.0 as f64),
            loss: median(|step| step.loss),
            packet,
            visible,
            // A queue that drains still is the load's own.
            standing: idle
                .filter(|idle| !drains(idle))
                .map_or(0.0, |idle| idle.growth.0 as f64)
                .max(below(load, rate, queue)),
            queue_p10: median(|step| step.growth_p10.0 as f64),
            idle_spread: spread,
            datagrams: steps.iter().map(|step| step.datagrams).min().unwrap_or(0),
            steps: steps.len(),
        })
    }

    /// The delay grows visibly under the load.
    pub(super) fn is_queued(&self) -> bool {
        // Where every packet waits, also on a path that jitters, a queue is full.
        self.queue > self.visible || self.queue_p10 > MILLI.max(1.3 * self.packet) || self.is_alike()
    }

    /// Every packet waits for nearly the same time: in a queue that is full and short. What a host delays varies by more.
    fn is_alike(&self) -> bool {
        let least = SHORTEST_QUEUE.max(4.0 * self.packet).max(5.0 * self.idle_spread);
        self.queue_p10 > least && self.queue_p98 < 1.3 * self.queue_p10
    }

    /// How long its queue is. One of few packets comes in whole packets: then it is nearly the longest.
    pub(super) fn full_queue(&self) -> Nanos {
        let whole = if self.queue < 10.0 * self.packet { self.queue_p98 } else { self.queue };
        Nanos(whole.round() as u64)
    }
}

/// Every hot step arrived nearly whole, or lost as much as every other load, and one of them waited for nothing: what seemed to cap the
/// ladder was chance, or a delay of a host. A cap at half of that load fills a queue in milliseconds, or drops half of it.
fn is_free(load: &LoadProbing, visible: f64) -> bool {
    let is_alike = is_lost_alike(load);
    let hot = || load.for_purpose(Purpose::Hot).filter(|step| step.datagrams > 1);
    let arrived = |step: &LoadStep| step.loss < FREE_LOSS || is_alike;
    let passed = |step: &LoadStep| {
        let waited = step.growth.0 as f64;
        step.delivered.0 as f64 >= 0.9 * step.sent.0 as f64 * (1.0 - step.loss) && waited < visible
    };
    !load.saturated && hot().all(|step| arrived(step) && step.stalled < STALLED) && hot().any(passed)
        || hot().all(|step| {
            arrived(step) && step.stalled < STALLED && passed(step) && (step.growth.0 as f64) < MILLI
        })
}

/// Loads of very different rates lose the same share: a cap takes more of a higher one, and a bucket that empties takes more of a
/// later one.
fn is_lost_alike(load: &LoadProbing) -> bool {
    let is_full = |step: &&LoadStep| {
        matches!(step.purpose, Purpose::Ladder | Purpose::Lower | Purpose::Hot | Purpose::Higher)
            && step.datagrams >= FEW
            && step.stalled < STALLED
            && step.sent.0 > 0
    };
    let all: Vec<&LoadStep> = load.steps.iter().filter(is_full).collect();
    let rates = || all.iter().map(|step| step.sent.0 as f64);
    let middle = (rates().fold(f64::INFINITY, f64::min) * rates().fold(0.0, f64::max)).sqrt();
    let (lower, higher): (Vec<&LoadStep>, Vec<&LoadStep>) =
        all.iter().copied().partition(|step| (step.sent.0 as f64) < middle);
    let (Some(lower), Some(higher)) = (Sent::new(&lower), Sent::new(&higher)) else { return false };
    let taken_by_a_cap = (1.0 - lower.loss) * (1.0 - lower.rate / higher.rate);
    let deviation =
        (lower.loss * (1.0 - lower.loss) * (1.0 / lower.datagrams + 1.0 / higher.datagrams)).sqrt();
    let alike = 3.0 * deviation + ALIKE;
    let Some(mean) = Sent::new(&all).map(|sent| sent.loss) else { return false };
    let is_usual = |step: &&LoadStep| {
        (step.loss - mean).abs() < 4.0 * (mean * (1.0 - mean) / step.datagrams as f64).sqrt() + UNEVEN
    };
    taken_by_a_cap > DISTINCT.max(2.0 * alike)
        && (higher.loss - lower.loss).abs() < alike
        && all.iter().all(is_usual)
}

/// Several steps: the rate, bits per second, and the share that was lost.
struct Sent {
    rate: f64,
    loss: f64,
    datagrams: f64,
}

impl Sent {
    fn new(steps: &[&LoadStep]) -> Option<Sent> {
        let datagrams: f64 = steps.iter().map(|step| step.datagrams as f64).sum();
        let mean = |of: fn(&LoadStep) -> f64| {
            steps.iter().map(|step| of(step) * step.datagrams as f64).sum::<f64>() / datagrams
        };
        let of_all = Sent { rate: mean(|step| step.sent.0 as f64), loss: mean(|step| step.loss), datagrams };
        (datagrams > 0.0).then_some(of_all)
    }
}

/// The delay of the idle path falls: what waits there is what a load left.
fn drains(idle: &LoadStep) -> bool {
    idle.growth_first.0 as f64 > 2.5 * idle.growth.0 as f64
}

/// The delay of all but the fewest packets in both of two loads that are a small part of the rate: others fill the queue. They may have
/// gone back before the path was idle.
fn below(load: &LoadProbing, rate: f64, queue: f64) -> f64 {
    let low = |part: f64| {
        load.for_purpose(Purpose::Ladder)
            .filter(move |step| (step.sent.0 as f64) < part * rate && step.loss < 0.01)
    };
    let waits: Vec<f64> = low(SMALL_PART).map(|step| step.growth_p10.0 as f64).collect();
    let least = if waits.len() < 2 { 0.0 } else { waits.into_iter().fold(f64::INFINITY, f64::min) };
    // One load below the rate that finds the queue nearly full already shows as much.
    let full =
        low(NOT_FULL).map(|step| step.growth_p10.0 as f64).filter(|waits| *waits > NEARLY_FULL * queue);
    full.fold(least, f64::max)
}

/// Steps that were delayed, and lost so much and delivered so alike all the same that the path was full.
fn still_full<'a>(all: &[&'a LoadStep]) -> Vec<&'a LoadStep> {
    let full: Vec<&LoadStep> =
        all.iter().copied().filter(|step| step.loss > STILL_LOST && step.stalled < STOOD_STILL).collect();
    let rates: Vec<f64> = full.iter().map(|step| step.delivered.0 as f64).collect();
    if full.len() >= 2 && variation(&rates) < STEADY { full } else { Vec::new() }
}

/// A load of so little of the rate fills no queue.
const SMALL_PART: f64 = 0.2;
/// The same of a load that meets a queue which is full to this part.
const NOT_FULL: f64 = 0.8;
const NEARLY_FULL: f64 = 0.8;
/// The share of a step that is lost by chance, where TCP lost so much of what it sent.
fn by_chance(lost: f64) -> f64 {
    (3.0 * lost).clamp(LITTLE_LOST, MOST_BY_CHANCE)
}

/// Standard deviation as a share of the mean.
pub(super) fn variation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    if mean > 0.0 { squares.sqrt() / mean } else { 0.0 }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    // The lower of two: a burst that a bucket let pass is no rate.
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// TCP got so much of what the path takes: the path is what binds.
pub(super) const BINDING: f64 = 0.85;
/// One millisecond, nanoseconds.
pub(super) const MILLI: f64 = 1e6;
/// A queue that is shorter is not distinguished from the delays of hosts, nanoseconds.
const SHORTEST_QUEUE: f64 = 0.2 * MILLI;
/// A step whose sender was delayed for this share of its time shows less.
pub(super) const STALLED: f64 = 0.25;
/// A delayed step with this loss had a full path all the same, unless it stood still for nearly all of its time.
const STILL_LOST: f64 = 0.25;
const STOOD_STILL: f64 = 0.9;
/// Lost by chance at most, in a step of few datagrams.
const FREE_LOSS: f64 = 0.1;
/// A step that passed lost less, unless TCP lost as much …
pub(super) const LITTLE_LOST: f64 = 0.03;
/// … and never more.
const MOST_BY_CHANCE: f64 = 0.12;
/// This share of a load arrives at least, where nothing is lost.
const MOST_DELIVERED: f64 = 0.93;
/// Datagrams that show a share of losses.
const FEW: u64 = 20;
/// A cap that would take less of a load than this cannot be distinguished from chance.
const DISTINCT: f64 = 0.2;
/// Shares that differ by no more, beside what chance explains, are alike.
const ALIKE: f64 = 0.03;
/// One step differs from all by no more, beside what chance explains: losses come in bursts.
const UNEVEN: f64 = 0.1;
const PASSES: f64 = 1.15;
/// Below this UDP shows nothing about what TCP met.
const EXCEEDED: f64 = 1.15;
const AGREES: f64 = 0.85;
/// Rates of hot steps that differ by more are no bucket's.
pub(super) const STEADY: f64 = 0.05;
const CONTRADICTS: f64 = 0.25;

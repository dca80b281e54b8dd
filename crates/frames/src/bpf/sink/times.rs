//! Times of arrival: one-way delays and their variation, as histograms, and the longest silence.

use super::{KEY, TIMES, add};
use crate::Silence;
use crate::bpf::Map;
use crate::bpf::assembler::{Assembler, Helper, If, Label, Op, Reg, Size, word};
use linux::error::Result;
use stats::histogram::{Exact, Histogram};
use units::time::MonoTime;

/// The maps of times that the program shares with its sink.
#[derive(Debug)]
pub(super) struct Maps {
    /// For each CPU, histograms in the order of HdrHistogram's counts.
    histograms: Map,
    /// Arrival of the last frame on any CPU, at most [`COARSE`] behind.
    last: Map,
}

impl Maps {
    /// Maps without any arrival.
    pub(super) fn new() -> Result<Maps> {
        Ok(Maps { histograms: Map::per_cpu_array("times", BUCKETS, 3)?, last: Map::array("last", 1, 1)? })
    }

    /// One-way delays.
    pub(super) fn delays(&self, counters: &[&[u64]]) -> Result<Histogram> {
        self.histogram(DELAYS, counters)
    }

    /// Variation, below zero without its sign and the rest.
    pub(super) fn variation(&self, counters: &[&[u64]]) -> Result<(Histogram, Histogram)> {
        Ok((self.histogram(LESS, counters)?, self.histogram(MORE, counters)?))
    }

    fn histogram(&self, which: Which, counters: &[&[u64]]) -> Result<Histogram> {
        let value = self.histograms.read(which.key)?;
        let mut counts = vec![0; BUCKETS];
        for cpu in self.histograms.copies(&value) {
            counts.iter_mut().zip(cpu).for_each(|(sum, count)| *sum += count);
        }
        let words_of = |index: usize| counters.iter().map(move |cpu| cpu[which.first + index]);
        let exact = Exact {
            sum: words_of(SUM).sum(),
            min: words_of(MIN).min().unwrap_or(u64::MAX),
            max: words_of(MAX).max().unwrap_or(0),
        };
        Ok(Histogram::of_counts(DIGITS, &counts, exact).expect("two digits are possible"))
    }
}

/// The longest silence of any CPU.
pub(super) fn silence(counters: &[&[u64]]) -> Option<Silence> {
    let longest = counters.iter().max_by_key(|cpu| cpu[GAP])?;
    let last = MonoTime(longest[GAP_FROM]);
    (longest[GAP] > 0).then(|| Silence { last, first: MonoTime(last.0 + longest[GAP]) })
}

/// The words of times before the first frame.
pub(super) fn zero(counters: &mut [u64]) {
    counters[PREVIOUS] = u64::MAX;
    [DELAYS, LESS, MORE].iter().for_each(|which| counters[which.first + MIN] = u64::MAX);
}

/// Registers: R6 the frame, R7 the counters; R8 and R9 are changed. The frame carries its time at `payload`.
pub(super) fn take(code: &mut Assembler, maps: &Maps, payload: Option<usize>) {
    code.call(Helper::Time);
    code.op(Op::Mov, Reg::R9, Reg::R0);
    watch_silence(code, maps);
    if let Some(payload) = payload {
        measure_delay(code, payload);
        note(code, maps, DELAYS);
        measure_variation(code, maps);
    }
}

/// R9 is now. On one CPU the time before is exact; on several a frame of another CPU may have arrived later, by less than
/// [`COARSE`], so that they do not compete for a cache line at every frame.
fn watch_silence(code: &mut Assembler, maps: &Maps) {
    let (own, first, shorter, recent) = (code.label(), code.label(), code.label(), code.label());
    code.load(Size::Double, Reg::R1, Reg::R7, word(LAST));
    code.set_map_value(Reg::R2, &maps.last);
    code.load(Size::Double, Reg::R3, Reg::R2, 0);
    code.jump_if(If::GreaterOrEqual, Reg::R1, Reg::R3, own);
    code.op(Op::Mov, Reg::R1, Reg::R3);
    code.place(own);
    code.store(Size::Double, Reg::R7, word(LAST), Reg::R9);
    code.jump_if_value(If::Equal, Reg::R1, 0, first);
    code.jump_if(If::LessOrEqual, Reg::R9, Reg::R1, recent);
    code.op(Op::Mov, Reg::R4, Reg::R9);
    code.op(Op::Sub, Reg::R4, Reg::R1);
    code.load(Size::Double, Reg::R5, Reg::R7, word(GAP));
    code.jump_if(If::LessOrEqual, Reg::R4, Reg::R5, shorter);
    code.store(Size::Double, Reg::R7, word(GAP), Reg::R4);
    code.store(Size::Double, Reg::R7, word(GAP_FROM), Reg::R1);
    code.place(shorter);
    code.op_value(Op::Add, Reg::R3, COARSE);
    code.jump_if(If::Less, Reg::R9, Reg::R3, recent);
    code.place(first);
    code.store(Size::Double, Reg::R2, 0, Reg::R9);
    code.place(recent);
}

/// Turns R9 from the current time into the delay.
fn measure_delay(code: &mut Assembler, payload: usize) {
    let (negative, done) = (code.label(), code.label());
    code.load(Size::Word, Reg::R1, Reg::R6, (payload + 12) as i16);
    code.to_network(Size::Word, Reg::R1);
    code.op_value(Op::ShiftLeft, Reg::R1, 16);
    code.load(Size::Half, Reg::R2, Reg::R6, (payload + 16) as i16);
    code.to_network(Size::Half, Reg::R2);
    code.op(Op::Or, Reg::R1, Reg::R2);
    code.op(Op::Sub, Reg::R9, Reg::R1);
    // Modulo 2^48, as the time was sent. Two CPUs' clocks may differ by some nanoseconds: a negative delay becomes zero.
    code.op_value(Op::ShiftLeft, Reg::R9, 16);
    code.op(Op::Mov, Reg::R1, Reg::R9);
    code.op_value(Op::ShiftRight, Reg::R1, 63);
    code.op_value(Op::ShiftRight, Reg::R9, 16);
    code.jump_if_value(If::NotEqual, Reg::R1, 0, negative);
    code.jump(done);
    code.place(negative);
    code.op_value(Op::Mov, Reg::R9, 0);
    code.place(done);
}

/// R9 is the delay, and is changed.
fn measure_variation(code: &mut Assembler, maps: &Maps) {
    let (less, done) = (code.label(), code.label());
    code.load(Size::Double, Reg::R1, Reg::R7, word(PREVIOUS));
    code.store(Size::Double, Reg::R7, word(PREVIOUS), Reg::R9);
    code.set(Reg::R2, u64::MAX);
    code.jump_if(If::Equal, Reg::R1, Reg::R2, done);
    code.jump_if(If::Less, Reg::R9, Reg::R1, less);
    code.op(Op::Sub, Reg::R9, Reg::R1);
    note(code, maps, MORE);
    code.jump(done);
    code.place(less);
    code.op(Op::Sub, Reg::R1, Reg::R9);
    code.op(Op::Mov, Reg::R9, Reg::R1);
    note(code, maps, LESS);
    code.place(done);
}

/// Counts R9 in a histogram; changes R8.
fn note(code: &mut Assembler, maps: &Maps, which: Which) {
    let missing = code.label();
    let at = |index: usize| word(which.first + index);
    add(code, which.first + SUM, Reg::R9);
    for (index, unless) in [(MIN, If::GreaterOrEqual), (MAX, If::LessOrEqual)] {
        let kept = code.label();
        code.load(Size::Double, Reg::R1, Reg::R7, at(index));
        code.jump_if(unless, Reg::R9, Reg::R1, kept);
        code.store(Size::Double, Reg::R7, at(index), Reg::R9);
        code.place(kept);
    }
    find_bucket(code);
    code.store_value(Size::Word, Reg::R10, KEY, which.key as i32);
    code.look_up(&maps.histograms, KEY);
    code.jump_if_value(If::Equal, Reg::R0, 0, missing);
    code.op(Op::Add, Reg::R0, Reg::R8);
    code.load(Size::Double, Reg::R1, Reg::R0, 0);
    code.op_value(Op::Add, Reg::R1, 1);
    code.store(Size::Double, Reg::R0, 0, Reg::R1);
    code.place(missing);
}

/// R8 = the offset of the bucket of R9, in bytes: `Histogram`'s index for two digits.
fn find_bucket(code: &mut Assembler) {
    let fits = code.label();
    code.op(Op::Mov, Reg::R1, Reg::R9);
    code.set(Reg::R2, LONGEST);
    code.jump_if(If::LessOrEqual, Reg::R1, Reg::R2, fits);
    code.op(Op::Mov, Reg::R1, Reg::R2);
    code.place(fits);
    code.op_value(Op::Mov, Reg::R8, 0);
    // The value shifted down to eight bits, in R1, and the shift, in R8.
    for shift in [16, 8, 4, 2, 1] {
        let below: Label = code.label();
        code.jump_if_value(If::Less, Reg::R1, 1 << (7 + shift), below);
        code.op_value(Op::ShiftRight, Reg::R1, shift);
        code.op_value(Op::Add, Reg::R8, shift);
        code.place(below);
    }
    code.op_value(Op::ShiftLeft, Reg::R8, 7);
    code.op(Op::Add, Reg::R8, Reg::R1);
    code.op_value(Op::And, Reg::R8, BUCKETS as i32 - 1);
    code.op_value(Op::ShiftLeft, Reg::R8, 3);
}

/// A histogram: its key in the map, and the place of its exact values in the counters.
#[derive(Clone, Copy)]
struct Which {
    key: u32,
    first: usize,
}

const DELAYS: Which = Which { key: 0, first: TIMES + 4 };
const LESS: Which = Which { key: 1, first: TIMES + 7 };
const MORE: Which = Which { key: 2, first: TIMES + 10 };
const SUM: usize = 0;
const MIN: usize = 1;
const MAX: usize = 2;
/// Arrival of the last frame on this CPU.
const LAST: usize = TIMES;
/// The longest silence, and its beginning.
const GAP: usize = TIMES + 1;
const GAP_FROM: usize = TIMES + 2;
/// The delay of the frame before.
const PREVIOUS: usize = TIMES + 3;
/// Number of words of all counters.
pub(super) const WORDS: usize = TIMES + 13;
/// Buckets are at most a 128th of their values wide.
const DIGITS: u8 = 2;
/// The largest value of a per-CPU map: 32 KiB.
const BUCKETS: usize = 4096;
/// The longest time that has its own bucket, four and a half minutes; longer ones share it.
const LONGEST: u64 = (1 << 38) - 1;
/// In nanoseconds.
const COARSE: i32 = 1000;

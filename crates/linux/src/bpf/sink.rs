//! Counting where frames arrive: a program in the driver that knows a trial's frames by their tag, counts them and drops
//! them. All other frames go on to the stack.

use super::assembler::{Assembler, Helper, If, Label, Op, Reg, Size};
use super::{Attached, Map, Mode, Program};
use crate::error::Result;
use crate::frames::{Arrived, FrameSpec, Offsets, PROTOCOL_UDP, Sink, TIMED, UNTIMED};
use model::dut::SinkKind;

/// Counts one trial's frames on one interface.
#[derive(Debug)]
pub struct XdpSink {
    counters: Map,
    seen: Map,
    _program: Program,
    _attached: Attached,
}

impl XdpSink {
    /// Begins to count the frames of `spec` on the interface with this index in the caller's network namespace; each number
    /// below `frames` is known to have come or not.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`; `EBUSY` when the interface has an XDP program;
    /// `EOPNOTSUPP` when its driver has no such mode.
    pub fn attach(spec: &FrameSpec, frames: u64, interface: u32, mode: Mode) -> Result<XdpSink> {
        let counters = Map::per_cpu_array("counters", COUNTERS, 1)?;
        let mut zero = [0; COUNTERS];
        zero[LATENCY_MIN] = u64::MAX;
        counters.write(0, &zero)?;
        let words = frames.div_ceil(64).clamp(1, MOST_WORDS);
        let seen = Map::array("seen", 1, words as u32)?;
        let program = Program::load_xdp("pm_sink", program(spec, &counters, &seen))?;
        let attached = program.attach_xdp(interface, mode)?;
        Ok(XdpSink { counters, seen, _program: program, _attached: attached })
    }
}

impl Sink for XdpSink {
    fn kind(&self) -> SinkKind {
        SinkKind::Xdp
    }

    fn arrived(&self) -> Result<Arrived> {
        let value = self.counters.read(0)?;
        let sum = |index: usize| self.counters.copies(&value).map(|cpu| cpu[index]).sum::<u64>();
        Ok(Arrived {
            frames: sum(FRAMES),
            bytes: sum(BYTES),
            duplicates: sum(DUPLICATES),
            reordered: sum(REORDERED),
            unchecked: sum(UNCHECKED),
            others: sum(OTHERS),
            ..Arrived::default()
        })
    }

    fn missing(&self, frames: u64, most: usize) -> Result<Vec<u64>> {
        let mut missing = Vec::new();
        for index in 0..self.seen.entries() {
            let bits = self.seen.read(index)?[0];
            let numbers = (0..64).filter(|bit| bits >> bit & 1 == 0).map(|bit| u64::from(index) * 64 + bit);
            missing.extend(numbers.take_while(|number| *number < frames).take(most - missing.len()));
            if missing.len() >= most || (u64::from(index) + 1) * 64 >= frames {
                break;
            }
        }
        Ok(missing)
    }

    fn last_missing(&self, frames: u64) -> Result<Option<u64>> {
        let words = frames.div_ceil(64).min(self.seen.entries().into()) as u32;
        for index in (0..words).rev() {
            let bits = self.seen.read(index)?[0];
            let numbers = (0..64).filter(|bit| bits >> bit & 1 == 0).map(|bit| u64::from(index) * 64 + bit);
            if let Some(last) = numbers.filter(|number| *number < frames).max() {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }
}

/// Registers: R6 the frame, R7 the counters, R8 its end and then its number.
fn program(spec: &FrameSpec, counters: &Map, seen: &Map) -> Assembler {
    let mut code = Assembler::default();
    let (pass, other) = (code.label(), code.label());
    let timed = spec.is_timed();
    let payload = spec.offsets().payload;
    code.load(Size::Word, Reg::R6, Reg::R1, 0);
    code.load(Size::Word, Reg::R8, Reg::R1, 4);
    code.store_value(Size::Word, Reg::R10, KEY, 0);
    look_up(&mut code, counters);
    code.jump_if_value(If::Equal, Reg::R0, 0, pass);
    code.op(Op::Mov, Reg::R7, Reg::R0);
    recognise(&mut code, spec, other);
    code.op(Op::Mov, Reg::R1, Reg::R8);
    code.op(Op::Sub, Reg::R1, Reg::R6);
    add(&mut code, BYTES, Reg::R1);
    count(&mut code, FRAMES);
    code.load(Size::Double, Reg::R8, Reg::R6, (payload + 4) as i16);
    code.to_network(Size::Double, Reg::R8);
    judge_order(&mut code);
    judge_duplicate(&mut code, seen);
    if timed {
        measure_latency(&mut code, payload);
    }
    code.op_value(Op::Mov, Reg::R0, XDP_DROP);
    code.exit();
    code.place(other);
    count(&mut code, OTHERS);
    code.place(pass);
    code.op_value(Op::Mov, Reg::R0, XDP_PASS);
    code.exit();
    code
}

/// Goes on only with a frame of this trial, which is in R6 and ends at R8. Changes R1 and R2.
pub(crate) fn recognise(code: &mut Assembler, spec: &FrameSpec, other: Label) {
    let Offsets { ip, payload, .. } = spec.offsets();
    let needed = payload + if spec.is_timed() { TIMED } else { UNTIMED };
    code.op(Op::Mov, Reg::R1, Reg::R6);
    code.op_value(Op::Add, Reg::R1, needed as i32);
    code.jump_if(If::Greater, Reg::R1, Reg::R8, other);
    // Protocol, header length and next header: without them the payload is elsewhere.
    let field = |from: usize| (ip + from) as i16;
    if spec.vlan.is_some() {
        code.load(Size::Half, Reg::R1, Reg::R6, 12);
        code.jump_if_value(If::NotEqual, Reg::R1, 0x8100_u16.to_be().into(), other);
    }
    code.load(Size::Half, Reg::R1, Reg::R6, ip as i16 - 2);
    code.jump_if_value(If::NotEqual, Reg::R1, spec.ether_type().to_be().into(), other);
    let protocol = field(if spec.is_ipv6() { 6 } else { 9 });
    code.load(Size::Byte, Reg::R1, Reg::R6, protocol);
    code.jump_if_value(If::NotEqual, Reg::R1, PROTOCOL_UDP.into(), other);
    if !spec.is_ipv6() {
        code.load(Size::Byte, Reg::R1, Reg::R6, field(0));
        code.jump_if_value(If::NotEqual, Reg::R1, 0x45, other);
    }
    code.load(Size::Word, Reg::R1, Reg::R6, payload as i16);
    code.set(Reg::R2, spec.tag.to_be().into());
    code.jump_if(If::NotEqual, Reg::R1, Reg::R2, other);
}

/// A number below the highest one so far is out of order.
fn judge_order(code: &mut Assembler) {
    let (late, done) = (code.label(), code.label());
    code.load(Size::Double, Reg::R1, Reg::R7, word(NEXT));
    code.jump_if(If::Less, Reg::R8, Reg::R1, late);
    code.op(Op::Mov, Reg::R1, Reg::R8);
    code.op_value(Op::Add, Reg::R1, 1);
    code.store(Size::Double, Reg::R7, word(NEXT), Reg::R1);
    code.jump(done);
    code.place(late);
    count(code, REORDERED);
    code.place(done);
}

/// One bit for each number.
fn judge_duplicate(code: &mut Assembler, seen: &Map) {
    let (beyond, done) = (code.label(), code.label());
    code.op(Op::Mov, Reg::R1, Reg::R8);
    code.op_value(Op::ShiftRight, Reg::R1, 6);
    code.set(Reg::R2, seen.entries().into());
    code.jump_if(If::GreaterOrEqual, Reg::R1, Reg::R2, beyond);
    code.store(Size::Word, Reg::R10, KEY, Reg::R1);
    look_up(code, seen);
    code.jump_if_value(If::Equal, Reg::R0, 0, beyond);
    code.op(Op::Mov, Reg::R2, Reg::R8);
    code.op_value(Op::And, Reg::R2, 63);
    code.op_value(Op::Mov, Reg::R3, 1);
    code.op(Op::ShiftLeft, Reg::R3, Reg::R2);
    code.op(Op::Mov, Reg::R4, Reg::R3);
    code.fetch_or(Reg::R0, 0, Reg::R4);
    code.op(Op::And, Reg::R4, Reg::R3);
    code.jump_if_value(If::Equal, Reg::R4, 0, done);
    count(code, DUPLICATES);
    code.jump(done);
    code.place(beyond);
    count(code, UNCHECKED);
    code.place(done);
}

fn measure_latency(code: &mut Assembler, payload: usize) {
    let (not_less, not_more) = (code.label(), code.label());
    code.call(Helper::Time);
    code.load(Size::Word, Reg::R1, Reg::R6, (payload + 12) as i16);
    code.to_network(Size::Word, Reg::R1);
    code.op_value(Op::ShiftLeft, Reg::R1, 16);
    code.load(Size::Half, Reg::R2, Reg::R6, (payload + 16) as i16);
    code.to_network(Size::Half, Reg::R2);
    code.op(Op::Or, Reg::R1, Reg::R2);
    code.op(Op::Sub, Reg::R0, Reg::R1);
    // Modulo 2^48, as the time was sent.
    code.op_value(Op::ShiftLeft, Reg::R0, 16);
    code.op_value(Op::ShiftRight, Reg::R0, 16);
    add(code, LATENCY_SUM, Reg::R0);
    code.load(Size::Double, Reg::R1, Reg::R7, word(LATENCY_MIN));
    code.jump_if(If::GreaterOrEqual, Reg::R0, Reg::R1, not_less);
    code.store(Size::Double, Reg::R7, word(LATENCY_MIN), Reg::R0);
    code.place(not_less);
    code.load(Size::Double, Reg::R1, Reg::R7, word(LATENCY_MAX));
    code.jump_if(If::LessOrEqual, Reg::R0, Reg::R1, not_more);
    code.store(Size::Double, Reg::R7, word(LATENCY_MAX), Reg::R0);
    code.place(not_more);
}

/// R0 = the value in `map` at the key on the stack. Changes R1 to R5.
fn look_up(code: &mut Assembler, map: &Map) {
    code.set_map(Reg::R1, map);
    code.op(Op::Mov, Reg::R2, Reg::R10);
    code.op_value(Op::Add, Reg::R2, KEY.into());
    code.call(Helper::MapLookup);
}

/// Adds one to a counter; changes R1.
fn count(code: &mut Assembler, counter: usize) {
    code.load(Size::Double, Reg::R1, Reg::R7, word(counter));
    code.op_value(Op::Add, Reg::R1, 1);
    code.store(Size::Double, Reg::R7, word(counter), Reg::R1);
}

/// Adds a register to a counter; changes R3.
fn add(code: &mut Assembler, counter: usize, value: Reg) {
    code.load(Size::Double, Reg::R3, Reg::R7, word(counter));
    code.op(Op::Add, Reg::R3, value);
    code.store(Size::Double, Reg::R7, word(counter), Reg::R3);
}

fn word(index: usize) -> i16 {
    (index * 8) as i16
}

const FRAMES: usize = 0;
const BYTES: usize = 1;
const REORDERED: usize = 2;
const DUPLICATES: usize = 3;
const NEXT: usize = 4;
const UNCHECKED: usize = 5;
const OTHERS: usize = 6;
const LATENCY_MIN: usize = 7;
const LATENCY_MAX: usize = 8;
const LATENCY_SUM: usize = 9;
const COUNTERS: usize = 10;
/// Where on the stack a key is.
const KEY: i16 = -8;
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;
/// A thousand million numbers in 128 MiB.
const MOST_WORDS: u64 = 1 << 24;

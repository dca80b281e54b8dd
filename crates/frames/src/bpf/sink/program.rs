//! The program that counts: it recognises the trial's frames, and updates the counters of each.

use super::{KEY, add, recognise, times};
use crate::FrameSpec;
use crate::bpf::Map;
use crate::bpf::assembler::{Assembler, If, Op, Reg, Size, XDP_DROP, XDP_PASS, word};

/// The maps that a program shares with its sink.
#[derive(Debug)]
pub(super) struct Maps {
    /// For each CPU, the words below.
    pub(super) counters: Map,
    /// A bit for each number.
    pub(super) observed: Map,
    /// Present when times are recorded too.
    pub(super) times: Option<times::Maps>,
}

/// Registers: R6 the frame, R7 the counters, R8 its end and then its number.
pub(super) fn program(spec: &FrameSpec, maps: &Maps) -> Assembler {
    let mut code = Assembler::default();
    let (pass, other) = (code.label(), code.label());
    let payload = spec.offsets().payload;
    code.load(Size::Word, Reg::R6, Reg::R1, 0);
    code.load(Size::Word, Reg::R8, Reg::R1, 4);
    code.store_value(Size::Word, Reg::R10, KEY, 0);
    code.look_up(&maps.counters, KEY);
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
    judge_duplicate(&mut code, &maps.observed);
    if let Some(maps) = &maps.times {
        times::take(&mut code, maps, spec.is_timed().then_some(payload));
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
fn judge_duplicate(code: &mut Assembler, observed: &Map) {
    let (beyond, done) = (code.label(), code.label());
    code.op(Op::Mov, Reg::R1, Reg::R8);
    code.op_value(Op::ShiftRight, Reg::R1, 6);
    code.set(Reg::R2, observed.entries().into());
    code.jump_if(If::GreaterOrEqual, Reg::R1, Reg::R2, beyond);
    code.store(Size::Word, Reg::R10, KEY, Reg::R1);
    code.look_up(observed, KEY);
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

/// Adds one to a counter; changes R1.
fn count(code: &mut Assembler, counter: usize) {
    code.load(Size::Double, Reg::R1, Reg::R7, word(counter));
    code.op_value(Op::Add, Reg::R1, 1);
    code.store(Size::Double, Reg::R7, word(counter), Reg::R1);
}

pub(super) const FRAMES: usize = 0;
pub(super) const BYTES: usize = 1;
pub(super) const REORDERED: usize = 2;
pub(super) const DUPLICATES: usize = 3;
const NEXT: usize = 4;
pub(super) const UNCHECKED: usize = 5;
pub(super) const OTHERS: usize = 6;

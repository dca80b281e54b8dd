//! Frames made in the kernel: a program that writes each frame's headers, holds it back until it is due, and sends it.
//!
//! The kernel passes a program the same pages again, with the changes that a router made the last time (Ethernet addresses, a
//! smaller hop limit), so every header is written for every frame. A call costs some 30 ms besides its frames, so the pace is
//! kept inside the program, and one call is made for a whole trial.

use super::assembler::{Assembler, Helper, If, Label, Op, Reg, Size, XDP_DROP, word};
use super::{Map, Program};
use crate::stop::timer::Interrupts;
use crate::{Burst, FrameSpec, Sent, Source, Stop, fit};
use linux::clock::mono_now;
use linux::error::{Named, Result};
use packet::frame::{DESTINATION_PORTS, Offsets, PortRange, SCATTER, SOURCE_PORTS, TIMED, Template, UNTIMED};
use packet::header::FCS;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use units::Nanos;
use units::time::MonoTime;

/// Sends test frames out of one interface.
#[derive(Debug)]
pub struct Generator {
    program: Program,
    state: Map,
    /// Holds the lengths of a mix, which the program reads.
    _lengths: Option<Map>,
    frame: Vec<u8>,
}

impl Generator {
    /// Frames out of the interface with this index, in the network namespace of the thread that will run it.
    ///
    /// # Errors
    /// When a size or address is not valid, or the kernel refuses: `EPERM` without `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    pub fn new(spec: &FrameSpec, interface: u32) -> Result<Generator> {
        let template = fit::template(spec)?;
        if template.bytes.len() > MOST {
            let why = "the kernel makes no live frames above 3200 bytes";
            return fit::refuse("make live frames of", format!("{} bytes", template.bytes.len() + FCS), why);
        }
        let state = Map::array("generator", STATE_WORDS, 1)?;
        let lengths = if spec.is_mixed() { Some(lengths_of(spec)?) } else { None };
        let code = program(spec, &template, &state, lengths.as_ref(), interface);
        let program = Program::load_xdp("pm_generator", code)?;
        Ok(Generator { program, state, _lengths: lengths, frame: template.bytes })
    }

    /// Without a pace every run of the program sends a frame, so that the call ends by itself.
    fn repeat(&self, burst: &Burst) -> Result<u32> {
        if burst.interval_ps > 0 || burst.then.is_some() {
            return Ok(CALL_FRAMES);
        }
        let left = burst.frames - self.state.read(0)?[SENT];
        Ok(u32::try_from(left).unwrap_or(CALL_FRAMES))
    }

    /// Runs the program until all frames are sent, all runs are made or it is interrupted. The kernel goes on when nothing is
    /// left to send: from `due` on a second thread checks, and interrupts it.
    fn call(&self, burst: &Burst, due: MonoTime, interrupts: &Interrupts<'_>) -> Result<()> {
        let (ended, frames) = (AtomicBool::new(false), burst.all_frames());
        let is_over = || ended.load(Ordering::Acquire);
        let watch = || {
            while !is_over() && mono_now() < due {
                thread::park_timeout((due - mono_now()).to_duration());
            }
            while !is_over() {
                // A thread that cannot read the state does not wait for the frames that are still due.
                if self.state.read(0).map_or(true, |state| state[SENT] >= frames) {
                    interrupts.begin();
                    return;
                }
                thread::park_timeout(LOOK.to_duration());
            }
        };
        thread::scope(|scope| {
            let watcher = thread::Builder::new().name("pm-watch".into()).spawn_scoped(scope, watch);
            let watcher = watcher.named("start", || "a thread that watches the frames sent".into())?;
            let batch = if waits(burst) { SMALL_BATCH } else { BATCH };
            let repeat = self.repeat(burst);
            let ran = repeat.and_then(|repeat| self.program.run_live(&self.frame, repeat, batch));
            ended.store(true, Ordering::Release);
            watcher.thread().unpark();
            ran
        })
    }
}

impl Source for Generator {
    /// A driver that has no XDP frames at its other end drops them without an error: on a veth pair the peer must have an XDP
    /// program in its driver, or GRO on. `EINVAL` before Linux 5.18.
    fn run(&mut self, burst: &Burst, stop: &Stop) -> Result<Sent> {
        let frames = burst.all_frames();
        if frames == 0 {
            return Ok(Sent::default());
        }
        self.state.write(0, &state(burst))?;
        // The first frame is sent some milliseconds after the call.
        let begin = mono_now() + START;
        let end = begin + burst.time;
        let due = begin + burst.needs().min(burst.time);
        let mut gaps = 0;
        loop {
            let interrupts = Interrupts::from(end, stop)?;
            if !stop.is_raised() {
                self.call(burst, due, &interrupts)?;
            }
            drop(interrupts);
            let state = self.state.read(0)?;
            if state[SENT] >= frames || mono_now() >= end || stop.is_raised() {
                let time = Nanos(state[LAST].saturating_sub(state[START_TIME]));
                let late = if burst.interval_ps > 0 { Nanos(state[LATE] / 1000) } else { Nanos::ZERO };
                return Ok(Sent {
                    frames: state[SENT],
                    time,
                    late,
                    held: Nanos(state[HELD] / 1000).min(time),
                    gaps,
                });
            }
            gaps += 1;
        }
    }
}

/// The state before the first frame.
fn state(burst: &Burst) -> [u64; STATE_WORDS] {
    let mut state = [0; STATE_WORDS];
    state[INTERVAL] = burst.interval_ps;
    state[FRAMES] = burst.all_frames();
    state[LIMIT] = burst.time.0;
    state[CHANGE] = if burst.then.is_some() { burst.frames } else { u64::MAX };
    state[THEN] = burst.then.map_or(0, |pace| pace.interval_ps);
    state[WAITS] = waits(burst).into();
    state[ALLOWANCE] = burst.allowance_ps();
    state
}

/// Whether frames are so far apart that a run may wait for the next.
fn waits(burst: &Burst) -> bool {
    burst.interval_ps.min(burst.then.map_or(u64::MAX, |pace| pace.interval_ps)) >= FAR_APART
}

fn lengths_of(spec: &FrameSpec) -> Result<Map> {
    let map = Map::array("lengths", 1, spec.sizes.len() as u32)?;
    for (index, length) in spec.lengths().enumerate() {
        map.write(index as u32, &[length as u64])?;
    }
    Ok(map)
}

/// Registers: R6 the frame, R7 the state, R8 the time, R9 the sequence number; on the stack the context and, of a mix, the
/// frame's length.
fn program(
    spec: &FrameSpec,
    template: &Template,
    state: &Map,
    lengths: Option<&Map>,
    interface: u32,
) -> Assembler {
    let mut code = Assembler::default();
    let drop = code.label();
    code.store(Size::Double, Reg::R10, CONTEXT, Reg::R1);
    when_due(&mut code, state, drop);
    if let Some(lengths) = lengths {
        cut(&mut code, lengths, template.bytes.len(), drop);
    }
    let payload = spec.offsets().payload;
    let signature = if spec.is_timed() { TIMED } else { UNTIMED };
    code.load(Size::Double, Reg::R1, Reg::R10, CONTEXT);
    code.load(Size::Word, Reg::R6, Reg::R1, 0);
    code.load(Size::Word, Reg::R2, Reg::R1, 4);
    code.op(Op::Mov, Reg::R3, Reg::R6);
    code.op_value(Op::Add, Reg::R3, (payload + signature) as i32);
    code.jump_if(If::Greater, Reg::R3, Reg::R2, drop);
    write_headers(&mut code, &template.bytes[..payload + 4]);
    code.op_value(Op::Mov, Reg::R5, template.udp_sum.into());
    if lengths.is_some() {
        write_lengths(&mut code, spec, template);
    }
    write_changing(&mut code, spec);
    count(&mut code);
    code.op_value(Op::Mov, Reg::R1, interface as i32);
    code.op_value(Op::Mov, Reg::R2, 0);
    code.call(Helper::Redirect);
    code.exit();
    code.place(drop);
    code.op_value(Op::Mov, Reg::R0, XDP_DROP);
    code.exit();
    code
}

/// Counts the frame that is sent, and computes when the next one is due.
fn count(code: &mut Assembler) {
    let same = code.label();
    code.load(Size::Double, Reg::R1, Reg::R7, word(DUE));
    code.load(Size::Double, Reg::R2, Reg::R7, word(INTERVAL));
    code.load(Size::Double, Reg::R3, Reg::R7, word(CHANGE));
    code.jump_if(If::Less, Reg::R9, Reg::R3, same);
    code.load(Size::Double, Reg::R2, Reg::R7, word(THEN));
    code.place(same);
    code.op(Op::Add, Reg::R1, Reg::R2);
    code.store(Size::Double, Reg::R7, word(DUE), Reg::R1);
    code.op_value(Op::Add, Reg::R9, 1);
    code.store(Size::Double, Reg::R7, word(SENT), Reg::R9);
    code.store(Size::Double, Reg::R7, word(LAST), Reg::R8);
}

/// Shortens the frame, which arrives at the mix's full length, to its length in the sequence.
fn cut(code: &mut Assembler, lengths: &Map, longest: usize, drop: Label) {
    code.op(Op::Mov, Reg::R1, Reg::R9);
    code.op_value(Op::Mod, Reg::R1, lengths.entries() as i32);
    code.store(Size::Word, Reg::R10, KEY, Reg::R1);
    code.look_up(lengths, KEY);
    code.jump_if_value(If::Equal, Reg::R0, 0, drop);
    code.load(Size::Double, Reg::R2, Reg::R0, 0);
    code.store(Size::Double, Reg::R10, LENGTH, Reg::R2);
    code.op_value(Op::Sub, Reg::R2, longest as i32);
    code.load(Size::Double, Reg::R1, Reg::R10, CONTEXT);
    code.call(Helper::AdjustTail);
    code.jump_if_value(If::NotEqual, Reg::R0, 0, drop);
}

/// Writes the lengths in the headers of IP and UDP, and IPv4's checksum.
fn write_lengths(code: &mut Assembler, spec: &FrameSpec, template: &Template) {
    let Offsets { packet, ip, udp, .. } = spec.offsets();
    code.load(Size::Double, Reg::R4, Reg::R10, LENGTH);
    let length_from = |code: &mut Assembler, start: usize| {
        code.op(Op::Mov, Reg::R2, Reg::R4);
        code.op_value(Op::Sub, Reg::R2, start as i32);
    };
    // The length is once in UDP's header, and once in the pseudo-header of its checksum.
    length_from(code, udp);
    write_summed(code, Size::Half, udp + 4);
    code.op(Op::Add, Reg::R5, Reg::R2);
    if spec.is_ipv6() {
        code.store(Size::Half, Reg::R6, (ip + 4) as i16, Reg::R2);
        return;
    }
    code.store(Size::Double, Reg::R10, UDP_SUM, Reg::R5);
    code.op_value(Op::Mov, Reg::R5, template.ip_sum.into());
    length_from(code, ip);
    write_summed(code, Size::Half, ip + 2);
    if packet < ip {
        code.store(Size::Half, Reg::R6, (packet + 4) as i16, Reg::R2);
    }
    fold(code);
    code.store(Size::Half, Reg::R6, (ip + 10) as i16, Reg::R5);
    code.load(Size::Double, Reg::R5, Reg::R10, UDP_SUM);
}

/// Continues only when the next frame is due and wanted. Where frames are far apart it reads the clock several times in one run,
/// as the runs of a call are limited.
fn when_due(code: &mut Assembler, state: &Map, drop: Label) {
    let (started, due) = (code.label(), code.label());
    code.set_map_value(Reg::R7, state);
    code.call(Helper::Time);
    code.op(Op::Mov, Reg::R8, Reg::R0);
    code.load(Size::Double, Reg::R1, Reg::R7, word(START_TIME));
    code.jump_if_value(If::NotEqual, Reg::R1, 0, started);
    code.store(Size::Double, Reg::R7, word(START_TIME), Reg::R8);
    code.op(Op::Mov, Reg::R1, Reg::R8);
    code.place(started);
    code.load(Size::Double, Reg::R9, Reg::R7, word(SENT));
    code.load(Size::Double, Reg::R2, Reg::R7, word(FRAMES));
    code.jump_if(If::GreaterOrEqual, Reg::R9, Reg::R2, drop);
    for look in 0..LOOKS {
        if look > 0 {
            code.call(Helper::Time);
            code.op(Op::Mov, Reg::R8, Reg::R0);
            code.load(Size::Double, Reg::R1, Reg::R7, word(START_TIME));
        }
        code.op(Op::Mov, Reg::R3, Reg::R8);
        code.op(Op::Sub, Reg::R3, Reg::R1);
        code.load(Size::Double, Reg::R4, Reg::R7, word(LIMIT));
        code.jump_if(If::Greater, Reg::R3, Reg::R4, drop);
        code.op_value(Op::Mul, Reg::R3, 1000);
        code.load(Size::Double, Reg::R5, Reg::R7, word(DUE));
        code.jump_if(If::GreaterOrEqual, Reg::R3, Reg::R5, due);
        if look == 0 {
            code.load(Size::Double, Reg::R1, Reg::R7, word(WAITS));
            code.jump_if_value(If::Equal, Reg::R1, 0, drop);
        }
    }
    code.jump(drop);
    code.place(due);
    let not_later = code.label();
    code.op(Op::Sub, Reg::R3, Reg::R5);
    code.load(Size::Double, Reg::R1, Reg::R7, word(LATE));
    code.jump_if(If::LessOrEqual, Reg::R3, Reg::R1, not_later);
    code.store(Size::Double, Reg::R7, word(LATE), Reg::R3);
    code.place(not_later);
    // The frame was delayed for too long: it is due now, and those after it follow at their pace.
    let kept = code.label();
    code.load(Size::Double, Reg::R1, Reg::R7, word(ALLOWANCE));
    code.jump_if(If::LessOrEqual, Reg::R3, Reg::R1, kept);
    code.load(Size::Double, Reg::R1, Reg::R7, word(HELD));
    code.op(Op::Add, Reg::R1, Reg::R3);
    code.store(Size::Double, Reg::R7, word(HELD), Reg::R1);
    code.op(Op::Add, Reg::R5, Reg::R3);
    code.store(Size::Double, Reg::R7, word(DUE), Reg::R5);
    code.place(kept);
}

/// Writes the first bytes of the template, four at a time.
fn write_headers(code: &mut Assembler, headers: &[u8]) {
    for (index, part) in headers.chunks(4).enumerate() {
        let at = (index * 4) as i16;
        match *part {
            [a, b, c, d] => {
                code.store_value(Size::Word, Reg::R6, at, i32::from_ne_bytes([a, b, c, d]));
            }
            [a, b] => code.store_value(Size::Half, Reg::R6, at, u16::from_ne_bytes([a, b]).into()),
            _ => unreachable!("headers of Ethernet, IP and UDP and a tag are an even number of bytes"),
        }
    }
}

/// Writes ports, signature and UDP checksum, whose sum so far is in R5.
fn write_changing(code: &mut Assembler, spec: &FrameSpec) {
    let Offsets { udp, payload, .. } = spec.offsets();
    if spec.ports.is_none() {
        code.set(Reg::R1, SCATTER);
        code.op(Op::Mul, Reg::R1, Reg::R9);
        for (at, PortRange { shift, first, count }) in [(udp, SOURCE_PORTS), (udp + 2, DESTINATION_PORTS)] {
            code.op(Op::Mov, Reg::R2, Reg::R1);
            code.op_value(Op::ShiftRight, Reg::R2, shift as i32);
            code.op_value(Op::And, Reg::R2, 0xffff);
            code.op_value(Op::Mul, Reg::R2, count as i32);
            code.op_value(Op::ShiftRight, Reg::R2, 16);
            code.op_value(Op::Add, Reg::R2, first.into());
            write_summed(code, Size::Half, at);
        }
    }
    code.op(Op::Mov, Reg::R2, Reg::R9);
    write_summed(code, Size::Double, payload + 4);
    if spec.is_timed() {
        code.op(Op::Mov, Reg::R2, Reg::R8);
        code.op_value(Op::ShiftRight, Reg::R2, 16);
        write_summed(code, Size::Word, payload + 12);
        code.op(Op::Mov, Reg::R2, Reg::R8);
        write_summed(code, Size::Half, payload + 16);
    }
    let done = code.label();
    fold(code);
    // A checksum of zero would mean that there is none.
    code.jump_if_value(If::NotEqual, Reg::R5, 0, done);
    code.op_value(Op::Mov, Reg::R5, 0xffff);
    code.place(done);
    code.store(Size::Half, Reg::R6, (udp + 6) as i16, Reg::R5);
}

/// Turns the sum in R5 into a checksum: folded to 16 bits and complemented. Changes R1.
fn fold(code: &mut Assembler) {
    for _ in 0..3 {
        code.op(Op::Mov, Reg::R1, Reg::R5);
        code.op_value(Op::ShiftRight, Reg::R1, 16);
        code.op_value(Op::And, Reg::R5, 0xffff);
        code.op(Op::Add, Reg::R5, Reg::R1);
    }
    code.op_value(Op::Xor, Reg::R5, 0xffff);
}

/// Writes R2 in network order, and adds it to the sum in R5. Changes R2 and R3.
fn write_summed(code: &mut Assembler, size: Size, at: usize) {
    code.to_network(size, Reg::R2);
    code.store(size, Reg::R6, at as i16, Reg::R2);
    code.op(Op::Mov, Reg::R3, Reg::R2);
    code.op_value(Op::ShiftRight, Reg::R3, 32);
    code.op(Op::Add, Reg::R5, Reg::R3);
    code.op_value(Op::ShiftLeft, Reg::R2, 32);
    code.op_value(Op::ShiftRight, Reg::R2, 32);
    code.op(Op::Add, Reg::R5, Reg::R2);
}

const START_TIME: usize = 0;
const INTERVAL: usize = 1;
const FRAMES: usize = 2;
const SENT: usize = 3;
const LIMIT: usize = 4;
const LAST: usize = 5;
/// The most that a frame was late, in picoseconds.
const LATE: usize = 6;
/// When the next frame is due, in picoseconds after the first.
const DUE: usize = 7;
/// The number of the first frame after which the second interval applies, and that interval.
const CHANGE: usize = 8;
const THEN: usize = 9;
/// Whether a run may wait.
const WAITS: usize = 10;
/// The delay of a frame that does not move the schedule, and the total by which it was moved, in picoseconds.
const ALLOWANCE: usize = 11;
const HELD: usize = 12;
const STATE_WORDS: usize = 13;
/// Offsets on the stack.
const CONTEXT: i16 = -8;
const LENGTH: i16 = -16;
const UDP_SUM: i16 = -24;
const KEY: i16 = -32;
/// Runs of the program in one call: some five minutes, and where runs wait twenty.
const CALL_FRAMES: u32 = u32::MAX;
/// Readings of the clock in a run that waits.
const LOOKS: usize = 8;
/// Picoseconds between frames from which on runs wait: two million frames per second.
const FAR_APART: u64 = 500_000;
/// Runs after which the kernel sends their frames: its default, and a number that takes no longer when they wait.
const BATCH: u32 = 64;
const SMALL_BATCH: u32 = 8;
/// Time between two checks whether all frames are sent, once they should be.
const LOOK: Nanos = Nanos::from_millis(2);
/// Latest start of the first frame.
const START: Nanos = Nanos::from_millis(100);
/// A page less headroom, the kernel's own notes and the tail of a socket buffer.
const MOST: usize = 3196;

//! Counting where frames arrive: a program in the driver that recognises a trial's frames by their tag, counts them and drops
//! them. All other frames go on to the stack.

mod program;
mod times;

use super::assembler::{Assembler, If, Label, Op, Reg, Size, word};
use super::{Attached, Map, Mode, Program};
use crate::{Arrived, FrameSpec, Sink, Watch};
use crate::{absent, words_for};
use linux::error::Result;
use model::dut::SinkKind;
use packet::Ip;
use packet::frame::{Offsets, TIMED, UNTIMED};
use packet::header::{TYPE_VLAN, VERSION_IPV4};
use program::{BYTES, DUPLICATES, FRAMES, Maps, OTHERS, REORDERED, UNCHECKED, program};

/// Counts one trial's frames on one interface.
#[derive(Debug)]
pub struct XdpSink {
    maps: Maps,
    /// Whether frames carry their time.
    timed: bool,
    mode: Mode,
    _program: Program,
    _attached: Attached,
}

impl XdpSink {
    /// Begins to count the frames of `spec` on the interface with this index in the caller's network namespace, with a record of
    /// the arrival of each number below `frames`.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`; `EBUSY` when the interface has an XDP program; `EOPNOTSUPP`
    /// when its driver has no such mode.
    pub fn attach(
        spec: &FrameSpec,
        frames: u64,
        watch: Watch,
        interface: u32,
        mode: Mode,
    ) -> Result<XdpSink> {
        let counters = Map::per_cpu_array("counters", times::WORDS, 1)?;
        let mut zero = [0; times::WORDS];
        times::zero(&mut zero);
        counters.write(0, &zero)?;
        let observed = Map::array("observed", 1, words_for(frames) as u32)?;
        let times = (watch == Watch::Times).then(times::Maps::new).transpose()?;
        let maps = Maps { counters, observed, times };
        let program = Program::load_xdp("pm_sink", program(spec, &maps))?;
        let attached = program.attach_xdp(interface, mode)?;
        Ok(XdpSink { maps, timed: spec.is_timed(), mode, _program: program, _attached: attached })
    }
}

impl Sink for XdpSink {
    fn kind(&self) -> SinkKind {
        match self.mode {
            Mode::Driver => SinkKind::Xdp,
            Mode::Generic => SinkKind::XdpGeneric,
        }
    }

    fn arrived(&self) -> Result<Arrived> {
        let value = self.maps.counters.read(0)?;
        let cpus: Vec<&[u64]> = self.maps.counters.copies(&value).collect();
        let sum = |index: usize| cpus.iter().map(|cpu| cpu[index]).sum::<u64>();
        let times = self.maps.times.as_ref();
        let timed = times.filter(|_| self.timed);
        Ok(Arrived {
            frames: sum(FRAMES),
            bytes: sum(BYTES),
            duplicates: sum(DUPLICATES),
            reordered: sum(REORDERED),
            unchecked: sum(UNCHECKED),
            others: sum(OTHERS),
            delays: timed.map(|times| times.delays(&cpus)).transpose()?,
            variation: timed.map(|times| times.variation(&cpus)).transpose()?,
            silence: times.and_then(|_| times::silence(&cpus)),
        })
    }

    fn last_missing(&self, frames: u64) -> Result<Option<u64>> {
        let entries = frames.div_ceil(64).min(self.maps.observed.entries().into()) as u32;
        for index in (0..entries).rev() {
            let mut absent = absent(index.into(), self.maps.observed.read(index)?[0]);
            if let Some(last) = absent.rfind(|number| *number < frames) {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }
}

/// Continues only with a frame of this trial, which is in R6 and ends at R8. Changes R1 and R2.
pub(crate) fn recognise(code: &mut Assembler, spec: &FrameSpec, other: Label) {
    let Offsets { packet, ip, payload, .. } = spec.offsets();
    let needed = payload + if spec.is_timed() { TIMED } else { UNTIMED };
    code.op(Op::Mov, Reg::R1, Reg::R6);
    code.op_value(Op::Add, Reg::R1, needed as i32);
    code.jump_if(If::Greater, Reg::R1, Reg::R8, other);
    // Protocol, header length and next header: with other values the payload is elsewhere.
    let field = |from: usize| (ip + from) as i16;
    if spec.vlan.is_some() {
        code.load(Size::Half, Reg::R1, Reg::R6, 12);
        code.jump_if_value(If::NotEqual, Reg::R1, TYPE_VLAN.to_be().into(), other);
    }
    code.load(Size::Half, Reg::R1, Reg::R6, packet as i16 - 2);
    code.jump_if_value(If::NotEqual, Reg::R1, spec.ether_type().to_be().into(), other);
    if packet < ip {
        code.load(Size::Byte, Reg::R1, Reg::R6, packet as i16 + 6);
        code.jump_if_value(If::NotEqual, Reg::R1, Ip::IPV4.into(), other);
    }
    let protocol = field(if spec.is_ipv6() { 6 } else { 9 });
    code.load(Size::Byte, Reg::R1, Reg::R6, protocol);
    code.jump_if_value(If::NotEqual, Reg::R1, Ip::UDP.into(), other);
    if !spec.is_ipv6() {
        code.load(Size::Byte, Reg::R1, Reg::R6, field(0));
        code.jump_if_value(If::NotEqual, Reg::R1, VERSION_IPV4.into(), other);
    }
    code.load(Size::Word, Reg::R1, Reg::R6, payload as i16);
    code.set(Reg::R2, spec.tag.to_be().into());
    code.jump_if(If::NotEqual, Reg::R1, Reg::R2, other);
}

/// Adds a register to a counter; changes R3.
fn add(code: &mut Assembler, counter: usize, value: Reg) {
    code.load(Size::Double, Reg::R3, Reg::R7, word(counter));
    code.op(Op::Add, Reg::R3, value);
    code.store(Size::Double, Reg::R7, word(counter), Reg::R3);
}

/// Counters of times begin here.
const TIMES: usize = 7;
/// Offset of a key on the stack.
const KEY: i16 = -8;

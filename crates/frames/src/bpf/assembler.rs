//! Instructions of eBPF (RFC 9669), with labels for jumps.

use super::Map;
use std::fmt::{Display, Formatter};
use std::os::fd::AsRawFd;

/// A register. `R1` to `R5` are arguments and lost in a call, `R0` is the return value, `R10` is the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "they are numbered, and have no other names")]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// The width of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Size {
    /// Four bytes.
    Word = 0x00,
    /// Two bytes.
    Half = 0x08,
    /// One byte.
    Byte = 0x10,
    /// Eight bytes.
    Double = 0x18,
}

/// Arithmetic on 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the operation it names")]
pub enum Op {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Mod = 0x90,
    Xor = 0xa0,
    Mov = 0xb0,
}

/// When a jump is taken; comparisons are of unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the comparison it names")]
pub enum If {
    Equal = 0x10,
    Greater = 0x20,
    GreaterOrEqual = 0x30,
    NotEqual = 0x50,
    Less = 0xa0,
    LessOrEqual = 0xb0,
}

/// A function of the kernel (bpf-helpers(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Helper {
    /// `R1` map, `R2` pointer to the key: pointer to the value, or zero.
    MapLookup = 1,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    Time = 5,
    /// `R1` index of an interface, `R2` flags: what an XDP program returns to send the frame there.
    Redirect = 23,
    /// `R1` map of sockets, `R2` index, `R3` return value when there is no socket: what an XDP program returns to hand the frame
    /// to the socket.
    RedirectMap = 51,
    /// `R1` context of an XDP program, `R2` bytes by which its frame grows, negative for shrinks; pointers into the frame
    /// are lost.
    AdjustTail = 65,
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// One instruction in the kernel's encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Why a program cannot be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// A jump leads to a label that was never placed.
    #[error("assemble: a label is jumped to and never placed")]
    NoLabel,
    /// A jump is longer than 32767 instructions.
    #[error("assemble: a jump is too long")]
    TooFar,
}

/// A program being written.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// A new label, not placed yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// `to = to op from`.
    pub fn op(&mut self, op: Op, to: Reg, from: Reg) {
        self.push(ALU64 | REGISTER | op as u8, to, from, 0, 0);
    }

    /// `to = to op value`; the value is extended with its sign.
    pub fn op_value(&mut self, op: Op, to: Reg, value: i32) {
        self.push(ALU64 | op as u8, to, Reg::R0, 0, value);
    }

    /// `to = value`, all 64 bits.
    pub fn set(&mut self, to: Reg, value: u64) {
        self.wide(to, 0, value as u32, (value >> 32) as u32);
    }

    /// `to =` a map, as helpers take it.
    pub fn set_map(&mut self, to: Reg, map: &Map) {
        self.wide(to, PSEUDO_MAP, map.as_raw_fd() as u32, 0);
    }

    /// `to =` address of the first value of an array map.
    pub fn set_map_value(&mut self, to: Reg, map: &Map) {
        self.wide(to, PSEUDO_MAP_VALUE, map.as_raw_fd() as u32, 0);
    }

    /// `to =` memory at `base + offset`.
    pub fn load(&mut self, size: Size, to: Reg, base: Reg, offset: i16) {
        self.push(LDX | MEMORY | size as u8, to, base, offset, 0);
    }

    /// Memory at `base + offset` `= from`.
    pub fn store(&mut self, size: Size, base: Reg, offset: i16, from: Reg) {
        self.push(STX | MEMORY | size as u8, base, from, offset, 0);
    }

    /// Memory at `base + offset` `= value`.
    pub fn store_value(&mut self, size: Size, base: Reg, offset: i16, value: i32) {
        self.push(ST | MEMORY | size as u8, base, Reg::R0, offset, value);
    }

    /// Eight bytes at `base + offset` `|= bits`, atomically for all CPUs; `bits` becomes the previous value.
    pub fn fetch_or(&mut self, base: Reg, offset: i16, bits: Reg) {
        self.push(STX | ATOMIC | Size::Double as u8, base, bits, offset, Op::Or as i32 | FETCH);
    }

    /// Converts the lower bits of a register from the host's byte order to the network's, and clears the others. A single byte
    /// stays unchanged.
    pub fn to_network(&mut self, size: Size, register: Reg) {
        let bits = match size {
            Size::Byte => return,
            Size::Half => 16,
            Size::Word => 32,
            Size::Double => 64,
        };
        self.push(ALU32 | SWAP | REGISTER, register, Reg::R0, 0, bits);
    }

    /// Jumps always.
    pub fn jump(&mut self, to: Label) {
        self.branch(JUMP, Reg::R0, Reg::R0, 0, to);
    }

    /// Jumps when the condition holds for `left` and `right`.
    pub fn jump_if(&mut self, condition: If, left: Reg, right: Reg, to: Label) {
        self.branch(JUMP | REGISTER | condition as u8, left, right, 0, to);
    }

    /// Jumps when the condition holds for `left` and `value`.
    pub fn jump_if_value(&mut self, condition: If, left: Reg, value: i32, to: Label) {
        self.branch(JUMP | condition as u8, left, Reg::R0, value, to);
    }

    /// `R0 =` address of the value in a map whose key is on the stack at this offset, or zero. Changes `R1` to `R5`.
    pub fn look_up(&mut self, map: &Map, key: i16) {
        self.set_map(Reg::R1, map);
        self.op(Op::Mov, Reg::R2, Reg::R10);
        self.op_value(Op::Add, Reg::R2, key.into());
        self.call(Helper::MapLookup);
    }

    /// Calls a function of the kernel.
    pub fn call(&mut self, helper: Helper) {
        self.push(CALL, Reg::R0, Reg::R0, 0, helper as i32);
    }

    /// Returns `R0`.
    pub fn exit(&mut self) {
        self.push(EXIT, Reg::R0, Reg::R0, 0, 0);
    }

    /// The program, with all jumps resolved.
    ///
    /// # Errors
    /// When a label was never placed, or a jump is too long.
    pub fn finish(mut self) -> Result<Vec<Instruction>, AssembleError> {
        for (at, label) in &self.jumps {
            let to = self.labels[label.0].ok_or(AssembleError::NoLabel)?;
            let distance = to as i64 - *at as i64 - 1;
            self.code[*at].offset = i16::try_from(distance).map_err(|_| AssembleError::TooFar)?;
        }
        Ok(self.code)
    }

    fn branch(&mut self, code: u8, to: Reg, from: Reg, value: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(code, to, from, 0, value);
    }

    fn wide(&mut self, to: Reg, kind: u8, low: u32, high: u32) {
        let registers = to as u8 | kind << 4;
        self.code.push(Instruction { code: LOAD_WIDE, registers, offset: 0, immediate: low as i32 });
        self.code.push(Instruction { immediate: high as i32, ..Instruction::default() });
    }

    fn push(&mut self, code: u8, to: Reg, from: Reg, offset: i16, immediate: i32) {
        let registers = to as u8 | (from as u8) << 4;
        self.code.push(Instruction { code, registers, offset, immediate });
    }
}

impl Display for Instruction {
    /// Prints an instruction as the verifier prints an unknown one: code, registers, offset, immediate.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Instruction { code, registers, offset, immediate } = self;
        write!(f, "({code:02x}) r{} r{} {offset:+} {immediate}", registers & 15, registers >> 4)
    }
}

/// Offset of a word of a map's value.
pub(super) fn word(index: usize) -> i16 {
    (index * 8) as i16
}

/// Verdicts of an XDP program.
pub(crate) const XDP_DROP: i32 = 1;
pub(crate) const XDP_PASS: i32 = 2;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU32: u8 = 0x04;
const JUMP: u8 = 0x05;
const ALU64: u8 = 0x07;
const REGISTER: u8 = 0x08;
const MEMORY: u8 = 0x60;
const ATOMIC: u8 = 0xc0;
const SWAP: u8 = 0xd0;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LOAD_WIDE: u8 = 0x18;
const FETCH: i32 = 1;
const PSEUDO_MAP: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(instruction: Instruction) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[0] = instruction.code;
        bytes[1] = instruction.registers;
        bytes[2..4].copy_from_slice(&instruction.offset.to_le_bytes());
        bytes[4..].copy_from_slice(&instruction.immediate.to_le_bytes());
        bytes
    }

    /// Encodings of RFC 9669's tables, as `llvm-objdump` shows them on a little-endian host.
    #[test]
    fn instructions_are_encoded_as_the_kernel_reads_them() {
        let mut code = Assembler::default();
        let end = code.label();
        code.op_value(Op::Mov, Reg::R0, 2);
        code.op(Op::Add, Reg::R3, Reg::R4);
        code.load(Size::Word, Reg::R2, Reg::R1, 4);
        code.store(Size::Double, Reg::R10, -8, Reg::R6);
        code.store_value(Size::Half, Reg::R7, 12, 8);
        code.set(Reg::R1, 0x1122_3344_5566_7788);
        code.jump_if(If::Greater, Reg::R3, Reg::R2, end);
        code.to_network(Size::Word, Reg::R5);
        code.fetch_or(Reg::R0, 0, Reg::R4);
        code.call(Helper::Time);
        code.place(end);
        code.exit();
        let code: Vec<[u8; 8]> = code.finish().unwrap().into_iter().map(bytes).collect();
        assert_eq!(
            code,
            [
                [0xb7, 0x00, 0, 0, 2, 0, 0, 0],
                [0x0f, 0x43, 0, 0, 0, 0, 0, 0],
                [0x61, 0x12, 4, 0, 0, 0, 0, 0],
                [0x7b, 0x6a, 0xf8, 0xff, 0, 0, 0, 0],
                [0x6a, 0x07, 12, 0, 8, 0, 0, 0],
                [0x18, 0x01, 0, 0, 0x88, 0x77, 0x66, 0x55],
                [0x00, 0x00, 0, 0, 0x44, 0x33, 0x22, 0x11],
                [0x2d, 0x23, 3, 0, 0, 0, 0, 0],
                [0xdc, 0x05, 0, 0, 32, 0, 0, 0],
                [0xdb, 0x40, 0, 0, 0x41, 0, 0, 0],
                [0x85, 0x00, 0, 0, 5, 0, 0, 0],
                [0x95, 0x00, 0, 0, 0, 0, 0, 0],
            ]
        );
    }

    #[test]
    fn a_label_must_be_placed() {
        let mut code = Assembler::default();
        let nowhere = code.label();
        code.jump(nowhere);
        assert_eq!(code.finish(), Err(AssembleError::NoLabel));
        let mut code = Assembler::default();
        let far = code.label();
        code.jump(far);
        (0..40_000).for_each(|_| code.exit());
        code.place(far);
        assert_eq!(code.finish(), Err(AssembleError::TooFar));
    }
}

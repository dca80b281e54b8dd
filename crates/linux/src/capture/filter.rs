//! The filter of a capture, run by the kernel on each frame (`SO_ATTACH_FILTER`, socket(7)).

use super::{Opt, Result, set_raw};
use std::net::IpAddr;
use std::os::fd::AsFd;

/// Has the kernel run a filter.
pub(crate) fn attach(fd: &impl AsFd, program: &[libc::sock_filter]) -> Result<()> {
    let pointer = program.as_ptr() as usize;
    // `struct sock_fprog`: the count, and behind its padding the pointer.
    let mut head = [0; size_of::<libc::sock_fprog>()];
    head[..2].copy_from_slice(&u16::try_from(program.len()).expect("some tens").to_ne_bytes());
    head[size_of::<usize>()..].copy_from_slice(&pointer.to_ne_bytes());
    set_raw(fd, Opt(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, "SO_ATTACH_FILTER"), &head)
}

/// Lets pass `snap` bytes of what has this word so many bytes behind the beginning of its IP header.
pub fn of_word(at: u32, is: u32, snap: u32) -> Vec<libc::sock_filter> {
    let mut program = compile(&[word(at, is)], snap);
    program.push(instruction(RETURN, 0));
    program
}

/// A test of the program: what to load, what it must be.
#[derive(Clone, Copy)]
struct Test {
    load: u16,
    at: u32,
    mask: u32,
    is: u32,
}

/// Lets pass `snap` bytes of what comes from `peer` or goes to it, and of ICMP errors that quote a packet to it.
pub(super) fn of_peer(peer: IpAddr, snap: u32) -> Vec<libc::sock_filter> {
    // One row passes a frame when all its tests hold.
    let rows = match peer {
        IpAddr::V4(address) => {
            let is_peer = |at| vec![word(at, address.to_bits())];
            let icmp = |kind| [byte(0, 0xf0, 0x40), byte(9, 0xff, 1), byte(20, 0xff, kind)].to_vec();
            let version = vec![byte(0, 0xf0, 0x40)];
            let mut rows = vec![[version.clone(), is_peer(12)].concat(), [version, is_peer(16)].concat()];
            // Unreachable, time exceeded, parameter problem: the quoted packet's destination.
            rows.extend([3, 11, 12].map(|kind| [icmp(kind), is_peer(44)].concat()));
            rows
        }
        IpAddr::V6(address) => {
            let version = || vec![byte(0, 0xf0, 0x60)];
            let octets = address.octets();
            let address_at = |at: u32| {
                let quads = (0..).zip(octets.as_chunks::<4>().0);
                let test = |(i, quad): (u32, &[u8; 4])| word(at + i * 4, u32::from_be_bytes(*quad));
                quads.map(test).collect::<Vec<_>>()
            };
            // Errors have types below 128.
            let icmp = vec![byte(6, 0xff, 58), byte(40, 0x80, 0)];
            vec![
                [version(), address_at(8)].concat(),
                [version(), address_at(24)].concat(),
                [version(), icmp, address_at(72)].concat(),
            ]
        }
    };
    let mut program: Vec<_> = rows.iter().flat_map(|row| compile(row, snap)).collect();
    program.push(instruction(RETURN, 0));
    program
}

/// Load, mask, compare for each test, each failure going to the row's end; then the frame passes.
fn compile(row: &[Test], snap: u32) -> Vec<libc::sock_filter> {
    let last = row.len() - 1;
    let test = |(i, test): (usize, &Test)| {
        let behind = u8::try_from((last - i) * 3 + 1).expect("a row has few tests");
        [
            instruction(test.load, NETWORK.wrapping_add(test.at)),
            instruction(AND, test.mask),
            libc::sock_filter { code: EQUAL, jt: 0, jf: behind, k: test.is },
        ]
    };
    row.iter().enumerate().flat_map(test).chain([instruction(RETURN, snap)]).collect()
}

const fn byte(at: u32, mask: u32, is: u32) -> Test {
    Test { load: BYTE, at, mask, is }
}

const fn word(at: u32, is: u32) -> Test {
    Test { load: WORD, at, mask: u32::MAX, is }
}

const fn instruction(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

const WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const BYTE: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// `SKF_NET_OFF` (linux/filter.h): counted from the IP header, whatever the link puts before it. A load beyond the
/// packet's end ends the program and nothing passes.
const NETWORK: u32 = (-0x10_0000_i32).cast_unsigned();

//! Counting with `AF_XDP` sockets at all queues of an interface, to which a program hands the trial's frames.

use super::super::reader::{Reader, Receive};
use super::super::tally::{Taken, Tally};
use super::super::{FrameSpec, Watch, fit};
use super::memory::CHUNK;
use super::queue::{Consumer, Producer};
use super::socket::Socket;
use crate::bpf::assembler::{Assembler, Helper, Op, Reg, Size, XDP_PASS};
use crate::bpf::{Attached, Map, Mode, Program, recognise};
use linux::capture::Statistics;
use linux::error::Result;
use linux::netlink::Network;
use model::dut::SinkKind;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use units::time::MonoTime;

/// A sink that shares memory with the kernel, or with the driver where possible.
///
/// # Errors
/// The same as [`Socket::bind`]; also `EBUSY` when an XDP program is on the interface; when frames are longer than a chunk.
pub(crate) fn sink(spec: &FrameSpec, frames: u64, watch: Watch, interface: u32) -> Result<Reader> {
    fit::fits_chunk(fit::template(spec)?.bytes.len(), CHUNK - HEADROOM)?;
    let queues = open_queues(interface)?;
    let map = Map::of_sockets(queues.len() as u32)?;
    for (number, queue) in (0..).zip(&queues) {
        map.put(number, queue.socket.as_fd())?;
    }
    let program = Program::load_xdp("pm_xsk", program(spec, &map))?;
    let attached = match program.attach_xdp(interface, Mode::Driver) {
        Err(refused) if refused.is_unsupported() => program.attach_xdp(interface, Mode::Generic)?,
        attached => attached?,
    };
    let tally = Tally::new(spec, frames, watch, queues.len());
    let queues = Queues { queues, taken: 0, _attached: attached };
    Reader::start(SinkKind::Xsk, interface, Box::new(queues), tally)
}

/// The sockets, and the program that hands them frames.
struct Queues {
    queues: Vec<Queue>,
    taken: u64,
    _attached: Attached,
}

struct Queue {
    socket: Socket,
    rx: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
}

/// A socket at each queue that is in use.
fn open_queues(interface: u32) -> Result<Vec<Queue>> {
    let most = Network::open()?.link_by_index(interface)?.rx_queues.unwrap_or(1).clamp(1, MOST_QUEUES);
    let chunks = (ALL_CHUNKS / most.next_power_of_two()).clamp(LEAST_CHUNKS, MOST_CHUNKS);
    let mut queues = Vec::new();
    for number in 0..most {
        let socket = Socket::open(chunks)?;
        let (rx, fill) = socket.receiving()?;
        match socket.bind(interface, number, 0) {
            // There are fewer queues than the loop tries.
            Err(none) if number > 0 && none.errno() == Some(libc::EINVAL) => break,
            bound => bound?,
        }
        queues.push(Queue { socket, rx, fill });
    }
    Ok(queues)
}

impl Receive for Queues {
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(|queue| queue.socket.as_fd()).collect()
    }

    fn take(&mut self, tally: &mut Tally) -> io::Result<u64> {
        let mut taken = 0;
        for (queue_tally, Queue { socket, rx, fill }) in self.queues.iter_mut().enumerate() {
            let came = rx.take(|descriptor| {
                // SAFETY: the kernel gave this frame, and has the chunk again only when it is put on the fill ring.
                let bytes = unsafe { socket.umem.bytes(descriptor.addr, descriptor.len as usize) };
                let time = bytes.first_chunk().map_or(0, |time| u64::from_ne_bytes(*time));
                let (length, time) = (descriptor.len.into(), MonoTime(time));
                tally.count(&Taken { bytes, length, tag: None, is_joined: false, time, queue_tally });
                // The ring has as much room as there are chunks.
                fill.put(descriptor.addr - descriptor.addr % CHUNK as u64);
            });
            fill.submit();
            if came > 0 && fill.needs_wakeup() {
                socket.wake_receiving()?;
            }
            taken += u64::from(came);
        }
        self.taken += taken;
        Ok(taken)
    }

    fn statistics(&mut self) -> Result<Statistics> {
        let lost: Result<u64> = self.queues.iter().map(|queue| queue.socket.lost()).sum();
        let dropped = lost?;
        Ok(Statistics { frames: self.taken + dropped, dropped })
    }
}

/// Overwrites the addresses of each frame of the trial, which are no longer needed, with its time of arrival, and hands it to the
/// socket at its queue. Registers: R6 the frame, R8 its end, R9 the context.
fn program(spec: &FrameSpec, map: &Map) -> Assembler {
    let mut code = Assembler::default();
    let other = code.label();
    code.op(Op::Mov, Reg::R9, Reg::R1);
    code.load(Size::Word, Reg::R6, Reg::R1, 0);
    code.load(Size::Word, Reg::R8, Reg::R1, 4);
    recognise(&mut code, spec, other);
    code.call(Helper::Time);
    code.store(Size::Double, Reg::R6, 0, Reg::R0);
    code.set_map(Reg::R1, map);
    code.load(Size::Word, Reg::R2, Reg::R9, RECEIVE_QUEUE);
    code.op_value(Op::Mov, Reg::R3, XDP_PASS);
    code.call(Helper::RedirectMap);
    code.exit();
    code.place(other);
    code.op_value(Op::Mov, Reg::R0, XDP_PASS);
    code.exit();
    code
}

/// The place of `rx_queue_index` in `struct xdp_md`.
const RECEIVE_QUEUE: i16 = 16;
/// Bytes that the kernel reserves before each frame in its chunk.
const HEADROOM: usize = 256;
const MOST_QUEUES: u32 = 256;
/// Most chunks of a queue; of all queues 64 MiB, unless there are too many.
const MOST_CHUNKS: u32 = 8192;
const LEAST_CHUNKS: u32 = 1024;
const ALL_CHUNKS: u32 = 16_384;

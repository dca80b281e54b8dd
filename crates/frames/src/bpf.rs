//! eBPF without a C toolchain: an assembler, the bpf(2) system call, and two programs for frames below the sockets.
//!
//! [`Generator`] makes frames in the kernel (`BPF_PROG_TEST_RUN` with live frames), [`XdpSink`] counts and drops them in the
//! driver (XDP). Both need `CAP_BPF` and `CAP_NET_ADMIN`, or root.

pub mod assembler;
mod generator;
mod map;
mod program;
mod sink;
mod syscall;

pub use generator::Generator;
pub use map::Map;
pub use program::{Attached, Mode, Program};
pub use sink::XdpSink;
pub(crate) use sink::recognise;

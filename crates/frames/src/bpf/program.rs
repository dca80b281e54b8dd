//! Programs: loading, attaching to an interface, running with test frames.

use super::assembler::{Assembler, Instruction};
use super::syscall::{Command, LinkCreate, ProgramLoad, TestRun, bpf, bpf_fd};
use linux::error::{Named, OsError, Result};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// An XDP program that the kernel has verified.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    name: &'static str,
}

/// A program attached to an interface; dropping it detaches the program.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
}

/// The place where a program receives frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before there is a socket buffer.
    Driver,
    /// In the stack, with any driver; slower.
    Generic,
}

impl Program {
    /// Loads an XDP program.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`; otherwise the kernel's error, with the message of its verifier.
    pub fn load_xdp(name: &'static str, code: Assembler) -> Result<Program> {
        let code = code.finish().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error));
        let code = code.named("load BPF program", || name.into())?;
        let fd = load(name, &code, None).map_err(|refused| {
            // The program is loaded again with a log, which has the verifier's reason.
            let mut log = vec![0; LOG_SIZE];
            let again = load(name, &code, Some(&mut log));
            let message = if again.is_ok() { String::new() } else { tail(&log) };
            OsError::new("load BPF program", format!("{name}{message}"), refused)
        })?;
        Ok(Program { fd, name })
    }

    /// Attaches to the interface with this index, in the caller's network namespace.
    ///
    /// # Errors
    /// `EBUSY` when another program is there; `EOPNOTSUPP` when the driver has no such mode; `ENODEV` without the interface.
    pub fn attach_xdp(&self, interface: u32, mode: Mode) -> Result<Attached> {
        let flags = match mode {
            Mode::Generic => XDP_GENERIC,
            Mode::Driver => XDP_DRIVER,
        };
        let program = self.fd.as_raw_fd() as u32;
        let mut argument = LinkCreate { program, interface, kind: XDP_ATTACH, flags };
        // SAFETY: the structure of BPF_LINK_CREATE, without addresses.
        let link = unsafe { bpf_fd(Command::LinkCreate, &mut argument) };
        let object = || format!("{} to interface {interface}", self.name);
        Ok(Attached { _link: link.named("attach", object)? })
    }

    /// Runs with `repeat` frames that begin as `frame`, and applies the program's verdict to each; returns when all are done or a
    /// signal arrived. Frames are sent after each `batch` of runs, of which there are at most 256. A frame reaches the program as
    /// an earlier run left it: it is copied only into fresh memory.
    ///
    /// # Errors
    /// `EINVAL` when the frame is too short or too long for a page, or the kernel older than 5.18.
    pub fn run_live(&self, frame: &[u8], repeat: u32, batch: u32) -> Result<()> {
        let mut argument = TestRun {
            program: self.fd.as_raw_fd() as u32,
            size_in: frame.len() as u32,
            data_in: frame.as_ptr().expose_provenance() as u64,
            repeat,
            flags: LIVE_FRAMES,
            batch,
            ..TestRun::default()
        };
        // SAFETY: the kernel reads the stated length of `frame`, and writes to nothing but the argument.
        match unsafe { bpf(Command::ProgramTestRun, &mut argument) } {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            ran => ran.map(drop).named("run with live frames", || self.name.into()),
        }
    }
}

fn load(name: &str, code: &[Instruction], log: Option<&mut Vec<u8>>) -> io::Result<OwnedFd> {
    let mut argument = ProgramLoad {
        kind: XDP_PROGRAM,
        count: code.len() as u32,
        instructions: code.as_ptr().expose_provenance() as u64,
        licence: LICENCE.as_ptr().expose_provenance() as u64,
        ..ProgramLoad::default()
    };
    let shown = name.len().min(argument.name.len() - 1);
    argument.name[..shown].copy_from_slice(&name.as_bytes()[..shown]);
    if let Some(log) = log {
        argument.log_level = 1;
        argument.log_size = log.len() as u32;
        argument.log = log.as_mut_ptr().expose_provenance() as u64;
    }
    // SAFETY: instructions, licence and log live until the call returns and have the stated lengths; the licence ends in a zero.
    unsafe { bpf_fd(Command::ProgramLoad, &mut argument) }
}

/// The last lines of the verifier's log, which hold its reason.
fn tail(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines[lines.len().saturating_sub(LOG_LINES)..].join("; ");
    if shown.is_empty() { shown } else { format!(" (verifier: {shown})") }
}

/// None of the helpers called here requires the GPL.
const LICENCE: &[u8] = b"MIT\0";
const XDP_PROGRAM: u32 = 6;
const XDP_ATTACH: u32 = 37;
const XDP_GENERIC: u32 = 1 << 1;
const XDP_DRIVER: u32 = 1 << 2;
const LIVE_FRAMES: u32 = 1 << 1;
const LOG_SIZE: usize = 1 << 20;
const LOG_LINES: usize = 6;

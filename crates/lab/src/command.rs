//! Commands in a node: their limits, their output, and their end with the measurement.

use crate::error::LabError;
use crate::vm::VmProcess;
use linux::process::{Process, Signal, signal_group};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// End and output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The end of the command.
    pub end: Ended,
    /// Standard output, as far as it was kept.
    pub stdout: Vec<u8>,
    /// Standard error, as far as it was kept.
    pub stderr: Vec<u8>,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed, for its time was over.
    TimedOut,
}

impl Output {
    /// Whether it ended by itself and with 0.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.end == Ended::Code(0)
    }
}

/// A command that runs in a node; killed, with all of its process group, when this value is dropped.
#[derive(Debug)]
pub struct Running {
    node: String,
    started: Started,
}

/// Where it runs.
#[derive(Debug)]
enum Started {
    /// On this host.
    Here(Here),
    /// In a virtual machine.
    InMachine(VmProcess),
}

impl Running {
    /// Takes over a command whose output is piped and that leads its process group.
    pub(crate) fn new(mut child: Child, node: &str) -> Self {
        let stdout = child.stdout.take().map(|pipe| Capture::start(pipe, MOST_KEPT));
        let stderr = child.stderr.take().map(|pipe| Capture::start(pipe, MOST_KEPT));
        Self { node: node.to_owned(), started: Started::Here(Here { child, stdout, stderr }) }
    }

    /// Takes over a command in a virtual machine.
    pub(crate) fn of_machine(process: VmProcess, node: &str) -> Self {
        Self { node: node.to_owned(), started: Started::InMachine(process) }
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        match &mut self.started {
            Started::Here(here) => here.has_ended(),
            Started::InMachine(process) => process.has_ended(),
        }
    }

    /// Its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> Vec<u8> {
        match &self.started {
            Started::Here(here) => here.stdout.as_ref().map(Capture::so_far).unwrap_or_default(),
            Started::InMachine(process) => process.stdout(),
        }
    }

    /// Waits until it ends, and kills it when that takes longer than `time`.
    ///
    /// # Errors
    /// When the kernel loses sight of it, or its virtual machine ends.
    pub fn finish(mut self, time: Duration) -> Result<Output, LabError> {
        let mut ended = self.has_ended();
        match self.started {
            Started::Here(mut here) => {
                if !ended {
                    let process = Process::of_child(&here.child).map_err(LabError::in_node(&self.node))?;
                    ended = process.wait(time);
                }
                here.collect(!ended).map_err(LabError::start(&self.node, "the command"))
            }
            Started::InMachine(process) => {
                ended = ended || process.wait(time).is_ok();
                collect_from_machine(process, !ended, &self.node)
            }
        }
    }
}

/// A command on this host.
#[derive(Debug)]
struct Here {
    child: Child,
    stdout: Option<Capture>,
    stderr: Option<Capture>,
}

impl Here {
    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    fn collect(&mut self, timed_out: bool) -> std::io::Result<Output> {
        let status = self.end()?;
        let end = match (timed_out, status.code(), status.signal()) {
            (true, ..) => Ended::TimedOut,
            (_, Some(code), _) => Ended::Code(code),
            (_, None, signal) => Ended::Signal(signal.unwrap_or_default()),
        };
        let all = |capture: Option<Capture>| capture.map(Capture::all).unwrap_or_default();
        Ok(Output { end, stdout: all(self.stdout.take()), stderr: all(self.stderr.take()) })
    }

    /// Ends it and what it has started, and collects it.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        // Its number is not reused before it is collected; its children may outlive it, in its group.
        let _ = signal_group(self.child.id(), Signal::Kill);
        self.child.wait()
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The output of a command in a machine; one that still runs is killed.
fn collect_from_machine(process: VmProcess, timed_out: bool, node: &str) -> Result<Output, LabError> {
    if !process.has_ended() {
        let _ = process.kill();
        // The command ends at once, unless the machine hangs.
        let _ = process.wait(TO_END);
    }
    let output = process.collect();
    let ended = output.ended.unwrap_or_default();
    if let Some(reason) = ended.error {
        return Err(LabError::start(node, "a command")(std::io::Error::other(reason)));
    }
    let end = match (timed_out, ended.code, ended.signal) {
        (true, ..) => Ended::TimedOut,
        (_, Some(code), _) => Ended::Code(code),
        (_, None, Some(signal)) => Ended::Signal(signal),
        (_, None, None) => return Err(gone(node)),
    };
    Ok(Output { end, stdout: output.stdout, stderr: output.stderr })
}

fn gone(node: &str) -> LabError {
    LabError::NotHere {
        node: node.to_owned(),
        what: "a virtual machine",
        cannot: "it ended, or hangs, and the command with it".to_owned(),
    }
}

/// A thread that reads a pipe to its end and keeps the beginning.
#[derive(Debug)]
struct Capture {
    kept: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Capture {
    fn start(mut pipe: impl Read + Send + 'static, most: usize) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&kept);
        let thread = thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = most.saturating_sub(kept.len()).min(read);
                kept.extend_from_slice(&buffer[..room]);
            }
        });
        Self { kept, thread }
    }

    fn so_far(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A process that has left the group may hold the pipe open for ever: it is waited for a moment only.
    fn all(self) -> Vec<u8> {
        let until = Instant::now() + TO_DRAIN;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        self.so_far()
    }
}

/// Bytes kept of its output and of its errors, of each; more is read and forgotten.
const MOST_KEPT: usize = 16 << 20;
const TO_END: Duration = Duration::from_secs(2);
const TO_DRAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_of_the_output_is_kept_than_there_is_room_for() {
        assert_eq!(Capture::start(&[7; 1_000_000][..], 1000).all(), [7; 1000]);
        assert_eq!(Capture::start(&b"all"[..], 1000).all(), b"all");
    }
}

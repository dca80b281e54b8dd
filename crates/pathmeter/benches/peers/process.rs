//! A tool at work: started in a namespace, watched through /proc, ended by its own process id.

use anyhow::{Context, bail};
use linux::namespace::Namespace;
use model::units::{Bytes, Nanos};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running child; killed and reaped on drop.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    output: File,
    peak: Bytes,
}

impl Process {
    /// Starts it. What it writes goes to a file, so that it never waits for a reader.
    pub(crate) fn start(mut command: Command, inside: &Namespace) -> anyhow::Result<Process> {
        let name = format!("{:?}", command.get_program());
        let path = std::env::temp_dir().join(format!("pathmeter-bench-{}", std::process::id()));
        let output = File::options().read(true).write(true).create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        inside.spawn_inside(&mut command)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        let child = command.spawn().with_context(|| format!("start {name}"))?;
        Ok(Process { child, output, peak: Bytes(0) })
    }

    /// Waits until it listens on a port.
    pub(crate) fn wait_for_port(&mut self, port: u16) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_LIMIT;
        let needle = format!(":{port:04X} ");
        while Instant::now() < deadline {
            let tables = ["tcp", "tcp6", "udp", "udp6"].map(|t| format!("/proc/{}/net/{t}", self.child.id()));
            let bound = |table: &String| {
                let text = fs::read_to_string(table).unwrap_or_default();
                text.lines()
                    .any(|l| l.split_whitespace().nth(1).is_some_and(|a| format!("{a} ").ends_with(&needle)))
            };
            if tables.iter().any(bound) {
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        bail!("the server does not listen on port {port}: {}", self.written()?.trim())
    }

    /// Waits for its end and leaves it to be reaped, so that its times can still be read.
    pub(crate) fn wait_for_end(&mut self, limit: Duration, also: &mut Process) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            std::thread::sleep(STEP);
            self.watch_memory();
            also.watch_memory();
            if self.state().is_none_or(|state| state == 'Z') {
                return Ok(());
            }
        }
        bail!("the client does not end within {limit:?}")
    }

    /// CPU time so far, user and system, of all its threads. Resolution 10 ms.
    pub(crate) fn cpu(&self) -> Nanos {
        let Some(stat) = self.stat() else { return Nanos(0) };
        let ticks = |index: usize| stat.get(index).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
        // proc_pid_stat(5), fields 14 and 15, counted from the third.
        Nanos((ticks(11) + ticks(12)) * NANOS_PER_TICK)
    }

    /// Peak resident memory seen.
    pub(crate) fn peak(&self) -> Bytes {
        self.peak
    }

    /// What it wrote so far.
    pub(crate) fn written(&mut self) -> anyhow::Result<String> {
        let mut text = String::new();
        self.output.rewind()?;
        self.output.read_to_string(&mut text)?;
        Ok(text)
    }

    fn watch_memory(&mut self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        self.peak = self.peak.max(Bytes(kib.unwrap_or(0) * 1024));
    }

    fn state(&self) -> Option<char> {
        self.stat()?.first()?.chars().next()
    }

    /// The fields of /proc/PID/stat behind the name.
    fn stat(&self) -> Option<Vec<String>> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let (_, fields) = text.rsplit_once(')')?;
        Some(fields.split_whitespace().map(Into::into).collect())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const START_LIMIT: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);
/// USER_HZ is 100 on every Linux of today.
const NANOS_PER_TICK: u64 = 10_000_000;

//! A tool at work: started in a namespace, watched through /proc, ended by its own process id.

use anyhow::{Context, bail};
use linux::namespace::Namespace;
use model::units::Nanos;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running child; killed and reaped on drop.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    output: File,
    errors: File,
}

impl Process {
    /// Starts it. What it writes goes to a file, so that it never waits for a reader.
    pub(crate) fn start(mut command: Command, inside: &Namespace) -> anyhow::Result<Process> {
        let name = format!("{:?}", command.get_program());
        let (output, errors) = (nameless_file()?, nameless_file()?);
        inside.spawn_inside(&mut command)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        let child = command.spawn().with_context(|| format!("start {name}"))?;
        Ok(Process { child, output, errors })
    }

    /// Waits until it listens on a port.
    pub(crate) fn wait_for_port(&mut self, port: u16) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_LIMIT;
        let needle = format!(":{port:04X}");
        while Instant::now() < deadline {
            let listens = |(table, state): (&str, &str)| {
                let text = fs::read_to_string(format!("/proc/{}/net/{table}", self.child.id()));
                text.unwrap_or_default().lines().any(|line| {
                    let fields: Vec<&str> = line.split_whitespace().collect();
                    fields.len() > 3 && fields[1].ends_with(&needle) && fields[3] == state
                })
            };
            if LISTENING.into_iter().any(listens) {
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        bail!("the server does not listen on port {port}: {}", self.complaints().trim())
    }

    /// Waits for its end and leaves it to be reaped, so that its times can still be read.
    pub(crate) fn wait_for_end(&self, limit: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            std::thread::sleep(STEP);
            if self.has_ended() {
                return Ok(());
            }
        }
        bail!("the client does not end within {limit:?}")
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.state().is_none_or(|state| state == 'Z')
    }

    /// CPU time so far, user and system, of all its threads. Resolution 10 ms.
    pub(crate) fn cpu(&self) -> Nanos {
        let Some(stat) = self.stat() else { return Nanos::ZERO };
        let ticks = |index: usize| stat.get(index).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
        // proc_pid_stat(5), fields 14 and 15, counted from the third.
        Nanos((ticks(11) + ticks(12)) * NANOS_PER_TICK)
    }

    /// Peak resident memory so far, MiB.
    pub(crate) fn peak(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        number_after(&status, "VmHWM:") / 1024.0
    }

    /// Time that its threads were ready to run and had no CPU, in seconds, and how often one was taken off its CPU.
    /// Both so far, of the threads there are.
    pub(crate) fn held_up(&self) -> (f64, f64) {
        let (mut waited, mut preempted) = (0.0, 0.0);
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.child.id())) else { return (0.0, 0.0) };
        for thread in threads.flatten() {
            let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
            // Documentation/scheduler/sched-stats.rst: time on a CPU, time waiting for one, turns.
            let wait = read("schedstat").split_whitespace().nth(1).and_then(|w| w.parse::<f64>().ok());
            waited += wait.unwrap_or(0.0) / 1e9;
            preempted += number_after(&read("status"), "nonvoluntary_ctxt_switches:");
        }
        (waited, preempted)
    }

    /// Its output so far.
    pub(crate) fn written(&mut self) -> anyhow::Result<String> {
        Ok(read_all(&mut self.output)?)
    }

    /// Its standard error so far.
    pub(crate) fn complaints(&mut self) -> String {
        read_all(&mut self.errors).unwrap_or_default()
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

/// The first number behind a name; nothing there is 0.
fn number_after(text: &str, name: &str) -> f64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

fn nameless_file() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!("pathmeter-bench-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn read_all(file: &mut File) -> std::io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Tables of sockets, and the state there of one that waits for a peer: a connection that lingers after its end does
/// not count.
const LISTENING: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
const START_LIMIT: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);
/// USER_HZ is 100 on every Linux of today.
const NANOS_PER_TICK: u64 = 10_000_000;

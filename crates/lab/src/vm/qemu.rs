//! The emulator: found, started with one machine's description, watched and ended.

use super::frame::PORT;
use super::kernel::Kernel;
use super::program;
use super::{Accelerator, Nic, VmSpec};
use crate::vm_error::{During, VmError};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A qemu for this host's architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// The kind of machine it makes.
    pub(super) machine: &'static str,
    console: &'static str,
}

impl Program {
    /// The installed one.
    ///
    /// # Errors
    /// When it is not installed, or the architecture is another than `x86_64` and aarch64.
    pub fn find() -> Result<Self, VmError> {
        // microvm boots half a second sooner, but with PCI it hung in 2 of 24 boots (qemu 7.2); q35 in none.
        let (name, package, machine, console) = match std::env::consts::ARCH {
            "x86_64" => ("qemu-system-x86_64", "qemu-system-x86", "q35", "ttyS0"),
            "aarch64" => ("qemu-system-aarch64", "qemu-system-arm", "virt", "ttyAMA0"),
            other => return Err(VmError::Architecture(other)),
        };
        let path = program::find(name).map_err(|_| VmError::NoQemu { program: name.to_owned(), package })?;
        Ok(Self { path, machine, console })
    }
}

/// A running qemu; ended when this value goes, and by the kernel when this process does.
#[derive(Debug)]
pub(super) struct Qemu {
    pub(super) pid: u32,
    console: Arc<Mutex<Console>>,
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Qemu {
    pub(super) fn start(mut command: Command) -> Result<Self, VmError> {
        let console = Arc::new(Mutex::new(Console::default()));
        let (stop, stopped) = mpsc::channel::<()>();
        let (report, started) = mpsc::channel();
        let shared = Arc::clone(&console);
        // The kernel ends qemu with the thread that started it: so that thread stays, and waits for it.
        let keeper = thread::Builder::new().name("qemu".into()).spawn(move || {
            let spawned = spawn(&mut command, shared);
            // The descriptors belong to qemu alone now: the taps go with it.
            drop(command);
            match spawned {
                Ok(mut child) => {
                    let _ = report.send(Ok(child.id()));
                    while matches!(child.try_wait(), Ok(None)) {
                        if stopped.recv_timeout(Duration::from_millis(50)) != Err(RecvTimeoutError::Timeout) {
                            let _ = child.kill();
                            let _ = child.wait();
                        }
                    }
                }
                Err(error) => drop(report.send(Err(error))),
            }
        });
        let keeper = keeper.during("start", "a thread for qemu")?;
        let started = started.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        let pid = started.during("start", "qemu")?;
        Ok(Self { pid, console, stop: Some(stop), keeper: Some(keeper) })
    }

    /// The last lines of the machine's console and of qemu itself.
    pub(super) fn last_lines(&self) -> String {
        self.console.lock().unwrap_or_else(PoisonError::into_inner).last_lines()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}

fn spawn(command: &mut Command, console: Arc<Mutex<Console>>) -> io::Result<Child> {
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    linux::spawn::die_with_this_thread(command);
    let child = command.spawn()?;
    thread::Builder::new().name("console".into()).spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut chunk) {
            console.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..length]);
        }
    })?;
    Ok(child)
}

/// The last output of the console.
#[derive(Debug, Default)]
struct Console(VecDeque<u8>);

impl Console {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let surplus = self.0.len().saturating_sub(CONSOLE_KEPT);
        self.0.drain(..surplus);
    }

    fn last_lines(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let printable = |line: &str| line.chars().filter(|letter| !letter.is_control()).collect::<String>();
        let lines: Vec<String> = text.lines().map(printable).filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return "    (nothing)".to_owned();
        }
        let last = lines.iter().skip(lines.len().saturating_sub(CONSOLE_LINES));
        last.map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
    }
}

/// The command that runs this machine. `control` is the far end of its serial port.
pub(super) fn command(
    qemu: &Program,
    kernel: &Kernel,
    image: File,
    control: OwnedFd,
    accelerator: &Accelerator,
    spec: VmSpec,
) -> Command {
    let mut command = Command::new(&qemu.path);
    command.args(PLAIN).args(["-machine", qemu.machine, "-rtc", "base=utc"]);
    match accelerator {
        Accelerator::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
        Accelerator::Emulation { .. } => command.args(["-accel", "tcg,thread=multi", "-cpu", EMULATED_CPU]),
    };
    command.args(["-smp", &spec.machine.cpus.max(1).to_string()]);
    command.args(["-m", &format!("{}M", (spec.machine.memory.0 >> 20).max(SMALLEST_MEMORY))]);
    let image = linux::spawn::hand_over(&mut command, image.into());
    command.arg("-kernel").arg(&kernel.image).args(["-initrd", &format!("/proc/self/fd/{image}")]);
    let console = qemu.console;
    command.args(["-append", &format!("console={console} {BOOT_OPTIONS}")]);
    command.args(["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]);
    let control = linux::spawn::hand_over(&mut command, control);
    command.args(["-chardev", &format!("socket,id=control,fd={control}"), "-device", "virtio-serial-pci"]);
    command.args(["-device", &format!("virtserialport,chardev=control,name={PORT}")]);
    let vhost =
        *accelerator == Accelerator::Kvm && File::options().read(true).write(true).open(VHOST).is_ok();
    for (index, nic) in spec.nics.into_iter().enumerate() {
        add_nic(&mut command, index, nic, vhost);
    }
    linux::process::pin(&mut command, &spec.host_cpus);
    command
}

fn add_nic(command: &mut Command, index: usize, nic: Nic, vhost: bool) {
    let tap = linux::spawn::hand_over(command, nic.tap.into_fd());
    let vhost = if vhost { ",vhost=on" } else { "" };
    command.args(["-netdev", &format!("tap,id=net{index},fd={tap}{vhost}")]);
    let offload = if nic.offload { "" } else { NO_OFFLOADS };
    let mac = mac_text(nic.mac);
    command.args([
        "-device",
        &format!("virtio-net-pci,netdev=net{index},mac={mac},romfile=,mrg_rxbuf=on{offload}"),
    ]);
}

/// `02:00:00:00:00:01`.
pub(super) fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Restart at a panic, which ends qemu. The rest makes an emulated boot quick and sure: no self-tests of ciphers, and none of
/// the timer, which fails where the host is busy.
const BOOT_OPTIONS: &str =
    "quiet panic=-1 random.trust_cpu=on mitigations=off cryptomgr.notests no_timer_check";
/// No devices but those named, no configuration of the host's, no window.
pub(super) const PLAIN: &[&str] =
    &["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-name", "pathmeter"];
/// All that qemu can emulate, but for page tables of five levels, which only take time.
const EMULATED_CPU: &str = if cfg!(target_arch = "x86_64") { "max,la57=off" } else { "max" };
const NO_OFFLOADS: &str = ",csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,\
                           host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off";
const VHOST: &str = "/dev/vhost-net";
/// MiB; kernel, image and a command need about half.
const SMALLEST_MEMORY: u64 = 256;
const CONSOLE_KEPT: usize = 16 << 10;
const CONSOLE_LINES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_console_are_reported_without_control_characters() {
        let mut console = Console::default();
        assert_eq!(console.last_lines(), "    (nothing)");
        for number in 0..10_000 {
            console.push(format!("\x1b[2Jline {number}\r\n\r\n").as_bytes());
        }
        let reported = console.last_lines();
        assert_eq!(reported.lines().count(), CONSOLE_LINES);
        assert!(reported.ends_with("    [2Jline 9999"), "{reported}");
    }
}

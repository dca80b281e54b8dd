//! The agent of a virtual machine: receives requests from the host over a serial port, starts commands, sends their output.

use super::super::counted::Counted;
use super::super::frame::{Ended, Frame, Kind, PORT, Start};
use super::{PATH, Role};
use crate::keys::Keys;
use crate::{configure, interfaces};
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::process::{Signal, pin, signal_group};
use serde::Serialize;
use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Takes orders until the host closes the port.
pub(super) fn run() -> io::Result<()> {
    let mut requests = open_port()?;
    let mut agent = Agent {
        port: Port(Arc::new(Mutex::new(requests.try_clone()?))),
        running: Running::default(),
        configured: None,
    };
    if let Ok(mut network) = Network::open() {
        network.set_up("lo").map_err(io::Error::other)?;
    }
    agent.port.send(&Frame::new(Kind::Ready, 0, Vec::new()))?;
    while let Some(frame) = Frame::read(&mut requests)? {
        agent.obey(frame)?;
    }
    Ok(())
}

struct Agent {
    port: Port,
    running: Running,
    /// Resources of the node's configuration.
    configured: Option<configure::Configured>,
}

/// Commands by their streams: the process groups they lead.
type Running = Arc<Mutex<HashMap<u32, u32>>>;

impl Agent {
    fn obey(&mut self, frame: Frame) -> io::Result<()> {
        match frame.kind {
            Kind::Configure => {
                let notes = self.be(&frame.payload);
                self.answer(frame.stream, notes)
            }
            Kind::Count => {
                let counted = self.count(&frame.payload);
                self.answer(frame.stream, counted)
            }
            Kind::Start => self.start(frame.stream, &frame.payload),
            Kind::Terminate => self.signal(frame.stream, Signal::Terminate),
            Kind::Kill => self.signal(frame.stream, Signal::Kill),
            _ => Ok(()),
        }
    }

    fn be(&mut self, role: &[u8]) -> Result<Vec<String>, Box<dyn Error>> {
        let role: Role = serde_json::from_slice(role)?;
        name_interfaces(&role)?;
        let namespace = Namespace::current()?;
        let sides: Vec<_> = role.sides.iter().map(|(side, _)| side).collect();
        let done = configure::configure(&role.node, &sides, &namespace, &Keys(role.secret))?;
        let notes = done.notes.clone();
        self.configured = Some(done);
        Ok(notes)
    }

    fn count(&self, names: &[u8]) -> Result<Counted, Box<dyn Error>> {
        let names: Vec<String> = serde_json::from_slice(names)?;
        let interfaces = interfaces::interfaces(&names)?;
        let fragments = self.configured.as_ref().map(configure::Configured::dropped_fragments).transpose();
        Ok(Counted::new(&interfaces, fragments?.flatten()))
    }

    /// Ends an order that is no command as if it were one: what it gave is its output.
    fn answer(&self, stream: u32, outcome: Result<impl Serialize, Box<dyn Error>>) -> io::Result<()> {
        let mut ended = Ended { code: Some(0), ..Ended::default() };
        match outcome {
            Ok(value) => self.port.send(&Frame::json(Kind::Stdout, stream, &value)?)?,
            Err(error) => ended = Ended::failed(error),
        }
        self.port.send(&Frame::json(Kind::Ended, stream, &ended)?)
    }

    fn start(&self, stream: u32, request: &[u8]) -> io::Result<()> {
        let request: Start = serde_json::from_slice(request)?;
        match spawn(&request) {
            Ok(child) => {
                lock(&self.running).insert(stream, child.id());
                let (port, running) = (self.port.clone(), Arc::clone(&self.running));
                thread::Builder::new().spawn(move || follow(child, stream, &port, &running)).map(drop)
            }
            Err(error) => {
                let program = request.command.first().map_or("", String::as_str);
                let ended = Ended::failed(format!("{program}: {error}"));
                self.port.send(&Frame::json(Kind::Ended, stream, &ended)?)
            }
        }
    }

    fn signal(&self, stream: u32, signal: Signal) -> io::Result<()> {
        // Under the lock, so that the number cannot have become another's.
        if let Some(group) = lock(&self.running).get(&stream) {
            let _ = signal_group(*group, signal);
        }
        Ok(())
    }
}

/// The sending half of the port.
#[derive(Clone)]
struct Port(Arc<Mutex<File>>);

impl Port {
    fn send(&self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut *lock(&self.0))
    }
}

/// A host that has closed the port reads as an end of file only after it was there, which it is from the start.
fn open_port() -> io::Result<File> {
    let began = Instant::now();
    loop {
        if let Some(path) = find_port() {
            return File::options().read(true).write(true).open(path);
        }
        if began.elapsed() > PORT_LIMIT {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("no serial port {PORT}")));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn find_port() -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.filter_map(Result::ok);
    let named = |port: &fs::DirEntry| {
        fs::read_to_string(port.path().join("name")).is_ok_and(|name| name.trim() == PORT)
    };
    ports.into_iter().find(named).map(|port| PathBuf::from("/dev").join(port.file_name()))
}

/// The host knows interfaces by their hardware addresses; the topology by names of its own.
fn name_interfaces(role: &Role) -> linux::Result<()> {
    let mut network = Network::open()?;
    for (index, (_, mac)) in role.sides.iter().enumerate() {
        // Two steps, since a name may still be another one's.
        rename(&mut network, *mac, &format!("pm-nic{index}"))?;
    }
    for (side, mac) in &role.sides {
        rename(&mut network, *mac, &side.end.device)?;
    }
    Ok(())
}

fn rename(network: &mut Network, mac: [u8; 6], name: &str) -> linux::Result<()> {
    let found = network.links()?.into_iter().find(|link| link.mac == Some(mac));
    let Some(link) = found else {
        let mac = super::super::qemu::mac_text(mac);
        return Err(linux::OsError::new("find interface", mac, io::ErrorKind::NotFound.into()));
    };
    network.set_name(&link.name, name)
}

fn spawn(request: &Start) -> io::Result<Child> {
    let Some((program, arguments)) = request.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", PATH).current_dir("/root").process_group(0);
    pin(&mut command, &request.cpus);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Sends a command's output and its end.
fn follow(mut child: Child, stream: u32, port: &Port, running: &Running) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| pass_on(stdout, Kind::Stdout, stream, port));
        pass_on(stderr, Kind::Stderr, stream, port);
    });
    // Its outputs are closed, so it has ended or soon will; its number is not reused until it is waited for.
    let ended = loop {
        let mut running = lock(running);
        match child.try_wait() {
            Ok(Some(status)) => {
                running.remove(&stream);
                break Ended { code: status.code(), signal: status.signal(), error: None };
            }
            Ok(None) => drop(running),
            Err(error) => break Ended::failed(error),
        }
        thread::sleep(Duration::from_millis(5));
    };
    // Without the port the end cannot be reported.
    let _ = Frame::json(Kind::Ended, stream, &ended).and_then(|frame| port.send(&frame));
}

fn pass_on(from: Option<impl Read>, kind: Kind, stream: u32, port: &Port) {
    let Some(mut from) = from else { return };
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = from.read(&mut chunk) {
        if port.send(&Frame::new(kind, stream, chunk[..length].to_vec())).is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const PORT_LIMIT: Duration = Duration::from_secs(30);
const CHUNK: usize = 32 << 10;

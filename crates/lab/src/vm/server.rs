//! Commands in the machines of a lab that stays up, for other processes: the side of the process that holds it.
//!
//! A client sends the command and the name of the machine over a unix socket ([`CommandRequest`]), and gets the machine's frames of
//! it. The connection is the command's life: when the client goes the command is killed.

use super::control::{Control, Silence};
use super::frame::{Ended, Frame, Kind, Start};
use super::{Vm, VmOutput, VmProcess};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Starts commands for other processes of the user until it is dropped.
#[derive(Debug)]
pub(crate) struct CommandServer {
    listener: UnixListener,
    shared: Arc<Shared>,
}

/// A client's request, the payload of its first frame.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommandRequest {
    /// The machine's node.
    pub(super) node: String,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    machines: Vec<(String, Arc<Control>)>,
    clients: AtomicUsize,
    /// The lab is being taken away.
    closing: AtomicBool,
}

impl CommandServer {
    /// Serves the machines at a socket that listens.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start<'a>(
        listener: UnixListener,
        machines: impl Iterator<Item = &'a Vm>,
    ) -> io::Result<Self> {
        let machines = machines.map(|vm| (vm.name.clone(), Arc::clone(&vm.control)));
        Self::serve(listener, machines.collect())
    }

    fn serve(listener: UnixListener, machines: Vec<(String, Arc<Control>)>) -> io::Result<Self> {
        let shared =
            Arc::new(Shared { machines, clients: AtomicUsize::new(0), closing: AtomicBool::new(false) });
        let (accepting, for_clients) = (listener.try_clone()?, Arc::clone(&shared));
        thread::Builder::new().name("commands".into()).spawn(move || accept(&accepting, &for_clients))?;
        Ok(Self { listener, shared })
    }
}

impl Drop for CommandServer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        // The thread that accepts wakes with an error and ends.
        if let Ok(listener) = self.listener.try_clone() {
            let _ = UnixStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    while !shared.closing.load(Ordering::Relaxed) {
        let Ok((client, _)) = listener.accept() else {
            // Out of descriptors, for one, which passes.
            thread::sleep(A_MOMENT);
            continue;
        };
        let seat = Seat::take(shared);
        // One that is refused gives its order first, for which it needs a thread too.
        if seat.others < 2 * MOST_CLIENTS {
            // A client without a thread finds its connection closed.
            let _ = thread::Builder::new().name("command".into()).spawn(move || seat.serve(&client));
        }
    }
}

/// A client that is counted.
struct Seat {
    shared: Arc<Shared>,
    others: usize,
}

impl Seat {
    fn take(shared: &Arc<Shared>) -> Self {
        Self { others: shared.clients.fetch_add(1, Ordering::Relaxed), shared: Arc::clone(shared) }
    }

    fn serve(&self, client: &UnixStream) {
        match self.start(client) {
            Ok(process) => self.follow(client, &process),
            Err(why) => send_end(client, &Ended::failed(why)),
        }
    }

    fn start(&self, mut client: &UnixStream) -> Result<VmProcess, String> {
        let unreadable = |error: io::Error| format!("the order cannot be read: {error}");
        client.set_read_timeout(Some(ORDER_LIMIT)).map_err(unreadable)?;
        client.set_write_timeout(None).map_err(unreadable)?;
        let frame = Frame::read(&mut client).map_err(unreadable)?;
        let frame = frame.filter(|frame| frame.kind == Kind::Start).ok_or("this is not an order")?;
        client.set_read_timeout(None).map_err(unreadable)?;
        let request: CommandRequest =
            serde_json::from_slice(&frame.payload).map_err(|error| error.to_string())?;
        if self.others >= MOST_CLIENTS {
            return Err(format!("{MOST_CLIENTS} commands run in the lab's machines already"));
        }
        let machine = self.shared.machines.iter().find(|(name, _)| *name == request.node);
        let (_, control) = machine.ok_or_else(|| format!("no machine is named {}", request.node))?;
        let start = Start { command: request.command, cpus: Vec::new() };
        VmProcess::request(control, Kind::Start, &start).map_err(|_| GONE.to_owned())
    }

    /// Relays until the command or the client has ended.
    fn follow(&self, client: &UnixStream, process: &VmProcess) {
        let left = AtomicBool::new(false);
        thread::scope(|scope| {
            let listens = thread::Builder::new().spawn_scoped(scope, || {
                listen(client, process);
                left.store(true, Ordering::Relaxed);
            });
            if listens.is_ok() {
                self.relay(client, process, &left);
            }
            // Wakes the thread that listens.
            let _ = client.shutdown(Shutdown::Both);
        });
    }

    fn relay(&self, client: &UnixStream, process: &VmProcess, left: &AtomicBool) {
        while !left.load(Ordering::Relaxed) {
            let output = match process.next(LOOK_UP) {
                Ok(output) => output,
                Err(Silence::Late) => continue,
                // Without an end the client knows that the lab has gone.
                Err(Silence::Lost) if self.shared.closing.load(Ordering::Relaxed) => return,
                Err(Silence::Lost) => {
                    let ended = Ended { signal: Some(KILLED), error: Some(GONE.into()), code: None };
                    return send_end(client, &ended);
                }
            };
            if hand_on(client, &output).is_err() {
                return;
            }
            if let Some(ended) = output.ended {
                return send_end(client, &ended);
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Hears what the client wants of its command, and kills that when the client goes or makes no sense.
fn listen(mut client: &UnixStream, process: &VmProcess) {
    while let Ok(Some(frame)) = Frame::read(&mut client) {
        if frame.kind != Kind::Terminate || process.terminate().is_err() {
            break;
        }
    }
    // A machine that has gone has ended it.
    let _ = process.kill();
}

fn hand_on(mut client: &UnixStream, output: &VmOutput) -> io::Result<()> {
    for (kind, bytes) in [(Kind::Stdout, &output.stdout), (Kind::Stderr, &output.stderr)] {
        for chunk in bytes.chunks(CHUNK) {
            Frame::new(kind, 0, chunk.to_vec()).write(&mut client)?;
        }
    }
    if output.cut {
        let lost = "pathmeter: output that was not read is lost\n";
        Frame::new(Kind::Stderr, 0, lost.into()).write(&mut client)?;
    }
    Ok(())
}

/// Sends the end of a command; a client that has gone does not need it.
fn send_end(mut client: &UnixStream, ended: &Ended) {
    let _ = Frame::json(Kind::Ended, 0, ended).and_then(|frame| frame.write(&mut client));
}

const MOST_CLIENTS: usize = 16;
const CHUNK: usize = 64 << 10;
const ORDER_LIMIT: Duration = Duration::from_secs(5);
/// Interval of checking whether the client of a silent command is still there.
const LOOK_UP: Duration = Duration::from_millis(500);
const A_MOMENT: Duration = Duration::from_millis(50);
const GONE: &str = "the virtual machine has ended, or hangs, and the command with it";
/// The machine's end is to a command what `SIGKILL` is.
const KILLED: i32 = 9;

#[cfg(test)]
mod tests;

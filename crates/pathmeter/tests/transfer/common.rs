//! What the tests of transfers share: a server with HTTP on a port of its own, scripted web servers, a run's figures.

use super::support::{Ended, Server, free_port, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// `pathmeter serve --http`.
pub(super) struct Http {
    pub(super) server: Server,
    pub(super) port: u16,
}

impl Http {
    pub(super) fn start(args: &[&str]) -> Http {
        let port = free_port();
        let server = Server::start(&[&[format!("--http={port}").as_str()], args].concat());
        server.process.wait_for("pathmeter's own protocol");
        Http { server, port }
    }

    /// The URL of this path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A connection to it.
    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a deadline");
        stream
    }
}

/// `pathmeter transfer` with these words.
#[track_caller]
pub(super) fn transfer(args: &[&str]) -> Ended {
    run(&[&["transfer"], args].concat())
}

/// The same, successful and as JSON.
#[track_caller]
pub(super) fn measured(args: &[&str]) -> Value {
    transfer(&[args, &["--json"]].concat()).code(0).json()
}

/// The transfers of a run.
#[track_caller]
pub(super) fn transfers(run: &Value) -> &Vec<Value> {
    run["summary"]["transfer"]["transfers"].as_array().unwrap_or_else(|| panic!("no transfers: {run:#}"))
}

/// The rows of its table.
#[track_caller]
pub(super) fn rows(run: &Value) -> &Vec<Value> {
    run["summary"]["transfer"]["rows"].as_array().unwrap_or_else(|| panic!("no rows: {run:#}"))
}

/// A scripted web server on the loopback, until dropped: each connection's first head goes to the script, with its number.
pub(super) struct Web {
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    pub(super) fn start(script: impl Fn(u32, &str, &mut TcpStream) + Send + Sync + 'static) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let stop = Arc::<AtomicBool>::default();
        let (ends, script, count) = (stop.clone(), Arc::new(script), AtomicU32::new(0));
        let thread = std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                stream.set_read_timeout(Some(TIMEOUT)).expect("a deadline");
                let (script, number) = (script.clone(), count.fetch_add(1, Ordering::SeqCst) + 1);
                std::thread::spawn(move || {
                    let head = head(&mut stream);
                    script(number, &head, &mut stream);
                });
            }
        });
        Web { address, stop, thread: Some(thread) }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        TcpStream::connect(self.address).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

/// A head, up to its empty line.
pub(super) fn head(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Answers with this status and text, and closes.
pub(super) fn answer(stream: &mut impl Write, status: &str, headers: &str, body: &str) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).ok();
}

/// No wait of a scripted server takes longer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

//! A scripted server: speaks our protocol as in `docs/protocol.md`, as far as its script lets it.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A client's connection, as the scripted server sees it.
pub(super) struct Fake {
    pub(super) control: TcpStream,
    listener: TcpListener,
}

/// Waits for one client and plays the script. HOST:PORT to connect to, and the script's end: an error when the client
/// did not say what the script waited for.
pub(super) fn fake(
    script: impl FnOnce(&mut Fake) -> std::io::Result<()> + Send + 'static,
) -> (String, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let host = listener.local_addr().expect("it is bound").to_string();
    let thread = std::thread::spawn(move || {
        let control = accept(&listener)?;
        script(&mut Fake { control, listener })
    });
    (host, thread)
}

impl Fake {
    /// Takes the next client's connection in the place of this one.
    pub(super) fn next(&mut self) -> std::io::Result<()> {
        self.control = accept(&self.listener)?;
        Ok(())
    }

    /// Where clients connect: who still waits there has not been taken.
    pub(super) fn door(&self) -> std::io::Result<TcpListener> {
        self.listener.try_clone()
    }

    /// Takes the client's greeting and answers with these versions.
    pub(super) fn greet(&mut self, versions: [u8; 2]) -> std::io::Result<()> {
        let mut greeting = [0; 10];
        self.control.read_exact(&mut greeting)?;
        assert_eq!(&greeting, b"PMTRCTRL\x01\x01");
        self.control.write_all(&[b"PMTRCTRL".as_slice(), &versions].concat())
    }

    /// Sends one message.
    pub(super) fn send(&mut self, message: &Value) -> std::io::Result<()> {
        let text = message.to_string();
        let length = u32::try_from(text.len()).expect("messages are short");
        self.control.write_all(&[&length.to_be_bytes(), text.as_bytes()].concat())
    }

    /// The next message of this type; answers pings and passes over the rest meanwhile.
    pub(super) fn receive(&mut self, kind: &str) -> std::io::Result<Value> {
        loop {
            let mut length = [0; 4];
            self.control.read_exact(&mut length)?;
            let mut text = vec![0; u32::from_be_bytes(length) as usize];
            self.control.read_exact(&mut text)?;
            let message: Value = serde_json::from_slice(&text)?;
            if message["type"] == "ping" {
                let (id, t1) = (&message["id"], &message["t1_ns"]);
                self.send(&json!({"type": "pong", "id": id, "t1_ns": t1, "t2_ns": 1000, "t3_ns": 1000}))?;
            }
            if message["type"] == kind {
                return Ok(message);
            }
        }
    }

    /// Greets, sends its greeting and grants the client's request.
    pub(super) fn let_in(&mut self) -> std::io::Result<Value> {
        self.greet([1, 1])?;
        self.receive("hello")?;
        self.send(&json!({"type": "hello", "software": "fake", "features": []}))?;
        let test = self.receive("test")?;
        let host = serde_json::to_value(model::host::Host::default())?;
        let (session, key) = ("5".repeat(32), "6".repeat(64));
        self.send(&json!({"type": "accept", "session": session, "key": key, "host": host}))?;
        Ok(test)
    }

    /// Lets the client in, takes its TCP flows and begins the test.
    pub(super) fn begin(&mut self, flows: usize) -> std::io::Result<Vec<TcpStream>> {
        self.begin_test(flows).map(|(_, flows)| flows)
    }

    /// The same, with the test that the client requested.
    pub(super) fn begin_test(&mut self, flows: usize) -> std::io::Result<(Value, Vec<TcpStream>)> {
        let test = self.let_in()?;
        let flows = (0..flows).map(|_| self.take_flow()).collect::<std::io::Result<_>>()?;
        self.send(&json!({"type": "ready"}))?;
        self.receive("start")?;
        self.send(&json!({"type": "started"}))?;
        Ok((test, flows))
    }

    /// The next data flow, welcomed.
    pub(super) fn take_flow(&mut self) -> std::io::Result<TcpStream> {
        let mut flow = self.greeted_flow()?;
        flow.write_all(&[0])?;
        Ok(flow)
    }

    /// The next data flow, which waits to be welcomed.
    pub(super) fn greeted_flow(&mut self) -> std::io::Result<TcpStream> {
        let mut flow = accept(&self.listener)?;
        flow.read_exact(&mut [0; 46])?;
        Ok(flow)
    }

    /// Keeps the connection open until the client closes it.
    pub(super) fn until_closed(&mut self) {
        let mut rest = [0; 4096];
        while self.control.read(&mut rest).is_ok_and(|n| n > 0) {}
    }
}

/// The report of a test's receiver: one stream that got so many bytes in this time.
pub(super) fn received(bytes: u64, nanoseconds: u64) -> Value {
    let row = json!({
        "stream": 0, "direction": "up", "role": "receiver", "elapsed_ns": nanoseconds,
        "bytes": bytes, "total_bytes": bytes, "tcp": null, "udp": null,
    });
    let mut result = serde_json::to_value(model::sample::SideResult::default()).expect("a result is JSON");
    result["streams"] = json!([row]);
    json!({"type": "results", "result": result})
}

/// Reads all of a flow in the background; the count at its end.
pub(super) fn swallow(mut flow: TcpStream) -> JoinHandle<u64> {
    std::thread::spawn(move || {
        let (mut buffer, mut count) = (vec![0; 1 << 16], 0);
        while let Ok(n @ 1..) = flow.read(&mut buffer) {
            count += n as u64;
        }
        count
    })
}

fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + LIMIT;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(LIMIT))?;
                stream.set_write_timeout(Some(LIMIT))?;
                return Ok(stream);
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(e) => return Err(e),
        }
    }
}

const LIMIT: Duration = Duration::from_secs(60);

//! A page over a store of the test's own, and a client that sends exactly the given bytes.

use insight::run_of_events;
use linux::privilege::drop::Confined;
use model::event::{Event, Progress, Warning};
use model::finding::{Status, Verdict};
use model::history::{Headline, Measured, Origin};
use model::plan::{Direction, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::run::{Run, Work};
use model::sample::{IntervalSample, Role, Side, StreamSample};
use model::time::WallTime;
use model::units::{Bytes, Nanos};
use pathmeter_web::{
    Backend, BegunTest, Config, Limits, Refused, Server, Sink, Stop, Stopper, TestRequest, Tls, Tokens,
    Update, Upload, Uploaded,
};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Begun, Store};
use tempfile::TempDir;

/// A server in a thread.
pub(crate) struct Page {
    pub(crate) address: SocketAddr,
    pub(crate) store: Store,
    /// A gate that the running test waits for.
    pub(crate) gate: Arc<Gate>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    _directory: TempDir,
}

/// Opens once it is stopped.
#[derive(Default)]
pub(crate) struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap());
    }
}

/// Answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&str| line.split_once(':').is_some_and(|(own, _)| own.eq_ignore_ascii_case(name));
        self.head.lines().find(named)?.split_once(':').map(|(_, value)| value.trim())
    }
}

pub(crate) const NO_TOKEN: Option<&str> = None;

impl Page {
    pub(crate) fn start(token: Option<&str>, limits: Limits) -> Page {
        Page::behind(Vec::new(), token, limits)
    }

    /// The same behind these proxies.
    pub(crate) fn behind(proxies: Vec<IpAddr>, token: Option<&str>, limits: Limits) -> Page {
        Page::with(
            proxies,
            Tokens { full: token.map(Into::into).into_iter().collect(), read: Vec::new() },
            limits,
        )
    }

    /// The same with several tokens.
    pub(crate) fn with(proxies: Vec<IpAddr>, tokens: Tokens, limits: Limits) -> Page {
        Page::serving(proxies, tokens, None, limits)
    }

    /// The same with a certificate.
    pub(crate) fn serving(proxies: Vec<IpAddr>, tokens: Tokens, tls: Option<Tls>, limits: Limits) -> Page {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("runs.db");
        let gate = Arc::new(Gate::default());
        let (opened, waited) = (file.clone(), gate.clone());
        let backend = Backend {
            version: "pathmeter 0.0".into(),
            open: Box::new(move || Store::open(&opened)),
            start: Box::new(move |asked, sink| start(&asked, sink, &waited)),
            import: Box::new(|upload| import(&upload)),
            targets: vec!["fra1".into()],
            topologies: Box::new(|| vec![serde_json::json!({ "name": "direct" })]),
            unended: |entry, events| run_of_events(&entry.id, &entry.kind, events),
        };
        let listen = "127.0.0.1:0".parse().unwrap();
        let config = Config { listen, tokens, names: vec!["page.example".into()], proxies, tls, limits };
        let server = Server::bind(config, backend).unwrap();
        let (address, stopper) = (server.address().unwrap(), server.stopper());
        let thread = std::thread::spawn(move || server.serve(Confined::with_all_rights()).unwrap());
        let store = Store::open(&file).unwrap();
        Page { address, store, gate, stopper, thread: Some(thread), _directory: directory }
    }

    /// Puts a run into the store.
    pub(crate) fn keep(&self, run: &Run, target: &str, label: &str) {
        let figure = Headline { name: "tcp.up.goodput".into(), value: 1e9, text: "1.00 Gbit/s".into() };
        self.keep_with(run, target, label, figure);
    }

    /// The same of a run that began so many seconds after the first, with this goodput in bits per second.
    pub(crate) fn measured(&self, id: &str, target: &str, seconds: u64, goodput: f64) {
        self.measured_as(id, (target, ""), seconds, goodput);
    }

    /// The same with a label.
    pub(crate) fn measured_as(&self, id: &str, (target, label): (&str, &str), seconds: u64, goodput: f64) {
        let figure =
            Headline { name: "tcp.up.goodput".into(), value: goodput, text: format!("{goodput} bit/s") };
        self.keep_with(&run(id, seconds, 0), target, label, figure);
    }

    fn keep_with(&self, run: &Run, target: &str, label: &str, figure: Headline) {
        let begun = Begun {
            id: run.id.clone(),
            kind: run.kind.clone(),
            target: target.into(),
            label: label.into(),
            started: run.started.unwrap(),
        };
        assert!(self.store.insert(&begun, Origin::Measured, Measured::Run(run), &[figure]).unwrap());
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends these bytes and reads until the server closes.
    pub(crate) fn raw(&self, bytes: &str) -> Answer {
        let mut stream = self.connect();
        // A server that refuses early may have closed already.
        let _ = stream.write_all(bytes.as_bytes());
        read(&mut stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let host = format!("Host: {}", self.address);
        let own = if headers.iter().any(|header| header.starts_with("Host:")) { "" } else { &host };
        let mut lines = vec![format!("{method} {path} HTTP/1.1")];
        lines.extend(
            [own].into_iter().chain(headers.iter().copied()).filter(|line| !line.is_empty()).map(Into::into),
        );
        lines.push("Connection: close".into());
        if !body.is_empty() {
            lines.push(format!("Content-Length: {}\r\nContent-Type: application/json", body.len()));
        }
        self.raw(&format!("{}\r\n\r\n{body}", lines.join("\r\n")))
    }

    /// The token against cross-site requests, as a header.
    pub(crate) fn csrf(&self, headers: &[&str]) -> String {
        let session = self.request("GET", "/api/session", headers, "").json();
        format!("X-CSRF-Token: {}", session["csrf"].as_str().unwrap())
    }

    /// Sends a change as a client that needs no token.
    pub(crate) fn change(&self, method: &str, path: &str, body: &str) -> Answer {
        let csrf = self.csrf(&[]);
        self.request(method, path, &[&csrf], body)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.gate.open();
        self.stopper.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))), "the server failed");
    }
}

pub(crate) fn read(stream: &mut impl Read) -> Answer {
    let mut bytes = Vec::new();
    // A reset after the answer ends it, too.
    let ended = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(ended.is_ok() || !bytes.is_empty(), "{ended:?}");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    Answer { status, head: head.into(), body: body.into() }
}

/// Two runs of an output, unless it is `nothing`.
fn import(upload: &Upload) -> Result<Uploaded, Refused> {
    match upload.bytes.as_slice() {
        b"nothing" => Err(Refused {
            error: format!("{} holds no output that can be read", upload.name),
            advice: Some("see `pathmeter import --help`".into()),
        }),
        _ => Ok(Uploaded { new: 1, all: 2, damage: None }),
    }
}

/// A test that measures nothing: it sends a few events, waits until it is stopped, and ends.
fn start(asked: &TestRequest, mut sink: Sink, gate: &Arc<Gate>) -> Result<BegunTest, Refused> {
    let begun = |stop: Stop| BegunTest { stop, id: "done".into(), expected: Some(Duration::from_secs(10)) };
    match asked.host.as_str() {
        "nowhere" => {
            return Err(Refused {
                error: "nowhere has no address".into(),
                advice: Some("give another".into()),
            });
        }
        "panics" => {
            std::thread::spawn(move || {
                let _held = sink;
                panic!("on purpose");
            });
            return Ok(begun(Box::new(|| {})));
        }
        _ => {}
    }
    let waits = gate.clone();
    std::thread::spawn(move || {
        let warning = Warning { id: "x".into(), text: "<b>careful</b>".into() };
        sink(Update::Event(Box::new(Event::Progress(Progress {
            part: Some([1, 2]),
            doing: "round trips".into(),
        }))));
        sink(Update::Event(Box::new(Event::Warning(warning))));
        sink(Update::Event(Box::new(Event::Sample(sample(1, 1_000_000)))));
        waits.wait();
        sink(Update::Ended { id: "done".into(), error: None });
    });
    let opens = gate.clone();
    Ok(begun(Box::new(move || opens.open())))
}

/// A run of TCP up, with so many intervals of a second.
pub(crate) fn run(id: &str, seconds: u64, intervals: u64) -> Run {
    let mut run = run_of_events(id, "throughput", &[]);
    run.started = Some(WallTime(1_790_000_000_000_000_000 + seconds * 1_000_000_000));
    run.finished = run.started;
    run.verdict = Verdict { status: Status::Ok, text: "All of it arrived.".into() };
    let target = Target { host: "far.example".into(), address: "192.0.2.1:5210".parse().unwrap() };
    let test = TestSpec::new(Transport::Tcp);
    let plan = Plan { target, protocol: ProtocolName::Native, test, local: LocalOptions::default() };
    run.work = Some(Work::Throughput(Box::new(plan)));
    run.intervals = (1..=intervals).map(|second| sample(second, 125_000 * second)).collect();
    run
}

fn sample(second: u64, bytes: u64) -> IntervalSample {
    let stream = StreamSample {
        stream: 0,
        direction: Direction::Up,
        role: Role::Receiver,
        bytes: Bytes(bytes),
        tcp: None,
        udp: None,
    };
    let (start, end) = (Nanos::from_secs(second - 1), Nanos::from_secs(second));
    IntervalSample { side: Side::Peer, start, end, omitted: false, streams: vec![stream] }
}

/// The plan of a run of throughput.
pub(crate) fn plan_of(run: &mut Run) -> &mut Plan {
    match &mut run.work {
        Some(Work::Throughput(plan)) => plan,
        other => panic!("a plan of throughput, not {other:?}"),
    }
}

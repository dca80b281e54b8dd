//! A path of frames that delays, drops, doubles and holds them by direction, with its own counters, whatever protocol they are of; and
//! what every protocol reports of it.

use super::common::only_egress;
use super::net::{Net, SERVER, ip, may_make_networks};
use super::support::{Running, pathmeter};
use linux::clock::mono_now;
use linux::poll::{self, Interest};
use linux::tap::Tap;
use model::units::Nanos;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The path's rule for a message of one direction: its number from 1, and the time when it comes, from the first message on.
type Rule = fn(u64, Duration) -> Delivery;

/// How a message is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    After(Duration),
    Twice,
    Dropped,
}

const AT_ONCE: Delivery = Delivery::After(Duration::ZERO);

fn plain(_: u64, _: Duration) -> Delivery {
    AT_ONCE
}

/// The rules of requests and of replies, and what has come since they hold.
struct Treatment {
    rules: [Rule; 2],
    numbers: [u64; 2],
    begun: Option<Instant>,
}

impl Treatment {
    fn by(rules: [Rule; 2]) -> Treatment {
        Treatment { rules, numbers: [0; 2], begun: None }
    }
}

/// Two hosts whose only link is a thread of this test.
struct PathNet {
    net: Net,
    treatment: Arc<Mutex<Treatment>>,
    dropped: Arc<[AtomicU64; 2]>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PathNet {
    fn new(test: &str) -> Option<PathNet> {
        if !may_make_networks(test) {
            return None;
        }
        let name = |end: &str| format!("pathmeter-{}-p{end}", std::process::id());
        let net = Net { client: name("c"), server: name("s") };
        let files = [(&net.client, "a", "10.77.0.1/24"), (&net.server, "b", "10.77.0.2/24")].map(
            |(ns, end, address)| {
                let link = format!("pt{}{end}", std::process::id());
                let tap = Tap::open(&link, false).expect("a tap");
                ip(&["netns", "add", ns]);
                ip(&["link", "set", &link, "netns", ns, "name", "eth0"]);
                ip(&["-n", ns, "address", "add", address, "dev", "eth0"]);
                ip(&["-n", ns, "link", "set", "eth0", "up"]);
                ip(&["-n", ns, "link", "set", "lo", "up"]);
                without_waiting(tap)
            },
        );
        let treatment = Arc::new(Mutex::new(Treatment::by([plain; 2])));
        let (dropped, stop) = (Arc::<[AtomicU64; 2]>::default(), Arc::<AtomicBool>::default());
        let (treated, counted) = (treatment.clone(), dropped.clone());
        let carrier = Carrier { files, treatment: treated, dropped: counted, queue: BTreeMap::new() };
        let stopped = stop.clone();
        let thread = Some(std::thread::spawn(move || carrier.run(&stopped)));
        Some(PathNet { net, treatment, dropped, stop, thread })
    }

    /// Messages of a protocol over these rules, and how many the path dropped in each direction.
    fn measured(&self, rules: [Rule; 2], args: &[&str]) -> (Value, [u64; 2]) {
        *self.treatment.lock().unwrap() = Treatment::by(rules);
        let before = self.dropped();
        let size = SIZE.to_string();
        // No end spins, and no phase follows it: the test is about the path alone.
        let quiet = ["--wait", "block", "--no-explain"];
        let more = [&quiet[..], &["--size", &size, "--warm-up", "0", "--timeout", "2s", "--json"]].concat();
        let run = self.net.client(&[&["latency", SERVER], args, &more[..]].concat()).code(0).json();
        *self.treatment.lock().unwrap() = Treatment::by([plain; 2]);
        let after = self.dropped();
        (only_egress(&run).clone(), [after[0] - before[0], after[1] - before[1]])
    }

    fn dropped(&self) -> [u64; 2] {
        [0, 1].map(|direction: usize| self.dropped[direction].load(Ordering::Acquire))
    }
}

impl Drop for PathNet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// A file whose reads do not wait. The kernel takes this request of any file.
fn without_waiting(tap: Tap) -> File {
    let socket = UdpSocket::from(tap.into_fd());
    socket.set_nonblocking(true).expect("the kernel can");
    File::from(OwnedFd::from(socket))
}

/// Frames in transit.
struct Carrier {
    files: [File; 2],
    treatment: Arc<Mutex<Treatment>>,
    dropped: Arc<[AtomicU64; 2]>,
    /// The frames that are due, by time, and the end that each goes to.
    queue: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
}

impl Carrier {
    fn run(mut self, stop: &AtomicBool) {
        let mut buffer = vec![0; 1 << 16];
        let mut queued = 0;
        while !stop.load(Ordering::Acquire) {
            let mut is_idle = true;
            for direction in [0, 1] {
                while let Ok(length) = self.files[direction].read(&mut buffer) {
                    is_idle = false;
                    for delay in self.deliver(direction, &buffer[..length]) {
                        queued += 1;
                        let due = (Instant::now() + delay, queued);
                        self.queue.insert(due, (1 - direction, buffer[..length].to_vec()));
                    }
                }
            }
            while let Some(due) = self.queue.first_entry().filter(|due| due.key().0 <= Instant::now()) {
                let (to, frame) = due.remove();
                // A host that is gone takes nothing.
                let _ = self.files[to].write(&frame);
            }
            if is_idle {
                self.wait();
            }
        }
    }

    /// Until a frame comes, one is due, or the test may be over.
    fn wait(&self) {
        let due =
            self.queue.first_key_value().map(|(due, _)| due.0.saturating_duration_since(Instant::now()));
        let time = due.unwrap_or(MOST_WAIT).min(MOST_WAIT);
        let until = mono_now() + Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let mut ends = [Interest::readable(&self.files[0]), Interest::readable(&self.files[1])];
        poll::wait(&mut ends, Some(until)).expect("two taps to wait for");
    }

    /// When the copies of a frame come. Only messages are touched: nothing else of a session is of their size.
    fn deliver(&mut self, direction: usize, frame: &[u8]) -> Vec<Duration> {
        let length =
            frame.get(16..18).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])));
        if frame.get(12..14) != Some(&[8, 0]) || !MESSAGES.contains(&length) {
            return vec![Duration::ZERO];
        }
        let mut treatment = self.treatment.lock().unwrap();
        treatment.numbers[direction] += 1;
        let since = treatment.begun.get_or_insert_with(Instant::now).elapsed();
        match treatment.rules[direction](treatment.numbers[direction], since) {
            Delivery::After(delay) => vec![delay],
            Delivery::Twice => vec![Duration::ZERO; 2],
            Delivery::Dropped => {
                self.dropped[direction].fetch_add(1, Ordering::AcqRel);
                Vec::new()
            }
        }
    }
}

/// How long it takes to notice that the test is over.
const MOST_WAIT: Duration = Duration::from_millis(100);
/// Bytes of a message.
const SIZE: usize = 200;
/// Lengths of IPv4 packets with one: over UDP, and over TCP with timestamps.
const MESSAGES: [usize; 2] = [SIZE + 28, SIZE + 52];
const UDP: [&str; 4] = ["native", "stamp", "twamp", "sockperf"];
const TCP: &str = "iperf2";

fn number(egress: &Value, name: &str) -> u64 {
    egress["counted"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {egress:#}"))
}

fn longest(egress: &Value) -> Duration {
    Duration::from_nanos(
        egress["rtt_ns"]["max"].as_u64().unwrap_or_else(|| panic!("no round trips: {egress:#}")),
    )
}

const EACH_SEVENTH: Rule = |number, _| if number % 7 == 3 { Delivery::Dropped } else { AT_ONCE };
const SEVENTH_TWICE: Rule = |number, _| if number % 7 == 3 { Delivery::Twice } else { AT_ONCE };
const SEVENTH_LATE: Rule = |number, _| match number % 7 {
    3 => Delivery::After(Duration::from_millis(60)),
    _ => AT_ONCE,
};
/// The path takes longer from its hundredth message on.
const STEP: Rule =
    |number, _| if number > 100 { Delivery::After(Duration::from_millis(40)) } else { AT_ONCE };
/// Nothing passes in the last 300 ms of each second.
const STALL: Rule = |_, at| {
    let into = at.as_millis() as u64 % 1000;
    if into >= 700 { Delivery::After(Duration::from_millis(1000 - into)) } else { AT_ONCE }
};

#[test]
fn every_protocol_reports_what_the_path_does() {
    let Some(path) = PathNet::new("every_protocol_reports_what_the_path_does") else { return };
    let args = ["serve", "--stamp", "--twamp", "--sockperf", "--iperf2"];
    let server = Running::start(pathmeter(Some(&path.net.server), &args));
    server.wait_for("pathmeter's own protocol");
    for protocol in UDP {
        let measured_with = |rules, count: &str| {
            let args = ["--protocol", protocol, "--mode", "under-load", "--rate", "300", "-n", count];
            path.measured(rules, &args)
        };
        for direction in [0, 1] {
            let mut rules: [Rule; 2] = [plain; 2];
            rules[direction] = EACH_SEVENTH;
            let (egress, dropped) = measured_with(rules, "105");
            // The path drops some of those, too, that time the wire before the test.
            assert_eq!((number(&egress, "lost"), dropped[1 - direction]), (15, 0), "{protocol}: {egress:#}");
            assert!((15..23).contains(&dropped[direction]), "{protocol}: {dropped:?}");
        }
        let (egress, _) = measured_with([plain, SEVENTH_TWICE], "105");
        // A copy of the reply to a message before the test is a stray.
        let copies =
            [number(&egress, "duplicates"), egress["counted"]["strays"].as_u64().unwrap_or_default()];
        assert!(number(&egress, "lost") == 0 && (13..=15).contains(&copies[0]), "{protocol}: {egress:#}");
        assert!(copies[0] + copies[1] >= 15, "{protocol}: {egress:#}");
        let (egress, _) = measured_with([SEVENTH_LATE, plain], "105");
        assert!((1..=15).contains(&number(&egress, "reordered")), "{protocol}: {egress:#}");
        assert!(
            number(&egress, "lost") == 0 && longest(&egress) >= Duration::from_millis(60),
            "{protocol}: {egress:#}"
        );
        for (rule, least) in [(STEP, 40), (STALL, 200)] {
            let (egress, _) = measured_with([rule, plain], "300");
            assert_eq!(
                (number(&egress, "lost"), number(&egress, "received")),
                (0, 300),
                "{protocol}: {egress:#}"
            );
            assert!(longest(&egress) >= Duration::from_millis(least), "{protocol}: {egress:#}");
        }
    }
    // Over TCP the kernel retransmits what the path drops: it is a delay, and nothing is lost.
    for (rule, least) in [(EACH_SEVENTH, 100), (STEP, 40)] {
        let (egress, dropped) = path.measured([rule, plain], &["--protocol", TCP, "-n", "150"]);
        assert_eq!((number(&egress, "lost"), number(&egress, "received")), (0, 150), "{egress:#}");
        assert!(longest(&egress) >= Duration::from_millis(least), "{dropped:?}: {egress:#}");
    }
    server.signal("TERM");
    server.end().code(0);
}

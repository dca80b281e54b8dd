//! A thousand short sessions of every protocol, many of them broken off: the server is afterwards as it was before.

use super::figures::record;
use super::support::{Running, free_port, pathmeter};
use engine::request::{FarEnd, Host, Request, Throughput, resolve};
use engine::run::{Options, run};
use model::plan::{End, ProtocolName, TestSpec, Transport};
use model::units::{BitRate, Bytes};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sessions before the server is looked at for the first time: what is made once is made by then.
const FIRST: usize = 250;
/// Sessions until it is looked at again; where it holds more than at first, once more each. What is left behind of each session only
/// grows.
const LATER: [usize; 3] = [1_000, 2_000, 3_000];
/// Clients at the same time.
const CLIENTS: usize = 8;
/// Threads of a server without sessions: the first one, the one of signals, the one of SockPerf's datagrams, and, from the first UDP
/// flow on, the one that opens them.
const IDLE: usize = 4;
/// Memory that all later sessions may leave behind. One KiB of each would be more.
const KIBIBYTES: u64 = 512;

/// Ports of native, iPerf3, iPerf2, SockPerf and HTTP.
#[derive(Clone, Copy)]
struct Ports {
    native: u16,
    iperf3: u16,
    iperf2: u16,
    sockperf: u16,
    http: u16,
}

/// Session number `n`: what kind it is goes round.
fn session(n: usize, ports: Ports) {
    let test = |protocol, port, transport, bitrate| {
        let far = FarEnd { port: Some(port), ..FarEnd::named("127.0.0.1") };
        let request = Throughput {
            protocol,
            test: TestSpec { bitrate, end: End::Bytes(Bytes(20_000)), ..TestSpec::new(transport) },
            ..Throughput::to(far)
        };
        let plan = resolve(&Request::Throughput(Box::new(request)), &Host::here()).unwrap();
        run(&plan, &Options::default(), &mut |_| {}).unwrap_or_else(|e| panic!("session {n}: {e}"));
    };
    let connect = |port| TcpStream::connect(("127.0.0.1", port)).unwrap();
    match n % 10 {
        0 => test(ProtocolName::Native, ports.native, Transport::Tcp, None),
        1 => test(ProtocolName::Native, ports.native, Transport::Udp, Some(BitRate(50_000_000))),
        2 => test(ProtocolName::Iperf3, ports.iperf3, Transport::Tcp, None),
        3 => test(ProtocolName::Iperf2, ports.iperf2, Transport::Tcp, None),
        // Broken off: in the greeting, after a cookie, in a header.
        4 => connect(ports.native).write_all(b"PMTRCTRL").unwrap(),
        5 => connect(ports.iperf3).write_all(&[b'a'; 37]).unwrap(),
        6 => connect(ports.iperf2).write_all(&[0; 24]).unwrap(),
        7 => {
            let mut stream = connect(ports.http);
            stream.write_all(b"GET /bytes/10K HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert!(answer.len() > 10_000, "{n}: {}", answer.len());
        }
        8 => drop(connect(ports.sockperf)),
        _ => test(ProtocolName::Iperf2, ports.iperf2, Transport::Udp, Some(BitRate(50_000_000))),
    }
}

/// Memory of its own in KiB, threads, open files. Pages of the program's file that are read when they are first run are nothing that
/// a session leaves behind.
fn held(pid: u32) -> (u64, usize, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rss = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let count = |of: &str| std::fs::read_dir(format!("/proc/{pid}/{of}")).unwrap().count();
    (rss.trim().trim_end_matches(" kB").parse().unwrap(), count("task"), count("fd"))
}

/// The server's holdings once every session is over: it has no other threads than those that stay. A session that goes on has a
/// stack.
fn settled(pid: u32) -> (u64, usize, usize) {
    for _ in 0..600 {
        let now = held(pid);
        if now.1 <= IDLE {
            return now;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{} threads, {IDLE} when no session goes on", held(pid).1);
}

#[test]
fn a_thousand_sessions_leave_nothing_behind() {
    let [iperf3, iperf2, sockperf, http] = [(); 4].map(|()| free_port());
    let options = [
        format!("--iperf3={iperf3}"),
        format!("--iperf2={iperf2}"),
        format!("--sockperf={sockperf}"),
        format!("--http={http}"),
    ];
    let native = free_port();
    let port = native.to_string();
    let args = ["serve", "--bind", "127.0.0.1", "--port", &port].into_iter();
    let mut command = pathmeter(None, &args.chain(options.iter().map(String::as_str)).collect::<Vec<_>>());
    // Heaps of threads and stacks that are kept for the next thread would hide what is left behind: there are as many as there
    // were sessions at once.
    command.env("MALLOC_ARENA_MAX", "1").env("MALLOC_TRIM_THRESHOLD_", "65536").env("MALLOC_TOP_PAD_", "0");
    // The same holds for what lies below the last small block of the heap: so buffers are given back one by one.
    command.env("MALLOC_MMAP_THRESHOLD_", "4096");
    command.env("GLIBC_TUNABLES", "glibc.pthread.stack_cache_size=0");
    let server = Running::start(command);
    server.wait_for("pathmeter's own protocol");
    let ports = Ports { native, iperf3, iperf2, sockperf, http };
    let next = AtomicUsize::new(0);
    let until = |end: usize| {
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while next.load(Ordering::Relaxed) < end {
                        session(next.fetch_add(1, Ordering::Relaxed), ports);
                    }
                });
            }
        });
    };
    let pid = server.pid();
    until(FIRST);
    let (memory, _, files) = settled(pid);
    let mut last = (u64::MAX, IDLE, files);
    let mut figures = vec![format!("{memory} KiB after {FIRST}")];
    for all in LATER {
        if last.0 > memory + KIBIBYTES {
            until(all);
            last = settled(pid);
            figures.push(format!("{} KiB after {all}", last.0));
        }
    }
    figures.push(format!("{files} and {} open files, {} threads", last.2, last.1));
    record("memory of its own of a server after short sessions of ten kinds", &figures.join("; "));
    assert!(last.0 <= memory + KIBIBYTES, "KiB: {memory} and {}", last.0);
    assert!(last.2 <= files, "open files: {files} and {}", last.2);
    server.signal("TERM");
    server.end().code(0);
}

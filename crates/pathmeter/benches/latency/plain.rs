//! The floor: both ends wait on a socket, spinning or sleeping, with two looks at the clock for each round trip and no
//! protocol.
//! This program starts itself for it, so that it is pinned and watched like every other.
//!
//! ```text
//! plain serve udp|tcp ADDRESS:PORT SIZE [block]
//! plain ping udp|tcp ADDRESS:PORT SIZE SECONDS [block]
//! ```

use anyhow::{Context, bail};
use serde_json::json;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// The first argument that makes this program the plain loop.
pub(crate) const NAME: &str = "plain";

pub(crate) fn main(args: &[String]) -> anyhow::Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (args, spins) = match args.split_last() {
        Some((&BLOCK, before)) => (before, false),
        _ => (&args[..], true),
    };
    match *args {
        ["serve", transport, at, size] => serve(transport, at.parse()?, size.parse()?, spins),
        ["ping", transport, to, size, seconds] => {
            let time = Duration::try_from_secs_f64(seconds.parse()?)?;
            let (times, elapsed) = ping(transport, to.parse()?, size.parse()?, time, spins)?;
            println!("{}", figures(times, elapsed)?);
            Ok(())
        }
        _ => bail!("{NAME}: see benches/latency/plain.rs"),
    }
}

fn serve(transport: &str, at: SocketAddr, size: usize, spins: bool) -> anyhow::Result<()> {
    let mut buffer = vec![0; size];
    if transport == "udp" {
        let socket = UdpSocket::bind(at)?;
        let (_, client) = socket.peek_from(&mut buffer)?;
        socket.connect(client)?;
        socket.set_nonblocking(spins)?;
        loop {
            let length = spin(|| socket.recv(&mut buffer))?;
            socket.send(&buffer[..length])?;
        }
    }
    let mut stream = TcpListener::bind(at)?.accept()?.0;
    set_up(&stream, spins)?;
    while read_whole(&mut stream, &mut buffer)? {
        stream.write_all(&buffer)?;
    }
    Ok(())
}

/// Every round trip in nanoseconds, and how long all took.
fn ping(
    transport: &str,
    to: SocketAddr,
    size: usize,
    time: Duration,
    spins: bool,
) -> anyhow::Result<(Vec<u32>, Duration)> {
    let mut buffer = vec![0; size];
    if transport == "udp" {
        let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
        socket.connect(to)?;
        socket.set_nonblocking(spins)?;
        return round_trips(time, || {
            socket.send(&buffer)?;
            spin(|| socket.recv(&mut buffer)).map(drop)
        });
    }
    let mut stream = TcpStream::connect(to)?;
    set_up(&stream, spins)?;
    round_trips(time, || {
        stream.write_all(&buffer)?;
        let is_whole = read_whole(&mut stream, &mut buffer)?;
        if is_whole { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    })
}

fn round_trips(
    time: Duration,
    mut once: impl FnMut() -> io::Result<()>,
) -> anyhow::Result<(Vec<u32>, Duration)> {
    // Ones, not zeros, so that the memory is there before the clock runs.
    let mut times = vec![1; (time.as_nanos() / SHORTEST).try_into()?];
    let mut count = 0;
    let first = Instant::now();
    let mut end = first;
    while count < times.len() && end - first < time {
        let begin = Instant::now();
        once()?;
        end = Instant::now();
        times[count] = (end - begin).as_nanos().try_into().unwrap_or(u32::MAX);
        count += 1;
    }
    times.truncate(count);
    Ok((times, end - first))
}

/// The line that the client writes. The first tenth is warm-up.
fn figures(mut times: Vec<u32>, elapsed: Duration) -> anyhow::Result<String> {
    let all = times.len();
    times.drain(..all / 10);
    times.sort_unstable();
    let rank = |share: f64| {
        let rank = (share * times.len() as f64).ceil() as usize;
        times.get(rank.saturating_sub(1)).context("no round trip came back")
    };
    let figures = json!({
        "count": all,
        "elapsed_ns": elapsed.as_nanos() as u64,
        "p50": rank(0.5)?,
        "p99": rank(0.99)?,
        "p999": rank(0.999)?,
    });
    Ok(figures.to_string())
}

fn set_up(stream: &TcpStream, spins: bool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(spins)
}

/// Spins until the buffer is full; false at the end of the stream.
fn read_whole(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<bool> {
    let mut have = 0;
    while have < buffer.len() {
        match spin(|| stream.read(&mut buffer[have..]))? {
            0 => return Ok(false),
            length => have += length,
        }
    }
    Ok(true)
}

/// Repeats it while nothing is there. A lost message ends it, after seconds.
fn spin(mut receive: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    for _ in 0..MOST_LOOKS {
        match receive() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            other => return other,
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// The last argument of ends that sleep while they wait.
pub(crate) const BLOCK: &str = "block";
/// No round trip is shorter, nanoseconds.
const SHORTEST: u128 = 1000;
const MOST_LOOKS: u32 = 20_000_000;

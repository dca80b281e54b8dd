//! One run of one tool: started, refereed by the link's counters in its middle and as a whole, and read.

use super::cases::{Case, Contender, Work};
use super::common::lab::Lab;
use super::common::link::{Framing, Look, Referee};
use super::common::machine::Watch;
use super::common::options::whole_seconds;
use super::common::process::Process;
use super::common::turns::Measured;
use super::relay::{Relay, pacing_error};
use super::tools::{Reading, Tool, Toolbox};
use anyhow::{Context, bail};
use model::units::Nanos;
use std::time::{Duration, Instant};

/// Runs it once.
pub(crate) fn once(
    case: &Case,
    contender: &Contender,
    toolbox: &Toolbox,
    lab: &Lab,
    time: Duration,
) -> anyhow::Result<Measured> {
    let paced = match case.work {
        Work::Paced { rate } => Some(rate),
        _ => None,
    };
    let port = contender.tool.port();
    let mut server = Process::start(toolbox.server(contender.tool, case.work, paced.is_some())?, &lab.far)?;
    server.wait_for_port(port)?;
    let relay = paced.map(|_| Relay::open(&lab.far, port, PACED_PAYLOAD)).transpose()?;
    let mut referee = Referee::new(lab)?;
    std::thread::sleep(SETTLE);
    let (watch, server_before, transport) = (Watch::start()?, server.cpu(), referee.transport()?);
    let begin = referee.look()?;
    let mut client = Process::start(toolbox.client(contender, case.work, whole_seconds(time))?, &lab.near)?;
    let window =
        if paced.is_none() { Some(middle(&mut referee, begin, [&client, &server], time)?) } else { None };
    client.wait_for_end(time + TIMEOUT)?;
    let end = referee.look()?;
    let used = client.cpu() + (server.cpu() - server_before);
    let (foreign, stolen) = (watch.foreign(used)?, watch.stolen()?);
    if contender.tool == Tool::Iperf2 {
        // Its server reports a little later.
        std::thread::sleep(REPORT);
    }
    let reading = contender.tool.read(&client.written()?, &server.written()?);
    let reading = reading.with_context(|| client.complaints().trim().to_owned())?;
    check(case.work, &reading)?;
    let mut figures = vec![("stolen", stolen * 100.0)];
    if let (Some(relay), Some(rate)) = (relay, paced) {
        let nominal = (PACED_PAYLOAD * 8) as f64 * 1e9 / rate as f64;
        let error = pacing_error(&relay.close()?, nominal).context("too few datagrams arrived")?;
        figures.push(("gap", error / 1e3));
    }
    if let Some(window) = window {
        let after = referee.transport()?;
        let (framing, lost) = match case.work {
            Work::Tcp { .. } => (Framing::Tcp, 0.0),
            _ => (Framing::Udp, after.dropped_since(&transport)),
        };
        let crossed = end.payload_since(&begin, framing);
        let again = after.retransmitted_since(&transport)
            * f64::from(u8::from(matches!(case.work, Work::Tcp { .. })));
        let useful = 1.0 - lost - again / crossed;
        let (first, last) = window.looks;
        let bytes = last.payload_since(&first, framing) * useful;
        figures.extend([
            ("goodput", bytes * 8.0 / last.seconds_since(&first) / 1e9),
            ("cpu", window.cpu.0 as f64 / 1e6 / (bytes / 1e9)),
            ("waited", window.waited * 1e3),
            ("preempted", window.preempted),
            ("client_mib", window.peaks[0]),
            ("server_mib", window.peaks[1]),
        ]);
        if !reading.repeated {
            figures.push(("counted", (reading.bytes / (crossed * useful) - 1.0) * 100.0));
        }
        if matches!(case.work, Work::Udp { .. }) {
            figures.push(("loss", reading.loss.max(lost) * 100.0));
        }
    }
    Ok(Measured { figures, foreign })
}

/// The middle of a run, and the state of both ends in it.
struct Window {
    looks: (Look, Look),
    /// CPU time of both ends.
    cpu: Nanos,
    /// Seconds in each second that threads of both ends were ready and had no CPU.
    waited: f64,
    /// Times in each second that a thread of both ends was taken off its CPU.
    preempted: f64,
    /// Peak memory of the client and the server, MiB.
    peaks: [f64; 2],
}

/// From a tenth of the test's time after the first data until eight tenths of it.
fn middle(
    referee: &mut Referee<'_>,
    begin: Look,
    ends: [&Process; 2],
    time: Duration,
) -> anyhow::Result<Window> {
    let deadline = Instant::now() + TIMEOUT;
    while referee.look()?.payload_since(&begin, Framing::Tcp) < BUSY {
        if Instant::now() >= deadline || ends[0].has_ended() {
            // Why is in what it wrote.
            break;
        }
        std::thread::sleep(STEP);
    }
    std::thread::sleep(time / 10);
    let held_up = || ends.map(Process::held_up).into_iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    let cpu = || ends[0].cpu() + ends[1].cpu();
    let (first, before, cpu_before) = (referee.look()?, held_up(), cpu());
    std::thread::sleep(time.mul_f64(0.7));
    let (last, after, cpu_after) = (referee.look()?, held_up(), cpu());
    let seconds = last.seconds_since(&first);
    Ok(Window {
        looks: (first, last),
        cpu: cpu_after - cpu_before,
        waited: (after.0 - before.0) / seconds,
        preempted: (after.1 - before.1) / seconds,
        peaks: ends.map(Process::peak),
    })
}

/// A tool that ran another congestion control than requested, or received nothing, has measured something else.
fn check(work: Work, reading: &Reading) -> anyhow::Result<()> {
    match (work, &reading.congestion) {
        (Work::Tcp { .. } | Work::Udp { .. }, _) if reading.bytes <= 0.0 => bail!("nothing was received"),
        (Work::Tcp { congestion, .. }, Some(ran)) if ran != congestion => {
            bail!("{ran} ran, not {congestion}")
        }
        _ => Ok(()),
    }
}

const PACED_PAYLOAD: usize = 1472;
const SETTLE: Duration = Duration::from_millis(100);
const REPORT: Duration = Duration::from_millis(300);
const TIMEOUT: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(5);
/// Payload bytes that are no control connection's.
const BUSY: f64 = 100e3;

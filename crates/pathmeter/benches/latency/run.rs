//! One run of one contender: its server started, its client at work, both looked at twice in between.

use super::cases::{Case, Contender, Link, Transport};
use super::common::lab::Lab;
use super::common::link::{Look, Referee};
use super::common::machine::Watch;
use super::common::process::Process;
use super::common::turns::Measured;
use super::tools::Toolbox;
use anyhow::{Context, bail};
use model::units::Nanos;
use std::time::Duration;

/// Runs it once.
pub(crate) fn once(
    case: &Case,
    contender: &Contender,
    toolbox: &Toolbox,
    lab: &Lab,
    time: Duration,
) -> anyhow::Result<Measured> {
    let watch = Watch::start()?;
    let mut server = Process::start(toolbox.server(contender, case)?, &lab.far)?;
    server.wait_for_port(contender.tool.port())?;
    let mut referee = Referee::new(lab)?;
    std::thread::sleep(SETTLE);
    let near = match case.egress {
        Link::Loopback => &lab.far,
        Link::Veth => &lab.near,
    };
    let mut client = Process::start(toolbox.client(contender, case, time)?, near)?;
    // A look at a process takes a CPU from the ends for some 50 µs: two looks, and none while waiting for the end.
    std::thread::sleep(contender.tool.lead_in() + time.mul_f64(0.3));
    let first = look(&mut referee, &client, &server)?;
    std::thread::sleep(time.mul_f64(0.6));
    let last = look(&mut referee, &client, &server)?;
    let peaks = [client.peak(), server.peak()];
    let was_in_time = !client.has_ended();
    std::thread::sleep(time.mul_f64(0.1) + SETTLE);
    client.wait_for_end(time + TIMEOUT)?;
    let foreign = watch.foreign(client.cpu() + server.cpu())?;
    let reading = contender.tool.read(&client.written()?);
    let reading = reading.with_context(|| client.complaints().trim().to_owned())?;
    if !was_in_time {
        bail!("the client ended before its time");
    }
    let window = last.0.seconds_since(&first.0);
    let per_round_trip = |from: Nanos, to: Nanos| (to - from).0 as f64 / 1e9 / window * reading.interval;
    let mut figures = vec![
        ("p50", reading.p50),
        ("p99", reading.p99),
        ("p999", reading.p999),
        ("client_cpu", per_round_trip(first.1, last.1)),
        ("server_cpu", per_round_trip(first.2, last.2)),
        ("count", reading.count),
        ("stolen", watch.stolen()? * 100.0),
        ("client_mib", peaks[0]),
        ("server_mib", peaks[1]),
    ];
    // Over TCP some packets acknowledge alone.
    if (case.egress, case.transport) == (Link::Veth, Transport::Udp) {
        let by_link = window * 1e6 / last.0.packets_since(&first.0).max(1.0);
        figures.push(("counted", (reading.interval / by_link - 1.0) * 100.0));
    }
    Ok(Measured { figures, foreign })
}

fn look(
    referee: &mut Referee<'_>,
    client: &Process,
    server: &Process,
) -> anyhow::Result<(Look, Nanos, Nanos)> {
    Ok((referee.look()?, client.cpu(), server.cpu()))
}

const SETTLE: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(20);

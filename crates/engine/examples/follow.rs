//! Follows a test while it runs: prints what arrived in each tenth of a second: `follow HOST`.

use pathmeter_engine::model::event::Event;
use pathmeter_engine::model::plan::{End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use pathmeter_engine::model::units::Nanos;
use pathmeter_engine::resolve::{Family, resolve};
use pathmeter_engine::{run, wire};
use std::io::Write;

fn main() -> anyhow::Result<()> {
    let host = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1".into());
    let port = std::env::args().nth(2).map_or(Ok(wire::native::PORT), |port| port.parse())?;
    let plan = Plan {
        target: Target { address: resolve(&host, port, Family::Any)?, host },
        protocol: ProtocolName::Native,
        test: TestSpec { end: End::Time(Nanos::from_secs(1)), ..TestSpec::new(Transport::Tcp) },
        local: LocalOptions { interval: Nanos::from_millis(100), ..LocalOptions::default() },
    };
    let mut out = std::io::stdout();
    let mut row = |event: &Event| {
        if let Event::Sample(sample) = event {
            let bytes: u64 = sample.streams.iter().map(|stream| stream.bytes.0).sum();
            let end = sample.end.0 as f64 / 1e9;
            writeln!(out, "{:?} at {end:.1} s: {bytes} bytes", sample.side).ok();
        }
    };
    let plan = run::Plan::Throughput(Box::new(plan));
    run::run(&plan, &run::Options::default(), &mut row)?;
    Ok(())
}

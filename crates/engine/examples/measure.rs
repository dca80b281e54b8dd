//! Measures how much the path to a pathmeter server carries, and prints the verdict: `measure HOST`.

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
        local: LocalOptions::default(),
    };
    let plan = run::Plan::Throughput(Box::new(plan));
    let ended = run::run(&plan, &run::Options::default(), &mut |_| {})?;
    writeln!(std::io::stdout(), "{}", ended.run.verdict.text)?;
    Ok(())
}

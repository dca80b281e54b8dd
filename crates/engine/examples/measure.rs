//! Measures how much the path to a pathmeter server carries, and prints the verdict: `measure HOST`.

use pathmeter_engine::model::plan::{End, TestSpec};
use pathmeter_engine::model::units::Nanos;
use pathmeter_engine::request::{FarEnd, Throughput};
use pathmeter_engine::{Host, Options, Request, resolve, run};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1".into());
    let mut far = FarEnd::named(&host);
    far.port = std::env::args().nth(2).map(|port| port.parse()).transpose()?;
    let request = Throughput {
        test: TestSpec { end: End::Time(Nanos::from_secs(1)), ..TestSpec::default() },
        ..Throughput::to(far)
    };
    let plan = resolve(&Request::Throughput(Box::new(request)), &Host::here())?;
    let ended = run(&plan, &Options::default(), &mut |_| {})?;
    if let Some(run) = ended.run() {
        writeln!(std::io::stdout(), "{}", run.verdict.text)?;
    }
    Ok(())
}

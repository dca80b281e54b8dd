//! Follows a test while it runs: prints what arrived in each tenth of a second: `follow HOST`.

use pathmeter_engine::model::event::Event;
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
        interval: Nanos::from_millis(100),
        ..Throughput::to(far)
    };
    let plan = resolve(&Request::Throughput(Box::new(request)), &Host::here())?;
    let mut out = std::io::stdout();
    let mut row = |event: &Event| {
        if let Event::Sample(sample) = event {
            let bytes: u64 = sample.streams.iter().map(|stream| stream.bytes.0).sum();
            let end = sample.end.0 as f64 / 1e9;
            writeln!(out, "{:?} at {end:.1} s: {bytes} bytes", sample.side).ok();
        }
    };
    run(&plan, &Options::default(), &mut row)?;
    Ok(())
}

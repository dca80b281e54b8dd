//! pathmeter: how fast is this path really, where is the limit, and why?

mod commands;
mod exit;
mod signals;

use cli::config::Config;
use cli::{Cli, Command};
use engine::error::Result;
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::install_panic_hook();
    let argv: Vec<OsString> = std::env::args_os().collect();
    #[cfg(debug_assertions)]
    assert!(std::env::var_os("PATHMETER_TEST_FAULT").is_none(), "asked for by a test");
    #[cfg(feature = "lab")]
    if let Some(ended) = lab::vm::guest::run(&argv) {
        return ended;
    }
    let ended = commands::dialect::called_as(&argv)
        .unwrap_or_else(|| cli::read(argv).and_then(|(cli, config)| run(&cli, &config)));
    let exit = ended.unwrap_or_else(|error| {
        exit::report(&error);
        Exit::from_error(&error)
    });
    exit.into()
}

/// One sub-command, one function.
fn run(cli: &Cli, config: &Config) -> Result<Exit> {
    let global = &cli.common;
    global.output.as_deref().map_or(Ok(()), cli::written::check)?;
    commands::chart::check(&cli.command, global)?;
    match &cli.command {
        Command::Measure(args) => commands::measure::run(args, global),
        Command::Serve(args) => commands::serve::run(args, global),
        Command::Throughput(args) => commands::throughput::run(args, global),
        Command::Latency(args) => commands::latency::run(args, global),
        Command::Mtu(args) => commands::mtu::run(args, global),
        Command::Hops(args) => commands::hops::run(args, global),
        Command::Transfer(args) => commands::transfer::run(args, global),
        Command::Linerate(args) => commands::linerate::run(args, global),
        Command::Frames(args) => commands::frames::run(args, global),
        #[cfg(feature = "device")]
        Command::Rfc2544(args) => commands::rfc2544::run(args, global),
        #[cfg(feature = "lab")]
        Command::Lab(args) => commands::lab::run(args, global),
        #[cfg(feature = "plan")]
        Command::Plan(args) => commands::plan::run(args, global),
        Command::Compare(args) => commands::compare::run(args, global),
        #[cfg(feature = "store")]
        Command::Trend(args) => commands::trend::run(args, global),
        #[cfg(feature = "store")]
        Command::Watch(args) => commands::watch::run(args, global),
        #[cfg(feature = "store")]
        Command::History(args) => commands::store::history(args, global),
        #[cfg(feature = "store")]
        Command::Show(args) => commands::store::show(args, global),
        #[cfg(feature = "store")]
        Command::Label(args) => commands::store::label(args, global),
        #[cfg(feature = "store")]
        Command::Forget(args) => commands::store::forget(args, global),
        #[cfg(feature = "store")]
        Command::Export(args) => commands::store::export(args, global),
        #[cfg(feature = "store")]
        Command::Report(args) => commands::report::run(args, global),
        #[cfg(feature = "web")]
        Command::Ui(args) => commands::ui::run(args, global),
        #[cfg(feature = "fleet")]
        Command::Agent(args) => commands::agent::run(args, global),
        #[cfg(feature = "fleet")]
        Command::Mesh(args) => commands::mesh::run(args, global),
        Command::Analyse(args) => commands::analyse::run(args, global),
        Command::Import(args) => commands::import::run(args, global),
        #[cfg(feature = "lab")]
        Command::Demo(args) => commands::demo::run(args, global),
        Command::Config(args) => commands::config::run(args, config, global),
        Command::Doctor(args) => commands::doctor::run(args, global),
        #[cfg(feature = "dialects")]
        Command::Iperf3(args) => commands::dialect::iperf3(&args.args),
        #[cfg(feature = "dialects")]
        Command::Iperf(args) => commands::dialect::iperf2(&args.args),
        #[cfg(feature = "dialects")]
        Command::Sockperf(args) => commands::dialect::sockperf(&args.args),
        Command::Completions(args) => commands::completions::run(args, global),
        Command::Man(args) => commands::man::run(args, global),
        Command::Guard(args) => engine::host::guard::watch(&args.args).map(|()| exit::Exit::Done),
    }
}

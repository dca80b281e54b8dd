//! pathmeter: how fast is this path really, where is the limit, and why?

mod cli;
mod commands;
mod dialect;
mod exit;
mod planner;
mod signals;

use clap::Parser;
use cli::{Cli, Command, Common, Iperf3Args};
use exit::{Exit, Told};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::install_panic_hook();
    let words: Vec<OsString> = std::env::args_os().collect();
    #[cfg(debug_assertions)]
    assert!(std::env::var_os("PATHMETER_TEST_FAULT").is_none(), "asked for by a test");
    if let Some(ended) = lab::vm::guest::run(&words) {
        return ended;
    }
    let ended = if let Some(args) = dialect::words_of("iperf3", &words) {
        commands::iperf3::run(&Iperf3Args { args }, &Common::default())
    } else if let Some(args) = dialect::words_of("iperf", &words) {
        commands::iperf::run(&args)
    } else if let Some(args) = dialect::words_of("sockperf", &words) {
        commands::sockperf::run(&args)
    } else {
        run(&Cli::parse_from(words))
    };
    let exit = ended.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "{}", Told(&error));
        Exit::of(&error)
    });
    exit.into()
}

/// One sub-command, one function.
fn run(cli: &Cli) -> anyhow::Result<Exit> {
    let global = &cli.common;
    global.output.as_deref().map_or(Ok(()), commands::file::check)?;
    match &cli.command {
        Command::Measure(args) => commands::measure::run(args, global),
        Command::Serve(args) => commands::serve::run(args, global),
        Command::Throughput(args) => commands::throughput::run(args, global),
        Command::Latency(args) => commands::latency::run(args, global),
        Command::Mtu(args) => commands::mtu::run(args, global),
        Command::Transfer(args) => commands::transfer::run(args, global),
        Command::Linerate(args) => commands::linerate::run(args, global),
        Command::Frames(args) => commands::frames::run(args, global),
        Command::Rfc2544(args) => commands::rfc2544::run(args, global),
        Command::Lab(args) => commands::lab::run(args, global),
        Command::Analyse(args) => commands::analyse::run(args, global),
        Command::Import(args) => commands::import::run(args, global),
        Command::Demo(args) => commands::demo::run(args, global),
        Command::Doctor(args) => commands::doctor::run(args, global),
        Command::Iperf3(args) => commands::iperf3::run(args, global),
        Command::Iperf(args) => commands::iperf::run(&args.args),
        Command::Sockperf(args) => commands::sockperf::run(&args.args),
        Command::Completions(args) => commands::completions::run(args, global),
        Command::Man(args) => commands::man::run(args, global),
        Command::Guard(args) => engine::guard::watch(&args.words).map(|()| exit::Exit::Done),
    }
}

//! pathmeter: how fast is this path really, where is the limit, and why?

mod commands;
mod exit;
mod signals;

use cli::config::Config;
use cli::{Cli, Command, Unread};
use commands::output::{deliver_error, report_errors_as};
use engine::error::{Error, Result};
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::install_panic_hook(deliver_error);
    let argv: Vec<OsString> = std::env::args_os().collect();
    #[cfg(feature = "lab")]
    if let Some(ended) = lab::vm::guest::run(&argv) {
        return ended;
    }
    if let Some(ended) = commands::dialect::called_as(&argv) {
        return ended.unwrap_or_else(|error| fail(&error)).into();
    }
    report_errors_as(cli::requested_format(&argv));
    #[cfg(debug_assertions)]
    assert!(std::env::var_os("PATHMETER_TEST_FAULT").is_none(), "asked for by a test");
    match cli::read(argv) {
        Ok((cli, config)) => {
            report_errors_as(Some(cli.common.format()));
            run(&cli, &config).unwrap_or_else(|error| fail(&error)).into()
        }
        Err(Unread::Clap(error)) => {
            let code = exit::refuse(&error);
            if error.use_stderr() {
                deliver_error(exit::refusal(&error.to_string()));
            }
            code.map_or_else(|error| fail(&error).into(), ExitCode::from)
        }
        Err(Unread::Error(error)) => fail(&error).into(),
    }
}

/// Ends with an error: a sentence on standard error, and its document on standard output where the format has one.
fn fail(error: &Error) -> Exit {
    exit::report(error);
    deliver_error(exit::body(error));
    Exit::from_error(error)
}

/// One sub-command, one function.
fn run(cli: &Cli, config: &Config) -> Result<Exit> {
    let global = &cli.common;
    global.output.as_deref().map_or(Ok(()), cli::written::check)?;
    commands::chart::check(&cli.command, global)?;
    match &cli.command {
        Command::Measure(args) => commands::measured::run(args, global),
        Command::Serve(args) => commands::serve::run(args, global),
        Command::Throughput(args) => commands::measured::run(&**args, global),
        Command::Latency(args) => commands::measured::run(&**args, global),
        Command::Mtu(args) => commands::measured::run(&**args, global),
        Command::Hops(args) => commands::measured::run(&**args, global),
        Command::Transfer(args) => commands::measured::run(&**args, global),
        Command::Linerate(args) => commands::linerate::run(args, global),
        Command::Frames(args) => commands::measured::run(&**args, global),
        #[cfg(feature = "device")]
        Command::Rfc2544(args) => commands::rfc2544::run(args, global),
        #[cfg(feature = "lab")]
        Command::Lab(command) => commands::lab::run(command, global),
        #[cfg(feature = "plan")]
        Command::Plan(command) => commands::plan::run(command, global),
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
        Command::Agent(command) => commands::agent::run(command, global),
        #[cfg(feature = "fleet")]
        Command::Mesh(command) => commands::mesh::run(command, global),
        Command::Analyse(args) => commands::analyse::run(args, global),
        Command::Import(args) => commands::import::run(args, global),
        #[cfg(feature = "lab")]
        Command::Demo(args) => commands::demo::run(args, global),
        Command::Config(command) => commands::config::run(*command, config, global),
        Command::Doctor(args) => commands::doctor::run(args, global),
        #[cfg(feature = "dialects")]
        Command::Iperf3(args) => commands::dialect::run(dialect::iperf3::run, &args.args),
        #[cfg(feature = "dialects")]
        Command::Iperf(args) => commands::dialect::run(dialect::iperf2::run, &args.args),
        #[cfg(feature = "dialects")]
        Command::Sockperf(args) => commands::dialect::run(dialect::sockperf::run, &args.args),
        Command::Completions(args) => commands::completions::run(args, global),
        Command::Man(args) => commands::man::run(args, global),
        Command::Guard(args) => engine::host::guard::watch(&args.args).map(|()| exit::Exit::Done),
    }
}

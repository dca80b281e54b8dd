//! `lab run --in-vm`: the same command inside a virtual machine, and its document brought out.

use super::judge;
use super::plan::{Plan, Request, Test};
use engine::error::{Failure, Kind, Result, fault};
use lab::topology::NodePlace;
use lab::vm::Inside;
use model::event::Event;
use model::lab::LabReport;
use model::units::Nanos;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measures every topology of the plan in one virtual machine. Its messages go to `sink`, line by line.
///
/// # Errors
/// When a topology cannot be built in a machine, there can be no machine, or the program in it failed.
pub fn run_in_machine(plan: &Plan, sink: &mut dyn FnMut(&Event)) -> Result<LabReport> {
    check(plan)?;
    let request = &plan.asked;
    let names = if request.compare.is_empty() { &request.topologies } else { &request.compare };
    let (names, files) = along(names);
    let limit = plan.duration().0.saturating_mul(SLOWER).saturating_add(OVERHEAD.0);
    let work = Inside {
        executable: std::env::current_exe()?,
        arguments: arguments(request, &names),
        topologies: plan.variants.iter().map(|planned| &planned.topology).collect(),
        files,
        limit: Duration::from_nanos(limit),
    };
    sink(&Event::progress("booting a virtual machine"));
    let mut line = Vec::new();
    let report = |bytes: &[u8]| {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if line.ends_with(b"\n") {
                sink(&Event::progress(String::from_utf8_lossy(&line).trim_end()));
                line.clear();
            }
        }
    };
    let done = work.run(report).map_err(|error| Failure {
        kind: Kind::Void,
        message: error.to_string(),
        advice: None,
    })?;
    let Ok(mut report) = model::json::read::<LabReport>(&done.output.stdout) else {
        let ended = done.output.ended.unwrap_or_default();
        let how = match (ended.error, ended.code) {
            (Some(error), _) => error,
            // The reason has been reported as it came.
            (None, Some(code)) => format!("`lab run` ended with exit code {code}"),
            (None, None) => "`lab run` was killed: memory may not have sufficed".to_owned(),
        };
        return Err(fault(format!("in the virtual machine: {how}")));
    };
    report.notes.splice(0..0, done.notes);
    if done.emulated {
        leave_open(&mut report);
    }
    Ok(report)
}

/// Leaves missed expectations open: an emulated CPU may be too slow for a rate, and its delays may exceed the tolerance.
fn leave_open(report: &mut LabReport) {
    let all = report.variants.iter_mut().flat_map(|variant| &mut variant.expectations);
    let of_time =
        |what: &str| [judge::RATE_OF_LINK, judge::DELAY_ADDED].iter().any(|begin| what.starts_with(begin));
    let missed: Vec<_> = all.filter(|one| one.held == Some(false) && of_time(&one.what)).collect();
    if !missed.is_empty() {
        let note = "Rates and delays that were missed are not judged: the virtual machine was emulated, and may have \
                    been too slow for them.";
        report.notes.push(note.to_owned());
    }
    missed.into_iter().for_each(|one| one.held = None);
}

fn check(plan: &Plan) -> Result<()> {
    if plan.tap.is_some() {
        let message = "--capture with --in-vm: the links are inside the machine";
        return Err(Failure::usage(message, "leave one of them out").into());
    }
    for planned in &plan.variants {
        let topology = &planned.topology;
        if let Some(node) = topology.nodes.iter().find(|node| node.place != NodePlace::Namespace) {
            let what = if node.place.is_machine() { "a virtual machine itself" } else { "a real host" };
            let message =
                format!("{} cannot run in a virtual machine: {} is {what}", topology.name, node.name);
            return Err(Failure::usage(message, "run it without --in-vm").into());
        }
    }
    Ok(())
}

/// The names as they are in the machine, and the files that must be taken there.
fn along(names: &[String]) -> (Vec<String>, Vec<(PathBuf, PathBuf)>) {
    let mut files = Vec::new();
    let inside = names.iter().map(|name| {
        if lab::shipped::SHIPPED.iter().any(|shipped| shipped.name == name) {
            return name.clone();
        }
        // Its name is that of the topology, which must stay.
        let file = Path::new(name).file_name().unwrap_or_default();
        let path = Path::new("/root/topologies").join(file);
        files.push((PathBuf::from(name), path.clone()));
        path.to_string_lossy().into_owned()
    });
    (inside.collect(), files)
}

fn arguments(asked: &Request, names: &[String]) -> Vec<String> {
    let mut args: Vec<String> = ["lab", "run", "--json"].map(str::to_owned).to_vec();
    let mut option = |name: &str, value: Option<String>| {
        args.extend(value.map(|value| format!("--{name}={value}")));
    };
    let tests: Vec<&str> = asked.tests.iter().copied().map(Test::name).collect();
    option("tests", (!tests.is_empty()).then(|| tests.join(",")));
    option("time", asked.time.map(|Nanos(time)| format!("{time}ns")));
    option("runs", asked.rounds.map(|runs| runs.to_string()));
    option("compare", (!asked.compare.is_empty()).then(|| names.join(",")));
    for (flag, given) in
        [("--frames", asked.frames), ("--ipv4", asked.ipv4), ("--ipv6", asked.ipv6), ("--quick", asked.quick)]
    {
        args.extend(given.then(|| flag.to_owned()));
    }
    if asked.compare.is_empty() {
        args.extend(names.iter().cloned());
    }
    args
}

/// In emulation programs take many times longer to start, and the tests themselves their requested time.
const SLOWER: u64 = 4;
const OVERHEAD: Nanos = Nanos::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;
    use model::lab::{Expectation, Variant};

    #[test]
    fn only_what_rests_on_time_and_was_missed_is_left_open() {
        let all = [
            (judge::RATE_OF_LINK, Some(false)),
            (judge::RATE_OF_LINK, Some(true)),
            (judge::DELAY_ADDED, Some(false)),
            (judge::DELAY_ADDED, Some(true)),
            ("loss", Some(false)),
            ("path MTU", Some(false)),
            ("finding", None),
        ];
        let expectation = |(what, held): (&str, _)| Expectation {
            what: format!("{what} up, IPv4"),
            expected: String::new(),
            found: String::new(),
            held,
        };
        let variant = Variant { expectations: all.map(expectation).into(), ..Variant::default() };
        let mut report = LabReport {
            schema: String::new(),
            started: None,
            finished: None,
            host: None,
            repetitions: 1,
            time: Nanos::ZERO,
            variants: vec![variant],
            comparisons: Vec::new(),
            notes: Vec::new(),
        };
        leave_open(&mut report);
        let held: Vec<_> = report.variants[0].expectations.iter().map(|one| one.held).collect();
        assert_eq!(held, [None, Some(true), None, Some(true), Some(false), Some(false), None]);
        assert_eq!(report.notes.len(), 1);
        leave_open(&mut report);
        assert_eq!(report.notes.len(), 1, "nothing is left to say");
    }
}

//! Checks for refusals of this host, which are found and explained before anything is sent.

use crate::error::{Failure, MORE_FILES};
use crate::work::throughput::flows::tcp_options;
use linux::error::OsError;
use linux::socket::{TcpOptions, tcp_try};
use model::latency::{EgressPath, LatencyPlan};
use model::plan::{LocalOptions, Plan, Target, TestSpec, Transport};
use model::transfer::TransferPlan;
use std::io::ErrorKind;

/// Tries the socket options of a test, and its CPUs. A refusal is `Kind::Usage` with advice.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    cpus(&plan.local.affinity)?;
    files(plan.test.all_streams())?;
    check_path(&plan.target, &plan.local)?;
    match plan.test.transport {
        Transport::Tcp => {
            sockets(&plan.target, &tcp_options(&plan.test, &plan.local), &plan.local, &plan.test)
        }
        Transport::Udp => Ok(()),
    }
}

/// Looks whether this process may have a file open for each stream, and those that it has besides. The limit is raised as far as it may
/// be.
fn files(streams: u32) -> Result<(), Failure> {
    linux::privilege::raise_open_files().ok();
    let (needed, most) = (u64::from(streams) + OWN_FILES, linux::privilege::open_files());
    match needed > most {
        false => Ok(()),
        true => Err(Failure::usage(
            format!("{streams} streams need {needed} open files, and this process may have {most}"),
            MORE_FILES,
        )),
    }
}

/// The same for a latency run: an error when none of its egress paths can be used.
pub fn latency(plan: &LatencyPlan) -> Result<(), Failure> {
    cpus(plan.cpu.as_slice())?;
    let open = |egress: &EgressPath| {
        let local =
            LocalOptions { bind: egress.bind, device: egress.device.clone(), ..LocalOptions::default() };
        self::check_path(&egress.target, &local)
    };
    let mut first = None;
    for egress in &plan.egress_paths {
        match open(egress) {
            Ok(()) => return Ok(()),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    first.map_or(Ok(()), Err)
}

/// The same for a run of transfers: the path to every file.
pub fn transfer(plan: &TransferPlan) -> Result<(), Failure> {
    let local = LocalOptions { bind: plan.bind, device: plan.device.clone(), ..LocalOptions::default() };
    let (mss, congestion) = (plan.mss, plan.congestion.clone());
    let test = TestSpec { mss, congestion, ..TestSpec::new(Transport::Tcp) };
    plan.files.iter().try_for_each(|file| {
        let target = Target { host: file.label.clone(), address: file.address };
        sockets(&target, &tcp_options(&test, &local), &local, &test)
    })
}

/// Tries the local address and the device.
pub fn check_path(target: &Target, local: &LocalOptions) -> Result<(), Failure> {
    let options =
        TcpOptions { local_address: local.bind, device: local.device.clone(), ..TcpOptions::default() };
    sockets(target, &options, local, &TestSpec::new(Transport::Tcp))
}

/// Looks whether this process may run on these CPUs.
pub fn cpus(wanted: &[u32]) -> Result<(), Failure> {
    // Where the kernel does not report the allowed CPUs, a wrong one fails when threads are pinned.
    let Ok(allowed) = linux::cpu::affinity() else { return Ok(()) };
    let missing = wanted.iter().find(|cpu| !allowed.contains(&(**cpu as usize)));
    missing.map_or(Ok(()), |cpu| {
        let list = allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Err(Failure::usage(
            format!("--affinity {cpu}: this process may not run on CPU {cpu}, or there is none"),
            format!("give some of {list}"),
        ))
    })
}

fn sockets(
    target: &Target,
    options: &TcpOptions,
    local: &LocalOptions,
    test: &TestSpec,
) -> Result<(), Failure> {
    tcp_try(target.address, options).map_err(|error| explain(&error, local, test))
}

fn explain(error: &OsError, local: &LocalOptions, test: &TestSpec) -> Failure {
    let is = |option: &str| error.operation.contains(option);
    let kind = error.source.kind();
    match (&test.congestion, &local.device, local.bind) {
        (Some(name), ..) if is("TCP_CONGESTION") => {
            let message = match kind {
                ErrorKind::PermissionDenied => {
                    format!("--congestion {name}: only root may use it on this host")
                }
                _ => format!("--congestion {name}: this host does not have it"),
            };
            Failure::usage(message, other_algorithms(name))
        }
        (_, Some(device), _) if is("SO_BINDTODEVICE") => {
            let reason = &error.source;
            Failure::usage(
                format!("--device {device}: {reason}"),
                "`ip link` lists the interfaces of this host",
            )
        }
        (.., Some(address)) if is("bind") && kind == ErrorKind::AddrNotAvailable => Failure::usage(
            format!("--bind {address}: this host has no such address"),
            "`ip address` lists those it has",
        ),
        _ => Failure::usage(error.to_string(), "drop or change the option that asks for it"),
    }
}

fn other_algorithms(name: &str) -> String {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{file}"));
    match read("tcp_available_congestion_control") {
        Ok(known) => format!(
            "give one of {}, or load it as root: `modprobe tcp_{name}`",
            known.trim().replace(' ', ", ")
        ),
        Err(_) => format!("load it as root: `modprobe tcp_{name}`"),
    }
}

/// Files beside the streams: the terminal's, the control connection, what wakes threads.
const OWN_FILES: u64 = 12;

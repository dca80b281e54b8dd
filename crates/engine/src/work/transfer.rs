//! Transfers of real files over HTTP, HTTPS and S3: each over a connection of its own, timed in its parts.

mod exchange;
pub mod mtu;
mod other_family;
pub mod source;
mod trouble;
mod trust;
mod upload;
mod wire;

use crate::error::{Error, Failure, Result};
use crate::host::address::Family;
use crate::host::capture::{self, CaptureOptions};
use crate::host::describe;
use crate::host::interrupt::Interrupt;
use crate::session::connect::opened_late;
use crate::session::protocol::UNACKNOWLEDGED;
use exchange::Courier;
use linux::clock::{mono_now, wall_now};
use linux::socket::TcpOptions;
use model::event::{Event, Finished, Outcome, Warning};
use model::transfer::{MtuOf, Transfer, TransferPlan, TransferStarted, Trust};
use model::units::{Bytes, Nanos};
use mtu::Sweep;
use source::Source;
use std::collections::BTreeSet;
use std::sync::Arc;
use trouble::Trouble;
use url::Url;
use wire::Setup;

/// A run and what it needs beside its plan.
pub struct TransferJob<'a> {
    /// The plan of the transfers.
    pub plan: &'a TransferPlan,
    /// The plan's files, in its order.
    pub sources: &'a [Source],
    /// Which addresses redirects may lead to.
    pub family: Family,
    /// The capture of its packets.
    pub capture: CaptureOptions,
    /// Ends the run.
    pub interrupt: &'a Interrupt,
}

/// Runs every repetition, and reports each transfer as it ends.
///
/// # Errors
/// A file cannot be transferred at all, or the MTU not be changed; transfers before have been reported.
pub fn run(job: &TransferJob<'_>, emit: &mut dyn FnMut(&Event)) -> Result<()> {
    let plan = job.plan;
    let https = job.sources.iter().any(|source| source.place().scheme() == "https");
    let socket = TcpOptions {
        local_address: plan.bind,
        device: plan.device.clone(),
        mss: plan.mss.map(|mss| Bytes(mss.into())),
        congestion: plan.congestion.clone(),
        nodelay: true,
        ..TcpOptions::default()
    };
    let setup = Setup {
        socket,
        hello: Arc::new(trust::config(&plan.trust, https)?),
        connect_timeout: plan.connect_timeout,
        silence: plan.timeout,
        interrupt: job.interrupt.clone(),
    };
    let courier = Courier { plan, setup, family: job.family };
    let peer = plan.files.first().map(|file| file.address.ip());
    let captured = peer.map(|peer| capture::start(&job.capture, peer)).transpose()?.flatten();
    // Its guard is at work before the first change, and puts everything back when it is dropped.
    let mut sweep = plan.mtu_of.as_ref().map(Sweep::begin).transpose()?;
    let started = mono_now();
    let begun = TransferStarted { wall: wall_now(), plan: plan.clone(), host: describe(peer) };
    emit(&Event::TransferStarted(Box::new(begun)));
    warnings(plan).into_iter().for_each(|warning| emit(&Event::Warning(warning)));
    let (mut late, mut all) = (0, 0);
    let outcome = rounds(job, &courier, sweep.as_mut(), started, &mut |event| {
        if let Event::Transfer(transfer) = event
            && transfer.times.connect.is_some()
        {
            (late, all) = (late + usize::from(is_late(transfer)), all + 1);
        }
        emit(event);
    });
    opened_late(late, all).into_iter().for_each(|warning| emit(&Event::Warning(warning)));
    if let Some(capture) = captured {
        emit(&capture.finish());
    }
    let restored = sweep.map_or(Ok(()), Sweep::end);
    let reported = match &outcome {
        _ if job.interrupt.is_raised() => Outcome::Interrupted,
        Ok(()) => Outcome::Completed,
        Err(e) => Outcome::Failed { reason: crate::error::sentence(e) },
    };
    emit(&Event::Finished(Finished { wall: wall_now(), elapsed: mono_now() - started, outcome: reported }));
    restored.and(outcome)
}

/// The connection took as long to open as the kernel waits before it retransmits a SYN, and far longer than a round trip.
fn is_late(transfer: &Transfer) -> bool {
    let connect = transfer.times.connect.filter(|connect| *connect >= SYN_TIMEOUT);
    let rtt = transfer.tcp.as_ref().map_or(Nanos::ZERO, |tcp| tcp.rtt);
    connect.is_some_and(|connect| connect > rtt.saturating_mul(3))
}

/// The repetitions, every MTU and file in each.
fn rounds(
    job: &TransferJob<'_>,
    courier: &Courier<'_>,
    mut sweep: Option<&mut Sweep>,
    started: model::time::MonoTime,
    emit: &mut dyn FnMut(&Event),
) -> Result<()> {
    let plan = job.plan;
    let mtus: Vec<Option<u32>> =
        if plan.mtus.is_empty() { vec![None] } else { plan.mtus.iter().copied().map(Some).collect() };
    let mut good = BTreeSet::new();
    for repetition in 1..=plan.repetitions {
        let mut last = None;
        for mtu in &mtus {
            if let (Some(sweep), Some(mtu)) = (sweep.as_mut(), mtu) {
                sweep.set(*mtu)?;
            }
            for (file, source) in plan.files.iter().zip(job.sources) {
                if job.interrupt.is_raised() {
                    return Ok(());
                }
                let at = mono_now() - started;
                let (mut transfer, trouble) = courier.transfer(file, source);
                (transfer.mtu, transfer.repetition, transfer.at) = (*mtu, repetition, at);
                let interrupted = matches!(trouble, Some(Trouble::Interrupted));
                if !interrupted {
                    emit(&Event::Transfer(Box::new(transfer)));
                }
                if let Some(stall) = courier.setup.hello.take_stall() {
                    let text = format!("{stall}. {LARGE_HELLO}");
                    emit(&Event::Warning(Warning::new("large-client-hello", text)));
                }
                match trouble {
                    None => drop(good.insert(&file.label)),
                    Some(trouble) if !good.contains(&file.label) && is_final(&trouble) => {
                        return Err(failed(file.url.as_str(), &trouble));
                    }
                    Some(trouble) => last = Some((file, source, trouble)),
                }
            }
        }
        // Nothing came through at any MTU: repeating it shows nothing new.
        if let Some((file, source, trouble)) = last.filter(|_| good.is_empty()) {
            if is_stall(&trouble)
                && let Some(text) = other_family::over_ipv4(courier, file, source)
            {
                emit(&Event::Warning(Warning::new("ipv6-stalls", text)));
            }
            return Err(failed(file.url.as_str(), &trouble));
        }
    }
    Ok(())
}

/// Is this the answer whatever the packets' size, so that there is no need to ask again?
fn is_final(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Connect(e) => e.errno() != Some(TIMED_OUT),
        Trouble::Tls { reason, .. } => reason.contains("certificate"),
        Trouble::Broken { .. }
        | Trouble::Silence(_)
        | Trouble::Unread(_)
        | Trouble::Unacknowledged { .. }
        | Trouble::Handshake { .. }
        | Trouble::Truncated { .. } => false,
        _ => true,
    }
}

/// Nothing moved any more.
fn is_stall(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Silence(_) | Trouble::Unacknowledged { .. } | Trouble::Handshake { .. })
}

/// The error that ends a run, with what to try.
fn failed(url: &str, trouble: &Trouble) -> Error {
    let message = match trouble {
        Trouble::Status { .. } | Trouble::Http { .. } | Trouble::Location { .. } => trouble.to_string(),
        other => format!("{url}: {other}"),
    };
    let advice = match trouble {
        Trouble::Resolve(failure) => return failure.clone().into(),
        Trouble::File { .. } => {
            return Failure::usage(message, "name a file that can be read with --file").into();
        }
        Trouble::Connect(_) => {
            "check the host and the port; `pathmeter serve --http` on the far host makes one"
        }
        Trouble::Tls { reason, .. } if reason.contains("certificate") => {
            "give the authority that signed it with --cacert FILE, or --insecure to trust everybody"
        }
        Trouble::Tls { .. } => "check that HTTPS is spoken on that port",
        Trouble::Status { status: 401 | 403, .. } => {
            "check who you are: of S3 the keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), --region and the clock"
        }
        Trouble::Status { status: 404, .. } => "check the path; `pathmeter serve --http` has /bytes/10M",
        Trouble::Status { .. } => "the server refused; its log may say more",
        Trouble::Redirects { .. } => "give the URL that they lead to, or allow more with --redirects",
        Trouble::Unacknowledged { .. } => UNACKNOWLEDGED,
        Trouble::Unread(_) => {
            "look at the program there: it has stopped, waits for something, or takes no uploads"
        }
        Trouble::Silence(_) | Trouble::Handshake { .. } => {
            return Failure::unreachable(message, sizes(url)).into();
        }
        _ => "the server or the path broke the transfer off; its log may say more",
    };
    Failure::unreachable(message, advice).into()
}

/// The command that shows whether the size of packets is the cause.
fn sizes(url: &str) -> String {
    let named = |url: Url| {
        let host = url.host_str()?.to_owned();
        Some(url.port_or_known_default().map_or(host.clone(), |port| format!("{host}:{port}")))
    };
    let host = Url::parse(url).ok().and_then(named).unwrap_or_else(|| "HOST".into());
    format!(
        "`pathmeter mtu {host}` shows which packets cross in each direction: a path that drops large ones stalls so"
    )
}

/// Warnings that a reader must know before the figures.
fn warnings(plan: &TransferPlan) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if plan.trust == Trust::Everybody {
        let text = "--insecure: no certificate is checked, so any server that answers is trusted";
        warnings.push(Warning::new("insecure", text));
    }
    match &plan.mtu_of {
        Some(MtuOf::Interface { name, mtu }) => {
            let mtus = plan.mtus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let text = format!(
                "the MTU of {name} is {mtu}; it is set to {mtus} in turn, for all traffic of this host through it, and \
                 put back at the end, also after a crash; by hand: ip link set {name} mtu {mtu}"
            );
            warnings.push(Warning::new("mtu-changed", text));
        }
        Some(MtuOf::Route { to }) => {
            let to = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let text = format!("a route of its own is made to {to} for the run, and deleted at the end");
            warnings.push(Warning::new("mtu-changed", text));
        }
        None => {}
    }
    if plan.mtus.iter().any(|mtu| *mtu < IPV6_LEAST) {
        let text = format!(
            "below an MTU of {IPV6_LEAST} Linux has no IPv6 (RFC 8200 section 5): transfers there are IPv4's"
        );
        warnings.push(Warning::new("ipv6-off", text));
    }
    warnings
}

const LARGE_HELLO: &str = "Browsers send such large ones for their post-quantum keys, and hang there: a box on the path takes no Client Hello \
                           in two packets, or large packets vanish up (`pathmeter mtu` shows that). These transfers go on with small ones.";
/// Smallest MTU of IPv6.
pub(crate) const IPV6_LEAST: u32 = 1280;
/// Linux retransmits a SYN after a second; the clocks of both may differ a little.
const SYN_TIMEOUT: Nanos = Nanos::from_millis(980);
/// `ETIMEDOUT`.
const TIMED_OUT: i32 = 110;

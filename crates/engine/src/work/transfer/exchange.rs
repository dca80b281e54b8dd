//! One transfer: a request, its redirects, and what they took.

use super::source::{Source, host_and_port, shown};
use super::trouble::{Trouble, beginning, s3_error};
use super::upload::Upload;
use super::wire::{Dial, Observation, Pinned, Probe, Setup};
use crate::host::address::{Family, lookup};
use linux::clock::mono_now;
use linux::tcp_info::tcp_info;
use model::plan::Direction;
use model::transfer::{Transfer, TransferFile, TransferMethod, TransferPlan, TransferTcp};
use model::units::{BitRate, Bytes};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use ureq::http::{Method, Request, Response};
use ureq::{Agent, Body, SendBody};
use url::Url;

/// State that all transfers of a run share.
pub(super) struct Courier<'a> {
    pub(super) plan: &'a TransferPlan,
    pub(super) setup: Setup,
    pub(super) family: Family,
}

/// One transfer at work.
struct Attempt<'a> {
    courier: &'a Courier<'a>,
    source: &'a Source,
    transfer: Transfer,
    observed: Option<Observation>,
}

/// An answer, its body already taken.
struct Answer {
    status: u16,
    location: Option<String>,
}

impl Courier<'_> {
    /// Transfers a file once. Errors are in the figures, and beside them.
    pub(super) fn transfer(&self, file: &TransferFile, source: &Source) -> (Transfer, Option<Trouble>) {
        let transfer = Transfer { label: file.label.clone(), ..Transfer::default() };
        let started = mono_now();
        let mut attempt = Attempt { courier: self, source, transfer, observed: None };
        let outcome = attempt.follow(file.address);
        let Attempt { mut transfer, observed, .. } = attempt;
        let ended = observed.and_then(|observed| {
            self.figures(&observed, &mut transfer);
            observed.last_byte.filter(|_| outcome.is_ok())
        });
        transfer.times.total = ended.unwrap_or_else(mono_now) - started;
        transfer.rate = BitRate::from_bytes(transfer.bytes, transfer.times.total);
        let trouble = outcome.err();
        transfer.error = trouble.as_ref().map(ToString::to_string);
        (transfer, trouble)
    }

    /// Puts the moments and the kernel's figures of a connection into the transfer.
    fn figures(&self, observed: &Observation, transfer: &mut Transfer) {
        let times = &mut transfer.times;
        (times.connect, times.tls) = (observed.connect, observed.tls);
        times.first_byte = observed.first_byte.zip(observed.first_sent).map(|(came, sent)| came - sent);
        let Some(socket) = &observed.socket else { return };
        transfer.local = socket.local_addr().ok();
        let Ok(info) = tcp_info(socket) else { return };
        let (segments, bytes, mss) = self.plan.method.direction().choose(
            (info.data_segments_out, info.bytes_sent, info.send_mss),
            (info.data_segments_in, info.bytes_received, info.recv_mss),
        );
        if let (None, Direction::Up, Some(arrived)) =
            (transfer.status, self.plan.method.direction(), info.bytes_acked)
        {
            // Data that the kernel took and that was not acknowledged did not cross.
            transfer.bytes = transfer.bytes.min(arrived);
        }
        let mean = segments.zip(bytes).filter(|(segments, _)| *segments > 0);
        transfer.tcp = Some(TransferTcp {
            segments_out: info.segments_out,
            segments_in: info.segments_in,
            data_segments: segments,
            mean_payload: mean.map(|(segments, bytes)| bytes.0 as f64 / f64::from(segments)),
            mss: u32::try_from(mss.0).ok(),
            retransmits: info.retransmits,
            rtt: info.rtt,
            path_mtu: u32::try_from(info.path_mtu.0).unwrap_or(u32::MAX),
            timestamps: info.options.timestamps,
        });
    }
}

impl Attempt<'_> {
    /// The request and those it is redirected to; the first of them goes to this address.
    fn follow(&mut self, address: SocketAddr) -> Result<(), Trouble> {
        let plan = self.courier.plan;
        let (mut url, mut method) = (self.source.url(plan.method), plan.method);
        let mut pinned = Some(address);
        loop {
            let answer = self.exchange(&url, method, pinned.take())?;
            let Some(location) = answer.location else { return Ok(()) };
            let next = url.join(&location).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            let next = next.ok_or_else(|| Trouble::Location {
                status: answer.status,
                url: shown(&url),
                location: beginning(location.as_bytes()).trim_start_matches(": ").to_owned(),
            })?;
            let redirects = &mut self.transfer.redirects;
            redirects.push(shown(&next));
            if redirects.len() > plan.redirects as usize {
                let last = redirects[redirects.len().saturating_sub(3)..].join(", ");
                return Err(Trouble::Redirects { most: plan.redirects, redirects: last });
            }
            // RFC 9110 section 15.4: what a form's answer is, is fetched; an upload goes where it is sent.
            if answer.status == 303 || (method == TransferMethod::Post && answer.status < 303) {
                method = TransferMethod::Get;
            }
            url = next;
        }
    }

    /// One request over a connection of its own.
    fn exchange(
        &mut self,
        url: &Url,
        method: TransferMethod,
        pinned: Option<SocketAddr>,
    ) -> Result<Answer, Trouble> {
        let (host, port) = host_and_port(url)?;
        let began = mono_now();
        let found = lookup(&host, port, self.courier.family)?;
        self.transfer.times.dns = host.parse::<IpAddr>().is_err().then(|| mono_now() - began);
        let address = pinned.unwrap_or(found);
        (self.transfer.remote, self.transfer.bytes) = (Some(address), Bytes(0));
        let probe = Probe::default();
        let dial = Dial { setup: self.courier.setup.clone(), probe: probe.clone() };
        let agent = Agent::with_parts(config(), dial, Pinned(address));
        let answer = self.request(&agent, url, method);
        let observed = self.observed.insert(std::mem::take(&mut *probe.observed()));
        let trouble = observed.trouble.take();
        // The socket's own words are clearer than those of the library above it.
        answer.map_err(|other| trouble.unwrap_or(other))
    }

    fn request(&mut self, agent: &Agent, url: &Url, method: TransferMethod) -> Result<Answer, Trouble> {
        let http = |e: &dyn std::fmt::Display| Trouble::Http { url: shown(url), reason: e.to_string() };
        let verb = match method {
            TransferMethod::Get => Method::GET,
            TransferMethod::Put => Method::PUT,
            TransferMethod::Post => Method::POST,
        };
        let builder = Request::builder().method(verb).uri(url.as_str());
        let (response, sent) = match (&self.courier.plan.body, method.direction()) {
            (Some(body), Direction::Up) => {
                let (upload, taken) = Upload::open(body)?;
                let builder = builder
                    .header("Content-Length", body.size().0)
                    .header("Content-Type", "application/octet-stream");
                let request = builder.body(SendBody::from_owned_reader(upload)).map_err(|e| http(&e))?;
                let response = agent.run(request);
                self.transfer.bytes = Bytes(taken.load(Ordering::Relaxed));
                (response, true)
            }
            _ => (agent.run(builder.body(()).map_err(|e| http(&e))?), false),
        };
        let mut response = response.map_err(|e| http(&e))?;
        let status = response.status();
        self.transfer.status = Some(status.as_u16());
        if let (true, Some(location)) = (status.is_redirection(), location(&response)) {
            return Ok(Answer { status: status.as_u16(), location: Some(location) });
        }
        if !status.is_success() {
            return Err(refused(&mut response, url, self.source.is_object()));
        }
        take(&mut response, url, (!sent).then_some(&mut self.transfer))?;
        Ok(Answer { status: status.as_u16(), location: None })
    }
}

/// Reads a body to its end and throws it away. `count`: its bytes are the transfer's.
fn take(response: &mut Response<Body>, url: &Url, mut count: Option<&mut Transfer>) -> Result<(), Trouble> {
    let announced =
        response.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
    let mut reader = response.body_mut().as_reader();
    let mut buffer = vec![0; READ];
    let mut came = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => came += bytes as u64,
            Err(e) => {
                let short = e.kind() == std::io::ErrorKind::UnexpectedEof;
                return Err(match announced.filter(|_| short) {
                    Some(announced) => Trouble::Truncated { came: Bytes(came), announced: Bytes(announced) },
                    None => Trouble::Http { url: shown(url), reason: e.to_string() },
                });
            }
        }
        if let Some(transfer) = count.as_mut() {
            transfer.bytes = Bytes(came);
        }
    }
}

/// The error in an answer, with the beginning of the server's text.
fn refused(response: &mut Response<Body>, url: &Url, is_object: bool) -> Trouble {
    let mut body = Vec::new();
    // A part of the text that cannot be read is missing in the message, which is about the status.
    response.body_mut().as_reader().take(MOST_OF_A_REFUSAL).read_to_end(&mut body).ok();
    let status = response.status();
    let s3 = s3_error(&body).filter(|_| is_object || response.headers().contains_key("x-amz-request-id"));
    Trouble::Status {
        status: status.as_u16(),
        reason: status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default(),
        url: shown(url),
        body: s3.unwrap_or_else(|| beginning(&body)),
    }
}

fn location(response: &Response<Body>) -> Option<String> {
    let value = response.headers().get("location")?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// The library as a courier needs it: one connection, every answer an answer, no proxy of the environment between.
fn config() -> ureq::config::Config {
    ureq::config::Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .proxy(None)
        .user_agent(concat!("pathmeter/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Bytes taken at once.
const READ: usize = 128 << 10;
/// Read of an error's text.
const MOST_OF_A_REFUSAL: u64 = 8 << 10;

//! Datagrams to a port that nothing listens on: the far end reports of each that arrives that the port is closed.
//!
//! That needs nothing of the return path, which carries a small message whatever the datagram's size. But hosts limit how
//! many such messages they send (Linux: six at once, then one a second), so silence about a large datagram counts
//! only when a small one sent right after it is answered.

use super::echo::{note, timeout};
use crate::error::Result;
use crate::host::interrupt::Interrupt;
use crate::work::hops::CLOSED_PORT;
use crate::work::probe::numbered::{Numbered, ProbeReply, Sent};
use linux::clock::mono_now;
use linux::options::{self, MtuDiscovery};
use linux::poll::{Interest, wait};
use model::path::{SizeProbe, TooBig};
use model::plan::LocalOptions;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Asks one host whether datagrams arrive.
#[derive(Debug)]
pub(super) struct ClosedPort<'a> {
    socket: Numbered,
    /// Small ones go through another, so that messages that quote too little are distinguished.
    controls: Numbered,
    /// The far end quotes too little to know which datagram it means.
    quotes_little: bool,
    /// The port asked, which a trace is sent to where it was found closed.
    pub(super) remote: SocketAddr,
    local: &'a LocalOptions,
    interrupt: &'a Interrupt,
    /// The size that each number went with.
    sizes: BTreeMap<u32, u32>,
    number: u32,
    /// Longest time to the far end and back so far.
    pub(super) round_trip: Option<Nanos>,
    /// Packet-too-big messages that quoted a datagram.
    pub(super) too_big: Vec<TooBig>,
    /// The host that refused datagrams for another reason than their size, by ICMP type and code.
    pub(super) refused: Option<(Option<IpAddr>, u8, u8)>,
    /// Every size tried.
    pub(super) tried: BTreeMap<u32, SizeProbe>,
    /// Datagrams sent.
    pub(super) packets: u64,
    /// The far end gave no answer to small datagrams either, so often in a row.
    unanswered: u32,
    /// The far end reports that the port is closed.
    pub(super) answers: bool,
}

/// Whether a datagram arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The size arrives.
    Arrives,
    /// The size does not arrive, and a small one sent with it does.
    Lost,
    /// Not known: the far end answers no small ones either.
    Unclear,
}

/// The messages received about a train of probes.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// The size in question arrived.
    size: bool,
    /// A small one did.
    control: bool,
    /// A router refused the size.
    too_big: bool,
    /// The port is open.
    open: bool,
}

impl<'a> ClosedPort<'a> {
    /// Looks for a closed port of the far end, asking several at once, as some may be open.
    pub(super) fn find(
        far: SocketAddr,
        local: &'a LocalOptions,
        interrupt: &'a Interrupt,
    ) -> Result<ClosedPort<'a>> {
        let mut ports = Vec::new();
        for port in (CLOSED_PORT..).take(TRIES) {
            let mut remote = far;
            remote.set_port(port);
            ports.push(ClosedPort::at(remote, local, interrupt)?);
        }
        let start = mono_now();
        for port in &mut ports {
            port.send(CONTROL)?;
        }
        let deadline = start + timeout(None);
        loop {
            for port in &mut ports {
                let mut heard = Heard::default();
                port.listen(1, CONTROL, start, &mut heard)?;
                port.answers = heard.size;
            }
            if ports.iter().any(|port| port.answers) || interrupt.is_raised() || mono_now() >= deadline {
                break;
            }
            let mut sockets: Vec<_> =
                ports.iter().map(|port| Interest::readable(port.socket.socket())).collect();
            wait(&mut sockets, Some(deadline))?;
        }
        let packets = ports.iter().map(|port| port.packets).sum();
        let refused = ports.iter().find_map(|port| port.refused);
        let chosen = ports.swap_remove(ports.iter().position(|port| port.answers).unwrap_or(0));
        Ok(ClosedPort { packets, refused: chosen.refused.or(refused), ..chosen })
    }

    fn at(remote: SocketAddr, local: &'a LocalOptions, interrupt: &'a Interrupt) -> Result<ClosedPort<'a>> {
        Ok(ClosedPort {
            socket: Numbered::open(remote, local, MtuDiscovery::Probe)?,
            controls: Numbered::open(remote, local, MtuDiscovery::Probe)?,
            quotes_little: false,
            remote,
            local,
            interrupt,
            sizes: BTreeMap::new(),
            number: 0,
            round_trip: None,
            too_big: Vec::new(),
            refused: None,
            tried: BTreeMap::new(),
            packets: 0,
            unanswered: 0,
            answers: false,
        })
    }

    /// Whether packets of `size` bytes arrive, sent with `mode`.
    pub(super) fn reaches(&mut self, size: u32, mode: MtuDiscovery) -> Result<Verdict> {
        let first = self.probe_train(size, mode, 1, false)?;
        if first.size {
            return Ok(Verdict::Arrives);
        }
        if first.too_big {
            return Ok(Verdict::Lost);
        }
        for _ in 0..=WAITS.len() {
            let heard = self.probe_train(size, mode, 2, true)?;
            if heard.size {
                return Ok(Verdict::Arrives);
            }
            if heard.control || heard.too_big {
                self.unanswered = 0;
                return Ok(Verdict::Lost);
            }
            let Some(wait) = WAITS.get(self.unanswered as usize) else { break };
            self.unanswered += 1;
            self.interrupt.sleep(*wait);
            if self.interrupt.is_raised() {
                break;
            }
        }
        Ok(Verdict::Unclear)
    }

    /// Makes fragments of IPv6 datagrams no larger than `mtu` from now on.
    pub(super) fn cut_to(&self, mtu: u32) -> Result<()> {
        Ok(options::set_fragment_mtu(self.socket.socket(), mtu)?)
    }

    /// Sends `copies` of a size, a small datagram after them, and waits for the answers.
    fn probe_train(&mut self, size: u32, mode: MtuDiscovery, copies: u32, control: bool) -> Result<Heard> {
        if self.quotes_little {
            self.socket = Numbered::open(self.remote, self.local, mode)?;
        }
        let first = self.number + 1;
        self.socket.mode = mode;
        let mut heard = Heard::default();
        for _ in 0..copies {
            heard.too_big |= self.send(size)? == Sent::TooLong;
        }
        if control {
            self.packets += 1;
            self.controls.hear()?;
            self.controls.send(self.number, CONTROL)?;
        }
        let start = mono_now();
        loop {
            self.listen(first, size, start, &mut heard)?;
            let over = heard.size || heard.open || heard.too_big || self.interrupt.is_raised();
            let deadline = start + timeout(self.round_trip);
            if over || mono_now() >= deadline {
                return Ok(heard);
            }
            let both = &mut [self.socket.socket(), self.controls.socket()].map(Interest::readable);
            wait(both, Some(deadline))?;
        }
    }

    fn send(&mut self, size: u32) -> Result<Sent> {
        self.number += 1;
        self.sizes.insert(self.number, size);
        let probe = self.tried.entry(size).or_insert(SizeProbe { size, sent: 0, received: 0 });
        probe.sent += 1;
        let sent = self.socket.send(self.number, size)?;
        self.packets += u64::from(sent == Sent::Left);
        Ok(sent)
    }

    /// Takes the answers to the datagrams from number `first` on, all of this size.
    fn listen(&mut self, first: u32, size: u32, start: MonoTime, heard: &mut Heard) -> Result<()> {
        for word in self.controls.hear()? {
            heard.control |=
                word.reply == ProbeReply::Closed && word.number.is_none_or(|number| number >= first);
        }
        for word in self.socket.hear()? {
            // One that quotes too little is about what is in flight, and that is one size.
            let about = word.number.map_or(Some(size), |number| self.sizes.get(&number).copied());
            let Some(about) = about else { continue };
            let now = word.number.is_none_or(|number| number >= first);
            match word.reply {
                ProbeReply::Closed => {
                    self.quotes_little |= word.number.is_none();
                    self.arrived(about, start, now);
                    heard.size |= now;
                }
                ProbeReply::Answer => heard.open = true,
                ProbeReply::TooBig(mtu) => {
                    note(&mut self.too_big, TooBig { size: about, mtu, from: word.from, count: 1 });
                    // A message that quotes too little may be forged: it is a hint, and silence has to confirm it.
                    heard.too_big |= now && word.number.is_some();
                }
                ProbeReply::Refused(kind, code) => self.refused = Some((word.from, kind, code)),
                ProbeReply::Expired => {}
            }
        }
        Ok(())
    }

    fn arrived(&mut self, size: u32, start: MonoTime, now: bool) {
        if let Some(probe) = self.tried.get_mut(&size) {
            probe.received = (probe.received + 1).min(probe.sent);
        }
        if now {
            let took = mono_now().saturating_since(start);
            self.round_trip = Some(self.round_trip.map_or(took, |longest| longest.max(took)));
        }
    }
}

/// A packet that every path carries (RFC 791: 68 bytes; some tunnels of routers carry little more).
pub(super) const CONTROL: u32 = 60;
/// Ports asked at once.
const TRIES: usize = 3;
/// How long to leave a far end alone that answers no small datagrams, each time in a row.
const WAITS: [Nanos; 4] = [
    Nanos::from_millis(1_050),
    Nanos::from_millis(1_050),
    Nanos::from_millis(2_100),
    Nanos::from_millis(4_200),
];

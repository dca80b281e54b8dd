//! Queueing disciplines: what happens to packets that leave by an interface, and how many were dropped.
//!
//! Sources: `tc(8)`, `tc-tbf(8)`, `tc-netem(8)`; structures of `linux/pkt_sched.h`, `linux/gen_stats.h`.

use super::message::{Attributes, Reply, u32_at, u64_at};
use super::{Message, Network};
use crate::error::Result;
use units::{BitRate, Bytes, Nanos};

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum Qdisc {
    /// Holds a rate.
    Tbf(Tbf),
    /// Delays, loses, doubles and reorders.
    Netem(Netem),
    /// Keeps packets in order, up to this many bytes.
    Bfifo(Bytes),
    /// Keeps packets in order, up to this many.
    Pfifo(u32),
}

/// A token bucket. Counted are frames without preamble and FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tbf {
    /// The rate.
    pub rate: BitRate,
    /// Bytes that may leave at once; at least one frame.
    pub burst: Bytes,
    /// Room for waiting packets, when nothing follows in the chain.
    pub limit: Bytes,
}

/// The network emulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Netem {
    /// Delay of every packet.
    pub delay: Nanos,
    /// Deviation in either direction, evenly spread; packets may overtake each other by it.
    pub jitter: Nanos,
    /// Share lost, 0 to 1.
    pub loss: f64,
    /// Share sent twice, 0 to 1.
    pub duplicate: f64,
    /// Share sent at once, ahead of the delayed ones, 0 to 1; needs a delay.
    pub reorder: f64,
    /// Packets it may hold, delayed ones included.
    pub limit: u32,
    /// A rate, held by further delay.
    pub rate: Option<BitRate>,
}

/// A queueing discipline that is there, with its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QdiscStatistics {
    /// Its kind: `tbf`, `netem`, `noqueue`, …
    pub kind: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Times it held a packet back to keep its rate.
    pub overlimits: u64,
    /// The rate that it keeps, of a token bucket.
    pub rate: Option<BitRate>,
    /// Nothing is above it: its counters are those of all below it, too.
    pub is_root: bool,
}

impl Network {
    /// Puts disciplines on an interface in place of what was there: packets pass the last one first, and the first one
    /// decides when they leave. `[Tbf, Netem]`: delayed, then held to the rate.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the interface is missing, or the kernel has no such discipline
    /// ([`crate::OsError::is_unsupported`]); nothing is left in place then.
    pub fn set_qdiscs(&mut self, device: &str, chain: &[Qdisc]) -> Result<()> {
        let link = self.link(device)?.index;
        match self.delete_qdiscs(device) {
            Err(error) if error.errno() != Some(libc::ENOENT) => return Err(error),
            _ => {}
        }
        for (parent, qdisc) in chain.iter().enumerate() {
            let set = self.add_qdisc(device, link, parent, qdisc);
            if set.is_err() && parent > 0 {
                self.delete_qdiscs(device)?;
            }
            set?;
        }
        Ok(())
    }

    /// Takes all disciplines from an interface; the kernel's own is back then.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the interface is missing, or has only the kernel's own (`ENOENT`).
    pub fn delete_qdiscs(&mut self, device: &str) -> Result<()> {
        let body = traffic_control(self.link(device)?.index, 0, TC_H_ROOT);
        let request = Message::new(libc::RTM_DELQDISC, libc::NLM_F_ACK, &body);
        self.ask("delete the queueing disciplines of", device, request).map(drop)
    }

    /// The disciplines of an interface.
    ///
    /// # Errors
    /// When the interface is missing.
    pub fn qdiscs(&mut self, device: &str) -> Result<Vec<QdiscStatistics>> {
        let link = self.link(device)?.index;
        let request = Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &traffic_control(0, 0, 0));
        let replies = self.ask("list the queueing disciplines of", device, request)?;
        let here = replies.iter().filter(|reply| u32_at(&reply.payload, 4) == Some(link));
        let is_root = |reply: &Reply| u32_at(&reply.payload, 12) == Some(TC_H_ROOT);
        let read = |reply: &Reply| {
            Some(QdiscStatistics { is_root: is_root(reply), ..parse(&reply.attributes(TCMSG))? })
        };
        Ok(here.filter_map(read).collect())
    }

    fn add_qdisc(&mut self, device: &str, link: u32, parent: usize, qdisc: &Qdisc) -> Result<()> {
        let place = u32::try_from(parent).unwrap_or(u32::MAX);
        // Handles are 1:, 2:, …; the one class of tbf and of netem is :1.
        let above = if place == 0 { TC_H_ROOT } else { place << 16 | 1 };
        let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let body = traffic_control(link, (place + 1) << 16, above);
        let mut request = Message::new(libc::RTM_NEWQDISC, libc::NLM_F_ACK | create, &body);
        let kind = qdisc.kind();
        request.string(TCA_KIND, kind);
        qdisc.append(&mut request);
        let lacking = format!("this kernel has no queueing discipline {kind} (module sch_{kind})");
        let set = self.ask(&format!("set queueing discipline {kind} on"), device, request);
        set.map_err(|error| error.if_lacking(&lacking)).map(drop)
    }
}

impl Qdisc {
    fn kind(&self) -> &'static str {
        match self {
            Self::Tbf(_) => "tbf",
            Self::Netem(_) => "netem",
            Self::Bfifo(_) => "bfifo",
            Self::Pfifo(_) => "pfifo",
        }
    }

    fn append(&self, request: &mut Message) {
        match self {
            Self::Tbf(tbf) => tbf.append(request),
            Self::Netem(netem) => netem.append(request),
            // struct tc_fifo_qopt, bare.
            Self::Bfifo(Bytes(limit)) => {
                request.attribute(TCA_OPTIONS, &clamp(*limit).to_ne_bytes());
            }
            Self::Pfifo(limit) => {
                request.attribute(TCA_OPTIONS, &limit.to_ne_bytes());
            }
        }
    }
}

impl Tbf {
    /// `struct tc_tbf_qopt`: two `tc_ratespec`, limit, buffer and MTU; the burst goes in bytes beside it.
    fn append(&self, request: &mut Message) {
        let bytes = self.rate.0 / 8;
        let mut parameters = [0; 36];
        parameters[1] = TC_LINKLAYER_ETHERNET;
        parameters[8..12].copy_from_slice(&clamp(bytes).to_ne_bytes());
        parameters[24..28].copy_from_slice(&clamp(self.limit.0).to_ne_bytes());
        request.nest(TCA_OPTIONS, |options| {
            options.attribute(TCA_TBF_PARMS, &parameters);
            options.attribute(TCA_TBF_BURST, &clamp(self.burst.0).to_ne_bytes());
            if bytes >= u64::from(u32::MAX) {
                options.attribute(TCA_TBF_RATE64, &bytes.to_ne_bytes());
            }
        });
    }
}

impl Netem {
    /// `struct tc_netem_qopt` (latency, limit, loss, gap, duplicate, jitter), and behind it attributes.
    fn append(&self, request: &mut Message) {
        // The first of every run of `gap` packets is never sent ahead: 1 leaves the choice to chance alone.
        let gap = u32::from(self.reorder > 0.0);
        let fields = [0, self.limit, share(self.loss), gap, share(self.duplicate), 0];
        let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_ne_bytes()).collect();
        request.nest(TCA_OPTIONS, |options| {
            options.raw(&bytes);
            options.attribute(TCA_NETEM_LATENCY64, &self.delay.0.to_ne_bytes());
            options.attribute(TCA_NETEM_JITTER64, &self.jitter.0.to_ne_bytes());
            if self.reorder > 0.0 {
                let mut reorder = [0; 8];
                reorder[..4].copy_from_slice(&share(self.reorder).to_ne_bytes());
                options.attribute(TCA_NETEM_REORDER, &reorder);
            }
            if let Some(rate) = self.rate {
                let bytes = rate.0 / 8;
                let mut parameters = [0; 16];
                parameters[..4].copy_from_slice(&clamp(bytes).to_ne_bytes());
                options.attribute(TCA_NETEM_RATE, &parameters);
                if bytes >= u64::from(u32::MAX) {
                    options.attribute(TCA_NETEM_RATE64, &bytes.to_ne_bytes());
                }
            }
        });
    }
}

/// `struct tcmsg`: family, interface, handle, parent, info.
fn traffic_control(link: u32, handle: u32, parent: u32) -> [u8; TCMSG] {
    let mut body = [0; TCMSG];
    body[4..8].copy_from_slice(&link.to_ne_bytes());
    body[8..12].copy_from_slice(&handle.to_ne_bytes());
    body[12..16].copy_from_slice(&parent.to_ne_bytes());
    body
}

pub(super) fn parse(attributes: &Attributes<'_>) -> Option<QdiscStatistics> {
    let statistics = attributes.inside(TCA_STATS2);
    let basic = statistics.value(TCA_STATS_BASIC).unwrap_or_default();
    let queue = statistics.value(TCA_STATS_QUEUE).unwrap_or_default();
    Some(QdiscStatistics {
        kind: attributes.string(TCA_KIND)?,
        bytes: u64_at(basic, 0)?,
        packets: u32_at(basic, 8)?.into(),
        drops: u32_at(queue, 8)?.into(),
        overlimits: u32_at(queue, 16)?.into(),
        rate: tbf_rate(attributes),
        is_root: false,
    })
}

/// Bytes per second of `struct tc_tbf_qopt`, or of the wide field where these are too few bits.
fn tbf_rate(attributes: &Attributes<'_>) -> Option<BitRate> {
    attributes.string(TCA_KIND).filter(|kind| kind == "tbf")?;
    let options = attributes.inside(TCA_OPTIONS);
    let wide = options.value(TCA_TBF_RATE64).and_then(|value| u64_at(value, 0));
    let bytes = wide.or_else(|| u32_at(options.value(TCA_TBF_PARMS)?, 8).map(u64::from))?;
    Some(BitRate(bytes.saturating_mul(8)))
}

/// The kernel's share of all packets: 0 none, all ones all.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is 0 to 1")]
fn share(of_one: f64) -> u32 {
    (of_one.clamp(0.0, 1.0) * f64::from(u32::MAX)).round() as u32
}

fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

const TCMSG: usize = 20;
const TC_H_ROOT: u32 = u32::MAX;
const TC_LINKLAYER_ETHERNET: u8 = 1;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;

//! Two ports around a device that follows the test's script: it drops, doubles, delays, forgets.

use super::super::super::port::{Counted, Port};
use crate::error::Result;
use frames::{Arrived, Burst, FrameSpec, Sent, Watch};
use model::dut::{PortFacts, SinkKind, SourceKind};
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

/// Effects of the device and the host on each burst, in the order of bursts; the last one goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    /// The last one of so many frames is lost; 0 for none.
    pub(super) loses_each: u64,
    /// The last one of so many frames comes twice; 0 for none.
    pub(super) doubles_each: u64,
    /// Delay of every frame.
    pub(super) delay: Nanos,
    /// Time for which the generator was delayed.
    pub(super) held: Nanos,
    /// A burst with a pace sends no more than this share, in percent.
    pub(super) sends_percent: Option<u64>,
    /// Frames longer than this do not pass.
    pub(super) mtu: Option<Bytes>,
    /// Counted without having been sent.
    pub(super) invents: u64,
}

/// State of the device and its ports.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// Deliveries of bursts with a pace and more frames than are sent to learn or to choose.
    deliveries: Vec<Delivery>,
    bursts: usize,
    /// The frames to count at each port: the tag, how many, and how much a tunnel makes each longer.
    counting: [Option<(u32, u64, u64)>; 2],
    watching: [Option<Watch>; 2],
    arrived: HashMap<(usize, u32), Came>,
    /// The calls so far, as text.
    pub(super) log: Vec<String>,
    pub(super) tags: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Came {
    arrived: Arrived,
    last_missing: Option<u64>,
}

pub(super) struct FakePort {
    side: usize,
    wire: Arc<Mutex<Wire>>,
    addresses: Vec<IpAddr>,
    here: bool,
    sending: Option<(FrameSpec, Burst)>,
}

/// The two ports; a fast generator, sinks that see all.
pub(super) fn ports(wire: &Arc<Mutex<Wire>>, addresses: [&[&str]; 2], here: bool) -> [Box<dyn Port>; 2] {
    [0, 1].map(|side| {
        let addresses = addresses[side].iter().map(|text| text.parse().unwrap()).collect();
        let port = FakePort { side, wire: wire.clone(), addresses, here, sending: None };
        Box::new(port) as Box<dyn Port>
    })
}

impl Wire {
    pub(super) fn new(deliveries: &[Delivery]) -> Wire {
        Wire { deliveries: deliveries.to_vec(), ..Wire::default() }
    }
}

impl FakePort {
    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock().unwrap()
    }
}

impl Port for FakePort {
    fn facts(&self) -> PortFacts {
        PortFacts { name: format!("port{}", self.side), mtu: 9000, ..PortFacts::default() }
    }

    fn mac(&self) -> [u8; 6] {
        [2, 0, 0, 0, 0, self.side as u8]
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.addresses.clone()
    }

    fn next_hop(&mut self, to: IpAddr) -> Result<[u8; 6]> {
        self.wire().log.push(format!("port{} asks for {to}", self.side));
        Ok([2, 0, 0, 0, 9, self.side as u8])
    }

    fn sources(&self) -> Vec<SourceKind> {
        vec![SourceKind::LiveFrames, SourceKind::Packet]
    }

    fn sinks(&self) -> Vec<SinkKind> {
        vec![SinkKind::Xdp]
    }

    fn count(&mut self, _: SinkKind, spec: &FrameSpec, frames: u64, watch: Watch) -> Result<()> {
        let side = self.side;
        let mut wire = self.wire();
        let header = if spec.outer.is_some() { 40 } else { 0 };
        wire.counting[side] = Some((spec.tag, frames, header));
        wire.watching[side] = Some(watch);
        let counted = spec.outer.map(|outer| format!("port{side} counts in {}", ends_of(&outer)));
        let known = counted.as_ref().is_some_and(|counted| wire.log.contains(counted));
        wire.log.extend(counted.filter(|_| !known));
        Ok(())
    }

    fn arrived(&self) -> Option<u64> {
        let wire = self.wire();
        let (tag, ..) = wire.counting[self.side]?;
        Some(wire.arrived.get(&(self.side, tag)).map_or(0, |came| came.arrived.distinct()))
    }

    fn counted(&mut self) -> Result<Counted> {
        let side = self.side;
        let mut wire = self.wire();
        let (tag, frames, _) = wire.counting[side].take().unwrap();
        let nothing = Came { last_missing: frames.checked_sub(1), ..Came::default() };
        let Came { mut arrived, last_missing } = wire.arrived.remove(&(side, tag)).unwrap_or(nothing);
        if wire.watching[side] == Some(Watch::Counts) {
            (arrived.delays, arrived.variation) = (None, None);
        }
        Ok(Counted { arrived, last_missing, at: MonoTime(0) })
    }

    fn send(&mut self, _: SourceKind, spec: &FrameSpec, burst: &Burst) -> Result<()> {
        assert!(self.sending.is_none(), "one after the other");
        self.sending = Some((spec.clone(), *burst));
        Ok(())
    }

    /// A generator of a million frames per second.
    fn sent(&mut self) -> Result<Sent> {
        let (spec, burst) = self.sending.take().unwrap();
        let side = self.side;
        let mut wire = self.wire();
        // Those of learning and choosing have these lengths.
        let is_trial = burst.interval_ps > 0 && ![3, 10, 2000].contains(&burst.all_frames());
        let delivery = match is_trial {
            true => {
                let at = wire.bursts.min(wire.deliveries.len().saturating_sub(1));
                wire.bursts += 1;
                wire.deliveries.get(at).cloned().unwrap_or_default()
            }
            false => Delivery {
                mtu: wire.deliveries.first().and_then(|delivery| delivery.mtu),
                ..Delivery::default()
            },
        };
        let flood = burst.interval_ps == 0;
        let most = if flood { burst.time.0 / 1000 } else { burst.all_frames() };
        let frames = burst.all_frames().min(most * delivery.sends_percent.unwrap_or(100) / 100);
        let kind = if flood {
            "flood"
        } else if is_trial {
            "trial"
        } else {
            "probe"
        };
        let within = spec.outer.map_or(String::new(), |outer| format!(" in {}", ends_of(&outer)));
        let what =
            format!("port{side} {kind} of {frames} from {} to {}{within}", spec.source, spec.destination);
        wire.log.push(what);
        wire.tags.push(spec.tag);
        let mut came = delivery.come(&spec, frames, burst.all_frames());
        // Only what is counted already.
        if let Some((_, _, header)) = wire.counting[1 - side].filter(|(tag, ..)| *tag == spec.tag) {
            came.arrived.bytes += came.arrived.frames * header;
            wire.arrived.insert((1 - side, spec.tag), came);
        }
        let interval = if flood { 1_000_000 } else { burst.interval_ps };
        let time = Nanos(frames * interval / 1000) + delivery.held;
        Ok(Sent { frames, time, late: delivery.held, held: delivery.held, gaps: 0 })
    }

    fn is_here(&self) -> bool {
        self.here
    }
}

fn ends_of((source, destination): &(Ipv6Addr, Ipv6Addr)) -> String {
    format!("{source} to {destination}")
}

impl Delivery {
    fn come(&self, spec: &FrameSpec, frames: u64, asked: u64) -> Came {
        let longest = spec.sizes.iter().max().copied().unwrap_or_default();
        if self.mtu.is_some_and(|mtu| longest > mtu) {
            return Came { arrived: Arrived::default(), last_missing: asked.checked_sub(1) };
        }
        let each = |every: u64| frames.checked_div(every).unwrap_or(0);
        let (lost, duplicates) = (each(self.loses_each), each(self.doubles_each));
        let mut delays = Histogram::default();
        delays.record_n(self.delay.0, frames - lost);
        let (zero, none) = (delays.clone(), Histogram::default());
        let came = frames - lost + duplicates + self.invents;
        let arrived = Arrived {
            frames: came,
            bytes: came * longest.0.saturating_sub(4),
            duplicates,
            delays: Some(delays),
            variation: Some((none, zero)),
            ..Arrived::default()
        };
        let lost_last = (lost > 0).then(|| lost * self.loses_each - 1);
        let unsent_last = (frames < asked).then(|| asked - 1);
        Came { arrived, last_missing: lost_last.max(unsent_last) }
    }
}

//! Counting in user space, with the results of the program in the driver: the frames of one trial among all that arrive.

use super::numbers::{Before, Numbers};
use super::{Arrived, FrameSpec, Silence, Watch};
use linux::sockaddr::array;
use packet::Ip;
use packet::frame::Offsets;
use packet::header::{TYPE_VLAN, VERSION_IPV4, VLAN_TAG};
use stats::histogram::Histogram;
use units::time::MonoTime;

/// The count of one trial.
#[derive(Debug)]
pub(super) struct Tally {
    wanted: Wanted,
    watch: Watch,
    /// The numbers that have arrived.
    pub(super) numbers: Numbers,
    queue_tallies: Vec<QueueTally>,
    /// The counts so far.
    pub(super) arrived: Arrived,
    last: Option<MonoTime>,
    /// Frames of the trial that the kernel merged, so that the number of arrivals is unknown.
    pub(super) joined: u64,
}

/// A frame as read from an interface; its contents are not trusted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken<'a> {
    /// Its first bytes.
    pub(super) bytes: &'a [u8],
    /// Length of the whole frame as it arrived, without FCS.
    pub(super) length: u64,
    /// The protocol of a VLAN tag that the kernel removed from the bytes; the length is without it too.
    pub(super) tag: Option<u16>,
    /// The kernel merged several frames into this one.
    pub(super) is_joined: bool,
    /// Its time of arrival.
    pub(super) time: MonoTime,
    /// Index of the queue it arrived on: frames are ordered within each queue.
    pub(super) queue_tally: usize,
}

/// The state of a queue.
#[derive(Clone, Debug, Default)]
struct QueueTally {
    /// One more than the highest number.
    next: u64,
    delay: Option<u64>,
}

impl Tally {
    /// For frames with numbers below `frames`, that arrive on this many queues.
    pub(super) fn new(spec: &FrameSpec, frames: u64, watch: Watch, queue_tallies: usize) -> Tally {
        let times = (watch == Watch::Times && spec.is_timed()).then(Histogram::default);
        let arrived =
            Arrived { variation: times.clone().zip(times.clone()), delays: times, ..Arrived::default() };
        let (numbers, queue_tallies) = (Numbers::new(frames), vec![QueueTally::default(); queue_tallies]);
        Tally {
            wanted: Wanted::from_spec(spec),
            watch,
            numbers,
            queue_tallies,
            arrived,
            last: None,
            joined: 0,
        }
    }

    /// Counts a frame.
    pub(super) fn count(&mut self, frame: &Taken<'_>) {
        let Some(signature) = self.wanted.signature(frame) else {
            self.arrived.others += 1;
            return;
        };
        self.joined += u64::from(frame.is_joined);
        self.arrived.frames += 1;
        self.arrived.bytes += frame.length + if frame.tag.is_some() { VLAN_TAG as u64 } else { 0 };
        match self.numbers.note(signature.number) {
            Before::New => {}
            Before::Known => self.arrived.duplicates += 1,
            Before::Beyond => self.arrived.unchecked += 1,
        }
        let queue_tally = &mut self.queue_tallies[frame.queue_tally];
        if signature.number < queue_tally.next {
            self.arrived.reordered += 1;
        } else {
            queue_tally.next = signature.number.saturating_add(1);
        }
        if self.watch == Watch::Counts {
            return;
        }
        self.measure_silence(frame.time);
        if let Some(sent) = signature.sent {
            self.measure_delay(frame.queue_tally, delay(sent, frame.time));
        }
    }

    fn measure_silence(&mut self, time: MonoTime) {
        let last = *self.last.get_or_insert(time);
        let silence = Silence { last, first: time };
        if time > last && self.arrived.silence.is_none_or(|longest| silence.time() > longest.time()) {
            self.arrived.silence = Some(silence);
        }
        self.last = Some(last.max(time));
    }

    fn measure_delay(&mut self, queue_tally: usize, delay: u64) {
        if let Some(delays) = &mut self.arrived.delays {
            delays.record(delay);
        }
        let before = self.queue_tallies[queue_tally].delay.replace(delay);
        if let Some((less, more)) = &mut self.arrived.variation
            && let Some(before) = before
        {
            let histogram = if delay < before { less } else { more };
            histogram.record(delay.abs_diff(before));
        }
    }
}

/// The form of a frame of the trial.
#[derive(Debug)]
struct Wanted {
    offsets: Offsets,
    ether_type: u16,
    is_tagged: bool,
    is_ipv6: bool,
    is_timed: bool,
    tag: u32,
}

/// The fields of a frame's signature.
struct Signature {
    number: u64,
    /// Its time of writing, nanoseconds modulo 2^48.
    sent: Option<u64>,
}

impl Wanted {
    fn from_spec(spec: &FrameSpec) -> Wanted {
        Wanted {
            offsets: spec.offsets(),
            ether_type: spec.ether_type(),
            is_tagged: spec.vlan.is_some(),
            is_ipv6: spec.is_ipv6(),
            is_timed: spec.is_timed(),
            tag: spec.tag,
        }
    }

    /// `None` for another frame.
    fn signature(&self, frame: &Taken<'_>) -> Option<Signature> {
        let bytes = frame.bytes;
        let Offsets { packet, ip, payload, .. } = self.offsets;
        // Where the tag was removed, everything behind it is nearer.
        let taken = match (self.is_tagged, frame.tag) {
            (true, Some(TYPE_VLAN)) => VLAN_TAG,
            (true, None) if half(bytes, 12)? == TYPE_VLAN => 0,
            (false, None) => 0,
            _ => return None,
        };
        let (packet, ip, payload) = (packet - taken, ip - taken, payload - taken);
        let is_udp = half(bytes, packet - 2)? == self.ether_type
            && (packet == ip || *bytes.get(packet + 6)? == Ip::IPV4)
            && *bytes.get(ip + if self.is_ipv6 { 6 } else { 9 })? == Ip::UDP
            && (self.is_ipv6 || *bytes.get(ip)? == VERSION_IPV4);
        let signed = u32::from_be_bytes(array(bytes, payload)?) == self.tag;
        let number = u64::from_be_bytes(array(bytes, payload + 4)?);
        let sent = match self.is_timed {
            true => {
                let [a, b, c, d, e, f] = array(bytes, payload + 12)?;
                Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
            }
            false => None,
        };
        (is_udp && signed).then_some(Signature { number, sent })
    }
}

/// The delay from the time in a frame to its arrival. Both times are of one clock, but not read in the same manner: a slightly
/// negative delay becomes zero.
fn delay(sent: u64, came: MonoTime) -> u64 {
    let delay = came.0.wrapping_sub(sent) & TIME;
    if delay > TIME / 2 { 0 } else { delay }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

/// The time in a frame has 48 bits.
const TIME: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests;

//! A client's request for datagrams, carried out by the server: checked, paced, bounded.

use super::{MAX_COUNT, MAX_SIZE, MAX_SIZES, MIN_SIZE, ProbeDatagram, ProbeSend};
use crate::work::probes::Request;
use model::time::MonoTime;
use model::units::{BitRate, Bytes, Nanos};

#[derive(Debug)]
pub(in crate::native) struct ProbeSchedule {
    send: ProbeSend,
    max_rate: Option<BitRate>,
    size_at: usize,
    index: u32,
    due: MonoTime,
    too_big: Vec<u32>,
}

impl ProbeSchedule {
    /// A request to begin now; `Err` gives the reason why it is refused.
    pub(in crate::native) fn new(
        send: ProbeSend,
        max_rate: Option<BitRate>,
        now: MonoTime,
    ) -> Result<ProbeSchedule, String> {
        check(&send)?;
        Ok(ProbeSchedule { send, max_rate, size_at: 0, index: 0, due: now, too_big: Vec::new() })
    }

    pub(in crate::native) fn bytes(&self) -> u64 {
        total(&self.send)
    }

    pub(in crate::native) fn due(&self) -> MonoTime {
        self.due
    }

    /// The next datagram when it is due; `None` before that.
    pub(in crate::native) fn poll(&mut self, now: MonoTime) -> Option<Request> {
        let &size = self.send.sizes.get(self.size_at).filter(|_| now >= self.due && self.done().is_none())?;
        let probe = ProbeDatagram::Probe { id: self.send.id, index: self.index, size };
        let hops = self.send.trace.then(|| u8::try_from(self.index + 1).unwrap_or(u8::MAX));
        self.step();
        let paced = self.max_rate.and_then(|rate| rate.time_for(Bytes(u64::from(size))));
        self.due = now + gap(&self.send).max(paced.unwrap_or(Nanos::ZERO));
        Some(Request::Send { bytes: probe.encode(size), cut: self.send.cut, hops })
    }

    /// The kernel refused a datagram of this size: the remaining datagrams of the size are skipped.
    pub(in crate::native) fn too_big(&mut self, size: u32) {
        if !self.send.sizes.contains(&size) || self.too_big.contains(&size) {
            return;
        }
        self.too_big.push(size);
        if self.send.sizes.get(self.size_at) == Some(&size) {
            self.step();
        }
    }

    /// Goes on to the next datagram: every size once, then all again, without those refused.
    fn step(&mut self) {
        loop {
            self.size_at += 1;
            if self.size_at >= self.send.sizes.len() {
                (self.size_at, self.index) = (0, self.index + 1);
            }
            let left_out = |size: &u32| self.too_big.contains(size);
            let all_left_out = self.send.sizes.iter().all(left_out);
            if self.index >= self.send.count || all_left_out {
                self.index = self.send.count;
                return;
            }
            if !self.send.sizes.get(self.size_at).is_some_and(left_out) {
                return;
            }
        }
    }

    /// Id and refused sizes, when all datagrams are sent.
    pub(in crate::native) fn done(&self) -> Option<(u32, &[u32])> {
        (self.index >= self.send.count).then_some((self.send.id, self.too_big.as_slice()))
    }
}

/// Duration of a request, unless the server's limit makes it longer.
pub(in crate::native) fn duration(send: &ProbeSend) -> Nanos {
    gap(send).saturating_mul(send.sizes.len() as u64 * u64::from(send.count))
}

pub(in crate::native) fn check(send: &ProbeSend) -> Result<(), String> {
    if send.sizes.is_empty() || send.sizes.len() > MAX_SIZES {
        return Err(format!("{} sizes, where 1 to {MAX_SIZES} are allowed", send.sizes.len()));
    }
    if let Some(size) = send.sizes.iter().find(|size| !(MIN_SIZE..=MAX_SIZE).contains(size)) {
        return Err(format!("the size {size}, where {MIN_SIZE} to {MAX_SIZE} are allowed"));
    }
    if !(1..=MAX_COUNT).contains(&send.count) {
        return Err(format!("{} datagrams of each size, where 1 to {MAX_COUNT} are allowed", send.count));
    }
    if total(send) > MAX_BYTES {
        return Err(format!("{} bytes in all, where {MAX_BYTES} are allowed", total(send)));
    }
    Ok(())
}

fn total(send: &ProbeSend) -> u64 {
    send.sizes.iter().map(|&size| u64::from(size)).sum::<u64>() * u64::from(send.count)
}

fn gap(send: &ProbeSend) -> Nanos {
    if send.gap == Nanos::ZERO { DEFAULT_GAP } else { send.gap.clamp(SHORTEST_GAP, LONGEST_GAP) }
}

const MAX_BYTES: u64 = 32 << 20;
const DEFAULT_GAP: Nanos = Nanos::from_millis(1);
const SHORTEST_GAP: Nanos = Nanos::from_micros(100);
const LONGEST_GAP: Nanos = Nanos::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn send(sizes: &[u32], count: u32) -> ProbeSend {
        ProbeSend { id: 4, sizes: sizes.to_vec(), count, cut: None, trace: true, gap: Nanos::ZERO }
    }

    fn run(request: &mut ProbeSchedule) -> Vec<(u64, usize, u8)> {
        let mut sent = Vec::new();
        while request.done().is_none() {
            let now = request.due();
            let Some(Request::Send { bytes, cut: None, hops: Some(hops) }) = request.poll(now) else {
                panic!("a datagram is due");
            };
            sent.push((now.0 / 1_000_000, bytes.len(), hops));
            if bytes.len() > 1472 {
                request.too_big(bytes.len() as u32);
            }
        }
        sent
    }

    #[test]
    fn datagrams_leave_one_by_one_and_a_size_too_big_is_left_out() {
        let mut request = ProbeSchedule::new(send(&[100, 1500, 1472], 2), None, MonoTime(0)).unwrap();
        assert_eq!(
            run(&mut request),
            [(0, 100, 1), (1, 1500, 1), (2, 1472, 1), (3, 100, 2), (4, 1472, 2)],
            "every size once, then again"
        );
        assert_eq!(request.done(), Some((4, [1500].as_slice())));
    }

    #[test]
    fn the_servers_rate_limit_holds() {
        let mut request = ProbeSchedule::new(send(&[1000], 3), Some(BitRate(80_000)), MonoTime(0)).unwrap();
        assert_eq!(run(&mut request), [(0, 1000, 1), (100, 1000, 2), (200, 1000, 3)]);
    }

    #[test]
    fn orders_are_bounded() {
        for wrong in [send(&[], 1), send(&[24; 65], 1), send(&[23], 1), send(&[65_508], 1), send(&[24], 0)] {
            assert!(check(&wrong).is_err(), "{wrong:?}");
        }
        assert!(check(&send(&[24], 101)).is_err());
        assert!(check(&send(&[65_507; 64], 100)).is_err());
        assert_eq!(check(&send(&[65_507; 5], 100)), Ok(()));
    }
}

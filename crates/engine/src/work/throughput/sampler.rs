//! Reads the counters of all streams at one moment and makes interval and final figures of two such readings.

use crate::work::throughput::shared::{Counters, Flow, FlowSocket};
use linux::tcp_info::{TcpInfo, tcp_info};
use model::sample::{Role, Silence, StreamResult, StreamSample, TcpCounters, UdpCounters};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::sync::atomic::Ordering;

/// One stream at one moment: totals since it opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Payload bytes of finished calls, since the stream opened.
    pub(crate) bytes: u64,
    /// Payload bytes that the kernel has taken over TCP, also of a call in progress.
    taken: Option<u64>,
    tcp: Option<TcpInfo>,
    udp: Option<UdpCounters>,
}

/// Gauges followed over the whole test.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extremes {
    max_cwnd: u64,
    max_window: u64,
    min_rtt: u64,
    max_rtt: u64,
    rtt_sum: u64,
    rtt_count: u64,
}

impl Reading {
    /// Reads a stream now; `last`: number of the last datagram sent to it, where it is known.
    pub(crate) fn take(flow: &Flow, counters: &Counters, last: Option<u64>) -> Reading {
        let bytes = || counters.bytes.load(Ordering::Relaxed);
        match &flow.socket {
            FlowSocket::Tcp(socket) => {
                let (before, tcp) = (bytes(), tcp_info(socket.as_ref()).ok());
                let queued = linux::options::unacknowledged(socket.as_ref()).ok();
                // Acknowledgements that come between the two make it less, never more.
                let taken = tcp.as_ref().and_then(|tcp| tcp.bytes_acked).zip(queued);
                let taken = taken.map(|(acked, queued)| (acked.0 + queued.0).max(before));
                Reading { bytes: before, taken, tcp, udp: None }
            }
            FlowSocket::Udp(socket) => {
                // The receiver adds its bytes while it holds this: they are those of the datagrams counted.
                let state = counters.receiver();
                let udp = state.as_ref().map_or_else(
                    || sent_datagrams(counters),
                    |state| {
                        let drops = linux::options::drops(socket.as_ref()).map_or(0, u64::from);
                        UdpCounters { socket_drops: state.dropped_datagrams(drops), ..state.counters(last) }
                    },
                );
                Reading { bytes: bytes(), udp: Some(udp), ..Reading::default() }
            }
        }
    }

    /// This reading, or the datagrams that came before the counted time, where these are more: some waited in the socket when it
    /// began.
    pub(crate) fn without_omitted(&self, counters: &Counters) -> Reading {
        let state = counters.receiver();
        let omitted = state.as_ref().and_then(|state| state.omitted());
        let read = |udp: &UdpCounters| udp.datagrams + udp.duplicates;
        match (omitted, &self.udp) {
            (Some((bytes, omitted)), Some(udp)) if read(omitted) > read(udp) => {
                // Drops are counted when a datagram comes.
                let udp = UdpCounters { socket_drops: udp.socket_drops, ..omitted.clone() };
                Reading { bytes, udp: Some(udp), ..self.clone() }
            }
            _ => self.clone(),
        }
    }

    /// Payload bytes from `earlier` to this reading. A TCP sender's are those that the kernel has taken, also of a call in
    /// progress: the far end may have them already. iPerf2's count by calls, the first of which was made before.
    fn moved_since(&self, earlier: &Reading, flow: &Flow) -> u64 {
        let counts_calls = flow.info.role != Role::Sender || flow.own.is_some();
        match (earlier.taken, self.taken) {
            (Some(then), Some(now)) if !counts_calls => now.saturating_sub(then),
            _ => self.bytes.saturating_sub(earlier.bytes),
        }
    }

    /// The counts from `earlier` to this reading.
    pub(crate) fn sample(&self, earlier: &Reading, flow: &Flow) -> StreamSample {
        StreamSample {
            stream: flow.info.stream,
            direction: flow.info.direction,
            role: flow.info.role,
            bytes: Bytes(self.moved_since(earlier, flow)),
            tcp: self.tcp.as_ref().map(|now| tcp_between(earlier.tcp.as_ref(), now)),
            udp: self.udp.as_ref().map(|now| udp_between(earlier.udp.as_ref(), now)),
        }
    }

    /// The whole test: from `earlier` to this reading, with the gauges of all intervals between.
    pub(crate) fn result(
        &self,
        earlier: &Reading,
        flow: &Flow,
        counters: &Counters,
        extremes: &Extremes,
        elapsed: Nanos,
    ) -> StreamResult {
        let sample = self.sample(earlier, flow);
        let mut udp = sample.udp;
        if let (Some(udp), Some(state)) = (&mut udp, counters.receiver()) {
            udp.jitter_distribution = state.jitter_distribution();
            udp.transit = state.transit();
        }
        StreamResult {
            stream: sample.stream,
            direction: sample.direction,
            role: sample.role,
            elapsed,
            bytes: sample.bytes,
            total_bytes: Bytes(counters.bytes.load(Ordering::Relaxed).max(sample.bytes.0)),
            tcp: sample.tcp.map(|tcp| extremes.apply(tcp)),
            udp,
        }
    }
}

impl Extremes {
    /// Follows the gauges of one more interval.
    pub(crate) fn follow(&mut self, sample: &StreamSample) {
        let Some(tcp) = sample.tcp.as_ref().filter(|_| sample.role == Role::Sender) else { return };
        self.max_cwnd = self.max_cwnd.max(tcp.cwnd.0);
        self.max_window = self.max_window.max(tcp.send_window.0);
        if tcp.rtt.0 > 0 {
            self.min_rtt = if self.rtt_count == 0 { tcp.rtt.0 } else { self.min_rtt.min(tcp.rtt.0) };
            self.max_rtt = self.max_rtt.max(tcp.rtt.0);
            self.rtt_sum += tcp.rtt.0;
            self.rtt_count += 1;
        }
    }

    fn apply(&self, mut tcp: TcpCounters) -> TcpCounters {
        tcp.max_cwnd = Bytes(self.max_cwnd.max(tcp.cwnd.0));
        tcp.max_send_window = Bytes(self.max_window.max(tcp.send_window.0));
        if let Some(mean) = self.rtt_sum.checked_div(self.rtt_count) {
            tcp.mean_rtt = Nanos(mean);
            tcp.min_rtt = Nanos(self.min_rtt);
            tcp.max_rtt = Nanos(self.max_rtt);
        }
        tcp
    }
}

fn sent_datagrams(counters: &Counters) -> UdpCounters {
    let datagrams = counters.datagrams.load(Ordering::Relaxed);
    UdpCounters {
        datagrams,
        send_drops: counters.send_drops.load(Ordering::Relaxed),
        last_sequence: datagrams,
        ..UdpCounters::default()
    }
}

fn udp_between(earlier: Option<&UdpCounters>, now: &UdpCounters) -> UdpCounters {
    let none = UdpCounters::default();
    let then = earlier.unwrap_or(&none);
    UdpCounters {
        datagrams: now.datagrams - then.datagrams.min(now.datagrams),
        // A datagram counted lost may still come: the difference of an interval cannot go below zero.
        lost: now.lost.saturating_sub(then.lost),
        late: now.late - then.late.min(now.late),
        duplicates: now.duplicates - then.duplicates.min(now.duplicates),
        reordered: now.reordered - then.reordered.min(now.reordered),
        socket_drops: now.socket_drops.saturating_sub(then.socket_drops),
        send_drops: now.send_drops.saturating_sub(then.send_drops),
        jitter: now.jitter,
        last_sequence: now.last_sequence,
        ecn_marks: now.ecn_marks.map(|marks| marks.saturating_sub(then.ecn_marks.unwrap_or(0))),
        ..UdpCounters::default()
    }
}

fn tcp_between(earlier: Option<&TcpInfo>, now: &TcpInfo) -> TcpCounters {
    let since = |field: fn(&TcpInfo) -> u64| field(now).saturating_sub(earlier.map_or(0, field));
    let small = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
    let window = now.send_window.unwrap_or_default();
    TcpCounters {
        retransmits: since(|i| i.retransmits.into()),
        spurious_retransmits: now
            .duplicate_reports
            .map(|_| since(|i| i.duplicate_reports.unwrap_or(0).into())),
        acknowledged: Bytes(since(|i| i.bytes_acked.unwrap_or_default().0)),
        cwnd: now.cwnd_bytes,
        max_cwnd: now.cwnd_bytes,
        send_window: window,
        max_send_window: window,
        rtt: now.rtt,
        rttvar: now.rtt_variation,
        min_rtt: now.min_rtt.unwrap_or_default(),
        mean_rtt: now.rtt,
        max_rtt: now.rtt,
        send_mss: small(now.send_mss),
        receive_mss: small(now.recv_mss),
        path_mtu: small(now.path_mtu),
        reordering: now.reordering,
        data_segments: since(|i| {
            u64::from(i.data_segments_out.unwrap_or(0)) + u64::from(i.data_segments_in.unwrap_or(0))
        }),
        segment_bytes: Bytes(since(|i| {
            i.bytes_sent.unwrap_or_default().0 + i.bytes_received.unwrap_or_default().0
        })),
        busy: Nanos(since(|i| i.busy.unwrap_or_default().0)),
        receive_window_limited: Nanos(since(|i| i.window_limited.unwrap_or_default().0)),
        send_buffer_limited: Nanos(since(|i| i.buffer_limited.unwrap_or_default().0)),
        ecn_marks: now
            .received_marked
            .filter(|_| now.options.ecn)
            .map(|_| since(|i| i.received_marked.unwrap_or(0).into())),
        timestamps: now.options.timestamps,
        window_scaling: Some(now.options.window_scale.is_some()),
        silence: None,
    }
}

/// The longest time without data of a receiver, from `base` on; `end`: until when data was to come.
pub(crate) fn silence(counters: &Counters, base: MonoTime, end: MonoTime) -> Option<Silence> {
    let datagrams = counters
        .receiver()
        .map(|state| state.silence.map(|(began, length, missing)| (began, length, Some(missing))));
    let (began, length, missing) = match datagrams {
        Some(longest) => longest.unwrap_or((base, Nanos::ZERO, None)),
        None => (counters.silence().0, counters.silence().1, None),
    };
    let last = last_advance(counters, base);
    let (began, until, missing, ended) = match end.saturating_since(last.max(base)) > length {
        true => (last, end, None, false),
        false => (began, began + length, missing, true),
    };
    let began = began.max(base);
    let length = until.saturating_since(began);
    (length >= WORTH_A_WORD).then(|| Silence { at: began.saturating_since(base), length, ended, missing })
}

/// The time of a stream's last data, or `fallback` when none came.
pub(crate) fn last_data(counters: &Counters, fallback: MonoTime) -> MonoTime {
    match counters.last.load(Ordering::Relaxed) {
        0 => fallback,
        last => MonoTime(last),
    }
}

/// The same, but of datagrams the time at which the flow last went on.
pub(crate) fn last_advance(counters: &Counters, fallback: MonoTime) -> MonoTime {
    counters.receiver().and_then(|state| state.advanced).unwrap_or_else(|| last_data(counters, fallback))
}

/// Shorter ones are pauses of hosts and queues.
pub(crate) const WORTH_A_WORD: Nanos = Nanos::from_millis(200);

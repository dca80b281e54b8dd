//! Streams that begin and end each by itself (iPerf2's).

use super::{Extremes, Reading, Running, Stream, threads};
use crate::error::Result;
use crate::work::throughput::delays::Delays;
use crate::work::throughput::shared::{Counters, Flow};
use crate::work::throughput::timed::{Burst, Timed};
use linux::poll::Waker;
use model::plan::LocalOptions;
use model::sample::StreamResult;
use model::time::MonoTime;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::Sent;

impl Running {
    /// More flows of a test that runs.
    pub(crate) fn join(&mut self, flows: Vec<Flow>, local: &LocalOptions, waker: &Arc<Waker>) -> Result<()> {
        for flow in &flows {
            let reading = Reading::take(flow, &Counters::default(), None);
            if let Some((_, base)) = &mut self.base {
                base.push(reading.clone());
            }
            self.previous.1.push(reading);
            self.extremes.push(Extremes::default());
        }
        self.streams.extend(threads::spawn(&self.plan, flows, local, waker, None)?);
        Ok(())
    }

    /// This stream's sender ends now.
    pub(crate) fn stop_sender(&self, stream: u32) {
        self.stream_value(stream, |stream| stream.control.stop_senders());
    }

    /// This stream receives no more.
    pub(crate) fn stop_stream(&self, stream: u32) {
        self.stream_value(stream, Stream::stop);
    }

    /// Has the stream's thread ended?
    pub(crate) fn is_over(&self, stream: u32) -> bool {
        self.stream_value(stream, |stream| stream.counters.finished.load(Ordering::Acquire)).unwrap_or(true)
    }

    /// The amount that the stream has sent until now.
    pub(crate) fn sent_on(&self, stream: u32) -> Option<Sent> {
        self.sent().into_iter().find(|sent| sent.stream == stream)
    }

    /// Payload bytes moved until now.
    pub(crate) fn moved(&self, stream: u32) -> u64 {
        self.stream_value(stream, |stream| stream.counters.bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Has the peer's host reported, since the last call, that the port of the stream is closed?
    pub(crate) fn take_refusal(&self, stream: u32) -> bool {
        self.stream_value(stream, |stream| stream.counters.refused.swap(false, Ordering::Relaxed))
            .unwrap_or(false)
    }

    /// The datagram that ended the stream, once.
    pub(crate) fn take_end(&self, stream: u32) -> Option<Vec<u8>> {
        self.stream_value(stream, |stream| {
            // The place stays taken: only the first end counts.
            stream.counters.receiver()?.end.as_mut().map(std::mem::take)
        })?
        .filter(|end| !end.is_empty())
    }

    /// The figures of a stream whose thread has ended.
    pub(crate) fn result_of(&self, stream: u32, now: MonoTime) -> Option<StreamResult> {
        let index = self.streams.iter().position(|s| s.flow.info.stream == stream)?;
        let it = &self.streams[index];
        let last = Reading::take(&it.flow, &it.counters, None);
        let base = self.base.clone()?;
        Some(self.stream_result(index, it, &base, &last, now))
    }

    /// Details until now that the samples have no field for.
    pub(crate) fn take_details(&self) -> Vec<StreamDetails> {
        let taken_from = |stream: &Stream| {
            let counters = &stream.counters;
            StreamDetails {
                stream: stream.flow.info.stream,
                calls: counters.calls.load(Ordering::Relaxed),
                reads: std::array::from_fn(|bin| counters.reads[bin].load(Ordering::Relaxed)),
                delays: counters.receiver().and_then(|mut state| state.recent.as_mut().map(std::mem::take)),
                timed: take_timed(counters),
            }
        };
        self.streams.iter().map(taken_from).collect()
    }

    /// The bursts that have come since the last call, by stream.
    pub(crate) fn take_bursts(&self) -> Vec<(u32, Vec<Burst>)> {
        let taken_from = |stream: &Stream| {
            let mut bursts = Vec::new();
            stream.counters.time(|timed| bursts = std::mem::take(&mut timed.bursts));
            (!bursts.is_empty()).then_some((stream.flow.info.stream, bursts))
        };
        self.streams.iter().filter_map(taken_from).collect()
    }

    fn stream_value<T>(&self, stream: u32, what: impl FnOnce(&Stream) -> T) -> Option<T> {
        self.streams.iter().find(|s| s.flow.info.stream == stream).map(what)
    }
}

/// Timed quantities since the last call; bursts that are reported by themselves stay.
fn take_timed(counters: &Counters) -> Option<Timed> {
    if let Some(mut state) = counters.receiver() {
        return state.timed.as_mut().map(Timed::take);
    }
    let mut taken = None;
    counters.time(|timed| taken = Some(timed.take()));
    taken
}

/// Details of one stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamDetails {
    /// Its number.
    pub(crate) stream: u32,
    /// Calls that moved TCP data.
    pub(crate) calls: u64,
    /// TCP reads by size.
    pub(crate) reads: [u64; 8],
    /// UDP: transit times since the last call.
    pub(crate) delays: Option<Delays>,
    /// Timed quantities since the last call.
    pub(crate) timed: Option<Timed>,
}

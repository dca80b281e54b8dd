//! Flows that are tests by themselves (iPerf2): each has its own amount, rate and end.

use super::budget_bytes;
use super::frames;
use crate::work::throughput::delays::Delays;
use crate::work::throughput::shared::{
    Budget, Counters, Flow, OwnFlow, PieceRecords, Records, StreamControl,
};
use crate::work::throughput::timed::{HistogramKind, Timed, Timing};
use linux::clock::mono_now;
use model::plan::{Direction, End, TestSpec};
use model::sample::Role;
use model::units::BitRate;
use std::sync::{Arc, Mutex};
use wire::FlowPlan;
use wire::iperf2::{Amount, Rate, Sending};

/// Streams of this end in all, also those that are still to come.
pub(super) fn count(plan: &FlowPlan, flows: &[Flow]) -> usize {
    let all = [Direction::Up, Direction::Down].map(|direction| plan.test.stream_numbers(direction).len());
    if flows.iter().any(|flow| flow.own.is_some()) { all.iter().sum() } else { flows.len() }
}

/// Streams that receive at this end, also those that are still to come.
pub(super) fn receivers(plan: &FlowPlan, flows: &[Flow]) -> usize {
    let mut here = flows.iter().filter(|flow| flow.info.role == Role::Receiver).peekable();
    match here.peek() {
        Some(flow) if flow.own.is_some() => plan.test.stream_numbers(flow.info.direction).len(),
        _ => here.count(),
    }
}

/// The plan and the budget of one flow. Data moved before its thread begins is counted, and its end is set.
pub(super) fn begin(
    plan: &FlowPlan,
    own: &OwnFlow,
    counters: &Counters,
    control: &StreamControl,
) -> (FlowPlan, Arc<Budget>) {
    let now = mono_now();
    if let Some(mut state) = counters.receiver() {
        state.recent = Some(Delays::default());
    }
    if own.moved > 0 {
        counters.add_bytes(own.moved);
        counters.touch(now);
    }
    let mut plan = plan.clone();
    if let Some(sending) = &own.sending {
        plan.test = sent_test(&plan.test, sending);
        if let Amount::Time(time) = sending.amount {
            control.set_deadline(now + time);
        }
    }
    let budget = budget_bytes(&plan).map(|bytes| bytes.saturating_sub(own.moved));
    (plan, Arc::new(Budget::new(budget, false)))
}

fn sent_test(test: &TestSpec, sending: &Sending) -> TestSpec {
    let length = Some(sending.length).filter(|length| *length > 0).or(test.length);
    let bitrate = match sending.rate {
        Some(Rate::Bits(rate)) => Some(rate).filter(|rate| *rate < UNLIMITED),
        Some(Rate::Packets(rate)) => Some(BitRate(rate.saturating_mul(u64::from(length.unwrap_or(0)) * 8))),
        None => None,
    };
    let end = match sending.amount {
        Amount::Time(time) => End::Time(time),
        Amount::Bytes(bytes) => End::Bytes(bytes),
    };
    TestSpec { length, bitrate, end, ..test.clone() }
}

/// A flow whose data is cut, and how it sends.
pub(super) fn cut(flow: &Flow) -> Option<(&OwnFlow, &Sending)> {
    let own = flow.own.as_ref().filter(|own| frames::is_cut(own))?;
    Some((own, own.sending.as_ref()?))
}

/// A flow whose data comes in pieces that are to be timed.
pub(super) fn cut_stream(flow: &Flow) -> Option<(&OwnFlow, PieceRecords)> {
    let own = flow.own.as_ref()?;
    match own.records {
        Some(Records::Pieces(records)) => Some((own, records)),
        _ => None,
    }
}

/// Timed quantities of a sender, or of a receiver of a TCP stream.
pub(super) fn timed_sender_or_stream(flow: &Flow) -> Option<Mutex<Timed>> {
    let own = flow.own.as_ref()?;
    let (clock, Timing { writes, delays, .. }) = (own.numbered.clock, own.timing);
    let is_tcp = flow.socket.tcp().is_some();
    let mut timed = match &own.sending {
        Some(_) if writes && is_tcp => Timed::new(clock, &[(HistogramKind::Writes, delays)]),
        Some(_) if frames::is_cut(own) => Timed::new(clock, &[]),
        None if cut_stream(flow).is_some() => Timed::new(clock, &[(HistogramKind::Pieces, delays)]),
        _ => return None,
    };
    timed.times_writes = own.sending.is_some() && writes && is_tcp;
    Some(Mutex::new(timed))
}

/// Timed quantities of a receiver of datagrams.
pub(super) fn timed_datagrams(flow: &Flow) -> Option<Timed> {
    let own = flow.own.as_ref()?;
    let place = match own.records {
        Some(Records::Frames(place)) => Some(place),
        _ => None,
    };
    let Timing { delays, jitter, .. } = own.timing;
    if place.is_none() && delays.is_none() && jitter.is_none() {
        return None;
    }
    let pieces = delays.filter(|_| place.is_some());
    let kinds =
        [(HistogramKind::Delays, delays), (HistogramKind::Jitter, jitter), (HistogramKind::Pieces, pieces)];
    let mut timed = Timed::new(own.numbered.clock, &kinds);
    timed.frame_place = place;
    Some(timed)
}

/// A rate as high as this is none: clients that want a server to send as fast as it can have no other word for it.
pub(crate) const UNLIMITED: BitRate = BitRate(100_000_000_000);

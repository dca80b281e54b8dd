//! Data that moves: the flows of a test from their opening to the figures.

use super::{WorkContext, Worker};
use crate::error::sentence;
use crate::work::throughput::running::Running;
use crate::work::throughput::shared::Flow;
use linux::clock::{mono_now, wall_now};
use model::event::{EndResult, Event, Finished, Outcome, Started};
use model::sample::{IntervalSample, Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;
use std::net::TcpStream;
use wire::work::throughput::{Reply, Request};
use wire::{FlowsRequest, WorkRequest};

pub(super) struct Throughput {
    order: FlowsRequest,
    flows: Vec<Flow>,
    running: Option<Running>,
    draining: bool,
    started: Option<MonoTime>,
    next_progress: MonoTime,
}

impl Throughput {
    /// Over these flows.
    pub(super) fn new(flows: Vec<Flow>, order: FlowsRequest) -> Throughput {
        let next_progress = MonoTime::ZERO;
        Throughput { order, flows, running: None, draining: false, started: None, next_progress }
    }

    fn start(&mut self, context: &mut WorkContext<'_>) {
        let flows = std::mem::take(&mut self.flows);
        let streams = flows.iter().map(|f| f.info.clone()).collect();
        let now = mono_now();
        self.started = Some(now);
        context.emit(Event::Started(Started { wall: wall_now(), streams }));
        let local = &mut context.setting.local;
        if let Some(interval) = self.order.interval {
            local.interval = interval;
        }
        match Running::start(self.order.plan.clone(), flows, local, &context.waker, now) {
            Ok(running) => self.running = Some(running),
            Err(e) => context.fail(sentence(&e)),
        }
    }

    fn stop_senders(&mut self, context: &mut WorkContext<'_>) {
        let now = mono_now();
        let has_senders = self.running.as_mut().is_some_and(|running| running.stop_senders(now));
        if !has_senders {
            context.reply(Reply::SendersDone(Vec::new()));
        }
    }

    fn measure(&mut self, context: &mut WorkContext<'_>) -> SideResult {
        self.draining = false;
        let Some(mut running) = self.running.take() else { return SideResult::default() };
        let now = mono_now();
        if let Some(sample) = running.last_sample(now) {
            report_sample(context, sample);
        }
        let (result, warnings) = running.measure(now);
        warnings.into_iter().for_each(|warning| context.emit(Event::Warning(warning)));
        let local =
            EndResult { side: Side::Local, result: result.clone(), output_text: None, output_json: None };
        context.emit(Event::Result(local));
        result
    }

    fn report_measured(&mut self, context: &mut WorkContext<'_>, result: SideResult) {
        let report = context.report();
        context.reply(Reply::Measured { result: Box::new(result), report });
    }
}

impl Worker for Throughput {
    fn ask(&mut self, request: WorkRequest, context: &mut WorkContext<'_>, _control: Option<&TcpStream>) {
        let WorkRequest::Throughput(request) = request else { return };
        match request {
            Request::Start => self.start(context),
            Request::StopSenders => self.stop_senders(context),
            Request::EndDrain => {
                if let Some(running) = self.running.as_mut().filter(|_| self.draining) {
                    running.begin_drain(Vec::new(), Nanos::ZERO, mono_now());
                }
            }
            Request::Drain { expect, limit } => {
                self.draining = true;
                if let Some(running) = &mut self.running {
                    running.begin_drain(expect, limit, mono_now());
                }
            }
        }
    }

    fn due(&self) -> Option<MonoTime> {
        let running = self.running.as_ref()?;
        running.next_tick().into_iter().chain([self.next_progress]).min()
    }

    fn tick(&mut self, now: MonoTime, context: &mut WorkContext<'_>) {
        let Some(running) = &mut self.running else {
            if std::mem::take(&mut self.draining) {
                self.report_measured(context, SideResult::default());
            }
            return;
        };
        for sample in running.tick(now) {
            report_sample(context, sample);
        }
        if now >= self.next_progress {
            self.next_progress = now + PROGRESS_STEP;
            let (received, sent) = running.progress();
            context.reply(Reply::Progress { sent, received, omitted: running.is_omitting() });
        }
        if let Some(sent) = running.senders_done(now) {
            context.reply(Reply::SendersDone(sent));
        }
        if self.draining && running.is_drained(now) {
            let result = self.measure(context);
            self.report_measured(context, result);
        }
    }

    fn rescue(&mut self, context: &mut WorkContext<'_>) {
        if self.running.is_some() {
            self.measure(context);
        }
    }

    fn finish(&mut self, context: &mut WorkContext<'_>, outcome: Outcome) {
        let Some(started) = self.started else { return };
        let elapsed = mono_now().saturating_since(started);
        context.emit(Event::Finished(Finished { wall: wall_now(), elapsed, outcome }));
    }
}

/// Reports an interval as an event and to the session.
fn report_sample(context: &mut WorkContext<'_>, sample: IntervalSample) {
    context.emit(Event::Sample(sample.clone()));
    context.reply(Reply::Sample(sample));
}

/// Time between two reports of progress to the session.
const PROGRESS_STEP: Nanos = Nanos::from_millis(20);

//! Asked for a rate: what rate came?

use super::common::lab::{LINK, Lab};
use super::common::options::Options;
use super::run::{Link, Run, settled, spec, undisturbed};
use anyhow::bail;
use linux::frames::{Burst, Sent, open_source};
use model::dut::SourceKind;
use model::search::{Load, Trial};
use model::units::Nanos;
use serde::Serialize;

/// A rate with every run at it.
#[derive(Debug, Serialize)]
pub(crate) struct Pacing {
    /// Frames a second.
    pub(crate) asked: f64,
    pub(crate) runs: Vec<Paced>,
}

/// One run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Paced {
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The most that a frame was behind its time, nanoseconds.
    #[serde(rename = "late_ns")]
    pub(crate) late: Nanos,
    /// By how much the schedule was moved, nanoseconds.
    #[serde(rename = "held_ns")]
    pub(crate) held: Nanos,
}

impl Paced {
    /// Frames a second, from the first to the last: as many intervals as frames but one.
    pub(crate) fn rate(&self) -> f64 {
        self.run.received.saturating_sub(1) as f64 / self.run.time.as_secs_f64()
    }
}

/// All rates in turns.
pub(crate) fn measure(lab: &Lab, options: &Options) -> Vec<Pacing> {
    let mut all: Vec<Pacing> = RATES.map(|asked| Pacing { asked, runs: Vec::new() }).into();
    for turn in 0..options.runs {
        for pacing in &mut all {
            match run(lab, pacing.asked, options) {
                Ok(paced) => {
                    let (rate, late, held) = (paced.rate(), paced.late, paced.held);
                    let turn = turn + 1;
                    eprintln!(
                        "pacing {turn} {:.0}: {rate:.1}, at most {late} late, held up for {held}",
                        pacing.asked
                    );
                    pacing.runs.push(paced);
                }
                Err(error) => eprintln!("pacing {} {:.0}: {error}", turn + 1, pacing.asked),
            }
        }
    }
    all
}

fn run(lab: &Lab, rate: f64, options: &Options) -> anyhow::Result<Paced> {
    let trial = Trial::new(Load(rate), Nanos(options.time.as_nanos() as u64));
    let ((sent, received), foreign) =
        undisturbed(options.patience, || Ok((once(lab, &trial)?, Nanos::ZERO)))?;
    if received != sent.frames {
        bail!("{received} of {} frames came", sent.frames);
    }
    let run = Run { sent: sent.frames, received, time: sent.time, foreign };
    Ok(Paced { run, late: sent.late, held: sent.held })
}

fn once(lab: &Lab, trial: &Trial) -> anyhow::Result<(Sent, u64)> {
    let link = Link { near: &lab.near, far: &lab.far, names: [LINK, LINK] };
    let spec = spec(&lab.near, &lab.far)?;
    let sink = link.sink(&spec, trial.frames)?;
    let out = link.out()?;
    let burst = Burst::of(trial, MARGIN);
    let sent = link.send(|| open_source(SourceKind::LiveFrames, &spec, out), &burst)?;
    Ok((sent, settled(sink.as_ref(), sent.frames)?.distinct()))
}

const RATES: [f64; 7] = [1e3, 10e3, 100e3, 500e3, 1e6, 2e6, 3e6];
const MARGIN: Nanos = Nanos(1_000_000_000);

//! The received rate for a requested one.

use super::common::lab::{LINK, Lab};
use super::common::options::Options;
use super::common::turns::{Entrant, Measured, Plan, alone};
use super::run::{Link, settled, spec, watched};
use anyhow::bail;
use frames::{Burst, Sent, open_source};
use model::dut::SourceKind;
use model::search::{Load, Trial};
use model::units::Nanos;

/// A contender for each rate.
pub(crate) fn plan<'a>(lab: &'a Lab, options: &'a Options) -> Plan<'a> {
    let label = |rate: f64| format!("pathmeter, {rate:.0} frames/s");
    let entrant = |rate| Entrant { label: label(rate), run: Box::new(move || run(lab, rate, options)) };
    Plan {
        name: "pacing".into(),
        essential: true,
        goals: RATES.map(|rate| alone("error", &label(rate), 1.0)).to_vec(),
        entrants: RATES.map(entrant).into(),
    }
}

fn run(lab: &Lab, rate: f64, options: &Options) -> anyhow::Result<Measured> {
    let trial = Trial::new(Load(rate), Nanos(options.time.as_nanos() as u64));
    let ((sent, received), foreign) = watched(|| Ok((once(lab, &trial)?, Nanos::ZERO)))?;
    if received != sent.frames {
        bail!("{received} of {} frames came", sent.frames);
    }
    // From the first to the last: as many intervals as frames but one.
    let came = received.saturating_sub(1) as f64 / sent.time.as_secs_f64();
    let figures = vec![
        ("mpps", came / 1e6),
        ("error", (came / rate - 1.0).abs() * 100.0),
        ("late", sent.late.0 as f64 / 1e3),
    ];
    Ok(Measured { figures, foreign })
}

fn once(lab: &Lab, trial: &Trial) -> anyhow::Result<(Sent, u64)> {
    let link = Link { near: &lab.near, far: &lab.far, names: [LINK, LINK] };
    let spec = spec(&lab.near, &lab.far)?;
    let sink = link.sink(&spec, trial.frames)?;
    let out = link.out()?;
    let burst = Burst::from_trial(trial, MARGIN);
    let sent = link.send(|| open_source(SourceKind::LiveFrames, &spec, out), &burst)?;
    Ok((sent, settled(sink.as_ref(), sent.frames)?.distinct()))
}

const RATES: [f64; 7] = [1e3, 10e3, 100e3, 500e3, 1e6, 2e6, 3e6];
const MARGIN: Nanos = Nanos::from_secs(1);

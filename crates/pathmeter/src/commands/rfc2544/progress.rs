//! How far a benchmark has come, and how long the rest takes at most.

use crate::commands::progress::about;
use crate::commands::steps::Steps;
use cli::Common;
use model::dut::{Progress, Test};
use model::event::{DeviceProgress, Event};

/// A step for each test of each stream; on a terminal also its trials.
pub(super) struct Live {
    /// Printed with the first event: ports that cannot be opened are refused before.
    plan: Option<String>,
    steps: Steps,
    last: Option<(String, String, Test)>,
}

impl Live {
    /// Nothing has begun.
    pub(super) fn new(plan: String, global: &Common) -> Live {
        Live { plan: Some(plan), steps: Steps::new(global), last: None }
    }

    /// Shows the progress of an event.
    pub(super) fn event(&mut self, event: &Event) {
        if let Some(plan) = self.plan.take() {
            self.steps.note(plan.trim_end());
        }
        match event {
            Event::DeviceProgress(progress) => self.show(progress),
            Event::Progress(progress) => self.steps.note(&progress.doing),
            _ => {}
        }
    }

    fn show(&mut self, DeviceProgress { device, progress, left }: &DeviceProgress) {
        let now = Some((device.clone(), progress.stream.clone(), progress.test));
        let left = format!("at most {} left", about(*left));
        let Progress { stream, test, trial, row, rows, load, .. } = progress;
        let step = format!("{row:>4}/{rows}  {device}: {stream}, {test}");
        if self.last != now {
            self.steps.begin(step.clone(), Some(&left));
            self.last = now;
        }
        if self.steps.is_live() {
            let doing = match load {
                Some(load) => format!("{step}: trial {trial} at {load}"),
                None => format!("{row:>4}/{rows}  {device}: {stream}: as fast as can be"),
            };
            self.steps.change(&doing, Some(&left));
        }
    }
}

//! What is being done, and how long the rest takes at most, on standard error.

use super::plan::about;
use crate::commands::progress::{change, is_live, say};
use model::dut::{Progress, Test};
use model::event::{DeviceProgress, Event};

/// Tells how far a benchmark has come: one line that changes on a terminal, elsewhere one for each test and stream.
pub(super) struct Live {
    terminal: bool,
    last: Option<(String, String, Test)>,
}

impl Live {
    /// Nothing has begun.
    pub(super) fn new() -> Live {
        Live { terminal: is_live(), last: None }
    }

    /// Tells what an event says of it.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::DeviceProgress(progress) => self.tell(progress),
            Event::Progress(progress) => say(&progress.doing),
            _ => {}
        }
    }

    fn tell(&mut self, DeviceProgress { device, progress, left }: &DeviceProgress) {
        let now = (device.clone(), progress.stream.clone(), progress.test);
        let left = about(*left);
        if self.terminal {
            let line = format!("{device}: {}  at most {left} left", words(progress));
            let width = linux::screen::columns().map_or(80, usize::from).saturating_sub(1);
            let line: String = line.chars().take(width).collect();
            change(&line);
        } else if self.last.as_ref() != Some(&now) {
            let Progress { stream, test, row, rows, .. } = progress;
            let line = format!("{row:>4}/{rows}  {device}: {stream}, {test}; at most {left} left");
            say(&line);
        }
        self.last = Some(now);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.terminal {
            change("");
        }
    }
}

/// `4/12 IPv4 512, throughput: trial 7 at 1.20 Mpps`, short enough for a terminal of 80 columns.
fn words(progress: &Progress) -> String {
    let Progress { stream, test, trial, row, rows, .. } = progress;
    match progress.load {
        Some(load) => format!("{row}/{rows} {stream}, {test}: trial {trial} at {load}"),
        None => format!("{row}/{rows} {stream}: as fast as can be"),
    }
}

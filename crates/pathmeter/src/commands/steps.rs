//! A job of many steps while it runs, on standard error: on a terminal the last steps, what is done now and the time left;
//! elsewhere a line for each step. Progress is a courtesy: a closed standard error stops nothing.

use super::progress::about;
use super::region::{self, Region};
use cli::Common;
use linux::clock::mono_now;
use model::time::MonoTime;
use model::units::Nanos;

/// The steps of a job.
pub(crate) struct Steps {
    region: Region,
    began: MonoTime,
    /// Those that were begun, the current one last.
    rows: Vec<String>,
}

impl Steps {
    /// None yet.
    pub(crate) fn new(global: &Common) -> Steps {
        Steps { region: Region::new(global), began: mono_now(), rows: Vec::new() }
    }

    /// The steps are drawn, and the text of the current one may change.
    pub(crate) fn is_live(&self) -> bool {
        self.region.is_live()
    }

    /// A line that stays.
    pub(crate) fn note(&mut self, text: &str) {
        self.region.say(&format!("{text}\n"));
    }

    /// A step begins. `left`: the words of the time left, where that is known.
    pub(crate) fn begin(&mut self, row: String, left: Option<&str>) {
        if !self.is_live() {
            let left = left.map(|left| format!("; {left}")).unwrap_or_default();
            return self.note(&format!("{row}{left}"));
        }
        self.rows.push(row.clone());
        // More are not drawn, and a benchmark may last for days.
        self.rows.drain(..self.rows.len().saturating_sub(MOST_ROWS));
        self.change(&row, left);
    }

    /// Changes the row of the current step; for a terminal alone.
    pub(crate) fn change(&mut self, row: &str, left: Option<&str>) {
        let done = self.rows.len().saturating_sub(1);
        let mut lines = self.rows[..done].to_vec();
        lines.push(row.to_owned());
        lines.extend(left.map(region::left));
        self.region.draw(&lines);
    }

    /// The words of the time that the steps from `step` of `all` on need, if they are as long as those before.
    pub(crate) fn left(&self, step: u32, all: u32) -> Option<String> {
        let gone = mono_now().saturating_since(self.began);
        remaining(gone, step, all).map(|left| format!("about {} left", about(left)))
    }
}

/// From 1 on.
fn remaining(gone: Nanos, step: u32, all: u32) -> Option<Nanos> {
    let done = u64::from(step.checked_sub(1).filter(|done| *done > 0)?);
    let rest = u64::from(all.saturating_sub(step - 1));
    Some(Nanos(gone.0 / done * rest))
}

/// Steps that are drawn.
const MOST_ROWS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_as_long_as_what_was_before() {
        let gone = Nanos::from_secs(30);
        assert_eq!(remaining(gone, 1, 10), None, "nothing is known yet");
        assert_eq!(remaining(gone, 4, 10), Some(Nanos::from_secs(70)));
        assert_eq!(remaining(gone, 10, 10), Some(Nanos::from_nanos(3_333_333_333)));
    }

    #[test]
    fn times_are_rounded_up() {
        let about_seconds = |seconds| about(Nanos::from_secs(seconds));
        assert_eq!(
            [0, 119, 120, 7_199, 7_201].map(about_seconds),
            ["0 s", "119 s", "2 min", "120 min", "3 h"]
        );
        assert_eq!(about(Nanos::from_nanos(1)), "1 s");
    }
}

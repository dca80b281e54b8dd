//! All rounds of a watch in a few lines: how many there were, and each figure's range. It takes the same memory however long
//! it goes on.

use model::history::Headline;

/// The ranges over all rounds.
#[derive(Debug, Default)]
pub struct Ranges {
    rounds: u64,
    unreachable: u64,
    figures: Vec<Range>,
}

#[derive(Debug)]
struct Range {
    name: String,
    least: (f64, String),
    most: (f64, String),
}

impl Ranges {
    /// Counts a round: whether the far end could be reached, and what was measured.
    pub fn add(&mut self, is_reached: bool, figures: Vec<Headline>) {
        self.rounds += 1;
        self.unreachable += u64::from(!is_reached);
        for figure in figures {
            self.figure(figure.name, (figure.value, figure.text));
        }
    }

    fn figure(&mut self, name: String, value: (f64, String)) {
        match self.figures.iter_mut().find(|range| range.name == name) {
            None => self.figures.push(Range { name, least: value.clone(), most: value }),
            Some(range) if value.0 < range.least.0 => range.least = value,
            Some(range) if value.0 > range.most.0 => range.most = value,
            Some(_) => {}
        }
    }

    /// The lines; empty before the first round.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        if self.rounds == 0 {
            return Vec::new();
        }
        let rounds = if self.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", self.rounds) };
        let mut lines = vec![format!("{rounds}, the far end unreachable in {}", self.unreachable)];
        let line = |range: &Range| format!("  {}: {} to {}", range.name, range.least.1, range.most.1);
        lines.extend(self.figures.iter().map(line));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_grows_both_directions() {
        let mut ranges = Ranges { rounds: 3, unreachable: 1, figures: Vec::new() };
        for (value, text) in [(5.0, "5 ms"), (9.0, "9 ms"), (2.0, "2 ms")] {
            ranges.figure("rtt.p50".into(), (value, text.into()));
        }
        assert_eq!(ranges.lines(), ["3 rounds, the far end unreachable in 1", "  rtt.p50: 2 ms to 9 ms"]);
    }
}

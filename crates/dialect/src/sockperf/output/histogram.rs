//! Sockperf's histogram (3.10, `--histogram bin:low:high`): bars on the screen, counts in the file.

use super::{MAGENTA, PLAIN, RULE};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The requested bins, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    /// Width of each, at least 1.
    pub width: u32,
    /// Where the first begins.
    pub low: u32,
    /// Values from here on are outliers, above `low`.
    pub high: u32,
}

/// Counts.
pub(super) struct Histogram {
    bins: Bins,
    /// By number; 0: below `low`; the last: from `high` on. Those without any are left out.
    counts: BTreeMap<u64, u64>,
    min: u64,
    max: u64,
}

/// One bin.
struct BinRow {
    from: u64,
    to: u64,
    count: u64,
    /// The number whose digits set the width of the file's column for outliers. (For the upper ones it is the range's end, not
    /// the number printed.)
    outliers: Option<u64>,
}

impl Histogram {
    /// Counts values, which are sorted upwards.
    pub(super) fn from_bins(bins: Bins, sorted: &[Nanos]) -> Histogram {
        let bins = Bins { width: bins.width.max(1), high: bins.high.max(bins.low), ..bins };
        let whole = |value: Option<&Nanos>| value.map_or(0, |value| value.0 / 1000);
        let mut counts = BTreeMap::new();
        for value in sorted {
            *counts.entry(bins.number(*value)).or_insert(0) += 1;
        }
        Histogram { bins, counts, min: whole(sorted.first()), max: whole(sorted.last()) }
    }

    fn rows(&self) -> impl Iterator<Item = BinRow> {
        let Bins { width, low, high } = self.bins;
        let (width, low, last) = (u64::from(width), u64::from(low), self.bins.last());
        self.counts.iter().map(move |(number, count)| {
            let (from, to, outliers) = match *number {
                0 => (self.min, low, Some(self.min)),
                number if number == last => (self.bins.outliers_from(), self.max, Some(u64::from(high))),
                number => (low + (number - 1) * width, low + number * width, None),
            };
            BinRow { from, to, count: *count, outliers }
        })
    }

    /// Bars that fit on a terminal of this many columns; without one, of at most 80.
    pub(super) fn screen(&self, terminal: Option<u16>) -> String {
        let (from, to) = (digits(self.bins.outliers_from()), digits(self.max));
        let message = digits(u64::from(self.bins.high) + u64::from(self.bins.width)) + 1 + to;
        let taken = "sockperf: ".len() + message + " (outliers)".len() + 1 + GAP;
        let room = terminal.map(|width| usize::from(width).saturating_sub(taken).max(1));
        let most = self.counts.values().copied().max().unwrap_or(0);
        let unit = most.div_ceil(room.unwrap_or(80) as u64).max(1);
        let mut text = match unit {
            1 => "sockperf: [Histogram] Display to scale\n".to_owned(),
            _ => format!(
                "sockperf: [Histogram] Display scaled to fit on screen (Key: '#' = up to {unit} samples)\n"
            ),
        };
        let (bins, frequency) = ((from + to + 2) / 2 + 2, room.unwrap_or(0) / 2 + 4);
        let _ = writeln!(text, "sockperf: {:>bins$}  {:>frequency$}", "bins", "frequency");
        let to = to + GAP;
        for row in self.rows() {
            let bar = "#".repeat(usize::try_from(row.count.div_ceil(unit)).unwrap_or(0));
            let bar = if row.outliers.is_some() { format!("{MAGENTA}{bar} (outliers){PLAIN}") } else { bar };
            let _ = writeln!(text, "sockperf: {:>from$}-{:<to$}{bar}", row.from, row.to);
        }
        text
    }

    /// The counts: a bin is printed by its lower end, outliers by both.
    pub(super) fn file(&self) -> String {
        let Bins { width, low, high } = self.bins;
        let mut text = format!(
            "histogram was built using the following parameters: \
             --h_bin_size_us={width} --h_lower_range_us={low} --h_upper_range_us={high}\n{RULE}\
             bin (usec)            frequency\n"
        );
        let column = digits(self.max) + 1 + digits(u64::from(high)) + 20;
        for row in self.rows() {
            let bin = match row.outliers {
                Some(sized) => {
                    let column = column.saturating_sub(1 + digits(sized));
                    format!("{}-{:<column$}", row.from, row.to)
                }
                None => format!("{:<column$}", row.from),
            };
            let _ = writeln!(text, "{bin}{}", row.count);
        }
        text + RULE
    }
}

impl Bins {
    fn number(self, value: Nanos) -> u64 {
        let (low, high) = (u64::from(self.low) * 1000, u64::from(self.high) * 1000);
        match value.0 {
            value if value < low => 0,
            value if value >= high => self.last(),
            value => 1 + (value - low) / (u64::from(self.width) * 1000),
        }
    }

    /// The number of the upper outliers' bin.
    fn last(self) -> u64 {
        2 + u64::from((self.high - self.low) / self.width)
    }

    /// The printed start of the upper outliers: the end of the last whole bin.
    fn outliers_from(self) -> u64 {
        let over = (self.high - self.low) % self.width;
        u64::from(self.high) + if over > 0 { u64::from(self.width - over) } else { 0 }
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Columns between bins and bars.
const GAP: usize = 2;

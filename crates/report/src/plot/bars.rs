//! Grouped horizontal bars in panels over one axis: names stand before their bars and never overlap, however long.

use super::axis::Axis;
use super::svg::{Drawing, GREY, GRID, INK, PAPER, Svg, Text, room, wrapped};
use model::units::{BitRate, Nanos, grouped, percent, plain, significant};

/// A chart of panels, which share their axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// One more line about it.
    pub subtitle: String,
    /// Unit of the values: `Mbit/s`.
    pub unit: String,
    /// How the numbers behind the bars are written.
    pub labels: Labels,
    /// Powers of ten are equally far apart, and zero stands apart from them: for counts that differ much.
    pub logarithmic: bool,
    /// The names of the bars of a row, at most three: `IPv4`, `IPv6`.
    pub series: Vec<String>,
    /// The meaning of the mark across a bar; absent when no bar has one.
    pub mark: Option<String>,
    /// The mark is another measured value and no limit: a bar may go beyond it.
    pub is_reference: bool,
    /// The meaning of the whiskers; absent when no bar has any.
    pub whiskers: Option<String>,
    /// The panels, two side by side.
    pub panels: Vec<BarPanel>,
    /// Notes that a reader must know.
    pub notes: Vec<String>,
}

/// How the number behind a bar is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Labels {
    /// With three digits, in the unit of the axis.
    #[default]
    Digits,
    /// A whole number.
    Count,
    /// A rate in a unit of its own; the axis counts so many bit/s.
    Rate(f64),
    /// A time in a unit of its own; the axis counts so many nanoseconds.
    Time(f64),
}

impl Labels {
    fn write(self, value: f64) -> String {
        match self {
            Labels::Digits => significant(value),
            Labels::Count => grouped(value.round() as u64),
            Labels::Rate(scale) => BitRate((value * scale).round() as u64).to_string(),
            Labels::Time(scale) => Nanos((value * scale).round() as u64).to_string(),
        }
    }

    /// The ends of a range around a value; a unit that is the value's own is left out.
    fn write_range(self, value: f64, ends: [f64; 2]) -> String {
        let [value, low, high] = [value, ends[0], ends[1]].map(|number| self.write(number));
        let unit = value.rfind(char::is_whitespace).map_or("", |at| &value[at..]);
        let numbers = low.strip_suffix(unit).zip(high.strip_suffix(unit));
        let (low, high) = numbers.unwrap_or((low.as_str(), high.as_str()));
        format!("{low} to {high}")
    }

    /// A number with the unit, for a reader who points at a bar.
    pub(crate) fn write_with(self, unit: &str, value: f64) -> String {
        match self {
            Labels::Rate(_) | Labels::Time(_) => self.write(value),
            Labels::Digits | Labels::Count => format!("{} {unit}", self.write(value)),
        }
    }
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarPanel {
    /// The quantity that is measured in it.
    pub title: String,
    /// A row for each thing compared.
    pub rows: Vec<BarRow>,
}

/// One thing compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarRow {
    /// Its name.
    pub name: String,
    /// A bar of each series; absent where nothing was measured.
    pub bars: Vec<Option<Bar>>,
    /// The text in the place of a missing bar.
    pub missing: String,
}

/// One bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its length.
    pub value: f64,
    /// Ends of its whisker.
    pub whisker: Option<[f64; 2]>,
    /// The most that the value could be.
    pub mark: Option<f64>,
}

impl BarRow {
    /// A row of these bars.
    pub fn new(name: impl Into<String>, bars: Vec<Option<Bar>>, missing: impl Into<String>) -> BarRow {
        BarRow { name: name.into(), bars, missing: missing.into() }
    }
}

impl BarChart {
    /// A chart of one panel, which needs no title.
    pub fn of_rows(rows: Vec<BarRow>) -> BarChart {
        BarChart { panels: vec![BarPanel { title: String::new(), rows }], ..BarChart::default() }
    }

    /// The chart.
    pub fn drawing(&self) -> Drawing {
        let mut svg = Svg::new(WIDTH);
        let mut y = self.head(&mut svg);
        let names = self.rows().map(|row| room(&short(&row.name), 12.0)).fold(40.0, f64::max);
        let numbers = self.rows().flat_map(|row| row.bars.iter().flatten());
        let numbers = numbers.map(|bar| room(&bar.label(self.labels, self.is_reference), LABEL) + 2.0 * GAP);
        let labels = numbers.fold(LABELS, f64::max);
        let columns = if self.panels.len() > 1 { 2 } else { 1 };
        let width = (WIDTH - 2.0 * MARGIN - GUTTER * (columns as f64 - 1.0)) / columns as f64;
        let bars = self.rows().flat_map(|row| row.bars.iter().flatten());
        let reach = bars.map(Bar::reach);
        let axis =
            if self.logarithmic { Axis::logarithmic(reach) } else { Axis::to(reach.fold(0.0, f64::max)) };
        for line in self.panels.chunks(columns) {
            let heights = line.iter().enumerate().map(|(index, panel)| {
                let left = MARGIN + index as f64 * (width + GUTTER);
                let logarithmic = self.logarithmic;
                let place = PanelLayout { left, top: y, names, labels, width, axis: &axis, logarithmic };
                self.panel(&mut svg, panel, &place)
            });
            y += heights.fold(0.0, f64::max) + 26.0;
        }
        let y = self.foot(&mut svg, y);
        svg.finish(y + MARGIN / 2.0)
    }

    fn rows(&self) -> impl Iterator<Item = &BarRow> {
        self.panels.iter().flat_map(|panel| &panel.rows)
    }

    /// Title and legend; where the panels begin.
    fn head(&self, svg: &mut Svg) -> f64 {
        svg.text(MARGIN, 38.0, Text { size: 21.0, bold: true, ..Text::PLAIN }, &self.title);
        svg.text(MARGIN, 60.0, Text { size: 13.0, colour: GREY, ..Text::PLAIN }, &self.subtitle);
        let mut x = MARGIN;
        for (name, colour) in self.series.iter().zip(COLOURS) {
            svg.rect([x, 78.0, 14.0, 10.0], colour, "");
            svg.text(x + 20.0, 87.5, Text::PLAIN, name);
            x += room(name, 12.0) + 48.0;
        }
        if let Some(whiskers) = &self.whiskers {
            whisker(svg, [x, x + 18.0], 83.0);
            svg.text(x + 26.0, 87.5, Text::PLAIN, whiskers);
            x += room(whiskers, 12.0) * 0.88 + 50.0;
        }
        if let Some(mark) = &self.mark {
            svg.line([x + 4.0, 76.0, x + 4.0, 90.0], MARK, 2.5);
            svg.text(x + 14.0, 87.5, Text::PLAIN, mark);
        }
        112.0
    }

    /// Draws a panel and returns its height.
    fn panel(&self, svg: &mut Svg, panel: &BarPanel, place: &PanelLayout<'_>) -> f64 {
        svg.text(place.left, place.top + 14.0, Text { size: 14.0, bold: true, ..Text::PLAIN }, &panel.title);
        let top = place.top + if panel.title.is_empty() { 0.0 } else { 26.0 };
        let row_height = BAR * self.series.len().max(1) as f64 + GAP;
        let bottom = top + row_height * panel.rows.len() as f64;
        let zero = self.logarithmic.then_some(0.0);
        for tick in zero.into_iter().chain(place.axis.ticks()) {
            let x = place.x(tick);
            svg.line([x, top, x, bottom], if tick == 0.0 { INK } else { GRID }, 1.0);
            let style = Text { size: 11.0, colour: GREY, anchor: "middle", ..Text::PLAIN };
            svg.text(x, bottom + 15.0, style, &plain(tick));
        }
        let style = Text { size: 11.0, colour: GREY, ..Text::PLAIN };
        let last = room(&plain(place.axis.end()), style.size) / 2.0;
        svg.text(place.x(place.axis.end()) + last.max(15.0) + 9.0, bottom + 15.0, style, &self.unit);
        for (index, row) in panel.rows.iter().enumerate() {
            self.row(svg, row, place, top + row_height * index as f64);
        }
        bottom + 20.0 - place.top
    }

    fn row(&self, svg: &mut Svg, row: &BarRow, place: &PanelLayout<'_>, top: f64) {
        let middle = top + (BAR * self.series.len() as f64 + GAP) / 2.0;
        let style = Text { anchor: "end", ..Text::PLAIN };
        svg.text(place.left + place.names, middle + 4.0, style, &short(&row.name));
        if row.bars.iter().all(Option::is_none) {
            let style = Text { size: 11.0, colour: GREY, ..Text::PLAIN };
            svg.text(place.x(0.0) + 6.0, middle + 4.0, style, &row.missing);
        }
        let is_alone = row.bars.iter().flatten().count() == 1;
        let bars = row.bars.iter().zip(COLOURS).zip(&self.series).enumerate();
        for (index, ((bar, colour), series)) in bars {
            let Some(bar) = bar else { continue };
            let y = if is_alone { middle - BAR / 2.0 } else { top + GAP / 2.0 + BAR * index as f64 };
            let title = format!("{} {series}: {}", row.name, self.labels.write_with(&self.unit, bar.value));
            self.bar(svg, bar, place, y, colour, &title);
        }
    }

    fn bar(
        &self,
        svg: &mut Svg,
        bar: &Bar,
        place: &PanelLayout<'_>,
        y: f64,
        colour: &'static str,
        title: &str,
    ) {
        let zero = place.x(0.0);
        svg.rect([zero, y + 0.5, place.x(bar.value) - zero, BAR - 1.0], colour, title);
        if let Some([low, high]) = bar.whisker {
            whisker(svg, [place.x(low), place.x(high)], y + BAR / 2.0);
        }
        if let Some(mark) = bar.mark {
            let x = place.x(mark);
            svg.line([x, y - 0.5, x, y + BAR + 0.5], MARK, 2.5);
        }
        let label = bar.label(self.labels, self.is_reference);
        let style = Text { size: LABEL, ..Text::PLAIN };
        let width = room(&label, style.size);
        let x = bar.label_at(place, width);
        // No line of the grid strikes the number out.
        svg.rect([x - 1.0, y + 1.0, width, BAR - 2.0], PAPER, "");
        svg.text(x, y + BAR - 2.6, style, &label);
    }

    fn foot(&self, svg: &mut Svg, mut y: f64) -> f64 {
        let style = Text { size: 11.0, colour: GREY, ..Text::PLAIN };
        for line in self.notes.iter().flat_map(|note| wrapped(note, NOTE)) {
            svg.text(MARGIN, y, style, &line);
            y += 15.0;
        }
        y
    }
}

impl Bar {
    /// The farthest point that is drawn of it.
    fn reach(&self) -> f64 {
        self.value.max(self.mark.unwrap_or(0.0)).max(self.whisker.map_or(0.0, |[_, high]| high))
    }

    /// Its value. It stands behind the whisker, whose ends it names, so that it is not taken for one of them.
    fn label(&self, labels: Labels, is_reference: bool) -> String {
        let ends = self.whisker.map(|ends| format!(" ({})", labels.write_range(self.value, ends)));
        let share = self.share(is_reference);
        [Some(labels.write(self.value)), ends, share].into_iter().flatten().collect()
    }

    /// How much of what it could be it is. More than all of it is not a share: the limit or the figure is wrong, which a finding
    /// states.
    fn share(&self, is_reference: bool) -> Option<String> {
        let share = self.value / self.mark.filter(|mark| *mark > 0.0)?;
        Some(if share > OVER && !is_reference {
            " (over the limit)".into()
        } else {
            format!(" ({})", percent(share))
        })
    }

    /// Where a label so wide stands: behind the bar and its whisker, or behind the mark where that would cross it.
    fn label_at(&self, place: &PanelLayout<'_>, width: f64) -> f64 {
        let end = place.x(self.value.max(self.whisker.map_or(0.0, |[_, high]| high)));
        let mark = self.mark.map(|mark| place.x(mark)).filter(|x| (end..end + width + 10.0).contains(x));
        mark.unwrap_or(end) + 6.0
    }
}

/// Where a panel stands.
struct PanelLayout<'a> {
    left: f64,
    top: f64,
    /// Width of the names.
    names: f64,
    /// Width of the numbers behind the bars.
    labels: f64,
    width: f64,
    axis: &'a Axis,
    logarithmic: bool,
}

impl PanelLayout<'_> {
    /// Where a value is, from the left of the picture.
    fn x(&self, value: f64) -> f64 {
        let zero = self.left + self.names + 8.0;
        let share = match self.axis.share(value) {
            Some(share) if self.logarithmic => FIRST + (1.0 - FIRST) * share,
            share => share.unwrap_or_default(),
        };
        zero + (self.width - self.names - 8.0 - self.labels) * share
    }
}

fn whisker(svg: &mut Svg, [low, high]: [f64; 2], y: f64) {
    svg.line([low, y, high, y], INK, 1.2);
    for x in [low, high] {
        svg.line([x, y - 3.0, x, y + 3.0], INK, 1.2);
    }
}

/// A name that leaves room for the bars.
fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

const WIDTH: f64 = 1080.0;
const MARGIN: f64 = 28.0;
/// Between two panels.
const GUTTER: f64 = 24.0;
const BAR: f64 = 13.0;
/// Between two rows.
const GAP: f64 = 10.0;
/// Room for the number behind the longest bar, and more where it is longer.
const LABELS: f64 = 96.0;
/// Size of that number.
const LABEL: f64 = 10.5;
/// Between zero and the first power of ten, as a share of the axis.
const FIRST: f64 = 0.05;
const LONGEST_NAME: usize = 32;
/// Characters of a line of notes.
const NOTE: usize = 180;
/// Rounding alone puts a bar no farther above its limit.
const OVER: f64 = 1.005;
/// Blue, orange and green of Okabe and Ito; the mark is their vermilion.
const COLOURS: [&str; 3] = ["#0072b2", "#e69f00", "#009e73"];
const MARK: &str = "#d55e00";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_its_unit_where_it_differs() {
        assert_eq!(Labels::Rate(1e9).write_range(15.8, [15.5, 16.2]), "15.5 to 16.2");
        assert_eq!(Labels::Time(1e6).write_range(1.2, [0.3, 4.0]), "300 µs to 4.00 ms");
        assert_eq!(Labels::Digits.write_range(2.0, [1.0, 3.0]), "1.00 to 3.00");
    }
}

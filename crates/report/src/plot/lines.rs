//! Lines over a few sizes in panels, each with the line above it that theory allows.

use super::across::Across;
use super::axis::Axis;
use super::svg::{Drawing, GREY, GRID, INK, Mark, Svg, Text, fitted, room};
use model::units::{plain, significant};

/// A chart of panels, two side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// One more line about it.
    pub subtitle: String,
    /// The horizontal axis of the panels that have none of their own.
    pub across: Across,
    /// The meaning of the dashed lines; absent when there are none.
    pub limit: Option<String>,
    /// The panels.
    pub panels: Vec<LinePanel>,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// The quantity that is measured in it.
    pub title: String,
    /// Its unit, if it has one. Panels of one unit share their axis, so that they can be held against each other.
    pub unit: String,
    /// The lines; from the eighth on colours return.
    pub lines: Vec<Line>,
    /// The horizontal axis, where it is not that of the chart.
    pub across: Option<Across>,
    /// Powers of ten are equally far apart: for values that differ much.
    pub logarithmic: bool,
    /// The number of colours to pass over, where lines in other panels have them: a direction has one colour in all of them.
    pub passed: usize,
}

impl Line {
    /// A line without a limit.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Line {
        Line { name: name.into(), values, limit: Vec::new() }
    }
}

impl LinePanel {
    /// A panel over the axis of its chart.
    pub fn new(title: impl Into<String>, unit: impl Into<String>, lines: Vec<Line>) -> LinePanel {
        LinePanel { title: title.into(), unit: unit.into(), lines, ..LinePanel::default() }
    }

    fn colour(&self, index: usize) -> &'static str {
        colour(index + self.passed)
    }

    fn mark(&self, index: usize, size: f64) -> Mark {
        Mark { size, open: is_open(index + self.passed) }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The name: `TCP`.
    pub name: String,
    /// A value for each point of the horizontal axis; absent where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// The most that each value could be.
    pub limit: Vec<Option<f64>>,
}

impl LineChart {
    /// The chart.
    pub fn drawing(&self) -> Drawing {
        let mut svg = Svg::new(WIDTH);
        svg.text(MARGIN, 38.0, Text { size: 21.0, bold: true, ..Text::PLAIN }, &self.title);
        svg.text(MARGIN, 60.0, Text { size: 13.0, colour: GREY, ..Text::PLAIN }, &self.subtitle);
        let names = |panel: &LinePanel| panel.lines.iter().map(|line| line.name.clone()).collect::<Vec<_>>();
        let common = self.panels.windows(2).all(|pair| names(&pair[0]) == names(&pair[1]));
        let first = self.panels.first().filter(|_| common);
        let below =
            first.map_or(LEGEND, |panel| self.legend(&mut svg, panel, [MARGIN, LEGEND, WIDTH - MARGIN]));
        let columns = self.panels.len().clamp(1, 2);
        let width = (WIDTH - 2.0 * MARGIN - GUTTER * (columns as f64 - 1.0)) / columns as f64;
        let mut top = below + HEAD;
        for row in self.panels.chunks(columns) {
            let lefts = (0..columns).map(|column| MARGIN + column as f64 * (width + GUTTER));
            let areas = row.iter().zip(lefts.clone()).map(|(panel, left)| {
                let place = [left, top, left + width];
                if common { top } else { self.legend(&mut svg, panel, place) + 6.0 }
            });
            let area = areas.fold(top, f64::max);
            for (panel, left) in row.iter().zip(lefts) {
                let title = if panel.unit.is_empty() { "" } else { ", " };
                let title = format!("{}{title}{}", panel.title, panel.unit);
                let title = fitted(&title, 14.0, width);
                svg.text(left, top - 12.0, Text { size: 14.0, bold: true, ..Text::PLAIN }, &title);
                self.panel(&mut svg, panel, [left, area, width]);
            }
            top = area + HEIGHT + FOOT + BETWEEN;
        }
        svg.finish(top - BETWEEN)
    }

    /// The names of a panel's lines, in as many rows as they need; where the next row would stand.
    fn legend(&self, svg: &mut Svg, panel: &LinePanel, [left, top, right]: [f64; 3]) -> f64 {
        let limited = panel.lines.iter().any(|line| line.limit.iter().any(Option::is_some));
        let limit = self.limit.as_deref().filter(|_| limited).map(|limit| (limit, None));
        let lines = panel.lines.iter().enumerate().map(|(index, line)| (line.name.as_str(), Some(index)));
        let (mut x, mut y) = (left, top);
        for (name, index) in lines.chain(limit) {
            let needed = SIGN + room(name, 12.0);
            if x > left && x + needed > right {
                (x, y) = (left, y + LEGEND_LINE);
            }
            let sample = [(x, y + 5.0), (x + 22.0, y + 5.0)];
            match index {
                Some(index) => {
                    svg.path(&sample, panel.colour(index), THICK, false);
                    let mark = panel.mark(index, MARK + NESTED);
                    svg.mark((x + 11.0, y + 5.0), mark, panel.colour(index), name);
                }
                None => svg.path(&sample, GREY, THIN, true),
            }
            svg.text(x + SIGN, y + 9.5, Text::PLAIN, name);
            x += needed + 28.0;
        }
        y + LEGEND_LINE
    }

    /// The axis of a panel: that of all with its unit.
    fn axis(&self, panel: &LinePanel) -> Axis {
        let alike = |other: &&LinePanel| {
            std::ptr::eq(*other, panel)
                || !panel.unit.is_empty()
                    && (&other.unit, other.logarithmic) == (&panel.unit, panel.logarithmic)
        };
        let lines = self.panels.iter().filter(alike).flat_map(|panel| &panel.lines);
        let values = lines.flat_map(|line| line.values.iter().chain(&line.limit)).flatten().copied();
        if panel.logarithmic { Axis::logarithmic(values) } else { Axis::to(values.fold(0.0, f64::max)) }
    }

    fn panel(&self, svg: &mut Svg, panel: &LinePanel, [left, top, width]: [f64; 3]) {
        let across = panel.across.as_ref().unwrap_or(&self.across);
        let axis = self.axis(panel);
        let labels =
            self.limits_of(panel).iter().map(|limit| room(&limit.label, LABEL_SIZE)).fold(0.0, f64::max);
        let space = width - NUMBERS;
        let behind = (labels + 2.0 * MARK - space * across.behind()).max(0.0);
        let place = PanelLayout { left: left + NUMBERS, top, width: space - behind, axis, across };
        for (index, tick) in place.axis.ticks().enumerate() {
            let Some(y) = place.y(tick) else { continue };
            svg.line([place.left, y, left + width, y], if index == 0 { INK } else { GRID }, 1.0);
            let style = Text { size: 11.0, colour: GREY, anchor: "end", ..Text::PLAIN };
            svg.text(place.left - 6.0, y + 4.0, style, &plain(tick));
        }
        let style = Text { size: 11.0, colour: GREY, anchor: "middle", ..Text::PLAIN };
        let mut end = f64::NEG_INFINITY;
        for (share, text) in across.ticks().filter(|(_, text)| !text.is_empty()) {
            // One that would cover the one before is left out.
            let (x, half) = (place.left + place.width * share, room(text, style.size) / 2.0);
            if x - half >= end {
                svg.text(x, top + HEIGHT + 16.0, style, text);
                end = x + half + style.size / 2.0;
            }
        }
        svg.text(place.left + place.width / 2.0, top + HEIGHT + 36.0, style, &across.title);
        self.limits(svg, panel, &place);
        for (index, line) in panel.lines.iter().enumerate() {
            let hidden = panel.lines[index + 1..].iter().any(|above| place.coincide(line, above));
            let width = if hidden { WIDE } else { THICK };
            draw(svg, &line.values, &place, Stroke { colour: panel.colour(index), width, dashed: false });
        }
        for (index, line) in panel.lines.iter().enumerate() {
            let above = panel.lines.len() - 1 - index;
            let size = MARK + (NESTED * above as f64).min(MARK);
            let mark = panel.mark(index, size);
            let dense = line.values.len() > MOST_MARKS;
            for (at, value) in line.values.iter().enumerate().filter(|_| !dense) {
                let known = value.and_then(|value| Some((value, place.y(value)?)));
                let Some((value, y)) = known else { continue };
                let name = across.names.get(at).map(String::as_str).unwrap_or_default();
                let title = format!("{} {name}: {} {}", line.name, significant(value), panel.unit);
                svg.mark((place.x(at), y), mark, panel.colour(index), title.trim_end());
            }
        }
    }

    /// The most that the lines could be: dashed, in the colour of the line, and named at the end. Those that are the same are
    /// drawn once.
    fn limits(&self, svg: &mut Svg, panel: &LinePanel, place: &PanelLayout<'_>) {
        let limits = self.limits_of(panel);
        for limit in &limits {
            draw(svg, limit.values, place, Stroke { colour: limit.colour, width: THIN, dashed: true });
        }
        let ends: Vec<(f64, f64, &Limit<'_>)> = limits
            .iter()
            .filter_map(|limit| {
                let end = limit.values.iter().rposition(Option::is_some)?;
                Some((place.x(end), place.y(limit.values[end]?)?, limit))
            })
            .collect();
        let heights = apart(ends.iter().map(|(_, y, _)| y + 3.5).collect(), place.top + HEIGHT - 4.0);
        for ((x, _, limit), y) in ends.iter().zip(heights) {
            let style = Text { size: LABEL_SIZE, colour: limit.colour, ..Text::PLAIN };
            svg.text(x + MARK + NESTED + 4.0, y, style, &limit.label);
        }
    }

    /// The limits of a panel, the highest end first.
    fn limits_of<'a>(&'a self, panel: &'a LinePanel) -> Vec<Limit<'a>> {
        let Some(name) = &self.limit else { return Vec::new() };
        let lines = panel.lines.iter().enumerate().filter(|(_, line)| line.limit.iter().any(Option::is_some));
        let lines: Vec<(usize, &Line)> = lines.collect();
        let same = lines.windows(2).all(|pair| pair[0].1.limit == pair[1].1.limit);
        let limit = |(index, line): &(usize, &'a Line)| Limit {
            values: &line.limit,
            colour: if same && lines.len() > 1 { GREY } else { panel.colour(*index) },
            label: if same { name.clone() } else { format!("{}, {name}", line.name) },
        };
        let mut limits: Vec<Limit<'_>> =
            lines.iter().take(if same { 1 } else { lines.len() }).map(limit).collect();
        limits.sort_by(|one, other| other.end().total_cmp(&one.end()));
        limits
    }
}

/// The most that a line could be.
struct Limit<'a> {
    values: &'a [Option<f64>],
    colour: &'static str,
    label: String,
}

impl Limit<'_> {
    fn end(&self) -> f64 {
        self.values.iter().rev().find_map(|value| *value).unwrap_or_default()
    }
}

/// The colour of a line; from the eighth on they return.
fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Filled and open marks take turns, so that the lower of two in one place is visible.
fn is_open(index: usize) -> bool {
    index % 2 == 1
}

/// Where a panel's lines stand.
struct PanelLayout<'a> {
    left: f64,
    top: f64,
    width: f64,
    axis: Axis,
    across: &'a Across,
}

impl PanelLayout<'_> {
    fn x(&self, index: usize) -> f64 {
        self.left + self.width * self.across.place(index)
    }

    fn y(&self, value: f64) -> Option<f64> {
        Some(self.top + HEIGHT * (1.0 - self.axis.share(value)?))
    }

    /// Two lines lie on one another for most of their length.
    fn coincide(&self, one: &Line, other: &Line) -> bool {
        let pairs = one.values.iter().zip(&other.values);
        let apart = pairs.filter_map(|(one, other)| Some((self.y((*one)?)? - self.y((*other)?)?).abs()));
        let (near, all) = apart.fold((0, 0), |(near, all), apart| (near + u32::from(apart < THICK), all + 1));
        2 * near > all
    }
}

/// Heights of labels, from the top, moved until none covers another, and none lies below `bottom`.
fn apart(mut heights: Vec<f64>, bottom: f64) -> Vec<f64> {
    for index in 1..heights.len() {
        heights[index] = heights[index].max(heights[index - 1] + LABEL);
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(most);
        most = *height - LABEL;
    }
    heights
}

/// How a line is drawn.
#[derive(Clone, Copy)]
struct Stroke {
    colour: &'static str,
    width: f64,
    dashed: bool,
}

/// Joins the values that are known; one that is not breaks the line. What is dashed has no marks, so that a value alone is a
/// short stroke.
fn draw(svg: &mut Svg, values: &[Option<f64>], place: &PanelLayout<'_>, stroke: Stroke) {
    let points: Vec<Option<(f64, f64)>> =
        values.iter().enumerate().map(|(index, value)| Some((place.x(index), place.y((*value)?)?))).collect();
    let Stroke { colour, width, dashed } = stroke;
    for part in points.split(Option::is_none) {
        let part: Vec<(f64, f64)> = part.iter().flatten().copied().collect();
        match part.as_slice() {
            [] => {}
            [(x, y)] if dashed => svg.path(&[(x - ALONE, *y), (x + ALONE, *y)], colour, width, dashed),
            [_] => {}
            several => svg.path(several, colour, width, dashed),
        }
    }
}

const WIDTH: f64 = 1080.0;
const MARGIN: f64 = 28.0;
/// Between two panels.
const GUTTER: f64 = 40.0;
/// Where the first legend stands, and how far apart its rows are.
const LEGEND: f64 = 78.0;
const LEGEND_LINE: f64 = 18.0;
/// Between that and the lines' area: room for the title of a panel.
const HEAD: f64 = 38.0;
/// Height of the lines' area.
const HEIGHT: f64 = 300.0;
/// Room for what stands below the lines, and between that and the next panel.
const FOOT: f64 = 62.0;
const BETWEEN: f64 = 24.0;
/// Room for the numbers of the axis.
const NUMBERS: f64 = 52.0;
const MARK: f64 = 6.0;
/// By what a mark is larger than that of the next line, which may hide it.
const NESTED: f64 = 1.5;
/// More marks than these are a line of their own.
const MOST_MARKS: usize = 40;
/// Room for the sample of a line in a legend.
const SIGN: f64 = 30.0;
/// Height of a label, and of its letters.
const LABEL: f64 = 12.0;
const LABEL_SIZE: f64 = 10.5;
/// Half of a value that stands alone.
const ALONE: f64 = 8.0;
const THIN: f64 = 1.3;
const THICK: f64 = 2.5;
/// The width of a line that another one covers.
const WIDE: f64 = 6.0;
/// The colours of Okabe and Ito, which colour-blind people can distinguish, without yellow and black.
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cover_neither_one_another_nor_the_axis() {
        assert_eq!(apart(vec![10.0, 50.0], 100.0), [10.0, 50.0]);
        assert_eq!(apart(vec![10.0, 11.0, 12.0], 100.0), [10.0, 22.0, 34.0]);
        assert_eq!(apart(vec![97.0, 99.0], 100.0), [88.0, 100.0]);
        assert!(apart(Vec::new(), 100.0).is_empty());
    }
}

//! Lines over a few sizes in panels, each with the line above it that theory allows.

use super::axis::{Axis, number};
use super::svg::{GREY, INK, Svg, Text, room};

/// A chart of panels over the same sizes; the sizes stand at equal distances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// One more line about it.
    pub subtitle: String,
    /// What stands below the lines: `Frame, bytes`.
    pub across: String,
    /// The sizes.
    pub sizes: Vec<String>,
    /// What the thin lines mean; absent when there are none.
    pub limit: Option<String>,
    /// The panels, side by side.
    pub panels: Vec<LinePanel>,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// What is measured in it, and its unit.
    pub title: String,
    /// The lines; from the eighth on colours return.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// What it is: `TCP`.
    pub name: String,
    /// A value for each size; absent where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// What could be at most, likewise.
    pub limit: Vec<Option<f64>>,
}

impl LineChart {
    /// The chart as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut svg = Svg::new(WIDTH);
        svg.text(MARGIN, 38.0, Text { size: 21.0, bold: true, ..Text::PLAIN }, &self.title);
        svg.text(MARGIN, 60.0, Text { size: 13.0, colour: GREY, ..Text::PLAIN }, &self.subtitle);
        self.legend(&mut svg);
        let columns = self.panels.len().max(1) as f64;
        let width = (WIDTH - 2.0 * MARGIN - GUTTER * (columns - 1.0)) / columns;
        for (index, panel) in self.panels.iter().enumerate() {
            self.panel(&mut svg, panel, MARGIN + index as f64 * (width + GUTTER), width);
        }
        svg.finish(TOP + HEIGHT + 62.0)
    }

    fn legend(&self, svg: &mut Svg) {
        let mut x = MARGIN;
        for (line, colour) in self.panels.first().iter().flat_map(|panel| &panel.lines).zip(COLOURS.iter().cycle()) {
            svg.rect([x, 78.0, 14.0, 10.0], colour, "");
            svg.text(x + 20.0, 87.5, Text::PLAIN, &line.name);
            x += room(&line.name, 12.0) + 48.0;
        }
        if let Some(limit) = &self.limit {
            svg.line([x, 83.0, x + 18.0, 83.0], INK, THIN);
            svg.text(x + 26.0, 87.5, Text::PLAIN, limit);
        }
    }

    fn panel(&self, svg: &mut Svg, panel: &LinePanel, left: f64, width: f64) {
        svg.text(left, TOP - 12.0, Text { size: 14.0, bold: true, ..Text::PLAIN }, &panel.title);
        let values = panel.lines.iter().flat_map(|line| line.values.iter().chain(&line.limit)).flatten();
        let axis = Axis::to(values.copied().fold(0.0, f64::max));
        let place =
            Place { left: left + NUMBERS, width: width - NUMBERS, end: axis.end(), count: self.sizes.len() };
        for tick in axis.ticks() {
            let y = place.y(tick);
            svg.line([place.left, y, left + width, y], if tick == 0.0 { INK } else { GRID }, 1.0);
            let style = Text { size: 11.0, colour: GREY, anchor: "end", ..Text::PLAIN };
            svg.text(place.left - 6.0, y + 4.0, style, &number(tick));
        }
        let style = Text { size: 11.0, colour: GREY, anchor: "middle", ..Text::PLAIN };
        for (index, size) in self.sizes.iter().enumerate() {
            svg.text(place.x(index), TOP + HEIGHT + 16.0, style, size);
        }
        svg.text(place.left + place.width / 2.0, TOP + HEIGHT + 36.0, style, &self.across);
        for (line, colour) in panel.lines.iter().zip(COLOURS.iter().cycle()) {
            draw(svg, &line.limit, &place, INK, THIN);
            draw(svg, &line.values, &place, colour, THICK);
            for (index, value) in line.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let size = self.sizes.get(index).map(String::as_str).unwrap_or_default();
                let title = format!("{} {size}: {}", line.name, number(*value));
                let [x, y] = [place.x(index), place.y(*value)];
                svg.rect([x - MARK / 2.0, y - MARK / 2.0, MARK, MARK], colour, &title);
            }
        }
    }
}

/// Where a panel's lines stand.
struct Place {
    left: f64,
    width: f64,
    /// The value at the top.
    end: f64,
    count: usize,
}

impl Place {
    fn x(&self, index: usize) -> f64 {
        self.left + self.width * (index as f64 + 0.5) / self.count.max(1) as f64
    }

    fn y(&self, value: f64) -> f64 {
        TOP + HEIGHT * (1.0 - value / self.end)
    }
}

/// Joins the values that are known; one that is not breaks the line.
fn draw(svg: &mut Svg, values: &[Option<f64>], place: &Place, colour: &str, width: f64) {
    for (index, pair) in values.windows(2).enumerate() {
        if let [Some(one), Some(other)] = pair {
            svg.line([place.x(index), place.y(*one), place.x(index + 1), place.y(*other)], colour, width);
        }
    }
}

const WIDTH: f64 = 1080.0;
const MARGIN: f64 = 28.0;
/// Between two panels.
const GUTTER: f64 = 40.0;
/// Where the lines' area begins, and how high it is.
const TOP: f64 = 134.0;
const HEIGHT: f64 = 300.0;
/// Room for the numbers of the axis.
const NUMBERS: f64 = 52.0;
const MARK: f64 = 6.0;
const THIN: f64 = 1.0;
const THICK: f64 = 2.5;
const GRID: &str = "#e3e3e3";
/// The colours of Okabe and Ito, which colour-blind people tell apart, without yellow and black.
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f"];

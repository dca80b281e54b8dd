//! Lines over a few sizes in panels, each with the line above it that theory allows.

use super::axis::{Axis, number};
use super::svg::{GREY, INK, Svg, Text, room};

/// A chart of panels, two side by side; the places of an axis stand at equal distances.
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
    /// The panels.
    pub panels: Vec<LinePanel>,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// What is measured in it, and its unit.
    pub title: String,
    /// The lines; from the eighth on colours return.
    pub lines: Vec<Line>,
    /// What stands below these lines and its places, where it is not as in the rest of the chart.
    pub across: Option<(String, Vec<String>)>,
    /// Powers of ten are equally far apart: for values that differ much.
    pub logarithmic: bool,
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
                svg.text(left, top - 12.0, Text { size: 14.0, bold: true, ..Text::PLAIN }, &panel.title);
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
        let lines = panel.lines.iter().map(|line| line.name.as_str()).zip(COLOURS.iter().cycle().map(Some));
        let (mut x, mut y) = (left, top);
        for (name, colour) in lines.chain(limit) {
            let sign = if colour.is_some() { 20.0 } else { 26.0 };
            let needed = sign + room(name, 12.0);
            if x > left && x + needed > right {
                (x, y) = (left, y + LEGEND_LINE);
            }
            match colour {
                Some(colour) => svg.rect([x, y, 14.0, 10.0], colour, ""),
                None => svg.line([x, y + 5.0, x + 18.0, y + 5.0], INK, THIN),
            }
            svg.text(x + sign, y + 9.5, Text::PLAIN, name);
            x += needed + 28.0;
        }
        y + LEGEND_LINE
    }

    fn panel(&self, svg: &mut Svg, panel: &LinePanel, [left, top, width]: [f64; 3]) {
        let values = || panel.lines.iter().flat_map(|line| line.values.iter().chain(&line.limit)).flatten();
        let axis = match panel.logarithmic {
            true => Axis::logarithmic(values().copied()),
            false => Axis::to(values().copied().fold(0.0, f64::max)),
        };
        let own = panel.across.as_ref();
        let (across, sizes) = own.map_or((&self.across, &self.sizes), |own| (&own.0, &own.1));
        let place = Place { left: left + NUMBERS, top, width: width - NUMBERS, axis, count: sizes.len() };
        for (index, tick) in place.axis.ticks().enumerate() {
            let Some(y) = place.y(tick) else { continue };
            svg.line([place.left, y, left + width, y], if index == 0 { INK } else { GRID }, 1.0);
            let style = Text { size: 11.0, colour: GREY, anchor: "end", ..Text::PLAIN };
            svg.text(place.left - 6.0, y + 4.0, style, &number(tick));
        }
        let style = Text { size: 11.0, colour: GREY, anchor: "middle", ..Text::PLAIN };
        for (index, size) in sizes.iter().enumerate() {
            svg.text(place.x(index), top + HEIGHT + 16.0, style, size);
        }
        svg.text(place.left + place.width / 2.0, top + HEIGHT + 36.0, style, across);
        for (index, (line, colour)) in panel.lines.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let above = panel.lines.len() - 1 - index;
            let mark = MARK + (NESTED * above as f64).min(MARK);
            draw(svg, &line.limit, &place, INK, THIN);
            draw(svg, &line.values, &place, colour, THICK);
            for (index, value) in line.values.iter().enumerate() {
                let known = value.and_then(|value| Some((value, place.y(value)?)));
                let Some((value, y)) = known else { continue };
                let size = sizes.get(index).map(String::as_str).unwrap_or_default();
                let title = format!("{} {size}: {}", line.name, number(value));
                let x = place.x(index);
                svg.rect([x - mark / 2.0, y - mark / 2.0, mark, mark], colour, &title);
            }
        }
    }
}

/// Where a panel's lines stand.
struct Place {
    left: f64,
    top: f64,
    width: f64,
    axis: Axis,
    count: usize,
}

impl Place {
    fn x(&self, index: usize) -> f64 {
        self.left + self.width * (index as f64 + 0.5) / self.count.max(1) as f64
    }

    fn y(&self, value: f64) -> Option<f64> {
        Some(self.top + HEIGHT * (1.0 - self.axis.share(value)?))
    }
}

/// Joins the values that are known; one that is not breaks the line.
fn draw(svg: &mut Svg, values: &[Option<f64>], place: &Place, colour: &str, width: f64) {
    let points: Vec<Option<f64>> = values.iter().map(|value| place.y((*value)?)).collect();
    for (index, pair) in points.windows(2).enumerate() {
        if let [Some(one), Some(other)] = pair {
            svg.line([place.x(index), *one, place.x(index + 1), *other], colour, width);
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
const THIN: f64 = 1.0;
const THICK: f64 = 2.5;
const GRID: &str = "#e3e3e3";
/// The colours of Okabe and Ito, which colour-blind people tell apart, without yellow and black.
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f"];

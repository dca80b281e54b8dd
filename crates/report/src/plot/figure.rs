//! A picture for itself: drawings one below the other, what they are of, and colours for a dark screen.

use super::svg::{Drawing, GREY, GRID, INK, PAPER, SIGNAL, Svg, Text, room, wrapped};

/// A picture that stands alone, as in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its drawings.
    pub drawings: Vec<Drawing>,
    /// The verdict, above everything.
    pub heading: Option<Heading>,
    /// The hosts, the time, and the command.
    pub footer: Vec<String>,
    /// The figures must not be trusted: the picture is marked so.
    pub void: bool,
}

/// A verdict in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    /// Its word: `OK`.
    pub word: String,
    /// The result is good.
    pub is_good: bool,
    /// The rest.
    pub text: String,
}

impl Figure {
    /// The picture as an SVG document, which has other colours on a dark screen.
    #[must_use]
    pub fn svg(&self) -> String {
        self.drawing().document(&style_of_the_dark())
    }

    /// The whole picture as one drawing.
    pub fn drawing(&self) -> Drawing {
        let width = self.drawings.iter().map(|drawing| drawing.width).fold(0.0, f64::max);
        let mut svg = Svg::new(width);
        let mut top = self.heading.as_ref().map_or(0.0, |heading| heading.draw(&mut svg, width));
        for drawing in &self.drawings {
            svg.below(drawing, top);
            if self.void {
                svg.across("VOID", width, [top, top + drawing.height]);
            }
            top += drawing.height;
        }
        let lines: Vec<String> = self.footer.iter().flat_map(|text| wrapped(text, LETTERS)).collect();
        svg.line([MARGIN, top + 4.0, width - MARGIN, top + 4.0], GRID, 1.0);
        let style = Text { size: 11.0, colour: GREY, ..Text::PLAIN };
        for line in &lines {
            top += LINE;
            svg.text(MARGIN, top + 8.0, style, line);
        }
        svg.finish(top + MARGIN)
    }
}

impl Heading {
    /// Draws it at the top of a picture of this width; where it ends.
    fn draw(&self, svg: &mut Svg, width: f64) -> f64 {
        let colour = if self.is_good { GOOD } else { SIGNAL };
        let style = Text { size: HEADING, bold: true, ..Text::PLAIN };
        svg.text(MARGIN, TOP, Text { colour, ..style }, &self.word);
        let left = MARGIN + room(&self.word, HEADING) * CAPITALS + HEADING;
        let letters = (width - MARGIN - left) / (HEADING * BOLD);
        let lines = wrapped(&self.text, letters as usize);
        for (index, line) in lines.iter().enumerate() {
            svg.text(left, TOP + HEADING_LINE * index as f64, style, line);
        }
        TOP + HEADING_LINE * lines.len().max(1) as f64 - HEADING / 2.0
    }
}

/// The colours on a dark screen. Attributes are what the rules find, so that a reader without styles has the light ones.
fn style_of_the_dark() -> String {
    let rule = |(light, dark): &(&str, &str)| {
        format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
    };
    let rules: String = DARK.iter().map(rule).collect();
    format!("<style>@media screen and (prefers-color-scheme: dark){{{rules}}}</style>\n")
}

/// Light colours and those in their place. Blue alone of the series is too dark there.
const DARK: [(&str, &str); 5] =
    [(PAPER, "#17191c"), (INK, "#e6e6e6"), (GREY, "#a4a8ad"), (GRID, "#3a3e44"), ("#0072b2", "#4aa5dd")];
const GOOD: &str = "#009e73";
const MARGIN: f64 = 28.0;
/// Baseline of the heading, its size, and the distance of its lines.
const TOP: f64 = 40.0;
const HEADING: f64 = 18.0;
const HEADING_LINE: f64 = 24.0;
/// Capitals in bold are wider than the mean letter.
const CAPITALS: f64 = 1.45;
/// Width of a bold letter by its size, in the widest font that a browser takes where it has no Roboto.
const BOLD: f64 = 0.68;
const LINE: f64 = 15.0;
/// Characters in a line of the footer, in the widest font that a browser takes where it has no Roboto.
const LETTERS: usize = 165;

#[cfg(test)]
mod tests {
    use super::*;

    /// DejaVu Sans in bold takes 0.7 of its size for a letter, and browsers of most distributions have it.
    #[test]
    fn a_long_heading_stays_in_the_picture() {
        let text = "Queues fill under load up: RTT 247 µs idle, loaded 50.5 ms up, 2.38 ms down, 50.7 ms both; 1 030 RPM";
        let heading = Heading { word: "DEGRADED".into(), is_good: false, text: text.repeat(2) };
        let drawing = Svg::new(1080.0).finish(100.0);
        let figure =
            Figure { drawings: vec![drawing], heading: Some(heading), footer: Vec::new(), void: false };
        let svg = figure.svg();
        let lines: Vec<&str> = svg.lines().filter(|line| line.contains("font-weight=\"bold\"")).collect();
        assert!(lines.len() > 3, "{svg}");
        for line in lines {
            let (_, rest) = line.split_once("x=\"").expect("a place");
            let left: f64 = rest.split('"').next().expect("a number").parse().expect("a number");
            let letters =
                line.split('>').nth(1).expect("a text").split('<').next().expect("a text").chars().count();
            assert!(left + letters as f64 * HEADING * 0.7 < 1080.0, "{line}");
        }
    }
}

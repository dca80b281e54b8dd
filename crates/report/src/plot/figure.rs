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
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let width = self.drawings.iter().map(|drawing| drawing.width).fold(0.0, f64::max);
        let mut svg = Svg::new(width);
        let mut top = self.heading.as_ref().map_or(0.0, |heading| heading.draw(&mut svg));
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
    /// Draws it at the top; where it ends.
    fn draw(&self, svg: &mut Svg) -> f64 {
        let colour = if self.is_good { GOOD } else { SIGNAL };
        let style = Text { size: HEADING, bold: true, ..Text::PLAIN };
        svg.text(MARGIN, TOP, Text { colour, ..style }, &self.word);
        let left = MARGIN + room(&self.word, HEADING) * CAPITALS + HEADING;
        let lines = wrapped(&self.text, HEADING_LETTERS);
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
const CAPITALS: f64 = 1.2;
/// Characters in a line of the heading.
const HEADING_LETTERS: usize = 98;
const LINE: f64 = 15.0;
/// Characters in a line of the footer.
const LETTERS: usize = 187;

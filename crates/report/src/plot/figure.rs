//! A picture for itself: drawings one below the other, what they are of, and colours for a dark screen.

use super::svg::{Drawing, GREY, GRID, INK, PAPER, Svg, Text, wrapped};

/// A picture that stands alone, as in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its drawings.
    pub drawings: Vec<Drawing>,
    /// Of whom, when, and by which command.
    pub footer: Vec<String>,
    /// The figures must not be trusted: the picture is marked so.
    pub void: bool,
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
        let mut top = 0.0;
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
const MARGIN: f64 = 28.0;
const LINE: f64 = 15.0;
/// Of a line of the footer.
const LETTERS: usize = 187;

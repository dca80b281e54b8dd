//! The few shapes that charts are made of, and how each is written as SVG.

use crate::xml::escaped;
use std::fmt::{Display, Formatter, Result, Write};

/// A drawing that grows downwards and is closed at the end.
pub(super) struct Svg {
    width: f64,
    shapes: Vec<Shape>,
}

/// One element of a drawing. Lengths are units of the drawing, colours are those of CSS (`#rrggbb`).
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A text whose baseline is at this place.
    Text { at: (f64, f64), style: Text, text: String },
    /// A rectangle (left, top, width, height) with an outline where there is one.
    Rect { area: [f64; 4], fill: &'static str, outline: Option<&'static str>, title: String },
    /// A straight line (x1, y1, x2, y2).
    Line { ends: [f64; 4], colour: &'static str, width: f64 },
    /// Straight lines from point to point.
    Path { points: Vec<(f64, f64)>, colour: &'static str, width: f64, dashed: bool },
    /// A text across the drawing, centred here, that what is below it shows through.
    Across { centre: (f64, f64), size: f64, text: String },
    /// Other shapes, moved down.
    Below { top: f64, shapes: Vec<Shape> },
}

/// How a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) size: f64,
    pub(super) colour: &'static str,
    pub(super) bold: bool,
    /// `start`, `middle` or `end`.
    pub(super) anchor: &'static str,
}

impl Text {
    /// Plain text in the main colour, beginning at its place.
    pub(super) const PLAIN: Text = Text { size: 12.0, colour: INK, bold: false, anchor: "start" };
}

impl Svg {
    pub(super) fn new(width: f64) -> Svg {
        Svg { width, shapes: Vec::new() }
    }

    /// A text on its baseline.
    pub(super) fn text(&mut self, x: f64, y: f64, style: Text, text: &str) {
        self.shapes.push(Shape::Text { at: (x, y), style, text: text.to_owned() });
    }

    /// A filled rectangle; the title is what a reader hears or sees who points at it.
    pub(super) fn rect(&mut self, area: [f64; 4], fill: &'static str, title: &str) {
        self.shapes.push(Shape::Rect { area, fill, outline: None, title: title.to_owned() });
    }

    /// A straight line.
    pub(super) fn line(&mut self, ends: [f64; 4], colour: &'static str, width: f64) {
        self.shapes.push(Shape::Line { ends, colour, width });
    }

    /// Straight lines from point to point.
    pub(super) fn path(&mut self, points: &[(f64, f64)], colour: &'static str, width: f64, dashed: bool) {
        self.shapes.push(Shape::Path { points: points.to_vec(), colour, width, dashed });
    }

    /// A square around a point: filled, or the line of it alone. With words, as [`Self::rect`].
    pub(super) fn mark(&mut self, (x, y): (f64, f64), mark: Mark, colour: &'static str, title: &str) {
        let Mark { size, open } = mark;
        let area = [x - size / 2.0, y - size / 2.0, size, size];
        let (fill, outline) = if open { (PAPER, Some(colour)) } else { (colour, None) };
        self.shapes.push(Shape::Rect { area, fill, outline, title: title.to_owned() });
    }

    /// Words across a picture so wide, from this height to that, which let everything below them shine through.
    pub(super) fn across(&mut self, words: &str, width: f64, [top, bottom]: [f64; 2]) {
        let size = ((bottom - top) * 0.6).min(width / (words.chars().count() as f64 * 0.8));
        let centre = (width / 2.0, (top + bottom) / 2.0);
        self.shapes.push(Shape::Across { centre, size, text: words.to_owned() });
    }

    /// Another drawing, moved down by so much.
    pub(super) fn below(&mut self, drawing: &Drawing, top: f64) {
        self.shapes.push(Shape::Below { top, shapes: drawing.shapes.clone() });
    }

    /// The drawing, so high.
    pub(super) fn finish(self, height: f64) -> Drawing {
        Drawing { shapes: self.shapes, width: self.width, height }
    }
}

/// Shapes as elements of SVG.
impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Shape::Text { at: (x, y), style: Text { size, colour, bold, anchor }, text } => {
                let weight = if *bold { " font-weight=\"bold\"" } else { "" };
                write!(
                    f,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\"{weight}>"
                )?;
                write!(f, "{}</text>", escaped(text))
            }
            Shape::Rect { area: [x, y, width, height], fill, outline, title } => {
                write!(
                    f,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\""
                )?;
                if let Some(colour) = outline {
                    write!(f, " stroke=\"{colour}\" stroke-width=\"{OUTLINE}\"")?;
                }
                match title.as_str() {
                    "" => f.write_str("/>"),
                    title => write!(f, "><title>{}</title></rect>", escaped(title)),
                }
            }
            Shape::Line { ends: [x1, y1, x2, y2], colour, width } => write!(
                f,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
            ),
            Shape::Path { points, colour, width, dashed } => {
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let dashes = if *dashed {
                    format!(" stroke-dasharray=\"{} {}\"", DASHES[0], DASHES[1])
                } else {
                    String::new()
                };
                write!(
                    f,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
                     stroke-linejoin=\"round\"{dashes}/>",
                    points.join(" ")
                )
            }
            Shape::Across { centre: (x, y), size, text } => write!(
                f,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size:.0}\" fill=\"{SIGNAL}\" fill-opacity=\"{OPACITY}\" \
                 font-weight=\"bold\" text-anchor=\"middle\" dominant-baseline=\"central\" \
                 transform=\"rotate({SLOPE} {x:.1} {y:.1})\">{}</text>",
                escaped(text)
            ),
            Shape::Below { top, shapes } => {
                writeln!(f, "<g transform=\"translate(0 {top:.0})\">")?;
                shapes.iter().try_for_each(|shape| writeln!(f, "{shape}"))?;
                f.write_str("</g>")
            }
        }
    }
}

/// A square that marks a value.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) size: f64,
    /// The line of it alone, so that one below it is visible.
    pub(super) open: bool,
}

/// A drawing and its size.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Drawing {
    pub(super) shapes: Vec<Shape>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Drawing {
    /// An SVG document, whose colours the page around it may change.
    #[must_use]
    pub fn svg(&self) -> String {
        self.document("")
    }

    /// An SVG document with a style of its own.
    pub(super) fn document(&self, style: &str) -> String {
        let Drawing { shapes, width, height } = self;
        let mut body = String::new();
        for shape in shapes {
            // Writing to a string cannot fail.
            let _ = writeln!(body, "{shape}");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Roboto, Helvetica, Arial, sans-serif\">\n\
             {style}<rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n{body}</svg>\n"
        )
    }
}

/// Lines of at most so many characters.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Room that a text takes in Roboto, about: no measure of it.
pub(super) fn room(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

/// A text with its end cut off where it has no room.
pub(super) fn fitted(text: &str, size: f64, most: f64) -> String {
    if room(text, size) <= most {
        return text.to_owned();
    }
    let letters = (most / room("x", size)) as usize;
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// The colour of the ground.
pub(super) const PAPER: &str = "#ffffff";
/// The colour of lines behind everything.
pub(super) const GRID: &str = "#e3e3e3";
/// The colour of text and lines.
pub(super) const INK: &str = "#222222";
/// The colour of what matters less.
pub(super) const GREY: &str = "#666666";
/// The colour and the opacity of a warning across the drawing.
pub(super) const SIGNAL: &str = "#d55e00";
pub(super) const OPACITY: f32 = 0.28;
/// Degrees by which a text across the drawing is turned.
pub(super) const SLOPE: f32 = -16.0;
/// The width of a mark's outline.
pub(super) const OUTLINE: f32 = 1.5;
/// Lengths of a dash and of the gap behind it.
pub(super) const DASHES: [f32; 2] = [6.0, 4.0];

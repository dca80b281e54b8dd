//! The few elements of SVG that charts are made of.

use crate::xml::escaped;
use std::fmt::Write;

/// A drawing that grows downwards and is closed at the end.
pub(super) struct Svg {
    width: f64,
    body: String,
}

/// How a text stands at its place.
#[derive(Clone, Copy)]
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
        Svg { width, body: String::new() }
    }

    /// A text on its baseline.
    pub(super) fn text(&mut self, x: f64, y: f64, style: Text, text: &str) {
        let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
        let (size, colour, anchor) = (style.size, style.colour, style.anchor);
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\"{weight}>{}</text>",
            escaped(text)
        ));
    }

    /// A filled rectangle, with words for who points at it or has it read aloud.
    pub(super) fn rect(&mut self, [x, y, width, height]: [f64; 4], colour: &str, title: &str) {
        let shape = format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\""
        );
        match title {
            "" => self.push(format_args!("{shape}/>")),
            title => self.push(format_args!("{shape}><title>{}</title></rect>", escaped(title))),
        }
    }

    /// A straight line.
    pub(super) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], colour: &str, width: f64) {
        self.push(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// Straight lines from point to point.
    pub(super) fn path(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dashed: bool) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashes = if dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        self.push(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dashes}/>",
            points.join(" ")
        ));
    }

    /// A square around a point: filled, or the line of it alone. With words, as [`Self::rect`].
    pub(super) fn mark(&mut self, (x, y): (f64, f64), mark: Mark, colour: &str, title: &str) {
        let Mark { size, open } = mark;
        let (left, top) = (x - size / 2.0, y - size / 2.0);
        if !open {
            return self.rect([left, top, size, size], colour, title);
        }
        self.push(format_args!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{size:.1}\" height=\"{size:.1}\" fill=\"{PAPER}\" \
             stroke=\"{colour}\" stroke-width=\"1.5\"><title>{}</title></rect>",
            escaped(title)
        ));
    }

    /// Words across a picture so wide, from this height to that, which let everything below them shine through.
    pub(super) fn across(&mut self, words: &str, width: f64, [top, bottom]: [f64; 2]) {
        let (x, y) = (width / 2.0, (top + bottom) / 2.0);
        let size = ((bottom - top) * 0.6).min(width / (words.chars().count() as f64 * 0.8));
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size:.0}\" fill=\"#d55e00\" fill-opacity=\"0.28\" \
             font-weight=\"bold\" text-anchor=\"middle\" dominant-baseline=\"central\" \
             transform=\"rotate(-16 {x:.1} {y:.1})\">{}</text>",
            escaped(words)
        ));
    }

    /// Another drawing, moved down by so much.
    pub(super) fn below(&mut self, drawing: &Drawing, top: f64) {
        self.push(format_args!("<g transform=\"translate(0 {top:.0})\">\n{}</g>", drawing.body));
    }

    /// The drawing, so high.
    pub(super) fn finish(self, height: f64) -> Drawing {
        Drawing { body: self.body, width: self.width, height }
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// A square that marks a value.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) size: f64,
    /// The line of it alone, so that one below it is seen.
    pub(super) open: bool,
}

/// What is drawn, and how large it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    body: String,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Drawing {
    /// As an SVG document, whose colours the page around it may change.
    #[must_use]
    pub fn svg(&self) -> String {
        self.document("")
    }

    /// As an SVG document with a style of its own.
    pub(super) fn document(&self, style: &str) -> String {
        let Drawing { body, width, height } = self;
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

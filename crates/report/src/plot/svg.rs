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

    /// The document, so high.
    pub(super) fn finish(self, height: f64) -> String {
        let width = self.width;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Roboto, Helvetica, Arial, sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// Drawings of this module below one another, in one.
#[must_use]
pub fn stacked(drawings: &[String]) -> String {
    let length = |drawing: &str, name: &str| -> f64 {
        let after = drawing.split_once(&format!(" {name}=\"")).map(|(_, after)| after).unwrap_or_default();
        after.split('"').next().and_then(|number| number.parse().ok()).unwrap_or_default()
    };
    let mut all = Svg::new(drawings.iter().map(|drawing| length(drawing, "width")).fold(1.0, f64::max));
    let mut top = 0.0;
    for drawing in drawings {
        let placed = drawing.trim_end().replacen("<svg ", &format!("<svg y=\"{top:.0}\" "), 1);
        all.push(format_args!("{placed}"));
        top += length(drawing, "height");
    }
    all.finish(f64::max(top, 1.0))
}

/// Room that a text takes in Roboto, about: no measure of it.
pub(super) fn room(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

/// The colour of text and lines.
pub(super) const INK: &str = "#222222";
/// The colour of what matters less.
pub(super) const GREY: &str = "#666666";

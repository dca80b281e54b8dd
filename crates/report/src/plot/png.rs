//! A drawing as PNG, with the built-in font.

use super::svg::{DASHES, Drawing, OPACITY, OUTLINE, PAPER, SIGNAL, SLOPE, Shape, Text};
use thiserror::Error;
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum PlotError {
    /// No memory holds a picture of this size, or it has none.
    #[error("draw the chart: a picture of {width} × {height} pixels cannot be made")]
    Size {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// The picture could not be written as PNG.
    #[error("write the chart as PNG: {0}")]
    Encode(String),
}

/// Draws with so many pixels for each unit of the drawing.
///
/// # Errors
/// When the picture is too large.
pub fn png(drawing: &Drawing, scale: f32) -> Result<Vec<u8>, PlotError> {
    let pixels = |length: f64| (length.round() as f32 * scale).ceil() as u32;
    let (width, height) = (pixels(drawing.width), pixels(drawing.height));
    let picture = Pixmap::new(width, height).ok_or(PlotError::Size { width, height })?;
    let mut canvas = Canvas { picture, regular: face(REGULAR), bold: face(BOLD) };
    canvas.picture.fill(colour(PAPER));
    canvas.draw(&drawing.shapes, Transform::from_scale(scale, scale));
    canvas.picture.encode_png().map_err(|error| PlotError::Encode(error.to_string()))
}

struct Canvas {
    picture: Pixmap,
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Canvas {
    fn draw(&mut self, shapes: &[Shape], place: Transform) {
        for shape in shapes {
            self.shape(shape, place);
        }
    }

    fn shape(&mut self, shape: &Shape, place: Transform) {
        match shape {
            Shape::Text { at: (x, y), style, text } => {
                let face = if style.bold { &self.bold } else { &self.regular };
                let path = text_path(face, text, style, (*x as f32, *y as f32));
                self.fill(path, colour(style.colour), place);
            }
            Shape::Rect { area, fill, outline, .. } => {
                let [x, y, width, height] = area.map(|length| length as f32);
                // SVG draws no rectangle without a width or a height.
                let path = Rect::from_xywh(x, y, width, height).map(PathBuilder::from_rect);
                self.fill(path.clone(), colour(fill), place);
                if let Some(outline) = outline {
                    self.stroke(
                        path,
                        colour(outline),
                        &Stroke { width: OUTLINE, ..Stroke::default() },
                        place,
                    );
                }
            }
            Shape::Line { ends: [x1, y1, x2, y2], colour: of_line, width } => {
                let path = polyline(&[(*x1, *y1), (*x2, *y2)]);
                let stroke = Stroke { width: *width as f32, ..Stroke::default() };
                self.stroke(path, colour(of_line), &stroke, place);
            }
            Shape::Path { points, colour: of_line, width, dashed } => {
                let dash = dashed.then(|| StrokeDash::new(DASHES.to_vec(), 0.0)).flatten();
                let stroke =
                    Stroke { width: *width as f32, line_join: LineJoin::Round, dash, ..Stroke::default() };
                self.stroke(polyline(points), colour(of_line), &stroke, place);
            }
            Shape::Across { centre: (x, y), size, text } => {
                let (x, y) = (*x as f32, *y as f32);
                let style = Text { size: size.round(), colour: SIGNAL, bold: true, anchor: "middle" };
                let middle = central(&self.bold) * style.size as f32;
                let path = text_path(&self.bold, text, &style, (x, y + middle));
                let mut paint = colour(SIGNAL);
                paint.set_alpha(OPACITY);
                self.fill(path, paint, place.pre_concat(Transform::from_rotate_at(SLOPE, x, y)));
            }
            Shape::Below { top, shapes } => {
                self.draw(shapes, place.pre_translate(0.0, top.round() as f32));
            }
        }
    }

    fn fill(&mut self, path: Option<Path>, colour: Color, place: Transform) {
        if let Some(path) = path {
            self.picture.fill_path(&path, &paint(colour), FillRule::Winding, place, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, colour: Color, stroke: &Stroke, place: Transform) {
        if let Some(path) = path {
            self.picture.stroke_path(&path, &paint(colour), stroke, place, None);
        }
    }
}

fn paint(colour: Color) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(colour);
    paint
}

/// A colour written as `#rrggbb`. Every colour of a chart is one of this crate's constants, and a test reads them all.
fn colour(text: &str) -> Color {
    let part = |at: usize| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match (part(1), part(3), part(5)) {
        (Some(red), Some(green), Some(blue)) => Color::from_rgba8(red, green, blue, 255),
        _ => Color::BLACK,
    }
}

/// Lines from point to point; none where a coordinate is not a number.
fn polyline(points: &[(f64, f64)]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.finish()
}

/// The outlines of a text that stands on a baseline at this place.
fn text_path(face: &Face<'_>, text: &str, style: &Text, (x, y): (f32, f32)) -> Option<Path> {
    let scale = style.size as f32 / f32::from(face.units_per_em());
    let glyphs: Vec<GlyphId> =
        text.chars().map(|letter| face.glyph_index(letter).unwrap_or_default()).collect();
    let advance = |glyph: &GlyphId| f32::from(face.glyph_hor_advance(*glyph).unwrap_or(0)) * scale;
    let width: f32 = glyphs.iter().map(advance).sum();
    let left = match style.anchor {
        "middle" => x - width / 2.0,
        "end" => x - width,
        _ => x,
    };
    let mut pen = Pen { path: PathBuilder::new(), x: left, y, scale };
    for glyph in &glyphs {
        // A space has no outline.
        let _ = face.outline_glyph(*glyph, &mut pen);
        pen.x += advance(glyph);
    }
    pen.path.finish()
}

/// How far below its middle the baseline of a text is, in ems (CSS Inline Layout, `central`).
fn central(face: &Face<'_>) -> f32 {
    f32::from(face.ascender() + face.descender()) / 2.0 / f32::from(face.units_per_em())
}

/// Puts the outline of a glyph, whose units grow upwards, at its place in the drawing.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// One of the built-in fonts.
fn face(font: &'static [u8]) -> Face<'static> {
    Face::parse(font, 0).expect("the built-in fonts are fonts: a test draws with both")
}

/// Roboto of Google, Apache-2.0, cut down to the characters of European languages.
static REGULAR: &[u8] = include_bytes!("Roboto-Regular.ttf");
static BOLD: &[u8] = include_bytes!("Roboto-Bold.ttf");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::{GREY, GRID, INK, Svg};

    /// Pixels of a drawing of 20 × 10 units that are not paper.
    fn inked(draw: impl FnOnce(&mut Svg)) -> Vec<(u32, u32, [u8; 3])> {
        let mut svg = Svg::new(20.0);
        draw(&mut svg);
        let bytes = png(&svg.finish(10.0), 1.0).expect("a picture");
        let picture = Pixmap::decode_png(&bytes).expect("a PNG");
        assert_eq!((picture.width(), picture.height()), (20, 10));
        let pixels = picture.pixels().iter().zip(0_u32..);
        let ink = pixels.filter(|(pixel, _)| [pixel.red(), pixel.green(), pixel.blue()] != [255; 3]);
        ink.map(|(pixel, at)| (at % 20, at / 20, [pixel.red(), pixel.green(), pixel.blue()])).collect()
    }

    #[test]
    fn shapes_are_where_they_belong() {
        let rect = inked(|svg| svg.rect([2.0, 3.0, 4.0, 2.0], "#0072b2", "title"));
        assert_eq!(rect.len(), 8);
        assert!(
            rect.iter()
                .all(|(x, y, rgb)| (2..6).contains(x) && (3..5).contains(y) && *rgb == [0, 0x72, 0xb2])
        );
        let line = inked(|svg| svg.line([0.0, 5.5, 20.0, 5.5], INK, 1.0));
        assert_eq!(line.len(), 20);
        assert!(line.iter().all(|(_, y, _)| *y == 5));
        let dashes = inked(|svg| svg.path(&[(0.0, 5.5), (20.0, 5.5)], GRID, 1.0, true));
        assert_eq!(
            dashes.iter().map(|(x, ..)| *x).collect::<Vec<_>>(),
            [(0..6), (10..16)].into_iter().flatten().collect::<Vec<_>>()
        );
        assert_eq!(inked(|svg| svg.rect([2.0, 3.0, -4.0, 2.0], INK, "")), []);
        assert_eq!(inked(|svg| svg.path(&[(f64::NAN, 1.0), (3.0, 4.0)], INK, 1.0, false)), []);
    }

    #[test]
    fn texts_have_letters_on_their_baseline() {
        let style = Text { size: 8.0, colour: GREY, ..Text::PLAIN };
        let columns = |anchor, x: f64| {
            let ink = inked(|svg| svg.text(x, 8.0, Text { anchor, ..style }, "HH"));
            assert!(ink.iter().all(|(_, y, _)| (2..8).contains(y)), "{ink:?}");
            (ink.iter().map(|(x, ..)| *x).min(), ink.iter().map(|(x, ..)| *x).max())
        };
        let start = columns("start", 2.0);
        let end = columns("end", 18.0);
        assert!(start.0 >= Some(2) && start.1 < Some(16), "{start:?}");
        assert!(end.0 > Some(4) && end.1 < Some(18), "{end:?}");
        assert_eq!(inked(|svg| svg.text(2.0, 8.0, style, " ")), []);
        let bold = inked(|svg| svg.text(2.0, 8.0, Text { bold: true, ..style }, "HH")).len();
        assert!(bold > inked(|svg| svg.text(2.0, 8.0, style, "HH")).len());
    }

    #[test]
    fn a_picture_that_no_memory_holds_is_refused() {
        let drawing = Svg::new(1e9).finish(1e9);
        assert!(matches!(png(&drawing, 1.0), Err(PlotError::Size { .. })));
    }
}

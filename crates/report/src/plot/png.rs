//! An SVG as PNG, with the built-in font.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::sync::Arc;
use thiserror::Error;

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum PlotError {
    /// The drawing is no SVG that can be drawn.
    #[error("draw the chart: {0}")]
    Svg(#[from] resvg::usvg::Error),
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

/// Draws an SVG of this module with so many pixels for each of its units.
///
/// # Errors
/// When it is no SVG, or too large.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    let mut fonts = Database::new();
    for font in [REGULAR, BOLD] {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family(FAMILY);
    let options = Options { font_family: FAMILY.into(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let pixels = |length: f32| (length * scale).ceil() as u32;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let mut picture = Pixmap::new(width, height).ok_or(PlotError::Size { width, height })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| PlotError::Encode(error.to_string()))
}

/// Roboto of Google, Apache-2.0, cut down to the characters of European languages.
static REGULAR: &[u8] = include_bytes!("Roboto-Regular.ttf");
static BOLD: &[u8] = include_bytes!("Roboto-Bold.ttf");
const FAMILY: &str = "Roboto";

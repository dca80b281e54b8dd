//! Charts: drawn as SVG by hand, and as PNG from the same SVG. No font of the system is needed: Roboto is built in.
//!
//! Colours are of the Okabe–Ito palette, which the colour-blind can distinguish.

mod across;
mod axis;
mod bars;
mod figure;
mod lines;
#[cfg(feature = "png")]
mod png;
mod svg;

pub use across::Across;
pub use bars::{Bar, BarChart, BarPanel, BarRow, Labels};
pub use figure::{Figure, Heading};
pub use lines::{Line, LineChart, LinePanel};
#[cfg(feature = "png")]
pub use png::{PlotError, png};
pub use svg::Drawing;

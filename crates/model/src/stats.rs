//! Statistics of what was measured.

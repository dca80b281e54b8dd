//! Expectations: `down.goodput>=9.4Gbit/s` held against a run.

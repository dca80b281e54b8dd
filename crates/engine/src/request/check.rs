//! Limits of numbers, and how what exceeds them is refused.

use crate::error::Failure;
use model::units::Nanos;

/// Streams of a test.
pub(super) fn streams(streams: u32) -> Result<(), Failure> {
    within("--parallel", u64::from(streams), 1, 128, "streams")
}

/// Time of a test.
pub(super) fn time(time: Nanos) -> Result<(), Failure> {
    positive("--time", time)?;
    at_most("--time", time, MAX_TIME)
}

pub(super) fn exclude(one: &str, other: &str, why: &str, advice: &str) -> Result<(), Failure> {
    Err(Failure::usage(format!("{one} cannot be used with {other}: {why}"), advice))
}

pub(super) fn within(name: &str, value: u64, least: u64, most: u64, unit: &str) -> Result<(), Failure> {
    range(name, value, least, most, unit, "no other value is possible")
}

pub(super) fn range(
    name: &str,
    value: u64,
    least: u64,
    most: u64,
    unit: &str,
    why: &str,
) -> Result<(), Failure> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{name} {value} is out of range"),
        format!("give {least} to {most} {unit}: {why}"),
    ))
}

pub(super) fn positive(name: &str, time: Nanos) -> Result<(), Failure> {
    match time {
        Nanos::ZERO => {
            Err(Failure::usage(format!("{name} 0 leaves no time"), "give more, as in 10s or 500ms"))
        }
        _ => Ok(()),
    }
}

pub(super) fn at_most(name: &str, time: Nanos, most: Nanos) -> Result<(), Failure> {
    if time <= most {
        return Ok(());
    }
    Err(Failure::usage(format!("{name} {time} is too long"), format!("give {most} at most")))
}

/// A week.
pub(super) const MAX_TIME: Nanos = Nanos::from_secs(7 * 86_400);

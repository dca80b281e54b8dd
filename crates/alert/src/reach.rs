//! Whether a path can be measured: one message for each change of that, however often it is tested.

use crate::{Alert, Word};

/// The outcome of the latest attempt at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The path was measured.
    Measured,
    /// The path could not be reached, with the reason.
    Failed(String),
    /// No result arrived, with the known reason.
    Silent(String),
}

/// The path of the attempt, and the run.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The path, as runs name it.
    pub target: &'a str,
    /// The planned measurement.
    pub kind: &'a str,
    /// The run.
    pub run: &'a str,
}

/// The alert to report now. `reported`: the last state of the path itself that was reported, if any.
#[must_use]
pub fn change(reported: Option<&str>, attempt: Attempt<'_>, reach: &Reach) -> Option<Alert> {
    let Attempt { target, kind, run } = attempt;
    let is_down = [Word::Unreachable, Word::Silent].iter().any(|word| reported == Some(word.name()));
    let (word, text) = match reach {
        Reach::Measured if is_down => (Word::Reachable, "can be measured again".to_owned()),
        Reach::Measured => return None,
        Reach::Failed(why) => (Word::Unreachable, format!("cannot be reached: {why}")),
        Reach::Silent(why) => (Word::Silent, format!("no result came: {why}")),
    };
    (reported != Some(word.name()))
        .then(|| Alert::of_path(word, target, kind, run, format!("{target}: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_reported_once() {
        let (failed, silent) = (Reach::Failed("refused".into()), Reach::Silent("no agent".into()));
        let measured = Reach::Measured;
        let nights = [
            (&measured, None),
            (&failed, Some("unreachable")),
            (&failed, None),
            (&silent, Some("silent")),
            (&silent, None),
            (&failed, Some("unreachable")),
            (&measured, Some("reachable")),
            (&measured, None),
            (&silent, Some("silent")),
            (&measured, Some("reachable")),
        ];
        let mut reported: Option<&str> = None;
        for (night, (reach, expected)) in nights.into_iter().enumerate() {
            let attempt = Attempt { target: "ams -> fra", kind: "throughput", run: "1" };
            let alert = change(reported, attempt, reach);
            assert_eq!(alert.as_ref().map(|alert| alert.word.name()), expected, "night {night}");
            reported = expected.or(reported);
        }
    }
}

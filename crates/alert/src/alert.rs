//! One message.

use model::stats::trend::ChangeKind;
use report::expect::printed;
use report::format::trend::{Series, Trends, Turn};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A change of state that is reported, schema `pathmeter/alert/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Always `pathmeter/alert/1`.
    pub schema: String,
    /// The change.
    #[serde(rename = "alert")]
    pub word: Word,
    /// The path, as runs name it.
    pub target: String,
    /// The command that measured: `throughput`; empty: not known.
    pub kind: String,
    /// The figure that changed; empty: the path itself.
    pub figure: String,
    /// The run that confirmed it.
    pub run: String,
    /// The whole alert in one line.
    pub text: String,
}

/// The kinds of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The level of a figure changed: worse, better, or recovered.
    Figure(ChangeKind),
    /// The far end cannot be reached, or refuses.
    Unreachable,
    /// No outcome arrived by its deadline: the measuring host is silent.
    Silent,
    /// The path is measured again.
    Reachable,
    /// An agent sent an outcome that is not of its run.
    Forged,
}

impl Word {
    /// The word that receivers get.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Word::Figure(kind) => kind.word(),
            Word::Unreachable => "unreachable",
            Word::Silent => "silent",
            Word::Reachable => "reachable",
            Word::Forged => "forged",
        }
    }
}

/// Every word.
const WORDS: [Word; 7] = [
    Word::Figure(ChangeKind::Worse),
    Word::Figure(ChangeKind::Better),
    Word::Figure(ChangeKind::Recovered),
    Word::Unreachable,
    Word::Silent,
    Word::Reachable,
    Word::Forged,
];

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
        let name = String::deserialize(from)?;
        let word = WORDS.into_iter().find(|word| word.name() == name);
        word.ok_or_else(|| D::Error::custom(format!("`{name}` is not the word of an alert")))
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl Alert {
    /// An alert of the path itself.
    #[must_use]
    pub fn of_path(word: Word, target: &str, kind: &str, run: &str, text: String) -> Alert {
        let (target, kind, run) = (target.to_owned(), kind.to_owned(), run.to_owned());
        Alert { schema: SCHEMA.to_owned(), word, target, kind, figure: String::new(), run, text }
    }

    /// The alerts of those changes that these runs confirmed.
    #[must_use]
    pub fn of_trends(trends: &Trends, is_own: impl Fn(&str) -> bool) -> Vec<Alert> {
        let newest = |series: &Series| {
            let turn = series.changes.last().filter(|turn| is_own(&turn.confirmed_by))?;
            Some(Alert::of_turn(&trends.target, series, turn))
        };
        trends.series.iter().filter_map(newest).collect()
    }

    fn of_turn(target: &str, series: &Series, turn: &Turn) -> Alert {
        let value = |value| printed(&series.figure, value);
        let text = format!(
            "{target}: {} {}: {} since {}, before {}",
            series.figure,
            turn.kind.word(),
            value(turn.after),
            turn.at,
            value(turn.before)
        );
        let of_path = Alert::of_path(Word::Figure(turn.kind), target, &series.kind, &turn.confirmed_by, text);
        Alert { figure: series.figure.clone(), ..of_path }
    }
}

const SCHEMA: &str = "pathmeter/alert/1";

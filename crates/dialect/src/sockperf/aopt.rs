//! Words into options by sockperf's own rules: `-o123`, `-o 123` and `-o=123`, `--option 123` and `--option=123`; no
//! bundled letters, no shortened names, nothing twice, and no word that belongs to no option. A value that is the
//! next word does not begin with a dash.

use super::finish::Line;
use super::{Command, Fault};
use crate::getopt::{Usage, Value};

/// An option of the table.
pub(super) struct SockperfOption {
    /// Its letters, its long names, its value.
    pub(super) usage: Usage,
    /// The sub-commands that have it.
    pub(super) of: Of,
    /// Its effect, for the help.
    pub(super) help: &'static str,
    /// Takes it into account: the value, empty where there is none, and the option as it was typed.
    pub(super) take: fn(&mut Line, &str, &str) -> Result<(), Fault>,
}

/// The sub-commands that have an option, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Of(pub(super) u8);

impl Of {
    pub(super) const PING_PONG: Of = Of(1);
    pub(super) const UNDER_LOAD: Of = Of(2);
    pub(super) const THROUGHPUT: Of = Of(4);
    pub(super) const PLAYBACK: Of = Of(8);
    pub(super) const SERVER: Of = Of(16);
    pub(super) const CLIENTS: Of = Of(15);
    pub(super) const ALL: Of = Of(31);
    /// Those that send at a rate and for a time.
    pub(super) const PACED: Of = Of(7);

    /// Those that measure latency.
    pub(super) const TIMED: Of = Of(11);
    /// Those that choose their messages that are answered.
    pub(super) const SPARSE: Of = Of(10);

    pub(super) fn has(self, command: Command) -> bool {
        use crate::sockperf::output::Mode;
        let commands = match command {
            Command::Client(Mode::PingPong) => Of::PING_PONG,
            Command::Client(Mode::UnderLoad) => Of::UNDER_LOAD,
            Command::Client(Mode::Throughput) => Of::THROUGHPUT,
            Command::Client(Mode::Playback) => Of::PLAYBACK,
            Command::Server => Of::SERVER,
        };
        self.0 & commands.0 != 0
    }
}

/// Options, in the groups of the help.
pub(super) type Table = &'static [&'static [SockperfOption]];

/// An option on the command line.
pub(super) struct Found<'a> {
    pub(super) row: &'static SockperfOption,
    /// The option as typed, with its dashes.
    pub(super) name: String,
    pub(super) value: Option<&'a str>,
}

/// Takes the words of a sub-command apart, by this table.
pub(super) fn split<'a>(table: Table, args: &[&'a str], command: Command) -> Result<Vec<Found<'a>>, Fault> {
    let mut found: Vec<Found<'a>> = Vec::new();
    let mut rest = args.iter().copied().peekable();
    while let Some(word) = rest.next() {
        let (row, name, attached) = named(table, word, command)?;
        if found.iter().any(|other| std::ptr::eq(other.row, row)) {
            return Err(Fault::bad(format!("Option {name} should not be repeatable")));
        }
        let value = match row.usage.value() {
            Value::None if !attached.is_empty() => {
                return Err(Fault::bad(format!("Option {name} should not have an argument")));
            }
            Value::None => None,
            Value::Needed(_) | Value::Optional(_) => {
                match attached.strip_prefix('=').filter(|v| !v.is_empty()) {
                    Some(value) => Some(value),
                    None if !attached.is_empty() => Some(attached),
                    None => rest.next_if(|next| !next.starts_with('-')),
                }
            }
        };
        if value.is_none() && matches!(row.usage.value(), Value::Needed(_)) {
            return Err(Fault::bad(format!("Option {name} should have an argument")));
        }
        found.push(Found { row, name, value });
    }
    Ok(found)
}

/// The option that a word begins, as typed, and what is attached to it.
fn named(
    table: Table,
    word: &str,
    command: Command,
) -> Result<(&'static SockperfOption, String, &str), Fault> {
    let rows = || table.iter().flat_map(|part| part.iter()).filter(|row| row.of.has(command));
    let unknown = || Fault::bad(format!("unknown option or word: {word}"));
    if let Some(long) = word.strip_prefix("--") {
        let end = long.find('=').unwrap_or(long.len());
        let (name, attached) = long.split_at(end);
        let row = rows().find(|row| row.usage.names().any(|own| own == name)).ok_or_else(unknown)?;
        return Ok((row, format!("--{name}"), attached));
    }
    let letter = word.strip_prefix('-').and_then(|rest| rest.chars().next()).ok_or_else(unknown)?;
    let row = rows().find(|row| row.usage.letters().any(|own| own == letter)).ok_or_else(unknown)?;
    Ok((row, format!("-{letter}"), &word[1 + letter.len_utf8()..]))
}

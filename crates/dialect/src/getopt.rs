//! Words into options by the rules of GNU `getopt_long`: bundled letters, attached values, abbreviated long names,
//! options and other words in any order, `--` as the end of options (getopt(3)).

use std::ffi::OsString;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request<L> {
    /// `-h`: the text on standard output.
    Help,
    /// `-v`: likewise.
    Version,
    /// A test.
    Client(Box<L>),
    /// Serve tests.
    Server(Box<L>),
}

/// Why a command line is refused; the exit code is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No such option, or an argument too many or too few, as getopt_long(3) reports it.
    Syntax(String),
    /// A value or combination that cannot be.
    Parameter(String),
}

impl Fault {
    pub(crate) fn parameter(what: impl Into<String>) -> Fault {
        Fault::Parameter(what.into())
    }

    /// A value that an option cannot have, in iPerf2's words.
    pub(crate) fn value(option: &str, text: &str, wanted: &str) -> Fault {
        Fault::Parameter(format!("{option} value of '{text}' not recognized: {wanted}"))
    }

    /// An option that the tool has and this program does not serve.
    pub(crate) fn not_served(option: &str, instead: &str) -> Fault {
        Fault::Parameter(format!("{option} is not served by pathmeter: {instead}"))
    }
}

/// An option of a table: sets something of `T`, or refuses.
pub(crate) struct OptionRow<T: 'static> {
    /// Its letter if it has one, its long name, its value.
    pub(crate) usage: Usage,
    /// Its effect, for the help; empty: not shown.
    pub(crate) help: &'static str,
    /// Takes it into account. The value is empty where there is none.
    pub(crate) take: fn(&mut T, &str) -> Result<(), Fault>,
}

/// A row of a table, with the usage as a text.
pub(crate) const fn row<T>(
    usage: &'static str,
    help: &'static str,
    take: fn(&mut T, &str) -> Result<(), Fault>,
) -> OptionRow<T> {
    OptionRow { usage: Usage(usage), help, take }
}

/// The effect of most options: something is set to a value.
#[expect(clippy::unnecessary_wraps, reason = "this is the result of an option that may be refused")]
pub(crate) fn set<T, F>(place: &mut T, value: T) -> Result<(), F> {
    *place = value;
    Ok(())
}

/// The spellings of an option and its value: `-p --port N`, `--debug[=LEVEL]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage(pub(crate) &'static str);

impl Usage {
    /// Its letters, without dash.
    pub(crate) fn letters(self) -> impl Iterator<Item = char> {
        let letter = |word: &str| word.strip_prefix('-').and_then(|rest| rest.chars().next());
        self.parts().0.split(' ').filter_map(letter).filter(|letter| *letter != '-')
    }

    /// Its long names, without dashes.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.parts().0.split(' ').filter_map(|word| word.strip_prefix("--"))
    }

    /// The first of these: every option has one.
    pub(crate) fn name(self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    /// Its letter where it has one, else its name, with dashes.
    pub(crate) fn brief(self) -> String {
        let letter = self.letters().next().map(|letter| format!("-{letter}"));
        letter.unwrap_or_else(|| format!("--{}", self.name()))
    }

    /// Whether a value follows.
    pub(crate) fn value(self) -> Value {
        self.parts().1
    }

    fn parts(self) -> (&'static str, Value) {
        match (self.0.split_once("[="), self.0.rsplit_once(' ')) {
            (Some((spellings, name)), _) => {
                (spellings, Value::Optional(name.strip_suffix(']').unwrap_or(name)))
            }
            (None, Some((spellings, name))) if !name.starts_with('-') => (spellings, Value::Needed(name)),
            _ => (self.0, Value::None),
        }
    }

    /// Two columns of a help: these spellings with the value, and the effect.
    pub(crate) fn entry(self, spellings: &str, help: &str) -> String {
        let value = match self.value() {
            Value::None => String::new(),
            Value::Needed(name) => format!(" {name}"),
            Value::Optional(name) => format!("[={name}]"),
        };
        let left = format!("  {spellings}{value}");
        if left.chars().count() < COLUMN - 1 {
            format!("{left:COLUMN$}{help}\n")
        } else {
            format!("{left}\n{:COLUMN$}{help}\n", "")
        }
    }
}

/// Whether a value follows an option; its name is for the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Never.
    None,
    /// Always, attached or as the next word.
    Needed(&'static str),
    /// After `=` of the long name only.
    Optional(&'static str),
}

/// Which role has the options of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Client and server.
    Both,
    /// The client alone.
    Client,
    /// The server alone.
    Server,
}

/// The options, in tables.
pub(crate) type Tables<'a, T> = &'a [(Role, &'a [OptionRow<T>])];

/// One thing found on the command line.
pub(crate) enum Word<'a, T: 'static> {
    /// An option, whose it is, and its value.
    Option(Role, &'a OptionRow<T>, String),
    /// A word that belongs to no option.
    Other(String),
}

impl<T> OptionRow<T> {
    /// Two columns of a help.
    pub(crate) fn entry(&self) -> String {
        let letter = self.usage.letters().next();
        let letter = letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        self.usage.entry(&format!("{letter}--{}", self.usage.name()), self.help)
    }
}

const COLUMN: usize = 36;

/// Takes the words apart.
pub(crate) fn split<'a, T>(args: &[OsString], tables: Tables<'a, T>) -> Result<Vec<Word<'a, T>>, Fault> {
    let mut found = Vec::new();
    let mut rest = args.iter().map(text);
    while let Some(word) = rest.next() {
        let word = word?;
        if word == "--" {
            for other in rest {
                found.push(Word::Other(other?));
            }
            return Ok(found);
        }
        if let Some(long) = word.strip_prefix("--") {
            found.push(long_option(long, &mut rest, tables)?);
        } else if word.len() > 1 && word.starts_with('-') {
            letters(&word[1..], &mut rest, tables, &mut found)?;
        } else {
            found.push(Word::Other(word));
        }
    }
    Ok(found)
}

/// An option of a table, and whose it is.
type Found<'a, T> = (Role, &'a OptionRow<T>);

fn each<'a, T>(tables: Tables<'a, T>) -> impl Iterator<Item = Found<'a, T>> {
    tables.iter().flat_map(|(role, rows)| rows.iter().map(|row| (*role, row)))
}

fn text(word: &OsString) -> Result<String, Fault> {
    let misspelt = || Fault::Syntax(format!("'{}' is not valid UTF-8", word.to_string_lossy()));
    word.to_str().map(str::to_owned).ok_or_else(misspelt)
}

type RemainingArgs<'r> = &'r mut dyn Iterator<Item = Result<String, Fault>>;

fn long_option<'a, T>(
    word: &str,
    rest: RemainingArgs<'_>,
    tables: Tables<'a, T>,
) -> Result<Word<'a, T>, Fault> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let (role, row) = named(name, tables)?;
    let value = match (row.usage.value(), attached) {
        (Value::None, Some(_)) => {
            return Err(Fault::Syntax(format!("option '--{}' doesn't allow an argument", row.usage.name())));
        }
        (Value::Needed(_), None) => rest.next().ok_or_else(|| {
            Fault::Syntax(format!("option '--{}' requires an argument", row.usage.name()))
        })??,
        (_, attached) => attached.unwrap_or_default(),
    };
    Ok(Word::Option(role, row, value))
}

/// The option of this name, or the only one whose name begins so.
fn named<'a, T>(name: &str, tables: Tables<'a, T>) -> Result<Found<'a, T>, Fault> {
    let rows = || each(tables);
    if let Some(found) = rows().find(|(_, row)| row.usage.name() == name) {
        return Ok(found);
    }
    let candidates: Vec<Found<'_, T>> =
        rows().filter(|(_, row)| row.usage.name().starts_with(name)).collect();
    match candidates.as_slice() {
        [] => Err(Fault::Syntax(format!("unrecognized option '--{name}'"))),
        [first, others @ ..]
            if others.iter().all(|(_, row)| std::ptr::fn_addr_eq(row.take, first.1.take)) =>
        {
            Ok(*first)
        }
        _ => {
            let names: String =
                candidates.iter().map(|(_, row)| format!(" '--{}'", row.usage.name())).collect();
            Err(Fault::Syntax(format!("option '--{name}' is ambiguous; possibilities:{names}")))
        }
    }
}

fn letters<'a, T>(
    word: &str,
    rest: RemainingArgs<'_>,
    tables: Tables<'a, T>,
    found: &mut Vec<Word<'a, T>>,
) -> Result<(), Fault> {
    for (place, letter) in word.char_indices() {
        let (role, row) = each(tables)
            .find(|(_, row)| row.usage.letters().any(|own| own == letter))
            .ok_or_else(|| Fault::Syntax(format!("invalid option -- '{letter}'")))?;
        if !matches!(row.usage.value(), Value::Needed(_)) {
            found.push(Word::Option(role, row, String::new()));
            continue;
        }
        let attached = &word[place + letter.len_utf8()..];
        let value = if attached.is_empty() {
            rest.next()
                .ok_or_else(|| Fault::Syntax(format!("option requires an argument -- '{letter}'")))??
        } else {
            attached.to_owned()
        };
        found.push(Word::Option(role, row, value));
        return Ok(());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_has_letters_names_and_a_value() {
        let parts = |text| {
            let usage = Usage(text);
            (usage.letters().collect::<String>(), usage.names().collect::<Vec<_>>(), usage.value())
        };
        assert_eq!(parts("-h -? --help --usage"), ("h?".into(), vec!["help", "usage"], Value::None));
        assert_eq!(parts("-p --port N[-M]"), ("p".into(), vec!["port"], Value::Needed("N[-M]")));
        let bins = "--histograms[=WIDTH[u|m],N]";
        assert_eq!(parts(bins), (String::new(), vec!["histograms"], Value::Optional("WIDTH[u|m],N")));
        assert_eq!(
            (Usage("-4 --v4").brief(), Usage("--tls[=CIPHER]").brief()),
            ("-4".into(), "--tls".into())
        );
    }
}

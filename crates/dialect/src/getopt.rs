//! Words into options by the rules of GNU `getopt_long`: bundled letters, attached values, abbreviated long names,
//! options and other words in any order, `--` as the end of options (getopt(3)).

use std::ffi::OsString;

/// An option of a table: sets something of `T`, or refuses with `F`.
pub(crate) struct OptionRow<T: 'static, F: 'static> {
    /// Its letter.
    pub(crate) letter: Option<char>,
    /// Its long name, without dashes.
    pub(crate) name: &'static str,
    /// Whether a value follows.
    pub(crate) value: Value,
    /// Its effect, for the help; empty: not shown.
    pub(crate) help: &'static str,
    /// Takes it into account. The value is empty where there is none.
    pub(crate) take: fn(&mut T, &str) -> Result<(), F>,
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

/// One thing found on the command line.
pub(crate) enum Word<'a, T: 'static, F: 'static> {
    /// An option and its value.
    Option(&'a OptionRow<T, F>, String),
    /// A word that belongs to no option.
    Other(String),
}

/// An error as getopt_long(3) reports it: no such option, or a value too many or too few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misspelt(pub(crate) String);

impl<T, F> OptionRow<T, F> {
    /// Two columns of a help.
    pub(crate) fn entry(&self) -> String {
        let letter = self.letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let value = match self.value {
            Value::None => String::new(),
            Value::Needed(name) => format!(" {name}"),
            Value::Optional(name) => format!("[={name}]"),
        };
        let left = format!("  {letter}--{}{value}", self.name);
        if left.chars().count() < COLUMN - 1 {
            format!("{left:COLUMN$}{}\n", self.help)
        } else {
            format!("{left}\n{:COLUMN$}{}\n", "", self.help)
        }
    }
}

const COLUMN: usize = 36;

/// Takes the words apart.
pub(crate) fn split<'a, T, F>(
    args: &[OsString],
    table: &'a [&'a [OptionRow<T, F>]],
) -> Result<Vec<Word<'a, T, F>>, Misspelt> {
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
            found.push(long_option(long, &mut rest, table)?);
        } else if word.len() > 1 && word.starts_with('-') {
            letters(&word[1..], &mut rest, table, &mut found)?;
        } else {
            found.push(Word::Other(word));
        }
    }
    Ok(found)
}

fn text(word: &OsString) -> Result<String, Misspelt> {
    let misspelt = || Misspelt(format!("'{}' is not valid UTF-8", word.to_string_lossy()));
    word.to_str().map(str::to_owned).ok_or_else(misspelt)
}

type Rest<'r> = &'r mut dyn Iterator<Item = Result<String, Misspelt>>;

fn long_option<'a, T, F>(
    word: &str,
    rest: Rest<'_>,
    table: &'a [&'a [OptionRow<T, F>]],
) -> Result<Word<'a, T, F>, Misspelt> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let row = named(name, table)?;
    let value = match (row.value, attached) {
        (Value::None, Some(_)) => {
            return Err(Misspelt(format!("option '--{}' doesn't allow an argument", row.name)));
        }
        (Value::Needed(_), None) => {
            rest.next().ok_or_else(|| Misspelt(format!("option '--{}' requires an argument", row.name)))??
        }
        (_, attached) => attached.unwrap_or_default(),
    };
    Ok(Word::Option(row, value))
}

/// The option of this name, or the only one whose name begins so.
fn named<'a, T, F>(name: &str, table: &'a [&'a [OptionRow<T, F>]]) -> Result<&'a OptionRow<T, F>, Misspelt> {
    let rows = || table.iter().flat_map(|part| part.iter());
    if let Some(row) = rows().find(|row| row.name == name) {
        return Ok(row);
    }
    let candidates: Vec<&OptionRow<T, F>> = rows().filter(|row| row.name.starts_with(name)).collect();
    match candidates.as_slice() {
        [] => Err(Misspelt(format!("unrecognized option '--{name}'"))),
        [first, others @ ..] if others.iter().all(|row| std::ptr::fn_addr_eq(row.take, first.take)) => {
            Ok(first)
        }
        _ => {
            let names: String = candidates.iter().map(|row| format!(" '--{}'", row.name)).collect();
            Err(Misspelt(format!("option '--{name}' is ambiguous; possibilities:{names}")))
        }
    }
}

fn letters<'a, T, F>(
    word: &str,
    rest: Rest<'_>,
    table: &'a [&'a [OptionRow<T, F>]],
    found: &mut Vec<Word<'a, T, F>>,
) -> Result<(), Misspelt> {
    for (place, letter) in word.char_indices() {
        let rows = || table.iter().flat_map(|part| part.iter());
        let row = rows()
            .find(|row| row.letter == Some(letter))
            .ok_or_else(|| Misspelt(format!("invalid option -- '{letter}'")))?;
        if !matches!(row.value, Value::Needed(_)) {
            found.push(Word::Option(row, String::new()));
            continue;
        }
        let attached = &word[place + letter.len_utf8()..];
        let value = if attached.is_empty() {
            rest.next().ok_or_else(|| Misspelt(format!("option requires an argument -- '{letter}'")))??
        } else {
            attached.to_owned()
        };
        found.push(Word::Option(row, value));
        return Ok(());
    }
    Ok(())
}

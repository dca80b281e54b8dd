//! The files of `import`, `analyse` and the like, opened and read.

use crate::exit;
use engine::error::{Context, Error, Failure, Result};
use model::history::Kept;
use report::import::{Item, Known, Outputs, Unreadable, What, open};
use std::fs::File;
use std::io::{ErrorKind, Read, stdin};
use std::path::Path;

/// The texts of a file, each with the name that its runs are called after.
pub(super) struct Texts {
    /// The file's own name.
    pub(super) name: String,
    pub(super) texts: Vec<(String, Outputs)>,
}

impl Texts {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be read, or is packed in what is not read.
    pub(super) fn open(file: &Path) -> Result<Texts> {
        if file.as_os_str() == "-" {
            return Texts::of_reader("standard input".into(), stdin());
        }
        let name = file.display().to_string();
        let regular = File::open(file).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false => Ok(file),
        });
        let file = regular.with_context(|| format!("read {name}"))?;
        Texts::of_reader(name, file)
    }

    fn of_reader(name: String, reader: impl Read + Send + 'static) -> Result<Texts> {
        let opened = open(reader).map_err(|looks| not_read(&name, &looks))?;
        let named = |(member, source): (Option<String>, _)| {
            let name = member.map_or_else(|| name.clone(), |member| format!("{name}/{member}"));
            (name, Outputs::of_source(source))
        };
        let texts = opened.into_iter().map(named).collect();
        Ok(Texts { name, texts })
    }

    fn read(self, known: Known) -> Result<Contents> {
        let (mut items, mut damage, mut failed) = (Vec::new(), None, None);
        for (name, mut outputs) in self.texts {
            let before = items.len();
            for batch in &mut outputs {
                match batch {
                    Ok(batch) => items.extend(batch.read(&name, known)),
                    Err(looks) => damage = Some(damaged(&self.name, &looks, !items.is_empty())),
                }
            }
            // A README beside outputs in an archive is none of them.
            if items.len() == before {
                failed = failed.or_else(|| Some(nothing_in(&name, &outputs)));
            }
        }
        match items.is_empty().then(|| damage.take().or(failed)).flatten() {
            Some(error) => Err(error),
            None => Ok(Contents { items, damage }),
        }
    }
}

/// Everything that could be read of a file.
pub(in super::super) struct Contents {
    pub(in super::super) items: Vec<Item>,
    /// Why more of it could not be read.
    pub(in super::super) damage: Option<Error>,
}

/// A file whose end cannot be read. `is_part`: outputs before that were.
pub(super) fn damaged(name: &str, looks: &str, is_part: bool) -> Error {
    if !is_part {
        return not_read(name, looks);
    }
    Failure::usage(
        format!("{name} is read in part: it is {looks}"),
        "the outputs before that count; copy the file anew for the rest",
    )
    .into()
}

/// A file that is broken, or packed in what is not read.
pub(super) fn not_read(name: &str, looks: &str) -> Error {
    unreadable(format!("{name} is not read: it is {looks}"))
}

/// A text that holds nothing which is known.
pub(super) fn nothing_in(name: &str, outputs: &Outputs) -> Error {
    unreadable(Unreadable { name: name.to_owned(), looks: outputs.looks() }.to_string())
}

fn unreadable(what: String) -> Error {
    Failure::usage(what, "see `pathmeter import --help` for the outputs that are read").into()
}

/// Everything that the bytes of a file of this name hold.
///
/// # Errors
/// They hold nothing that is known.
#[cfg(feature = "web")]
pub(in super::super) fn of_bytes(name: &str, bytes: Vec<u8>, known: Known) -> Result<Contents> {
    Texts::of_reader(name.to_owned(), std::io::Cursor::new(bytes))?.read(known)
}

/// Everything that a file holds. Of a damaged file this is the part before the damage, which is reported.
///
/// # Errors
/// When it cannot be read, or holds nothing that is known.
pub(in super::super) fn contents(file: &Path, known: Known) -> Result<Vec<Item>> {
    let Contents { items, damage } = Texts::open(file)?.read(known)?;
    damage.iter().for_each(exit::report);
    Ok(items)
}

/// The documents among what a file holds, in its order.
pub(in super::super) fn documents(items: Vec<Item>) -> Vec<Kept> {
    let document = |item: Item| match item.what {
        What::Run(one) => Some(Kept::Run(Box::new(one.run))),
        What::Report(report) => Some(report),
        What::Mark(_) => None,
    };
    items.into_iter().filter_map(document).collect()
}

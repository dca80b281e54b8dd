//! The files of `import`, `analyse` and the like, opened and read.

use engine::error::{Context, Error, Failure, Result};
use model::history::Kept;
use report::import::{Item, Known, Outputs, Unreadable, What, open};
use std::fs::File;
use std::io::{ErrorKind, stdin};
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
        let (name, opened) = if file.as_os_str() == "-" {
            ("standard input".to_owned(), open(stdin()))
        } else {
            let name = file.display().to_string();
            let regular = File::open(file).and_then(|file| match file.metadata()?.is_dir() {
                true => Err(ErrorKind::IsADirectory.into()),
                false => Ok(file),
            });
            let file = regular.with_context(|| format!("read {name}"))?;
            (name, open(file))
        };
        let opened = opened.map_err(|looks| not_read(&name, &looks))?;
        let named = |(member, source): (Option<String>, _)| {
            let name = member.map_or_else(|| name.clone(), |member| format!("{name}/{member}"));
            (name, Outputs::of_source(source))
        };
        let texts = opened.into_iter().map(named).collect();
        Ok(Texts { name, texts })
    }
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

/// Everything that a file holds.
///
/// # Errors
/// When it cannot be read, or holds nothing that is known.
pub(in super::super) fn contents(file: &Path, known: Known) -> Result<Vec<Item>> {
    let Texts { name: whole, texts } = Texts::open(file)?;
    let (mut all, mut failed) = (Vec::new(), None);
    for (name, mut outputs) in texts {
        let before = all.len();
        for batch in &mut outputs {
            all.extend(batch.map_err(|looks| not_read(&whole, &looks))?.read(&name, known));
        }
        // A README beside outputs in an archive is none of them.
        if all.len() == before {
            failed = failed.or_else(|| Some(nothing_in(&name, &outputs)));
        }
    }
    match failed.filter(|_| all.is_empty()) {
        Some(error) => Err(error),
        None => Ok(all),
    }
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

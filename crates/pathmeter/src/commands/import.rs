//! `pathmeter import`: outputs of other tools, shown as if they were runs of our own.

mod files;
mod in_order;
#[cfg(feature = "store")]
mod keep;

pub(super) use files::{contents, documents};
#[cfg(feature = "web")]
pub(super) use {
    files::{Contents, of_bytes},
    keep::Keeper,
};

use super::output::{Writer, style, write};
use crate::exit::{self, Exit};
use cli::{Common, ImportArgs};
use engine::error::Result;
use files::{Texts, damaged, nothing_in};
use in_order::in_order;
use model::finding::Status;
use report::document::Document;
use report::format::{Format, Joined, Joint, Style, document};
use report::import::{Batch, Imported, Item, Known, What};
use std::io::Write;

/// Prints every output of every file. A file that holds none does not keep the others from being read.
pub(crate) fn run(args: &ImportArgs, global: &Common) -> Result<Exit> {
    let mut import = Import::new(args, global)?;
    let mut last = None;
    for file in &args.outputs.files {
        let read = Texts::open(file).and_then(|texts| import.file(texts));
        if let Err(error) = read {
            last.replace(error).iter().for_each(exit::report);
        }
        if let Some(error) = import.failed.take() {
            last.iter().for_each(exit::report);
            return Err(error);
        }
    }
    let is_void = import.is_void;
    match last {
        Some(error) if import.is_empty => Err(error),
        last => {
            last.iter().for_each(exit::report);
            import.end()?;
            Ok(match last {
                Some(error) => Exit::from_error(&error),
                None if is_void => Exit::Void,
                None => Exit::Done,
            })
        }
    }
}

/// Files that are read, and the place where results go.
struct Import<'a> {
    global: &'a Common,
    known: Known,
    style: Style,
    /// Results are written as they come; absent: they are kept until the end.
    out: Option<(Joined, Writer)>,
    kept: Vec<Item>,
    #[cfg(feature = "store")]
    keeper: Option<keep::Keeper<'a>>,
    is_void: bool,
    /// No file has held a result.
    is_empty: bool,
    /// The error of the store or file that the results go to.
    failed: Option<engine::error::Error>,
}

/// A batch that was read.
struct Done {
    /// Each document as it is written, or all of them as one text.
    texts: Vec<String>,
    items: Vec<Item>,
    count: usize,
    is_void: bool,
}

impl<'a> Import<'a> {
    fn new(args: &'a ImportArgs, global: &'a Common) -> Result<Import<'a>> {
        let joined = Joined::of_format(global.format()).filter(|_| global.chart.is_empty());
        let out = joined.map(|joined| Ok::<_, engine::error::Error>((joined, Writer::open(global)?)));
        Ok(Import {
            global,
            known: Known { link: args.outputs.link, mss: args.outputs.mss },
            style: style(global),
            out: out.transpose()?,
            kept: Vec::new(),
            #[cfg(feature = "store")]
            keeper: args.save.then(|| keep::Keeper::open(args)).transpose()?,
            is_void: false,
            is_empty: true,
            failed: None,
        })
    }

    /// Every result of a file. `failed` is set where results cannot go on to where they go.
    fn file(&mut self, file: Texts) -> Result<()> {
        let (mut found, mut empty) = (0, None);
        for (name, mut outputs) in file.texts {
            let (known, style, format) = (self.known, self.style, self.global.format());
            let (is_written, is_kept) = (self.out.is_some(), self.keeps_items());
            let work = |batch: Result<Batch, String>| {
                let items = batch?.read(&name, known);
                Ok::<Done, String>(Done::new(items, is_written.then_some((format, &style)), is_kept))
            };
            let mut count = 0;
            let mut broken = None;
            let taken = in_order(&mut outputs, work, |done| match done {
                Ok(done) => {
                    count += done.count;
                    self.take(done)
                }
                Err(looks) => {
                    broken = Some(damaged(&file.name, &looks, found + count > 0));
                    Ok(())
                }
            });
            if let Err(error) = taken {
                self.failed = Some(error);
                return Ok(());
            }
            if outputs.repeated() > 0 {
                let _ = writeln!(
                    std::io::stderr(),
                    "{name}: results that stand there again further below count once: {}",
                    outputs.repeated()
                );
            }
            broken.map_or(Ok(()), Err)?;
            found += count;
            // A README beside outputs in an archive is none of them.
            if count == 0 {
                empty = empty.or_else(|| Some(nothing_in(&name, &outputs)));
            }
        }
        empty.filter(|_| found == 0).map_or(Ok(()), Err)
    }

    #[cfg(feature = "store")]
    fn keeps_items(&self) -> bool {
        self.out.is_none() || self.keeper.is_some()
    }

    #[cfg(not(feature = "store"))]
    fn keeps_items(&self) -> bool {
        self.out.is_none()
    }

    fn take(&mut self, done: Done) -> Result<()> {
        self.is_void |= done.is_void;
        self.is_empty &= done.count == 0;
        if let Some((joined, writer)) = &mut self.out {
            for text in done.texts {
                writer.write(joined.push(text).as_bytes())?;
            }
        }
        #[cfg(feature = "store")]
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(&done.items)?;
        }
        if self.out.is_none() {
            self.kept.extend(done.items);
        }
        Ok(())
    }

    fn end(self) -> Result<()> {
        match self.out {
            Some((joined, mut writer)) => {
                writer.write(joined.end().as_bytes())?;
                writer.end()?;
            }
            None => {
                let shown: Vec<Shown<'_>> = self.kept.iter().filter_map(Shown::of_item).collect();
                let documents: Vec<&dyn Document> = shown.iter().map(Shown::document).collect();
                write(&documents, self.global)?;
            }
        }
        #[cfg(feature = "store")]
        self.keeper.into_iter().for_each(keep::Keeper::end);
        Ok(())
    }
}

impl Done {
    /// Takes one item after the other, so that those that are not kept need no memory side by side.
    fn new(items: impl Iterator<Item = Item>, written: Option<(&Format, &Style)>, is_kept: bool) -> Done {
        let mut done = Done { texts: Vec::new(), items: Vec::new(), count: 0, is_void: false };
        for item in items {
            done.count += 1;
            done.is_void |= is_void(&item);
            if let (Some((format, style)), Some(shown)) = (written, Shown::of_item(&item)) {
                done.put(format.write(&[shown.document()], style), format);
            }
            if is_kept {
                done.items.push(item);
            }
        }
        done
    }

    /// Adds a document's text, to the text before it where nothing stands between documents.
    fn put(&mut self, text: String, format: &Format) {
        match self.texts.last_mut().filter(|_| format.joint == Some(Joint::Plain)) {
            Some(last) => last.push_str(&text),
            None => self.texts.push(text),
        }
    }
}

fn is_void(item: &Item) -> bool {
    match &item.what {
        What::Run(one) => one.run.verdict.status == Status::Void,
        What::Report(_) | What::Mark(_) => false,
    }
}

/// An item to print; a known change of a store is kept, not printed.
enum Shown<'a> {
    Run(&'a Imported),
    Report(Box<dyn Document + 'a>),
}

impl Shown<'_> {
    fn of_item(item: &Item) -> Option<Shown<'_>> {
        match &item.what {
            What::Run(one) => Some(Shown::Run(one)),
            What::Report(report) => Some(Shown::Report(document(report))),
            What::Mark(_) => None,
        }
    }

    fn document(&self) -> &dyn Document {
        match self {
            Shown::Run(one) => *one,
            Shown::Report(report) => report.as_ref(),
        }
    }
}

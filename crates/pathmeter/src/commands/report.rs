//! `pathmeter report`: runs as one page, and in further requested formats.

use super::chart;
use super::output::deliver;
use super::set::find;
use crate::exit::Exit;
use cli::written;
use cli::{Common, ReportArgs};
use engine::error::{Context, Failure, Result, fault};
use model::history::Kept;
use model::run::Run;
use report::document::Document;
use report::format::{Format, SideBySide, Style, by_name, document};
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, global: &Common) -> Result<Exit> {
    check_ending("--svg", args.svg.as_ref(), "svg")?;
    #[cfg(feature = "png")]
    check_ending("--png", args.png.as_ref(), "png")?;
    let pictures: Vec<PathBuf> = pictures(args);
    let texts = [("markdown", &args.markdown), ("junit", &args.junit)];
    let texts: Vec<(&str, &Path)> =
        texts.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?))).collect();
    pictures
        .iter()
        .map(PathBuf::as_path)
        .chain(texts.iter().map(|(_, file)| *file))
        .try_for_each(written::check)?;
    let mut found: Vec<Kept> = Vec::new();
    for one in args
        .runs
        .iter()
        .map(|name| find(name, &args.store)?.documents())
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
    {
        // A run may have been named and labelled.
        if found.iter().all(|other| *other != one) {
            found.push(one);
        }
    }
    let runs: Vec<Run> = found.iter().filter_map(Kept::run).cloned().collect();
    let own = SideBySide { runs: &runs };
    let beside = (runs.len() > 1).then_some(&own as &dyn Document);
    let each: Vec<Box<dyn Document + '_>> = found.iter().map(document).collect();
    let each: Vec<&dyn Document> = each.iter().map(AsRef::as_ref).collect();
    let page: Vec<&dyn Document> = beside.into_iter().chain(each.iter().copied()).collect();
    chart::draw(&page, &pictures)?;
    for (name, path) in texts {
        let documents = if name == "markdown" { &page } else { &each };
        let text = rendered(format_of(name)?, documents);
        written::write(path, text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
    }
    // Text is the default format of other commands, and no page: `show` prints it.
    let wanted = global.format();
    let text = match wanted.name {
        "text" => rendered(format_of("html")?, &page),
        "html" | "markdown" => rendered(wanted, &page),
        _ => rendered(wanted, &each),
    };
    deliver(global, text.as_bytes())
}

/// Refuses a file name whose ending does not match its content.
fn check_ending(option: &str, file: Option<&PathBuf>, ending: &str) -> Result<(), Failure> {
    match file.filter(|file| !file.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))) {
        None => Ok(()),
        Some(file) => Err(Failure::usage(
            format!("{option} {}: its name does not end with .{ending}", file.display()),
            format!("call it {}", file.with_extension(ending).display()),
        )),
    }
}

fn pictures(args: &ReportArgs) -> Vec<PathBuf> {
    #[cfg(feature = "png")]
    let png = args.png.clone();
    #[cfg(not(feature = "png"))]
    let png = None;
    args.svg.clone().into_iter().chain(png).collect()
}

fn rendered(format: &Format, documents: &[&dyn Document]) -> String {
    format.write(documents, &Style::default())
}

fn format_of(name: &str) -> Result<&'static Format> {
    by_name(name).ok_or_else(|| fault(format!("there is no format {name}")))
}

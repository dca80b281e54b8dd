//! The glossary: its page is made from docs/glossary.toml, its terms are in use, and the words that they replace are not.

use crate::arguments::Cli;
use clap::CommandFactory;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const HEAD: &str = "# Glossary

The words of the help, of results and of these pages. A test makes this page from `docs/glossary.toml`, and finds the words of the
last column in none of them.

| Term | Meaning | Not |
|---|---|---|
";

struct Term {
    name: String,
    meaning: String,
    not: Vec<String>,
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn terms() -> Vec<Term> {
    let text = fs::read_to_string(home().join("docs/glossary.toml")).expect("the glossary");
    let table: toml::Table = text.parse().expect("TOML");
    let text = |value: &toml::Value, key: &str| value[key].as_str().expect(key).to_owned();
    let term = |value: &toml::Value| Term {
        name: text(value, "name"),
        meaning: text(value, "meaning"),
        not: value["not"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|word| word.as_str().expect("a word").into())
            .collect(),
    };
    table["term"].as_array().expect("terms").iter().map(term).collect()
}

/// Every text for users by its name: the help of each command, the pages, and the results that the formats' tests print.
fn texts() -> Vec<(String, String)> {
    let program = Cli::command();
    let commands =
        program.get_subcommands().chain(program.get_subcommands().flat_map(clap::Command::get_subcommands));
    let help = |command: &clap::Command| {
        (format!("help of {}", command.get_name()), command.clone().render_long_help().to_string())
    };
    let mut texts: Vec<(String, String)> = commands.map(help).collect();
    let folders = [
        "docs",
        "docs/recipes",
        "docs/methods",
        "crates/report/tests/formats/snapshots",
        "crates/report/tests/import/snapshots",
    ];
    let mut files: Vec<PathBuf> = vec![home().join("README.md")];
    for folder in folders {
        files.extend(
            fs::read_dir(home().join(folder)).into_iter().flatten().flatten().map(|entry| entry.path()),
        );
    }
    for file in files {
        let name = file.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default().to_owned();
        let is_page = name.ends_with(".md") && name != "glossary.md";
        if is_page || name.ends_with(".text.snap") {
            let text = fs::read_to_string(&file).expect("a text");
            texts.push((name, if is_page { without_code(&text) } else { text }));
        }
    }
    texts
}

/// A page without its blocks of code and its text between backticks.
fn without_code(page: &str) -> String {
    let blocks = page.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    blocks.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether a text has a phrase as whole words, whatever its capitals and line breaks.
fn has(text: &str, phrase: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
    })
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[test]
fn the_words_of_the_glossary_hold() {
    let texts: Vec<(String, String)> =
        texts().into_iter().map(|(name, text)| (name, folded(&text))).collect();
    assert!(texts.len() > 150, "{} texts", texts.len());
    let mut wrong = Vec::new();
    for term in terms() {
        let name = term.name.to_lowercase();
        if !texts.iter().any(|(_, text)| has(text, &name) || has(text, &format!("{name}s"))) {
            wrong.push(format!("`{}` is in no text", term.name));
        }
        for word in &term.not {
            let found = texts
                .iter()
                .filter(|(_, text)| has(text, &word.to_lowercase()))
                .map(|(name, _)| name.as_str());
            let found: Vec<&str> = found.take(5).collect();
            if !found.is_empty() {
                wrong.push(format!("`{word}` instead of `{}`: {}", term.name, found.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_phrase_is_found_as_whole_words() {
    assert!(has("it was resent.", "resent") && has("resent", "resent"));
    assert!(!has("it represents", "resent") && !has("presently", "resent"));
    assert_eq!(folded("Path\n  MTU"), "path mtu");
    assert_eq!(without_code("a `b` c\n```\nd\n```\ne"), "a   c\n\n\ne");
}

#[test]
fn the_page_is_that_of_the_file() {
    let terms = terms();
    let names: Vec<String> = terms.iter().map(|term| term.name.to_lowercase()).collect();
    assert!(names.is_sorted(), "the terms are sorted: {names:?}");
    let mut page = HEAD.to_owned();
    for Term { name, meaning, not } in &terms {
        assert!(meaning.ends_with('.') && !not.is_empty(), "{name}");
        writeln!(page, "| {name} | {meaning} | {} |", not.join(", ")).expect("a text");
    }
    let path = home().join("docs/glossary.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/glossary.md is stale: UPDATE_DOCS=1 cargo test -p pathmeter-cli glossary");
}

//! The manual pages, made from the command line's own definition, and sections that it does not have.

use crate::arguments::Cli;
use crate::exit::CODES;
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;
use std::path::Path;

/// The main page, in the language of man (roff).
///
/// # Errors
/// None that is not a fault of the program's own definition.
pub fn main_page() -> io::Result<Vec<u8>> {
    page(&program())
}

/// Writes one page for each sub-command into a directory that exists.
///
/// # Errors
/// A file cannot be written.
pub fn write_pages(dir: &Path) -> io::Result<()> {
    write_all(&program(), dir)
}

fn program() -> Command {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    program
}

/// The page of a command and those of its sub-commands.
fn write_all(command: &Command, dir: &Path) -> io::Result<()> {
    std::fs::write(dir.join(format!("{}.1", name(command))), page(command)?)?;
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.into_iter().try_for_each(|command| write_all(command, dir))
}

/// Name of the page: `pathmeter-lab-run`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let help = command.get_after_long_help().or(command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let bare = command.clone().after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    let man = Man::new(bare.version(Resettable::Reset))
        .source(concat!("pathmeter ", env!("CARGO_PKG_VERSION")))
        .manual("Network measurement");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut more = Roff::new();
    help_sections(&mut more, &help);
    if DIALECTS.contains(&command.get_name()) {
        more.control("SH", ["EXIT STATUS"]).text([roman("As the tool whose command line this is.")]);
    } else {
        exit_status(&mut more);
    }
    table(&mut more, "ENVIRONMENT", &ENVIRONMENT);
    table(&mut more, "FILES", &FILES);
    let others = if name(command) == "pathmeter" { "pathmeter-measure" } else { "pathmeter" };
    more.control("SH", ["SEE ALSO"]).text([bold(others), roman("(1)")]);
    more.to_writer(&mut page)?;
    Ok(page)
}

/// Sections of the help's end: a line of capitals begins one, what stands before the first is `NOTES`.
fn help_sections(roff: &mut Roff, help: &str) {
    let mut open = false;
    let mut skipped = false;
    for line in help.lines() {
        if is_heading(line) {
            // The table of codes has a section of its own.
            skipped = line == "EXIT CODES";
            if open {
                roff.control("fi", []);
            }
            open = !skipped;
        } else if !open && !skipped && !line.is_empty() {
            roff.control("SH", ["NOTES"]).control("nf", []).text([roman(line)]);
            open = true;
            continue;
        }
        if !open {
            continue;
        }
        match is_heading(line) {
            true => roff.control("SH", [line]).control("nf", []),
            false => roff.text([roman(line)]),
        };
    }
    if open {
        roff.control("fi", []);
    }
}

/// `EXAMPLES`, `ENCAPSULATIONS (from the wire inwards)`.
fn is_heading(line: &str) -> bool {
    let first = line.split(" (").next().unwrap_or_default();
    first.len() > 1
        && first.chars().all(|letter| letter.is_ascii_uppercase() || letter == ' ')
        && !line.starts_with(' ')
}

fn exit_status(roff: &mut Roff) {
    roff.control("SH", ["EXIT STATUS"]);
    for (exit, meaning) in CODES {
        roff.control("TP", []).text([bold(exit.code().to_string())]).text([roman(meaning)]);
    }
}

fn table(roff: &mut Roff, heading: &str, rows: &[(&str, &str)]) {
    roff.control("SH", [heading]);
    for (name, meaning) in rows {
        roff.control("TP", []).text([bold(*name)]).text([roman(*meaning)]);
    }
}

/// Commands that end as another tool does.
const DIALECTS: [&str; 3] = ["iperf3", "iperf", "sockperf"];

const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATHMETER_STORE", "The store, as --store names it."),
    ("PATHMETER_LAB_DIR", "Directory of the labs that are up."),
    ("XDG_DATA_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR", "Where the files below are."),
    ("NO_COLOR", "Without colour, unless --color always is given."),
    (
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE",
        "Credentials of transfers from and to S3.",
    ),
];

const FILES: [(&str, &str); 8] = [
    (
        "$XDG_CONFIG_HOME/pathmeter/config.toml",
        "Named far ends, defaults and the store (--config, pathmeter config) [~/.config/pathmeter/config.toml].",
    ),
    ("$XDG_DATA_HOME/pathmeter/runs.db", "Runs kept with --save [~/.local/share/pathmeter/runs.db]."),
    ("/run/pathmeter/lab, $XDG_RUNTIME_DIR/pathmeter/lab", "Labs that are up, of root and of other users."),
    (
        "/var/cache/pathmeter/kernel, ~/.cache/pathmeter/kernel",
        "Kernels for virtual machines, from pathmeter lab prepare, of root and of other users.",
    ),
    ("/etc/default/pathmeter", "PATHMETER_OPTIONS of the service."),
    (
        "pathmeter.service, pathmeter.socket",
        "Units of the server for systemd; the service keeps its TLS key in /var/lib/pathmeter.",
    ),
    ("90-pathmeter.conf", "Limits of socket buffers, for sysctl.d(5)."),
    ("~/.aws/credentials", "Credentials of transfers from and to S3."),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(command: &str) -> Vec<String> {
        let mut program = Cli::command();
        program.build();
        let found = program.find_subcommand(command).expect(command);
        let text = String::from_utf8(page(found).expect("a page")).expect("text");
        text.lines().filter_map(|line| line.strip_prefix(".SH ")).map(str::to_owned).collect()
    }

    #[test]
    fn a_page_has_the_sections_a_reader_looks_for() {
        for command in ["measure", "serve", "linerate"] {
            let sections = sections(command);
            for wanted in ["NAME", "SYNOPSIS", "EXAMPLES", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES"] {
                assert!(sections.iter().any(|section| section == wanted), "{command}: {wanted} {sections:?}");
            }
            assert!(!sections.iter().any(|section| section == "EXTRA"), "{command}");
        }
    }

    #[test]
    fn headings_differ_from_examples() {
        assert!(is_heading("EXAMPLES") && is_heading("ENCAPSULATIONS (from the wire inwards)"));
        assert!(!is_heading("  pathmeter doctor") && !is_heading("A topology") && !is_heading(""));
    }

    #[test]
    fn text_before_a_heading_is_a_note_and_codes_stand_once() {
        let mut roff = Roff::new();
        help_sections(&mut roff, "Read this.\n\nEXAMPLES\n  one\n\nEXIT CODES\n  0 done");
        let text = roff.to_roff();
        assert!(text.contains(".SH NOTES\n.nf\nRead this.") && text.contains(".SH EXAMPLES"), "{text}");
        assert!(!text.contains("0 done"), "{text}");
        assert_eq!(text.matches(".nf").count(), text.matches(".fi").count(), "{text}");
    }
}

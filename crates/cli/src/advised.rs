//! Every command line that advice gives is one that this program takes.

use crate::arguments::Cli;
use crate::foreign::Refused;
use clap::{CommandFactory, Parser};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_advised_command_is_understood() {
    let commands = sources().iter().flat_map(|text| advised(text)).collect::<BTreeSet<String>>();
    assert!(commands.len() > 20, "the sources advise commands: {commands:?}");
    for command in commands {
        let parsed = Cli::try_parse_from(concrete(&command).split_whitespace());
        if let Err(error) = parsed {
            let shown = matches!(
                error.kind(),
                clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
            );
            // A command may be named without what it is given, never with what it does not take.
            let short = matches!(
                error.kind(),
                clap::error::ErrorKind::MissingRequiredArgument
                    | clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            );
            assert!(shown || short, "`{command}`: {error}");
        }
    }
}

#[test]
fn every_advised_option_exists() {
    let program = Cli::command();
    let known: BTreeSet<String> = program
        .get_subcommands()
        .chain(program.get_subcommands().flat_map(clap::Command::get_subcommands))
        .flat_map(|command| command.get_arguments())
        .chain(program.get_arguments())
        .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
        .collect();
    for text in sources() {
        for quoted in quoted(&text).filter(|quoted| quoted.starts_with("--")) {
            let option = quoted.split([' ', '=', '[']).next().unwrap_or(quoted);
            assert!(known.contains(option), "`{quoted}` is advised, and no command has {option}");
        }
    }
}

/// In the help, in the README, in the documentation and in what is packaged.
#[test]
fn every_example_is_understood() {
    let program = Cli::command();
    let helps =
        program.get_subcommands().chain(program.get_subcommands().flat_map(clap::Command::get_subcommands));
    let helps = helps.map(|command| command.clone().render_long_help().to_string());
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages =
        fs::read_dir(home.join("docs")).expect("the documentation").flatten().map(|entry| entry.path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let recipes = fs::read_dir(home.join("docs/recipes")).expect("the recipes").flatten();
    let pages = pages.chain(recipes.map(|entry| entry.path()));
    let pages = pages.chain([home.join("README.md")]).map(|path| fs::read_to_string(path).expect("a page"));
    let mut examples = helps.flat_map(|help| of_help(&help)).collect::<BTreeSet<String>>();
    examples.extend(pages.flat_map(|page| of_page(&page)));
    let packaged = ["kubernetes/daemonset.yaml", "kubernetes/job.yaml", "pathmeter.service"];
    for name in packaged {
        let manifest = fs::read_to_string(home.join("packaging").join(name)).expect("a manifest");
        let found = of_manifest(&manifest);
        assert!(!found.is_empty(), "{name} starts nothing");
        examples.extend(found);
    }
    // A sentence may begin with the name.
    examples.retain(|example| example.trim() != "pathmeter");
    assert!(examples.len() > 150, "{}", examples.len());
    let mut wrong = Vec::new();
    for example in examples {
        // Recipes for those who come from other tools have words of these.
        let args = argv(&example).into_iter().map(Into::into).collect();
        match crate::foreign::understood(&program, args) {
            Err(Refused::Foreign(failure)) => wrong.push(format!("`{example}`: {failure}")),
            Err(Refused::Clap(error))
                if !matches!(
                    error.kind(),
                    clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
                ) =>
            {
                wrong.push(format!("`{example}`: {}", error.to_string().lines().next().unwrap_or_default()));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines `pathmeter …`, whose explanation stands apart.
fn of_help(help: &str) -> Vec<String> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter(|line| line.starts_with("pathmeter ")).map(apart).collect()
}

/// The same in blocks of code.
fn of_page(page: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2);
    let blocks = blocks.filter(|block| block.starts_with("sh\n") || block.starts_with('\n'));
    let lines = blocks.map(|block| block.replace("\\\n", " ")).collect::<Vec<_>>().join("\n");
    let lines = lines.lines().map(|line| line.trim_start_matches("$ ").trim_start_matches("sudo "));
    lines.filter(|line| line.starts_with("pathmeter ")).map(apart).collect()
}

/// The arguments of a container, `args: [measure, HOST]`, and those of a unit, `PATHMETER_OPTIONS=--max-tests 32`.
fn of_manifest(manifest: &str) -> Vec<String> {
    let container = |line: &str| {
        let args = line.trim().strip_prefix("args: [")?.strip_suffix(']')?;
        let args: Vec<&str> = args.split(',').map(|arg| arg.trim().trim_matches('"')).collect();
        Some(format!("pathmeter {}", shell_words::join(args)))
    };
    let unit = |line: &str| {
        let (_, options) = line.split_once("PATHMETER_OPTIONS=")?;
        Some(format!("pathmeter serve {}", options.trim_end_matches('"')))
    };
    manifest.lines().filter_map(|line| container(line).or_else(|| unit(line))).collect()
}

fn apart(line: &str) -> String {
    line.split("  ").next().unwrap_or(line).to_owned()
}

/// The words of a line, with values in the place of names, without what is the shell's.
fn argv(line: &str) -> Vec<String> {
    // A text in quotes may go on in the next line.
    let argv = shell_words::split(line).or_else(|_| shell_words::split(&format!("{line}'")));
    let argv = argv.unwrap_or_else(|error| panic!("{error}: {line}"));
    let shells = |word: &String| ["|", ">", "&&", "&", ";"].contains(&word.as_str()) || word.starts_with('#');
    argv.into_iter().take_while(|word| !shells(word)).map(value).collect()
}

/// The sources that hold advice, without their tests. Formats of other tools speak their own language.
fn sources() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' directory");
    let mut found = Vec::new();
    for name in ["insight", "engine", "wire", "report", "lab", "lab_run", "experiment", "cli", "pathmeter"] {
        collect(&crates.join(name).join("src"), &mut found);
    }
    found
}

fn collect(directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a directory of sources").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "iperf2", "iperf3", "sockperf"].contains(&name.as_str()) {
            collect(&path, found);
        } else if name.ends_with(".rs") && !["tests.rs", "advised.rs"].contains(&name.as_str()) {
            let text = fs::read_to_string(&path).expect("a source file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let kept: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            found.push(kept.join("\n").replace("\\\n", " "));
        }
    }
}

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Command lines of this program between backticks, or alone in a string.
fn advised(text: &str) -> Vec<String> {
    let strings = text.split('"').skip(1).step_by(2);
    let all =
        quoted(text).chain(strings).filter(|argv| argv.starts_with("pathmeter ") && !argv.contains('\n'));
    let is_command = |argv: &&str| {
        let second = argv.split_whitespace().nth(1).unwrap_or_default();
        Cli::command().get_subcommands().any(|command| command.get_name() == second)
    };
    all.filter(is_command).map(|argv| argv.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The command line with values in the place of names in capitals and of what is filled in.
fn concrete(command: &str) -> String {
    let argv = command.split_whitespace().map(|word| value(word.trim_matches(['\'', ',']).to_owned()));
    argv.collect::<Vec<_>>().join(" ")
}

fn value(word: String) -> String {
    match word.as_str() {
        "ADDRESS/LENGTH" => "198.51.100.0/24".into(),
        "HOST" => "192.0.2.1".into(),
        "PORT" => "5210".into(),
        "N" => "4".into(),
        "FILE" => "file".into(),
        "GROUP" => "239.0.0.1".into(),
        "HEX" => "00".repeat(32),
        "TOPOLOGY" => "direct".into(),
        "URL" => "http://192.0.2.1/".into(),
        "…" | "..." => String::new(),
        "{host}" => "192.0.2.1".into(),
        filled if filled.starts_with('{') && filled.ends_with('}') => "7".into(),
        _ => word,
    }
}

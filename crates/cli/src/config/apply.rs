//! Changes that the configuration makes to a command line.

#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
use super::Target;
use super::{Config, Default, meant};
use crate::arguments::Cli;
#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
use crate::arguments::NamedTarget;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use engine::error::{Failure, Result};
#[cfg(feature = "store")]
use engine::host::host_port::kept_name;

impl Config {
    /// The program with the defaults of the file in its options. `typed`: the command line; options that it excludes get no
    /// default.
    ///
    /// # Errors
    /// A command or an option does not exist, or does not take the value.
    pub fn with_defaults(&self, program: Command, typed: &ArgMatches) -> Result<Command> {
        let mut changed = program.clone();
        for default in &self.defaults {
            let commands = commands_of(default, &program)?;
            for command in &commands {
                check(default, &program, command)?;
                changed = with_default(changed, command, default, typed);
            }
        }
        Ok(changed)
    }

    /// Far ends by their names, the store, and whether the result is kept.
    ///
    /// # Errors
    /// The host or the fingerprint of a target cannot be read.
    pub fn settle(&self, cli: &mut Cli) -> Result<()> {
        let mut named = None;
        for host in cli.hosts_mut() {
            let Some(target) = self.target(&host.host).filter(|_| host.port.is_none()) else { continue };
            *host = parsed(&target.host, &target.name, "host")?;
            named.get_or_insert(target);
        }
        if let (Some(target), Some((identity, link))) = (named, cli.identity_mut()) {
            identity.token_file = identity.token_file.take().or_else(|| target.token_file.clone());
            if let (None, Some(text)) = (&identity.fingerprint, &target.fingerprint) {
                identity.fingerprint = Some(parsed(text, &target.name, "fingerprint")?);
            }
            if let (Some(link @ None), Some(text)) = (link, &target.link) {
                *link = Some(parsed(text, &target.name, "link")?);
            }
        }
        #[cfg(feature = "store")]
        for target in cli.kept_targets_mut() {
            let names = target.split_whitespace().map(|name| self.target(name).map_or(name, |of| &of.host));
            *target = kept_name(&names.collect::<Vec<_>>().join(" "));
        }
        #[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
        if let Some(targets) = cli.named_targets_mut() {
            *targets = self.targets.iter().map(named_target).collect::<Result<_, _>>()?;
        }
        #[cfg(feature = "fleet")]
        if let Some(rules) = cli.agent_rules_mut() {
            rules.clone_from(&self.agent);
        }
        if let Some(keep) = cli.keep_mut().filter(|keep| self.save && !keep.no_save) {
            keep.save.get_or_insert(None);
        }
        if let Some(args) = cli.store_mut() {
            args.store = args.store.take().or_else(|| self.store.clone());
        }
        Ok(())
    }
}

/// A target as plans know it.
#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
fn named_target(target: &Target) -> Result<NamedTarget, Failure> {
    let fingerprint = target.fingerprint.as_ref();
    let link = target.link.as_ref();
    Ok(NamedTarget {
        name: target.name.clone(),
        host: parsed(&target.host, &target.name, "host")?,
        token_file: target.token_file.clone(),
        fingerprint: fingerprint.map(|text| parsed(text, &target.name, "fingerprint")).transpose()?,
        link: link.map(|text| parsed(text, &target.name, "link")).transpose()?,
    })
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    text: &str,
    target: &str,
    key: &str,
) -> Result<T, Failure> {
    text.parse().map_err(|wrong| {
        Failure::usage(
            format!("the {key} of the target `{target}`, `{text}`: {wrong}"),
            "correct the configuration: `pathmeter config path`",
        )
    })
}

/// The commands that a default is of, each as its words; of an option that every command takes none.
fn commands_of(default: &Default, program: &Command) -> Result<Vec<Vec<String>>, Failure> {
    let wrong = |what: String| {
        Failure::usage(format!("{}: {what}", default.place), "`pathmeter config show` lists what is read")
    };
    let own = |command: &Command| option(command, &default.option).is_some();
    let Some(named) = &default.command else {
        if option(program, &default.option).is_some_and(Arg::is_global_set) {
            return Ok(vec![Vec::new()]);
        }
        let having = program.get_subcommands().filter(|command| own(command));
        let found: Vec<Vec<String>> = having.map(|command| vec![command.get_name().to_owned()]).collect();
        let all = program.get_subcommands().flat_map(Command::get_arguments).filter_map(Arg::get_long);
        let unknown =
            || wrong(format!("no command has an option `{}`{}", default.option, meant(&default.option, all)));
        return if found.is_empty() { Err(unknown()) } else { Ok(found) };
    };
    let argv: Vec<String> = named.split_whitespace().map(str::to_owned).collect();
    let mut command = program;
    for word in &argv {
        let names = || command.get_subcommands().map(Command::get_name);
        let unknown = || wrong(format!("there is no command `{named}`{}", meant(word, names())));
        command = command.find_subcommand(word).ok_or_else(unknown)?;
    }
    if !own(command) {
        let names = command.get_arguments().filter_map(Arg::get_long);
        let text = format!("`{named}` has no option `{}`{}", default.option, meant(&default.option, names));
        return Err(wrong(text));
    }
    Ok(vec![argv])
}

fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// Refuses a value that the option does not take on the command line either.
fn check(default: &Default, program: &Command, command: &[String]) -> Result<(), Failure> {
    let is_flag =
        option(find(program, command), &default.option).is_some_and(|arg| !arg.get_action().takes_values());
    for value in &default.values {
        if is_flag {
            if !["true", "false"].contains(&value.as_str()) {
                let what = format!("{}: `{}` is true or false", default.place, default.option);
                return Err(Failure::usage(what, "correct the configuration"));
            }
            continue;
        }
        let argv = std::iter::once("pathmeter".to_owned())
            .chain(command.iter().cloned())
            .chain([format!("--{}={value}", default.option)]);
        let Err(error) = program.clone().try_get_matches_from(argv) else { continue };
        if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::NoEquals)
        {
            let text = error.render().to_string();
            let text = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            return Err(Failure::usage(format!("{}: {text}", default.place), "correct the configuration"));
        }
    }
    Ok(())
}

fn find<'a>(program: &'a Command, argv: &[String]) -> &'a Command {
    argv.iter().fold(program, |command, word| command.find_subcommand(word).unwrap_or(command))
}

/// The command with the default in it, unless something typed excludes the option.
fn with_default(command: Command, argv: &[String], default: &Default, typed: &ArgMatches) -> Command {
    if let Some((word, rest)) = argv.split_first() {
        let Some(inner) = typed.subcommand_matches(word) else { return command };
        return command.mut_subcommand(word, |command| with_default(command, rest, default, inner));
    }
    let Some(arg) = option(&command, &default.option) else { return command };
    let is_typed = |other: &Arg| {
        typed.try_contains_id(other.get_id().as_str()).is_ok()
            && typed.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let others = EITHER.iter().filter_map(|pair| match pair {
        [one, other] if *one == default.option => Some(*other),
        [other, one] if *one == default.option => Some(*other),
        _ => None,
    });
    let mut excluded = others.filter_map(|name| option(&command, name));
    if command.get_arg_conflicts_with(arg).into_iter().any(is_typed) || excluded.any(is_typed) {
        return command;
    }
    let id = arg.get_id().clone();
    command.mut_arg(id, |arg| arg.default_values(default.values.clone()))
}

/// Options of which a plan takes one: what is typed puts the default of the other aside.
const EITHER: [[&str; 2]; 10] = [
    ["time", "bytes"],
    ["time", "blocks"],
    ["bytes", "blocks"],
    ["reverse", "bidir"],
    ["dscp", "tos"],
    ["udp", "mss"],
    ["udp", "congestion"],
    ["udp", "nodelay"],
    ["udp", "zero-copy"],
    ["udp", "receive-discard"],
];

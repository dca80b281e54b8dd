//! Keys: what a plan file and the form of the page may set of a measurement, by the names of its options. The command line
//! defines them: a key takes what its option takes, and has the same default.

use crate::arguments::{
    FramesArgs, HopsArgs, LatencyArgs, MeasureArgs, MtuArgs, ThroughputArgs, TransferArgs,
};
use crate::request::Asks;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, Command};
use engine::error::{Failure, Result};
use engine::request::Request;
use model::toml_file::suggest;
use model::units::Nanos;
use std::error::Error;

/// A command whose keys can be set.
#[derive(Debug)]
pub struct Keyed {
    /// The command.
    pub command: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// A key that a plan must have, and how it is written.
    pub needed: Option<(&'static str, &'static str)>,
    options: fn(Command) -> Command,
    request: fn(&ArgMatches) -> Result<Request>,
}

/// A key of a command.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    form: Form,
}

/// The arguments that a key stands for.
#[derive(Debug)]
enum Form {
    /// The option of the same name: a flag where the value is `true`.
    Option,
    /// The same, once for each value between commas.
    Several,
    /// Words, each with an option; an empty one is the default.
    Words(&'static [(&'static str, &'static str)]),
    /// The argument that is no option.
    Operand,
}

/// The arguments of some keys.
#[derive(Clone, Debug, Default)]
pub struct Given {
    options: Vec<String>,
    operand: Option<String>,
}

impl Given {
    /// These and others.
    #[must_use]
    pub fn and(&self, other: &Given) -> Given {
        let options = self.options.iter().chain(&other.options).cloned().collect();
        Given { options, operand: other.operand.clone().or_else(|| self.operand.clone()) }
    }
}

/// Reads keys of one command.
#[derive(Debug)]
pub struct Reader {
    keyed: &'static Keyed,
    command: Command,
}

impl Keyed {
    /// The command of this name.
    #[must_use]
    pub fn named(command: &str) -> Option<&'static Keyed> {
        KEYED.iter().find(|keyed| keyed.command == command)
    }

    /// Reads its keys.
    #[must_use]
    pub fn reader(&'static self) -> Reader {
        Reader { keyed: self, command: (self.options)(Command::new(self.command)).no_binary_name(true) }
    }

    /// The key of this name.
    ///
    /// # Errors
    /// There is none; which name is like it.
    pub fn key(&self, name: &str) -> Result<&'static Key, String> {
        let names = self.keys.iter().map(|key| key.name);
        self.keys
            .iter()
            .find(|key| key.name == name)
            .ok_or_else(|| format!("{} has no key `{name}`{}", self.command, suggest(name, names)))
    }
}

impl Reader {
    /// The arguments of this value of a key.
    ///
    /// # Errors
    /// The reason why the key does not take the value.
    pub fn given(&mut self, key: &Key, value: &str) -> Result<Given, String> {
        let name = key.name;
        if name == "time" && value.parse().is_ok_and(|time: Nanos| time == Nanos::ZERO) {
            return Err("`time` is 0, which is until Ctrl-C: give how long, such as \"10s\"".to_owned());
        }
        let options = match key.form {
            Form::Operand => return Ok(Given { options: Vec::new(), operand: Some(value.to_owned()) }),
            Form::Words(words) => {
                let found = words.iter().find(|(word, _)| *word == value);
                let names = words.iter().map(|(word, _)| *word);
                let (_, option) =
                    found.ok_or_else(|| format!("`{name}` cannot be `{value}`{}", suggest(value, names)))?;
                option.split_terminator(' ').map(str::to_owned).collect()
            }
            Form::Several => value.split(',').map(|one| format!("--{name}={}", one.trim())).collect(),
            Form::Option => self.option(name, value)?,
        };
        let given = Given { options, operand: None };
        match self.matches(ANY, &given).err().and_then(|error| value_fault(name, value, &error)) {
            Some(fault) => Err(fault),
            None => Ok(given),
        }
    }

    /// The request that these arguments make. `host`: the far end, as on the command line; a command whose operand is a key has
    /// none.
    ///
    /// # Errors
    /// The command line refuses it: arguments exclude each other, or the host is no name.
    pub fn request(&mut self, host: &str, given: &Given) -> Result<Request> {
        let matches = self.matches(host, given).map_err(|error| {
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
            let first = lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned();
            Failure::usage(first, format!("`pathmeter {} -h` explains its options", self.keyed.command))
        })?;
        (self.keyed.request)(&matches)
    }

    /// The option of this name with a value; a flag where that is `true`.
    fn option(&self, name: &str, value: &str) -> Result<Vec<String>, String> {
        let option = self.command.get_arguments().find(|arg| arg.get_long() == Some(name));
        let takes_value = option.is_some_and(|option| option.get_action().takes_values());
        let takes_list = option.is_some_and(|option| option.get_value_delimiter().is_some());
        match (takes_value, value) {
            (true, _) if takes_list && value.contains(',') => {
                Err(format!("`{name}` takes one value; several are a list"))
            }
            (true, _) => Ok(vec![format!("--{name}={value}")]),
            (false, "true") => Ok(vec![format!("--{name}")]),
            (false, "false") => Ok(Vec::new()),
            (false, _) => Err(format!("`{name}` must be `true` or `false`")),
        }
    }

    fn matches(&mut self, host: &str, given: &Given) -> clap::error::Result<ArgMatches> {
        // Behind `--`, nothing is taken for an option.
        let operand = ["--", given.operand.as_deref().unwrap_or(host)];
        let argv = given.options.iter().map(String::as_str).chain(operand);
        self.command.try_get_matches_from_mut(argv)
    }
}

/// The fault of the value of one key; absent: the error is about a combination.
fn value_fault(name: &str, value: &str, error: &clap::Error) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidValue => {
            let Some(ContextValue::Strings(words)) = error.get(ContextKind::ValidValue) else {
                return Some(format!("`{name}` cannot be `{value}`"));
            };
            Some(format!("`{name}` cannot be `{value}`{}", suggest(value, words.iter().map(String::as_str))))
        }
        ErrorKind::ValueValidation => {
            let reason = error.source().map(ToString::to_string).unwrap_or_else(|| format!("not `{value}`"));
            Some(format!("`{name}`: {reason}"))
        }
        _ => None,
    }
}

fn request<T: Args + Asks>(matches: &ArgMatches) -> Result<Request> {
    let args = T::from_arg_matches(matches);
    args.map_err(|error| Failure::usage(error.to_string(), "correct the values"))?.request()
}

const fn option(name: &'static str) -> Key {
    Key { name, form: Form::Option }
}

const fn choice(name: &'static str, options: &'static [(&'static str, &'static str)]) -> Key {
    Key { name, form: Form::Words(options) }
}

const OBSERVE: Key = Key { name: "observe", form: Form::Several };

/// Every command that a plan or the form can request. Options that name files of this host, or where the
/// result is kept, are no keys: a plan also comes from other hosts.
pub const KEYED: [Keyed; 7] = [
    Keyed {
        command: "throughput",
        keys: &[
            option("protocol"),
            choice("transport", &[("tcp", ""), ("udp", "--udp")]),
            choice("direction", &[("up", ""), ("down", "--reverse"), ("both", "--bidir")]),
            option("port"),
            option("time"),
            option("bytes"),
            option("omit"),
            option("parallel"),
            option("pairs"),
            option("length"),
            option("bitrate"),
            option("mss"),
            option("window"),
            option("congestion"),
            option("dscp"),
            option("nodelay"),
            option("zero-copy"),
            option("receive-discard"),
            option("no-gso"),
            option("interval"),
            option("no-explain"),
            OBSERVE,
        ],
        needed: None,
        options: ThroughputArgs::augment_args,
        request: request::<ThroughputArgs>,
    },
    Keyed {
        command: "latency",
        keys: &[
            option("protocol"),
            choice("transport", &[("udp", ""), ("tcp", "--tcp")]),
            option("port"),
            option("time"),
            option("count"),
            option("size"),
            option("rate"),
            option("loaded"),
            option("parallel"),
            option("congestion"),
            option("warm-up"),
            option("dscp"),
            option("interval"),
            OBSERVE,
        ],
        needed: None,
        options: LatencyArgs::augment_args,
        request: request::<LatencyArgs>,
    },
    Keyed {
        command: "mtu",
        keys: &[option("protocol"), option("port"), option("largest"), option("encap")],
        needed: None,
        options: MtuArgs::augment_args,
        request: request::<MtuArgs>,
    },
    Keyed {
        command: "hops",
        keys: &[
            option("protocol"),
            option("port"),
            option("count"),
            option("interval"),
            option("flows"),
            option("max-hops"),
            option("size"),
        ],
        needed: None,
        options: HopsArgs::augment_args,
        request: request::<HopsArgs>,
    },
    Keyed {
        command: "frames",
        keys: &[
            option("frame"),
            choice("transport", &[("udp", ""), ("tcp", "--tests=tcp")]),
            choice("direction", &[("up", ""), ("down", "--reverse")]),
            option("port"),
            option("time"),
            option("parallel"),
            option("pairs"),
            option("no-offload"),
            option("encap"),
        ],
        needed: Some(("frame", "frame = [64, 512, 1518]")),
        // One frame over one transport is one row of a plan.
        options: |command| {
            FramesArgs::augment_args(command).mut_arg("tests", |tests| tests.default_value("udp"))
        },
        request: request::<FramesArgs>,
    },
    Keyed {
        command: "transfer",
        keys: &[
            Key { name: "url", form: Form::Operand },
            option("mtu"),
            option("size"),
            option("repeat"),
            option("mss"),
            option("congestion"),
        ],
        needed: Some(("url", "url = \"http://{host}:8080/bytes/10MB\"")),
        // The plan repeats runs.
        options: |command| {
            TransferArgs::augment_args(command).mut_arg("repeat", |repeat| repeat.default_value("1"))
        },
        request: request::<TransferArgs>,
    },
    Keyed {
        command: "measure",
        keys: &[option("port"), option("quick"), option("no-explain"), OBSERVE],
        needed: None,
        options: MeasureArgs::augment_args,
        request: request::<MeasureArgs>,
    },
];

/// A far end, where only a value is tried.
const ANY: &str = "any";

#[cfg(test)]
mod tests;

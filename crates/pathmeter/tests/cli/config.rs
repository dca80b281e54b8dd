//! The configuration: what it changes of a command line, what wins over it, and what is wrong with it.

use super::{Ended, Scratch, pathmeter, succeed};
use std::process::Command;

/// The program with this configuration, and with no other.
fn with(scratch: &Scratch, text: &str, line: &str) -> Command {
    let file = scratch.0.join("config.toml");
    std::fs::write(&file, text).expect("write the configuration");
    let mut command = pathmeter(line);
    command.env("PATHMETER_CONFIG", file);
    command
}

fn run(command: &mut Command) -> Ended {
    command.output().expect("the program starts").into()
}

#[test]
fn an_option_wins_over_the_environment_and_that_over_the_file() {
    let scratch = Scratch::new("config-precedence");
    let text = "store = \"from-file.db\"\n[defaults]\nformat = \"json\"\n[defaults.throughput]\ntime = \"3s\"\nparallel = 4\n";
    let plan = |line: &str| -> serde_json::Value {
        let ended = run(&mut with(&scratch, text, line));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).expect("a plan")
    };
    let of_file = plan("throughput 127.0.0.1 --dry-run");
    assert_eq!(
        (&of_file["test"]["streams"], &of_file["test"]["end"]["time"]),
        (&4.into(), &3_000_000_000_u64.into()),
        "{of_file}"
    );
    let typed = plan("throughput 127.0.0.1 --dry-run -P 2 -t 1s");
    assert_eq!(
        (&typed["test"]["streams"], &typed["test"]["end"]["time"]),
        (&2.into(), &1_000_000_000_u64.into())
    );
    // A typed option excludes the default: so many bytes, and no time.
    let bytes = plan("throughput 127.0.0.1 --dry-run -n 1M");
    assert!(bytes["test"]["end"]["time"].is_null(), "{bytes}");
    let history = |command: &mut Command| run(command.current_dir(&scratch.0)).stdout;
    assert!(history(&mut with(&scratch, text, "history --format text")).contains("from-file.db"));
    let report = run(with(&scratch, text, "report nothing --format html").current_dir(&scratch.0));
    assert!(report.stderr.contains("from-file.db does not exist"), "{}", report.stderr);
    let mut command = with(&scratch, text, "history --format text");
    assert!(history(command.env("PATHMETER_STORE", "from-env.db")).contains("from-env.db"));
    let mut command = with(&scratch, text, "history --format text --store typed.db");
    assert!(history(command.env("PATHMETER_STORE", "from-env.db")).contains("typed.db"));
}

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    let scratch = Scratch::new("config-wrong");
    for (text, message) in [
        (
            "[defaults.throughput]\ntme = \"3s\"",
            "config.toml:2:1: `throughput` has no option `tme`: did you mean `time`?",
        ),
        (
            "[defaults.throughptu]\ntime = \"3s\"",
            "config.toml:2:1: there is no command `throughptu`: did you mean `throughput`?",
        ),
        ("[defaults]\nbitrat = \"3M\"", "no command has an option `bitrat`: did you mean `bitrate`?"),
        (
            "[defaults.throughput]\n\n  parallel = \"many\"",
            "config.toml:3:3: invalid value 'many' for '--parallel",
        ),
        ("[defaults.throughput]\nudp = 1", "config.toml:2:1: `udp` is true or false"),
        ("[thresholds]\nmargin = 200", "config.toml:2:1: invalid value '200'"),
        ("stor = \"a\"", "config.toml:1:1: unknown key `stor`: did you mean `store`?"),
    ] {
        let ended = run(&mut with(&scratch, text, "linerate --link 25G"));
        assert_eq!(ended.code, Some(2), "{text}\n{}", ended.stderr);
        assert!(ended.stderr.contains(message), "{text}\n{}", ended.stderr);
        // Commands that help with the file work all the same.
        assert_eq!(run(&mut with(&scratch, text, "config template")).code, Some(0));
        assert_eq!(run(&mut with(&scratch, text, "config path")).code, Some(0));
    }
    let gone = run(pathmeter("linerate --link 25G").args(["--config", "/no/such/file"]));
    assert_eq!(gone.code, Some(2), "{}", gone.stderr);
    assert!(gone.stderr.contains("read /no/such/file"), "{}", gone.stderr);
}

#[test]
fn what_is_read_is_shown_without_a_password() {
    let scratch = Scratch::new("config-show");
    let text = "store = \"postgres://a:secret@db/x\"\nsave = true\n[targets.office]\nhost = \"127.0.0.1:1\"\n[defaults]\nformat = \"json\"\n";
    for format in ["text", "json", "csv", "html", "markdown"] {
        let shown = run(with(&scratch, text, "config show").args(["--format", format]));
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        assert!(!shown.stdout.contains("secret"), "{}", shown.stdout);
    }
    let shown = run(&mut with(&scratch, text, "config show")).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON, as the file states");
    assert_eq!(shown["targets"][0]["name"], "office");
    assert_eq!((&shown["save"], &shown["store"]), (&true.into(), &"postgres://a@db/x".into()));
    assert!(succeed("config template").contains("[targets.office]"));
}

#[test]
fn a_target_has_a_name() {
    let scratch = Scratch::new("config-target");
    let text = "[targets.office]\nhost = \"127.0.0.1:4321\"\nlink = \"25G\"\n";
    let ended = run(&mut with(&scratch, text, "throughput office --dry-run --json"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let plan: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a plan");
    assert_eq!(plan["target"]["address"], "127.0.0.1:4321", "{plan}");
    assert!(ended.stdout.contains("25000000000"), "{plan}");
    let wrong = "[targets.office]\nhost = \"a b\"\n";
    let ended = run(&mut with(&scratch, wrong, "throughput office --dry-run"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("the host of the target `office`, `a b`"), "{}", ended.stderr);
}

/// The token of a target reaches every command that meets a server there.
#[test]
fn a_targets_token_is_every_commands() {
    let scratch = Scratch::new("config-token");
    let text = "[targets.office]\nhost = \"127.0.0.1:4321\"\ntoken_file = \"/no/such/token\"\n";
    for line in [
        "measure office",
        "throughput office",
        "latency office",
        "mtu office",
        "frames office --link 1G",
        "hops office",
        "rfc2544 eth0@office eth1 --quick",
    ] {
        let ended = run(&mut with(&scratch, text, line));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("/no/such/token"), "{line}: {}", ended.stderr);
    }
}

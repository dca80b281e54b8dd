//! The commands of the README and of docs/commands.md are executed as they stand there, apart from the host's name and the time
//! they take.

use super::lab::{Net, SERVER};
use super::support::{Running, pathmeter};

#[test]
fn the_commands_of_the_readme_work() {
    let commands = commands();
    let Some(net) = Net::new("the_commands_of_the_readme_work") else { return };
    let servers: Vec<&String> = commands.iter().filter(|command| command.starts_with("serve")).collect();
    let all = "serve --iperf3 --iperf2 --sockperf --stamp --twamp --http";
    let ports = "serve --frames-port eth1";
    assert_eq!(
        servers,
        ["serve", "serve --http", all, "serve --max-time 24h", ports],
        "the servers that the README names"
    );
    // One does all that those before it do, so it alone is enough; the first must start. Ports have tests of their own.
    let plain = Running::start(pathmeter(Some(&net.server), &["serve"]));
    plain.wait_for("listening on");
    plain.signal("TERM");
    plain.end().code(0);
    let server = Running::start(pathmeter(Some(&net.server), &all.split(' ').collect::<Vec<_>>()));
    server.wait_for("iPerf3");
    let saved = std::env::temp_dir().join(format!("pathmeter-readme-{}.ndjson", std::process::id()));
    // Files of other tools, a service of another kind, the lab and the mesh have tests of their own.
    let ours = |command: &&String| {
        let other = ["serve", "lab", "agent", "mesh"].iter().any(|other| command.starts_with(other));
        // Interfaces around a device are not everywhere; their plan is.
        let ports = command.contains("eth1") && !command.contains("--dry-run");
        // Commands without an end are left out, too.
        let endless = command.contains("-t 0") || command.starts_with("watch");
        !other && !ports && !endless && !command.contains("FILE") && !command.contains("--service")
    };
    for command in commands.iter().filter(ours) {
        let line = command
            .replace("HOST", SERVER)
            .replace("server.example", SERVER)
            .replace("-t 5", "-t 1")
            .replace("-t 60", "-t 1");
        let line = line.replace("paths.ndjson", saved.to_str().expect("a plain path"));
        let mut args: Vec<&str> = line.split_whitespace().collect();
        args.extend(shorter(args[0]));
        let ended = net.client(&args);
        assert_eq!(ended.code, Some(0), "pathmeter {line}\n{}\n{}", ended.stdout, ended.stderr);
        assert!(!ended.stdout.is_empty(), "pathmeter {line}");
    }
    server.signal("TERM");
    server.end().code(0);
    std::fs::remove_file(saved).expect("the README saves a result");
}

#[test]
fn every_option_and_format_the_readme_names_exists() {
    let text = pages();
    let commands = [
        "--help",
        "throughput --help",
        "latency --help",
        "serve --help",
        "measure --help",
        "mtu --help",
        "hops --help",
        "watch --help",
        "transfer --help",
        "sockperf pp --help",
        "frames --help",
        "lab run --help",
        "rfc2544 --help",
        "agent run --help",
        "mesh init --help",
        "mesh run --help",
    ];
    let help = commands.map(|line| {
        let args: Vec<&str> = line.split_whitespace().collect();
        Running::start(pathmeter(None, &args)).end().code(0).stdout
    });
    let help = help.concat();
    let mut named = 0;
    for word in text.split(['`', ' ', '\n', '=']).filter(|word| word.starts_with("--") && word.len() > 2) {
        // Options of cargo.
        if ["--locked", "--path", "--release"].contains(&word) {
            continue;
        }
        let known = ["--link", "--goodput", "--payload", "--get-server-output"];
        assert!(help.contains(word) || known.contains(&word), "{word} is in no help text");
        named += 1;
    }
    assert!(named > 8, "the README names options: {named}");
}

/// Options that make a command take a second and not ten.
fn shorter(command: &str) -> &'static [&'static str] {
    match command {
        "demo" | "measure" | "frames" => &["--quick"],
        "throughput" | "latency" => &["--time", "1s"],
        "transfer" => &["--repeat", "1"],
        "rfc2544" => &["--tests", "mrr", "--frame", "512"],
        "iperf3" => &["-t", "1"],
        _ => &[],
    }
}

/// Everything after `pathmeter` in the pages' code, once each.
fn commands() -> Vec<String> {
    let text = pages();
    let blocks = text.split("```").skip(1).step_by(2).flat_map(str::lines);
    let prose = text.split("```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2));
    let mut commands = Vec::new();
    for code in blocks.chain(prose) {
        let rest = code.strip_prefix("pathmeter ").filter(|rest| !rest.contains("COMMAND"));
        let Some(rest) = rest.map(str::to_owned) else { continue };
        if !commands.contains(&rest) {
            commands.push(rest);
        }
    }
    assert!(commands.len() > 8, "{commands:?}");
    commands
}

fn pages() -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name| std::fs::read_to_string(root.join(name)).expect(name);
    ["README.md", "docs/commands.md"].map(page).concat()
}

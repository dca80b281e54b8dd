//! `pathmeter lab up`, `exec`, `down` and `sweep`: a lab that stays, is looked into, and goes, however its end comes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and states why it skips")]

#[path = "peers/program.rs"]
mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn a_lab_stays_is_looked_into_and_goes() {
    let Some(site) = LabDirectory::new("stays") else { return };
    let up = site.ok("up forward --name one");
    assert!(up.contains("pathmeter lab down one"), "{up}");
    // The only lab that is up need not be named.
    let ping = site.ok("exec client -- ping -c 1 -W 10 198.51.100.2");
    assert!(ping.contains("ttl=63"), "{ping}");
    assert_eq!(site.lab("exec client -- sh -c [exit,7]").status.code(), Some(7));
    assert_eq!(site.lab("exec client -- sh -c [kill,-TERM,$$]").status.code(), Some(128 + 15));
    site.refused(127, "exec client -- no-such-program", "start no-such-program in client");
    site.refused(2, "exec absent -- true", "there is no node absent; there is client, router, server");

    site.refused(2, "up forward --name one", "a lab named one is up");
    site.ok("up direct --name two");
    site.refused(2, "exec client -- true", "several labs are up (one, two): say which with --lab");
    site.ok("exec --lab two client -- ping -c 1 -W 10 192.0.2.2");
    site.ok("down two");
    site.ok("exec client -- ping -c 1 -W 10 198.51.100.2");

    let holder = site.holder("one");
    site.ok("down one");
    wait_until("the holder is collected", || !Path::new(&format!("/proc/{holder}")).exists());
    assert_eq!(site.files(), Vec::<String>::new());
    site.refused(2, "down one", "no lab named one is up, nor any other");
    site.refused(2, "exec client -- true", "no lab is up");
    assert!(site.ok("down --all").is_empty());
}

/// The three processes that stand for a lab: the holder, its init, and the one that waits for both.
#[test]
fn whichever_process_is_killed_all_of_the_lab_goes() {
    let Some(site) = LabDirectory::new("killed") else { return };
    // Seconds that no other process on this machine sleeps.
    let [daemon, command] = [1, 2].map(|digit| format!("{}{digit}", 900_000_000 + std::process::id()));
    for generation in 0..3 {
        // The name needs no sweeping to be used again.
        site.ok("up direct --name doomed");
        // The daemon leaves its terminal and its parent.
        site.ok(&format!("exec client -- sh -c [setsid,sleep,{daemon},>/dev/null,2>&1,&]"));
        wait_until("the daemon runs", || sleeps(&daemon));
        let mut running = site.command(&format!("exec client -- sleep {command}")).spawn().unwrap();
        wait_until("the command runs", || sleeps(&command));
        let victim = (0..generation).fold(site.holder("doomed"), |pid, _| parent(&pid));
        kill(&victim);
        wait_until("what ran in the lab is gone", || !sleeps(&daemon) && !sleeps(&command));
        assert_eq!(running.wait().unwrap().code(), Some(128 + 9));
        site.refused(2, "exec client -- true", "no lab is up");
        assert_eq!(site.files(), ["doomed.json"]);
    }
    assert!(site.ok("sweep --dry-run").contains("doomed.json"));
    assert_eq!(site.files(), ["doomed.json"]);
    assert!(site.ok("sweep").contains("doomed.json"));
    assert_eq!(site.files(), Vec::<String>::new());
    assert!(site.ok("sweep").contains("nothing is left behind"));
}

#[test]
fn an_exec_that_is_killed_takes_its_command_along() {
    let Some(site) = LabDirectory::new("exec") else { return };
    let seconds = format!("{}3", 900_000_000 + std::process::id());
    site.ok("up direct");
    let mut running = site.command(&format!("exec client -- sleep {seconds}")).spawn().unwrap();
    wait_until("the command runs", || sleeps(&seconds));
    running.kill().unwrap();
    running.wait().unwrap();
    wait_until("the command is gone", || !sleeps(&seconds));
    site.ok("down direct");
}

#[test]
fn a_run_that_is_killed_leaves_no_process() {
    let Some(mut site) = LabDirectory::new("run") else { return };
    // A name by which all that it starts is known.
    let program = site.directory.join("pathmeter-of-this-test");
    self::program::link_program(&program);
    site.program.clone_from(&program);
    let running = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.starts_with(program.to_str().unwrap())).collect::<Vec<_>>()
    };
    let mut run = site.command("run direct --tests tcp -t 60s").stderr(Stdio::null()).spawn().unwrap();
    wait_until("a server runs in the lab", || running().iter().any(|line| line.contains("\0serve\0")));
    kill(&run.id().to_string());
    run.wait().unwrap();
    wait_until("all of it is gone", || running().is_empty());
}

#[test]
fn sweeping_leaves_the_living_alone() {
    let Some(site) = LabDirectory::new("living") else { return };
    site.ok("up direct --name alive");
    fs::write(site.directory.join("torn.json"), "{\"name\":").unwrap();
    assert!(site.ok("sweep").contains("torn.json"));
    assert_eq!(site.files(), ["alive.json"]);
    site.ok("exec client -- true");
}

#[test]
fn what_cannot_be_put_back_is_kept_and_the_rest_goes() {
    let Some(site) = LabDirectory::new("kept") else { return };
    let record = r#"{"name":"nosuch0","inside":"eth9","mtu":1500,"mac":null,"is_up":true,"addresses":[],"pid":1,"started":0}"#;
    fs::write(site.directory.join("nosuch0.interface"), record).unwrap();
    fs::write(site.directory.join("torn.json"), "{\"name\":").unwrap();
    let output = site.command("sweep").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("torn.json") && text.contains("kept: ") && text.contains("nosuch0 is not there"),
        "{text}"
    );
    assert!(site.directory.join("nosuch0.interface").exists() && !site.directory.join("torn.json").exists());
}

/// A physical interface comes back under the name it had in the lab; a veth stands for it here.
#[test]
fn sweeping_makes_an_interface_what_it_was() {
    let Some(site) = LabDirectory::new("interface") else { return };
    let record = r#"{"name": "back0", "inside": "eth0", "mtu": 1400, "mac": [2, 0, 0, 0, 0, 9], "is_up": true,
        "addresses": [["192.0.2.9", 24], ["2001:db8::9", 64]], "pid": 1, "started": 1}"#;
    fs::write(site.directory.join("back0.interface"), record).unwrap();
    let script = "ip link add eth0 address 02:00:00:00:00:09 type veth peer name other && \"$@\" && ip address show back0";
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_pathmeter"), "lab", "sweep"]);
    let output = site.with_directory(&mut command).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["back0.interface", "mtu 1400", "192.0.2.9/24", "2001:db8::9/64"] {
        assert!(text.contains(part), "{part}: {output:?}");
    }
    assert!(!site.directory.join("back0.interface").exists());
}

#[test]
fn an_ordinary_user_needs_no_root() {
    let Some(site) = LabDirectory::new("rootless") else { return };
    let site = site.unprivileged();
    let up = site.lab("up forward");
    let text = String::from_utf8_lossy(&up.stderr).into_owned();
    if text.contains("user namespaces") {
        skip::skip(format!("no user namespaces here: {text}"));
        return;
    }
    assert!(up.status.success(), "{text}");
    let ping = site.ok("exec client -- ping -c 1 -W 10 2001:db8:2::2");
    assert!(ping.contains("1 received"), "{ping}");
    let holder = site.holder("forward");
    kill(&holder);
    wait_until("the holder is gone", || !Path::new(&format!("/proc/{holder}")).exists());
    site.refused(2, "exec client -- true", "no lab is up");
    site.ok("sweep");
    site.ok("up forward");
    site.ok("down --all");
}

#[test]
fn without_any_right_the_remedy_is_reported() {
    let Some(site) = LabDirectory::new("rights") else { return };
    // Root of a user namespace that may make no other, and has no rights in it.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-r", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_pathmeter"), "lab", "up", "forward"]);
    let output = site.with_directory(&mut command).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("needs root or user namespaces") && text.contains("run it with sudo"), "{text}");
    assert_eq!(site.files(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_built_is_reported_and_leaves_nothing() {
    let Some(site) = LabDirectory::new("faulty") else { return };
    site.refused(2, "up no-such-topology", "no-such-topology");
    site.refused(2, "up /no/such/file.toml", "/no/such/file.toml");
    let out = site.lab("up forward --name a/b");
    assert!(
        !out.status.success() && String::from_utf8_lossy(&out.stderr).contains("a lab's name is made of")
    );
    let broken = site.directory.join("broken.toml");
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/topologies/direct.toml")).unwrap();
    let wrong = "[nodes.server]\nrules = \"table inet x { nonsense }\"";
    fs::write(&broken, text.replacen("[nodes.server]", wrong, 1)).unwrap();
    let out = site.lab(&format!("up {}", broken.display()));
    let printed = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && printed.contains("node server: nft: "), "{printed}");
    assert_eq!(site.files(), Vec::<String>::new());
}

/// A directory of labs for one test, and what runs the program on it.
struct LabDirectory {
    directory: PathBuf,
    program: PathBuf,
    is_unprivileged: bool,
}

impl LabDirectory {
    /// `None` without the rights.
    fn new(name: &str) -> Option<Self> {
        let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        if !root {
            skip::skip("needs root");
            return None;
        }
        let directory =
            std::env::temp_dir().join(format!("pathmeter-lab-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        Some(Self { directory, program: env!("CARGO_BIN_EXE_pathmeter").into(), is_unprivileged: false })
    }

    /// The same for an ordinary user, who may not even see where the program was built.
    fn unprivileged(mut self) -> Self {
        let program = std::env::temp_dir().join(format!("pathmeter-lab-test-{}", std::process::id()));
        self::program::link_program(&program);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&self.directory, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        (self.program, self.is_unprivileged) = (program, true);
        self
    }

    /// Words are set apart by blanks; one in brackets has commas for its own.
    fn command(&self, argv: &str) -> Command {
        let mut command = if self.is_unprivileged {
            let mut command = Command::new("setpriv");
            command.args([
                format!("--reuid={UNPRIVILEGED}"),
                format!("--regid={UNPRIVILEGED}"),
                "--clear-groups".into(),
            ]);
            command.arg(&self.program);
            command
        } else {
            Command::new(&self.program)
        };
        let argv = argv.split(' ').map(|word| {
            match word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
                Some(argv) => argv.replace(',', " "),
                None => word.to_owned(),
            }
        });
        command.arg("lab").args(argv).stdin(Stdio::null());
        self.with_directory(&mut command);
        command
    }

    fn with_directory<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PATHMETER_LAB_DIR", &self.directory)
    }

    fn lab(&self, argv: &str) -> Output {
        self.command(argv).output().unwrap()
    }

    fn ok(&self, argv: &str) -> String {
        let output = self.lab(argv);
        assert!(output.status.success(), "{argv}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, code: i32, argv: &str, why: &str) {
        let output = self.lab(argv);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{argv}: {text}");
        assert!(text.contains(why), "{argv}: {text}");
    }

    /// The labs' files.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.directory).unwrap().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
        names.sort();
        names
    }

    fn holder(&self, name: &str) -> String {
        let text = fs::read_to_string(self.directory.join(format!("{name}.json"))).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["pid"].to_string()
    }
}

impl Drop for LabDirectory {
    fn drop(&mut self) {
        let _ = self.lab("down --all");
        let _ = fs::remove_dir_all(&self.directory);
        if self.is_unprivileged {
            let _ = fs::remove_file(&self.program);
        }
    }
}

/// Whether a process sleeps for so long.
fn sleeps(seconds: &str) -> bool {
    let argv = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_it = |path: PathBuf| fs::read(path.join("cmdline")).is_ok_and(|line| line == argv.as_bytes());
    processes.map(|entry| entry.path()).any(is_it)
}

fn parent(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().to_owned()
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let observed = (0..1000).any(|_| {
        happened() || {
            thread::sleep(Duration::from_millis(10));
            false
        }
    });
    assert!(observed, "not within ten seconds: {what}");
}

const UNPRIVILEGED: u32 = 65534;

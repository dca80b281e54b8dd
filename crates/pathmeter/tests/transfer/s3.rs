//! S3 against a real server of it, s3s-fs, which checks every signature.

use super::common::{transfer, transfers};
use super::support::{Ended, Running, Scratch, free_port, pathmeter, skip};
use linux::privilege::{Capabilities, Capability};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const KEY: &str = "AKIATEST";
const SECRET: &str = "a-secret/with+signs=";

/// The server at work over a directory, with the bucket `files`.
struct S3 {
    _server: Running,
    endpoint: String,
    port: u16,
    scratch: Scratch,
}

/// Absent, after saying why, where it is not installed.
fn s3(test: &str) -> Option<S3> {
    let Some(binary) = installed() else {
        skip(test, "it needs s3s-fs: `scripts/test` installs it");
        return None;
    };
    let scratch = Scratch::new(test);
    let root = PathBuf::from(scratch.file("root", None));
    std::fs::create_dir_all(root.join("files")).unwrap();
    let port = free_port();
    let mut command = Command::new(binary);
    command.args([
        "--host",
        "127.0.0.1",
        "--port",
        &port.to_string(),
        "--access-key",
        KEY,
        "--secret-key",
        SECRET,
    ]);
    command.args(["--domain", &format!("localhost:{port}")]).arg(&root);
    let server = Running::start(command);
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "s3s-fs does not listen: {}", server.output_so_far());
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(S3 { _server: server, endpoint: format!("http://127.0.0.1:{port}"), port, scratch })
}

fn installed() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(cargo.map(|home| home.join("bin")));
    places.map(|place| place.join("s3s-fs")).find(|file| file.is_file())
}

/// `pathmeter transfer` with these keys.
#[track_caller]
fn with(key: &str, secret: &str, argv: &[&str]) -> Ended {
    let mut command = pathmeter(None, &[&["transfer"], argv].concat());
    command.env("AWS_ACCESS_KEY_ID", key).env("AWS_SECRET_ACCESS_KEY", secret);
    for name in ["AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"] {
        command.env_remove(name);
    }
    Running::start(command).end()
}

#[test]
fn objects_go_up_and_come_down() {
    let Some(s3) = s3("objects") else { return };
    let (object, endpoint) = ("s3://files/a dir/ünï+1", s3.endpoint.as_str());
    let up = with(KEY, SECRET, &[object, "--endpoint", endpoint, "--size", "2MB", "-n", "2", "--json"])
        .code(0)
        .json();
    assert!(transfers(&up).iter().all(|one| one["status"] == 200 && one["bytes"] == 2_000_000), "{up:#}");
    let down = with(KEY, SECRET, &[object, "--endpoint", endpoint, "-n", "2", "--json"]).code(0).json();
    assert!(transfers(&down).iter().all(|one| one["status"] == 200 && one["bytes"] == 2_000_000), "{down:#}");
    assert_eq!(
        (&down["work"]["transfer"]["s3"]["access_key"], &down["work"]["transfer"]["files"][0]["url"]),
        (&KEY.into(), &object.into())
    );
    for run in [&up, &down] {
        assert!(!run.to_string().contains(SECRET) && !run.to_string().contains("Signature"), "{run:#}");
    }
    // A file of this host arrives as it is.
    let text = "the very same bytes\n".repeat(1000);
    let file = s3.scratch.file("file", Some(&text));
    with(KEY, SECRET, &["s3://files/copy", "--endpoint", endpoint, "--file", &file, "-n", "1"]).code(0);
    assert_eq!(std::fs::read_to_string(s3.scratch.file("root", None) + "/files/copy").unwrap(), text);
}

#[test]
fn a_bucket_may_be_part_of_the_hosts_name() {
    let Some(s3) = s3("virtual-host") else { return };
    let endpoint = format!("http://localhost:{}", s3.port);
    with(KEY, SECRET, &["s3://files/x", "--endpoint", &s3.endpoint, "--size", "5000", "-n", "1"]).code(0);
    // Not every resolver knows names below localhost (RFC 6761 section 6.3): this process gets a table of its own.
    if !Capabilities::of_this_thread().is_ok_and(|rights| rights.has(Capability::SysAdmin)) {
        return skip("virtual-host", "it mounts a table of hosts for one process, which needs root");
    }
    let table = s3.scratch.file("hosts", Some("127.0.0.1 localhost files.localhost\n"));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\"", &table]);
    command.args([env!("CARGO_BIN_EXE_pathmeter"), "transfer", "s3://files/x", "--endpoint", &endpoint]);
    command.args(["--bucket-in", "host", "-n", "1", "-4", "--json"]);
    command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET).env_remove("AWS_PROFILE");
    let run = Running::start(command).end().code(0).json();
    let transfer = &transfers(&run)[0];
    assert_eq!(
        (&transfer["bytes"], &run["work"]["transfer"]["s3"]["path_style"]),
        (&5000.into(), &false.into()),
        "{run:#}"
    );
    assert_eq!(run["work"]["transfer"]["files"][0]["address"], format!("127.0.0.1:{}", s3.port));
}

#[test]
fn wrong_keys_and_missing_objects_are_reported_in_s3s_words() {
    let Some(s3) = s3("wrong") else { return };
    let endpoint = ["--endpoint", s3.endpoint.as_str()];
    let ask = |key: &str, secret: &str, url: &str, argv: &[&str]| {
        with(key, secret, &[&[url], endpoint.as_slice(), argv].concat())
    };
    ask(KEY, SECRET, "s3://files/x", &["--size", "1000", "-n", "1"]).code(0);
    for argv in [&[][..], &["--size", "5MB"]] {
        let ended = ask(KEY, "wrong", "s3://files/x", argv).code(3);
        ended.prints("HTTP 403").prints("SignatureDoesNotMatch").prints("AWS_SECRET_ACCESS_KEY");
    }
    let refused = ask("AKIAUNKNOWN", SECRET, "s3://files/x", &[]).code(3);
    refused.prints("HTTP 403").prints("(S3)").prints("files/x");
    ask(KEY, SECRET, "s3://files/nothing", &[]).code(3).prints("HTTP 404").prints("NoSuchKey");
    ask(KEY, SECRET, "s3://elsewhere/x", &[]).code(3).prints("(S3)");
    ask(KEY, SECRET, "s3://files/x", &["--method", "post", "--size", "1"]).code(2).prints("PUT");
}

#[test]
fn keys_come_from_a_profile_too_and_their_want_is_reported() {
    let Some(s3) = s3("profile") else { return };
    let text =
        format!("[lab]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\nregion = lab-1\n");
    let file = s3.scratch.file("credentials", Some(&text));
    let none = s3.scratch.file("none", None);
    let run = |argv: &[&str]| {
        let all =
            [&["transfer", "s3://files/x", "--endpoint", &s3.endpoint, "--json", "-n", "1"], argv].concat();
        let mut command = pathmeter(None, &all);
        command.env("AWS_SHARED_CREDENTIALS_FILE", &file).env("AWS_CONFIG_FILE", &none);
        for name in
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"]
        {
            command.env_remove(name);
        }
        Running::start(command).end()
    };
    let plan = run(&["--size", "1000", "--profile", "lab"]).code(0).json();
    assert_eq!(
        (&plan["work"]["transfer"]["s3"]["region"], &plan["verdict"]["status"]),
        (&"lab-1".into(), &"ok".into())
    );
    run(&[]).code(2).prints("S3 needs keys").prints("profile `default`").prints("AWS_ACCESS_KEY_ID");
    run(&["--profile", "far"]).code(2).prints("profile `far`");
}

/// What was signed for one object opens no other, and the signature is not shown.
#[test]
fn a_signed_url_is_transferred_like_any_other() {
    let Some(s3) = s3("signed") else { return };
    with(KEY, SECRET, &["s3://files/x", "--endpoint", &s3.endpoint, "--size", "1000", "-n", "1"]).code(0);
    let url = format!("{}/files/x?X-Amz-Signature=wrong", s3.endpoint);
    let ended = transfer(&[&url]).code(3);
    assert!(!ended.stderr.contains("X-Amz-Signature=wrong"), "{}", ended.stderr);
    ended.prints("HTTP 4");
}

//! Authentication: tokens, TLS, and the messages at each end when they do not match. And hosts that are not there.

use super::support::{Scratch, Server, free_port, run};
use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};

#[test]
fn a_token_is_asked_for_and_proved() {
    let scratch = Scratch::new("token");
    let right = scratch.file("right", Some("a long random line\n"));
    let wrong = scratch.file("wrong", Some("another long random line\n"));
    let empty = scratch.file("empty", Some("\n"));
    let missing = scratch.file("missing", None);
    let server = Server::start(&["--token-file", &right]);
    let host = server.host();
    for command in ["throughput", "measure"] {
        let try_with = |args: &[&str]| run(&[&[command, &host], args].concat());
        let small = if command == "measure" { &["--quick"][..] } else { &["-n", "100K"] };
        try_with(&[&["--token-file", &right], small].concat()).code(0);
        let ended = try_with(&["--token-file", &wrong]).code(3).prints("the token is not this server's");
        let ended = ended.prints("--token-file").prints(&host);
        assert!(!(ended.stdout + &ended.stderr).contains("random line"), "the token itself is never shown");
        try_with(&[]).code(3).prints("this server wants a token").prints("--token-file").prints(&host);
        try_with(&["--token-file", &empty]).code(2).prints(&empty);
        try_with(&["--token-file", &missing]).code(2).prints(&missing);
    }
    assert!(!server.process.output_so_far().contains("random line"));
    server.stop().prints("refused the client");
    let short = scratch.file("short", Some("fifteen bytes..\n"));
    run(&["serve", "--bind", "127.0.0.1", "--token-file", &short]).code(2).prints("fewer than 16 bytes");
    std::fs::set_permissions(&right, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    run(&["serve", "--bind", "127.0.0.1", "--token-file", &right]).code(2).prints("chmod 600");
}

#[test]
fn an_open_server_reports_it_and_warns_the_client_with_a_token() {
    let scratch = Scratch::new("open");
    let token = scratch.file("token", Some("a long line, unused\n"));
    let server = Server::start(&[]);
    let run = server.measured(&["-n", "100K", "--token-file", &token]);
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["id"] == "token-not-asked"), "{warnings:?}");
    let text = server.stop().stderr;
    assert!(!text.contains("open to everyone"), "on the loopback no other host can reach it: {text}");
}

#[test]
fn tls_knows_its_server_by_the_fingerprint() {
    let scratch = Scratch::new("tls");
    let token = scratch.file("token", Some("a long random line\n"));
    for with_token in [&[][..], &["--token-file", &token]] {
        let server = Server::start(&[&["--tls"], with_token].concat());
        let print = fingerprint(&server);
        for test in [&["-n", "100K"][..], &["-n", "100K", "-u", "-b", "10M", "--bidir"]] {
            let args = [&["--tls", "--fingerprint", &print], test, with_token].concat();
            assert_ne!(server.measured(&args)["verdict"]["status"], "void");
        }
        let wrong = "ab".repeat(32);
        let ended = server.throughput(&[&["--fingerprint", &wrong], with_token].concat()).code(3);
        ended.prints("is not the server that was expected").prints(&print).prints("--fingerprint");
        let ended = server.throughput(with_token).code(3);
        ended.prints("encrypts its control connections").prints("--fingerprint").prints(&server.host());
        server.throughput(&["--tls"]).code(2).prints("--fingerprint");
    }
}

#[test]
fn a_kept_key_is_the_same_server_after_a_restart() {
    let scratch = Scratch::new("tls-key");
    let key = scratch.file("tls.pem", None);
    let printed = || {
        let server = Server::start(&["--tls", "--tls-key", &key]);
        let print = fingerprint(&server);
        server.measured(&["-n", "100K", "--tls", "--fingerprint", &print]);
        server.stop();
        print
    };
    let first = printed();
    assert_eq!(printed(), first);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&key).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&key, open).unwrap();
    let args = ["serve", "--bind", "127.0.0.1", "-p", &free_port().to_string(), "--tls", "--tls-key", &key];
    run(&args).code(2).prints("read by others").prints("chmod 600");
    let garbage = scratch.file("garbage.pem", Some("no key"));
    run(&[&args[..7], &[garbage.as_str()]].concat()).prints("garbage.pem");
}

/// Ends a connection after so many bytes of the server: of the handshake, of the dialogue, of the test.
fn cut_after(server: u16, most: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (mut up, mut to_far) = (client.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut up, &mut to_far));
            std::thread::spawn(move || {
                let mut down = (&far).take(most as u64);
                let _ = std::io::copy(&mut down, &mut &client);
                [&client, &far].iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
            });
        }
    });
    address
}

#[test]
fn tls_that_is_cut_is_named_wherever_it_is_cut() {
    let server = Server::start(&["--tls"]);
    let print = fingerprint(&server);
    for most in [100, 500, 900, 1_500, 2_500] {
        let host = cut_after(server.port, most);
        for test in [&["throughput", "-t", "20s"][..], &["latency", "-t", "20s", "--tcp"]] {
            let (command, more) = test.split_first().unwrap();
            let args = [&[*command, &host, "--fingerprint", &print], more].concat();
            let ended = run(&args).code(3);
            let is_named =
                ["closed the connection", "reset the connection"].map(|text| ended.stderr.contains(text));
            assert!(is_named.contains(&true), "{most}: {args:?}: {}", ended.stderr);
            assert!(!ended.stderr.contains("os error"), "{most}: {args:?}: {}", ended.stderr);
        }
    }
    server.stop();
}

#[test]
fn tls_with_a_server_that_has_none() {
    let server = Server::start(&[]);
    let ended = server.throughput(&["--fingerprint", &"ab".repeat(32)]).code(3);
    ended.prints("closed the connection when TLS was asked for").prints("pathmeter serve --tls");
    server.process.wait_for("runs without --tls");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = silent.local_addr().unwrap().to_string();
    let args = ["throughput", &host, "--connect-timeout", "1s", "--fingerprint", &"ab".repeat(32)];
    run(&args).code(3).prints("does not answer when TLS is asked for");
}

#[test]
fn hosts_that_are_not_there() {
    let absent = format!("127.0.0.1:{}", free_port());
    for command in ["throughput", "measure"] {
        run(&[command, "no-such-host.invalid"]).code(3).prints("no-such-host.invalid").prints("getent hosts");
        run(&[command, &absent]).code(3).prints(&absent).prints("start `pathmeter serve` there");
    }
}

/// The fingerprint that the server printed.
fn fingerprint(server: &Server) -> String {
    server.process.wait_for("--fingerprint ");
    let text = server.process.output_so_far();
    let at = text.find("--fingerprint ").expect("just waited for") + "--fingerprint ".len();
    text[at..].split_whitespace().next().expect("it follows").to_owned()
}

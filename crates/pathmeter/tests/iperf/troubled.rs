//! Failures, and the other modes: no server, interrupts, return connections, bounceback, connects alone.

use super::process::{Rows, Running, Server, Tool, client_run, command, free_port, played, played_until};

#[test]
fn an_absent_server_is_reported_with_advice() {
    let ended = client_run(Tool::Ours, "-t 1", free_port());
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("connect failed: ") && ended.stderr.contains("refused"), "{ended:#?}");
}

#[test]
fn an_unknown_option_is_refused() {
    for (args, sentence) in [
        ("--no-such-option", "unrecognized option '--no-such-option'"),
        ("--l2checks", "--l2checks is not served"),
    ] {
        let ended = client_run(Tool::Ours, args, 5001);
        assert!(ended.code == Some(1) && ended.stderr.contains(sentence), "{ended:#?}");
    }
}

/// Ctrl-C ends a test with the rows of what it was.
#[test]
fn an_interrupt_prints_the_end() {
    let port = free_port();
    let server = Server::start(Tool::Ours, "-s", port);
    let client = Running::start(command(Tool::Ours, "-c 127.0.0.1 -t 60 -P 2 -i 1", port));
    client.wait_for("[SUM] 0.0000-");
    client.signal("INT");
    let ended = client.wait();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:#?}");
    let wholes =
        |id: &str| ended.stdout.lines().filter(|line| line.starts_with(&format!("{id} 0.0000-"))).count();
    assert_eq!([wholes("[  1]"), wholes("[  2]"), wholes("[SUM]")], [2, 2, 2], "{}", ended.stdout);
    assert_eq!(server.stop_after(Rows { streams: 2, sums: 1 }).stdout.matches("[SUM]").count(), 1);
}

#[test]
fn return_paths_are_measured() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for (option, server) in [("-d", Tool::Real), ("-r", Tool::Real), ("-d", Tool::Ours), ("-r", Tool::Ours)] {
        let args = format!("-t 1 {option} -L {}", free_port());
        let played = played((server, "-s"), (Tool::Ours, &args));
        for id in ["[  1] 0.0000-", "[  2] 0.0000-"] {
            assert!(played.client.contains(id), "{args} {server:?}: {}", played.client);
        }
    }
}

#[test]
fn round_trips_bounce() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for server in [Tool::Real, Tool::Ours] {
        let played = played_until((server, "-s"), (Tool::Ours, "--bounceback -t 1"), Rows::NONE);
        assert!(played.client.contains("10="), "{}", played.client);
        assert!(played.client.contains("BB8(f)-PDF: bin(w=100us):cnt(10)="), "{}", played.client);
    }
}

#[test]
fn round_trips_of_two_connections_have_rows_at_both_ends() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for server in [Tool::Real, Tool::Ours] {
        let rows = Rows { streams: 2, sums: 0 };
        let args = "--bounceback -t 1 -P 2 --trip-times";
        let played = played_until((server, "-s"), (Tool::Ours, args), rows);
        assert_eq!(played.client.matches("OWD Delays (ms) Cnt=10 To=").count(), 2, "{}", played.client);
        assert!(played.client.lines().any(|line| line.starts_with("[SUM]") && line.contains(" 20=")));
        let banner = "(bb w/quickack len/hold=100/0) (trip-times)";
        assert_eq!(played.server.matches(banner).count(), 2, "{}", played.server);
        // Ten requests and replies of 100 bytes in each direction.
        assert!(
            server == Tool::Real || played.server.matches(" 1.95 KBytes ").count() == 2,
            "{}",
            played.server
        );
    }
}

#[test]
fn connects_alone_send_nothing() {
    let played = played_until((Tool::Ours, "-s"), (Tool::Ours, "--connect-only=3"), Rows::NONE);
    assert_eq!(played.client.matches("connected with").count(), 3, "{}", played.client);
    assert!(played.client.contains("[ CT] final connect times"), "{}", played.client);
}

#[test]
fn a_link_of_that_name_is_the_dialect() {
    let directory = std::env::temp_dir().join(format!("pathmeter-iperf-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for temporary things");
    let link = directory.join("iperf");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pathmeter"), &link).expect("a link");
    let text = std::process::Command::new(&link).arg("-v").output().expect("it runs");
    std::fs::remove_dir_all(&directory).expect("made above");
    assert!(String::from_utf8_lossy(&text.stdout).starts_with("iperf version 2.1.8"), "{text:?}");
}

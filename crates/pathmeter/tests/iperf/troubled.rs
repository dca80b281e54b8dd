//! What goes wrong, and the other modes: nobody there, interrupts, ways back, bounceback, connects alone.

use super::process::{Server, Tool, client_run, command, ended, free_port, played, signal};
use std::time::Duration;

#[test]
fn nobody_there_is_told_with_a_way_out() {
    let (text, errors, status) = client_run(Tool::Ours, "-t 1", free_port());
    assert_eq!(status, 1, "{text}{errors}");
    assert!(errors.contains("connect failed: ") && errors.contains("refused"), "{errors}");
}

#[test]
fn an_unknown_option_is_refused() {
    let (_, errors, status) = client_run(Tool::Ours, "--no-such-option", 5001);
    assert!(status == 1 && errors.contains("unrecognized option '--no-such-option'"), "{errors}");
    let (_, errors, status) = client_run(Tool::Ours, "-F /etc/passwd", 5001);
    assert!(status == 1 && errors.contains("-F/--fileinput is not served"), "{errors}");
}

/// Ctrl-C ends a test with the rows of what it was.
#[test]
fn an_interrupt_prints_the_end() {
    let port = free_port();
    let server = Server::start(Tool::Ours, "-s", port, false);
    let client = command(Tool::Ours, "-c 127.0.0.1 -t 60 -P 2 -i 1", port).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(1500));
    signal(client.id(), "INT");
    let (text, errors, status) = ended(client);
    assert_eq!(status, 0, "{errors}");
    let whole = text.lines().filter(|line| line.contains(" 0.0000-1.") || line.contains(" 0.0000-2."));
    assert!(whole.filter(|line| line.starts_with("[SUM]")).count() >= 1, "{text}");
    assert!(server.pid() > 0 && server.stop().contains("[SUM]"));
}

#[test]
fn ways_back_are_measured() {
    for (option, server) in [("-d", Tool::Real), ("-r", Tool::Real), ("-d", Tool::Ours), ("-r", Tool::Ours)] {
        let words = format!("-t 1 {option} -L {}", free_port());
        let played = played((server, "-s"), (Tool::Ours, &words));
        assert_eq!(played.status, 0, "{words}: {}", played.client_errors);
        for id in ["[  1] 0.0000-", "[  2] 0.0000-"] {
            assert!(played.client.contains(id), "{words} {server:?}: {}", played.client);
        }
    }
}

#[test]
fn round_trips_bounce() {
    for server in [Tool::Real, Tool::Ours] {
        let played = played((server, "-s"), (Tool::Ours, "--bounceback -t 1"));
        assert_eq!(played.status, 0, "{}", played.client_errors);
        assert!(played.client.contains("10="), "{}", played.client);
        assert!(played.client.contains("BB8(f)-PDF: bin(w=100us):cnt(10)="), "{}", played.client);
    }
}

#[test]
fn connects_alone_send_nothing() {
    let played = played((Tool::Ours, "-s"), (Tool::Ours, "--connect-only=3"));
    assert_eq!(played.status, 0, "{}", played.client_errors);
    assert_eq!(played.client.matches("connected with").count(), 3, "{}", played.client);
    assert!(played.client.contains("[ CT] final connect times"), "{}", played.client);
}

#[test]
fn a_link_of_that_name_is_the_dialect() {
    let directory = std::env::temp_dir().join(format!("pathmeter-iperf-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for temporary things");
    let link = directory.join("iperf");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pathmeter"), &link).expect("a link");
    let said = std::process::Command::new(&link).arg("-v").output().expect("it runs");
    std::fs::remove_dir_all(&directory).expect("made above");
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("iperf version 2.1.8"), "{said:?}");
}

//! Options of our client and server that show in files, in the output, or in when a server ends.

use crate::process::{Scratch, Tool, free_port, wait_until};
use std::path::Path;

#[test]
fn a_log_file_takes_everything() {
    let (scratch, port) = (Scratch::new("log"), free_port());
    let (client_log, server_log) = (scratch.write("client", b"before\n"), scratch.path("server"));
    let serving = Tool::Ours.serve(port, &format!("-1 --logfile {server_log}"));
    let options = format!("-c 127.0.0.1 -p {port} -n 200K --logfile {client_log} --timestamps=%Y# -T run7");
    let output = Tool::Ours.run(&options).good();
    let served = serving.wait().good();
    assert_eq!((&*output.stdout, &*output.stderr, &*served.stdout), ("", "", ""));
    let read = |path: &str| std::fs::read_to_string(path).expect("written by the program");
    let text = read(&client_log);
    assert!(text.starts_with("before\n") && text.ends_with("iperf Done.\n"), "{text}");
    for line in text.lines().skip(1) {
        let (year, rest) = line.split_once('#').unwrap_or_else(|| panic!("no time in {line:?}"));
        assert!(year.parse::<u32>().is_ok_and(|year| year > 2000), "{line}");
        assert!(rest.starts_with("run7:  "), "{line}");
    }
    assert!(read(&server_log).contains("Accepted connection from 127.0.0.1"));
    let refused = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} --logfile {client_log}"));
    assert_eq!((refused.code, &*refused.stderr), (Some(1), ""));
    assert!(read(&client_log).contains("iperf3: error - unable to connect to server"));
}

#[test]
fn a_log_file_that_cannot_be_is_an_error() {
    let output = Tool::Ours.run("-c 127.0.0.1 --logfile /no-such-directory/log");
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("unable to open log file: /no-such-directory/log"), "{output:#?}");
    let full = Path::new("/dev/full");
    assert!(full.exists(), "this test needs /dev/full, which every Linux has");
    let port = free_port();
    let serving = Tool::Ours.serve(port, "-1");
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -n 10K --logfile /dev/full"));
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("unable to write /dev/full"), "{output:#?}");
    serving.wait().good();
}

/// The file of a process id is gone, or empty where the server has no rights left to remove it.
fn is_over(file: &str) -> bool {
    std::fs::metadata(file).map_or(true, |found| found.len() == 0)
}

#[test]
fn the_process_id_is_in_its_file_while_it_runs() {
    let (scratch, port) = (Scratch::new("pid"), free_port());
    let file = scratch.path("pid");
    let serving = Tool::Ours.serve(port, &format!("-I {file}"));
    wait_until("the file is written", || Path::new(&file).exists());
    let pid = std::fs::read_to_string(&file).expect("it exists");
    assert_eq!(pid, serving.id().to_string());
    let second = Tool::Ours.run(&format!("-s -p {} -I {file}", free_port()));
    assert_eq!(second.code, Some(1), "{second:#?}");
    assert!(second.stderr.contains("Another instance of iperf3 appears to be running"), "{second:#?}");
    serving.stop().good();
    assert!(is_over(&file));
}

#[test]
fn a_daemon_serves_and_can_be_stopped() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let (scratch, port) = (Scratch::new("daemon"), free_port());
    let (file, log) = (scratch.path("pid"), scratch.path("log"));
    Tool::Ours.run(&format!("-s -D -p {port} -I {file} --logfile {log}")).good();
    crate::process::wait_for_listener(port);
    wait_until("the file is written", || std::fs::read_to_string(&file).is_ok_and(|text| !text.is_empty()));
    let pid: u32 = std::fs::read_to_string(&file).expect("written").parse().expect("a process id");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let session = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(3));
    assert_eq!(session, Some(&*pid.to_string()), "it leads a session of its own");
    Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} -n 10K")).good();
    let killed = std::process::Command::new("kill").arg(pid.to_string()).status();
    assert!(killed.is_ok_and(|status| status.success()));
    wait_until("the daemon has ended", || is_over(&file));
    assert!(std::fs::read_to_string(&log).expect("written").contains("Accepted connection"));
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let port = free_port();
    let _serving = Tool::Ours.serve(port, "");
    for options in ["", "-D"] {
        let second = Tool::Ours.run(&format!("-s -p {port} {options}"));
        assert_eq!(second.code, Some(1), "{second:#?}");
        assert!(second.stderr.contains("unable to start listener for connections"), "{second:#?}");
    }
}

#[test]
fn a_server_for_one_test_ends_when_no_client_comes() {
    let output = Tool::Ours.serve(free_port(), "-1 --idle-timeout 1").wait().good();
    assert!(output.stdout.contains("Server listening on"), "{output:#?}");
}

#[test]
fn limits_of_the_server() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Ours.serve(port, "--server-bitrate-limit 10M --server-max-duration 5");
    let run = |options: &str| Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} {options}"));
    for refused in ["-b 20M -t 1", "-b 6M -P 2 -t 1", "-t 6 -b 1M"] {
        let output = run(refused);
        assert_eq!(output.code, Some(1), "{refused}: {output:#?}");
    }
    run("-b 5M -t 1").good();
    let served = serving.stop().good();
    assert_eq!(
        served.stderr.matches("iperf3: error - stopped: the parameters are refused").count(),
        3,
        "{served:#?}"
    );
}

#[test]
fn title_and_extra_data_are_in_both_documents() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for (client, server) in [(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours)] {
        let port = free_port();
        let serving = server.serve(port, "-1 -J");
        let options = format!("-c 127.0.0.1 -p {port} -J -n 10K -T run7 --extra-data more");
        for document in [client.run(&options).good().json(), serving.wait().good().json()] {
            assert_eq!((&document["title"], &document["extra_data"]), (&"run7".into(), &"more".into()));
        }
    }
}

#[test]
fn a_stream_of_json_has_an_event_a_line() {
    let port = free_port();
    let serving = Tool::Ours.serve(port, "-1 --json-stream");
    let output = Tool::Ours
        .run(&format!("-c 127.0.0.1 -p {port} -t 1 -b 5M -i 0.5 --json-stream --get-server-output"));
    let names = |events: Vec<serde_json::Value>| -> Vec<String> {
        events.iter().map(|event| event["event"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let client = names(output.good().events());
    assert_eq!((client.first(), client.last()), (Some(&"start".into()), Some(&"end".into())), "{client:?}");
    assert!(client.iter().filter(|name| *name == "interval").count() >= 2, "{client:?}");
    assert!(client.contains(&"server_output_json".into()), "{client:?}");
    let server = names(serving.wait().good().events());
    assert_eq!((server.first(), server.last()), (Some(&"start".into()), Some(&"end".into())), "{server:?}");
}

#[test]
fn local_ports_follow_one_another() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Theirs.serve(port, "-1 -J");
    // Two in a row that no other test of this process has been given.
    let mut first = free_port();
    loop {
        let next = free_port();
        if next == first + 1 {
            break;
        }
        first = next;
    }
    let document =
        Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -J -u -b 1M -t 1 -P 2 --cport {first}")).good();
    serving.wait().good();
    let document = document.json();
    let ports: Vec<_> = (0..2)
        .map(|n| crate::figures::number(&document, &format!("start.connected.{n}.local_port")))
        .collect();
    assert_eq!(ports, [f64::from(first), f64::from(first + 1)]);
}

#[test]
fn ipv6_and_its_options() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for (client, server) in [(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours)] {
        for options in ["-b 5M", "-u -b 5M", "-u -b 5M -R", "-b 5M -L 77"] {
            let port = free_port();
            let serving = server.serve(port, "-1 -J");
            let mode = crate::figures::Mode { options: "-b 5M" };
            let mode = if options.contains("-u") { crate::figures::Mode { options: "-u" } } else { mode };
            let output = client.run(&format!("-c ::1 -6 -p {port} -J -t 1 {options}")).good().json();
            let served = serving.wait().good().json();
            if !options.contains("-R") {
                crate::figures::agree(mode, &output, &served, true);
            }
        }
    }
}

#[test]
fn an_interval_of_zero_is_one_as_long_as_the_test() {
    let port = free_port();
    let serving = Tool::Ours.serve(port, "-i 0");
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -t 1 -b 10M -i 0 -J")).good().json();
    assert_eq!(output["start"]["test_start"]["interval"], 0, "{output:#}");
    let intervals = output["intervals"].as_array().expect("a list");
    assert_eq!(intervals.len(), 1, "{output:#}");
    assert_eq!(intervals[0]["sum"]["bytes"], output["end"]["sum_sent"]["bytes"], "{output:#}");
    serving.stop().good();
}

#[test]
fn an_error_has_the_kernels_words_and_in_json_no_prefix() {
    let port = free_port();
    let refused = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port}"));
    let begins = "unable to connect to server: Connection refused: ";
    assert!(refused.stderr.contains(&format!("iperf3: error - {begins}")), "{refused:#?}");
    let refused = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -J")).json();
    assert!(refused["error"].as_str().is_some_and(|error| error.starts_with(begins)), "{refused:#}");
    let refused = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -A 1000"));
    assert!(refused.stderr.contains("error - unable to set CPU affinity: Invalid argument"), "{refused:#?}");
}

//! Our client against servers that refuse, stall, vanish, lie, or are none. A clear error, exit code 1, no hang.

use crate::process::{Tool, ToolOutput, free_port};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// The action of a fake server once a client has connected.
type Act = fn(&TcpListener, TcpStream) -> std::io::Result<()>;

/// The server's action, the client's options, and the client's expected message.
const TROUBLE: &[(&str, Act, &str, &str)] = &[
    ("busy", |_, mut c| c.write_all(&[0xff]), "", "the server is busy running a test. try again later"),
    ("closes", |_, c| c.shutdown(std::net::Shutdown::Both), "", "control socket has closed unexpectedly"),
    (
        "speaks another protocol",
        |_, mut c| c.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "",
        "iPerf3 protocol",
    ),
    ("refuses", |l, c| refuse(l, c), "", "the rate asked for is above its limit (iPerf3 error 27)"),
    ("refuses with an unknown code", |l, c| refuse_unknown(l, c), "", "iPerf3 error -559038737"),
    ("vanishes while the streams open", |l, c| open(l, c).map(drop), "", "control socket has closed"),
    ("vanishes in the middle", |l, c| run(l, c).map(drop), "", "control socket has closed unexpectedly"),
    (
        "vanishes in the middle of the return path",
        |l, c| run(l, c).map(drop),
        "-R",
        "control socket has closed",
    ),
    ("is stopped in the middle", |l, c| run(l, c)?.0.write_all(&[11]), "", "the server has terminated"),
    ("reports an error in the middle", |l, c| fail(l, c), "", "iPerf3 error 160"),
    ("sends results that are none", |l, c| results(l, c, b"{}"), "", "its results cannot be used"),
    (
        "sends results of a stream unknown",
        |l, c| results(l, c, LIES),
        "",
        "stream 77 is not one of this test",
    ),
    ("sends results below zero", |l, c| results(l, c, BELOW_ZERO), "", "a stream carried -5 bytes"),
    ("announces results without end", |l, c| endless(l, c), "", "it announced a message of"),
];

#[test]
fn servers_in_trouble() {
    std::thread::scope(|scope| {
        for (name, act, options, sentence) in TROUBLE {
            scope.spawn(move || {
                let (port, server) = fake(*act);
                let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -t 1 {options}"));
                failed(name, &output, sentence);
                drop(server);
            });
        }
    });
}

#[test]
fn with_json_the_error_is_in_the_document() {
    let (port, _server) = fake(|_, mut c| c.write_all(&[0xff]));
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -J"));
    assert_eq!(output.code, Some(1));
    assert_eq!(output.json()["error"], "the server is busy running a test. try again later");
    assert_eq!(output.stderr, "");
    let (port, _server) = fake(|_, mut c| c.write_all(&[0xff]));
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} --json-stream"));
    let names: Vec<_> = output.events().iter().map(|event| event["event"].clone()).collect();
    assert_eq!((output.code, names), (Some(1), vec!["error".into(), "end".into()]));
}

/// A server of iPerf3 3.21 sends its output to all clients after one that requested it.
#[test]
fn output_that_was_not_requested_is_not_shown() {
    let act: Act = |l, c| results(l, c, UNASKED);
    let (port, server) = fake(act);
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -n 10K"));
    assert!(output.stdout.contains("receiver") && !output.stdout.contains("Server output"), "{output:#?}");
    drop(server);
    let (port, server) = fake(act);
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -n 10K --get-server-output"));
    assert!(output.stdout.contains("Server output:\nwhat the server printed"), "{output:#?}");
    drop(server);
}

/// The measurement until a server vanished is shown.
#[test]
fn what_was_measured_is_not_lost() {
    let (port, _server) = fake(|l, c| {
        let (_control, mut data) = run(l, c)?;
        data.read_exact(&mut [0; 100_000])
    });
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -t 20 -b 50M -J"));
    assert_eq!(output.code, Some(1), "{output:#?}");
    let document = output.json();
    let sent = crate::figures::number(&document, "end.sum_sent.bytes");
    assert!(sent >= 100_000.0, "{document}");
    assert!(document["error"].as_str().is_some_and(|error| error.contains("closed")), "{document}");
}

#[test]
fn hosts_that_cannot_be_reached() {
    let port = free_port();
    let refused = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port}"));
    failed("nothing listens", &refused, "unable to connect to server");
    assert!(refused.stderr.contains(&format!("127.0.0.1:{port} refused the connection")), "{refused:#?}");
    let unknown = Tool::Ours.run("-c no-such-host.invalid");
    failed("unknown name", &unknown, "no-such-host.invalid");
    let family = Tool::Ours.run(&format!("-c ::1 -4 -p {port}"));
    failed("other family", &family, "IPv4");
}

/// The real server serves one client at a time.
#[test]
fn a_busy_real_server() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "");
    let first = Tool::Theirs.start(&format!("-c 127.0.0.1 -p {port} -t 30 -b 1M"));
    crate::process::wait_until("the server is busy", || first.open_sockets() >= 2);
    let output = Tool::Ours.run(&format!("-c 127.0.0.1 -p {port} -n 10K"));
    failed("busy", &output, "the server is busy running a test. try again later");
    drop(first);
}

fn failed(name: &str, output: &ToolOutput, sentence: &str) {
    assert_eq!(output.code, Some(1), "{name}: {output:#?}");
    assert!(
        output.stderr.contains("iperf3: error - ") && output.stderr.contains(sentence),
        "{name}: {output:#?}"
    );
    assert!(!output.stdout.contains("iperf Done."), "{name}: {output:#?}");
}

/// A server that acts and then is gone.
fn fake(act: Act) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let serve = move || {
        let (mut client, _) = listener.accept().expect("a client comes");
        // A client that has left already is what some of them want.
        let _ = client.read_exact(&mut [0; 37]).and_then(|()| act(&listener, client));
    };
    (port, std::thread::spawn(serve))
}

/// Until `CREATE_STREAMS`.
fn agree(_: &TcpListener, mut control: TcpStream) -> std::io::Result<TcpStream> {
    control.write_all(&[9])?;
    read_message(&mut control)?;
    control.write_all(&[10])?;
    Ok(control)
}

/// Until the stream is there: where the listener went first, the client's stream would be refused.
fn open(listener: &TcpListener, control: TcpStream) -> std::io::Result<(TcpStream, TcpStream)> {
    let control = agree(listener, control)?;
    let (data, _) = listener.accept()?;
    Ok((control, data))
}

/// Until the test runs: the control connection and the data stream.
fn run(listener: &TcpListener, control: TcpStream) -> std::io::Result<(TcpStream, TcpStream)> {
    let (mut control, mut data) = open(listener, control)?;
    data.read_exact(&mut [0; 37])?;
    control.write_all(&[1, 2])?;
    Ok((control, data))
}

fn refuse(listener: &TcpListener, mut control: TcpStream) -> std::io::Result<()> {
    let _ = listener;
    control.write_all(&[9])?;
    read_message(&mut control)?;
    control.write_all(&[0xfe, 0, 0, 0, 27, 0, 0, 0, 0])
}

fn refuse_unknown(listener: &TcpListener, mut control: TcpStream) -> std::io::Result<()> {
    let _ = listener;
    control.write_all(&[9])?;
    read_message(&mut control)?;
    control.write_all(&[0xfe, 0xde, 0xad, 0xbe, 0xef, 0xff, 0xff, 0xff, 0xff])
}

fn fail(listener: &TcpListener, control: TcpStream) -> std::io::Result<()> {
    let (mut control, _data) = run(listener, control)?;
    control.write_all(&[0xfe, 0, 0, 0, 160, 0, 0, 0, 0])?;
    control.read_to_end(&mut Vec::new()).map(drop)
}

/// The whole test, then these results.
fn results(listener: &TcpListener, control: TcpStream, json: &[u8]) -> std::io::Result<()> {
    let mut control = finish(listener, control)?;
    let length = u32::try_from(json.len()).expect("short").to_be_bytes();
    control.write_all(&[&length, json].concat())?;
    control.read_to_end(&mut Vec::new()).map(drop)
}

fn endless(listener: &TcpListener, control: TcpStream) -> std::io::Result<()> {
    let mut control = finish(listener, control)?;
    control.write_all(&[0x7f, 0xff, 0xff, 0xff])?;
    control.read_to_end(&mut Vec::new()).map(drop)
}

/// Until the client has sent its results.
fn finish(listener: &TcpListener, control: TcpStream) -> std::io::Result<TcpStream> {
    let (mut control, mut data) = run(listener, control)?;
    let reader = std::thread::spawn(move || std::io::copy(&mut data, &mut std::io::sink()));
    control.read_exact(&mut [0])?;
    control.write_all(&[13])?;
    read_message(&mut control)?;
    reader.join().expect("it only reads")?;
    Ok(control)
}

fn read_message(control: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut body)?;
    Ok(body)
}

const UNASKED: &[u8] = br#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":-1,"streams":[{"id":1,"bytes":10240,"retransmits":-1,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":0.1}],"server_output_text":"what the server printed\n"}"#;
const LIES: &[u8] =
    br#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":-1,
    "streams":[{"id":77,"bytes":5,"retransmits":-1,"jitter":0,"errors":0,"packets":0}]}"#;

const BELOW_ZERO: &[u8] =
    br#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":-1,
    "streams":[{"id":1,"bytes":-5,"retransmits":-1,"jitter":0,"errors":0,"packets":0}]}"#;

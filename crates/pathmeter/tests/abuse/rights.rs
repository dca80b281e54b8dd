//! The rights of a server of root's once it has served a client: every thread of it, whatever the command.

use super::confined::{KEPT, NONE, is_confined, threads};
use super::net::SERVER;
use super::support::{Running, Scratch, pathmeter};
use super::testbed::Testbed;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// A command that listens, its text once it listens, and a client of it.
struct Case<'a> {
    server: Vec<&'a str>,
    listens: &'a str,
    client: &'a dyn Fn(&Testbed),
    kept: &'a str,
}

fn measured(args: &'static [&'static str]) -> impl Fn(&Testbed) {
    move |testbed| drop(testbed.client(args).end().code(0))
}

fn looks_at_the_page(testbed: &Testbed) {
    let mut stream = testbed.there(|| TcpStream::connect((SERVER, 5280)).unwrap());
    let head = format!("GET /api/session HTTP/1.1\r\nHost: {SERVER}:5280\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// A NATS server in the server's namespace that knows what an agent needs to begin: it greets and answers pings. Its URL.
fn greeting_nats(testbed: &Testbed) -> String {
    let listener = testbed.at_the_server(|| TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let info =
                r#"INFO {"server_id":"N","version":"2.12.0","proto":1,"max_payload":1048576,"headers":true}"#;
            stream.write_all(format!("{info}\r\n").as_bytes()).unwrap();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    if line.trim() == "PING" && stream.write_all(b"PONG\r\n").is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("nats://127.0.0.1:{port}")
}

#[test]
fn every_thread_of_every_server_has_given_root_up() {
    let Some(testbed) = Testbed::new("every_thread_of_every_server_has_given_root_up") else { return };
    let scratch = Scratch::new("confined");
    let (store, token) =
        (scratch.file("runs.db", None), scratch.file("ui.token", Some("a token of the page alone")));
    let native = measured(&["throughput", SERVER, "-n", "1M"]);
    let iperf3 = measured(&["throughput", SERVER, "-n", "1M", "--protocol", "iperf3"]);
    let iperf2 = measured(&["throughput", SERVER, "-n", "1M", "--protocol", "iperf2"]);
    let datagrams =
        measured(&["throughput", SERVER, "-u", "-b", "2M", "-t", "500ms", "--protocol", "iperf2"]);
    let sockperf = measured(&["latency", SERVER, "--protocol", "sockperf", "-n", "20"]);
    let streams = measured(&["latency", SERVER, "--protocol", "sockperf", "--tcp", "-n", "20"]);
    let ui = ["ui", "--listen", "10.77.0.2:5280", "--store", &store, "--token-file", &token];
    let (nats, spool) = (greeting_nats(&testbed), scratch.file("spool", None));
    let agent = ["agent", "run", "--name", "ams", "--coordinator", &nats, "--spool", &spool, "--metrics"];
    let cases = [
        Case {
            server: vec!["serve", "--all"],
            listens: "pathmeter's own protocol",
            client: &native,
            kept: KEPT,
        },
        Case {
            server: vec!["serve", "--no-capabilities"],
            listens: "pathmeter's own protocol",
            client: &native,
            kept: NONE,
        },
        Case { server: agent.to_vec(), listens: "no key is given", client: &native, kept: KEPT },
        Case {
            server: [&agent[..], &["--no-capabilities"]].concat(),
            listens: "no key is given",
            client: &native,
            kept: NONE,
        },
        Case { server: vec!["iperf3", "-s"], listens: "", client: &iperf3, kept: KEPT },
        Case { server: vec!["iperf", "-s"], listens: "", client: &iperf2, kept: KEPT },
        Case { server: vec!["iperf", "-s", "-u"], listens: "", client: &datagrams, kept: KEPT },
        Case { server: vec!["sockperf", "sr"], listens: "", client: &sockperf, kept: KEPT },
        Case { server: vec!["sockperf", "sr", "--tcp"], listens: "", client: &streams, kept: KEPT },
        Case { server: ui.to_vec(), listens: "the page is at", client: &looks_at_the_page, kept: KEPT },
        Case {
            server: [&ui[..], &["--no-capabilities"]].concat(),
            listens: "the page is at",
            client: &looks_at_the_page,
            kept: NONE,
        },
    ];
    for Case { server, listens, client, kept } in cases {
        let process = Running::start(pathmeter(Some(testbed.server()), &server));
        match listens {
            // Other tools say it on standard output.
            "" => process.wait_for_output("listen"),
            text => process.wait_for(text),
        }
        client(&testbed);
        is_confined(process.pid(), kept, &server.join(" "));
        process.signal("TERM");
        process.end();
    }
    // A store of root's that the page was given still serves root.
    super::support::run(&["history", "--store", &store]).code(0);
}

/// A store in a folder that the page's user cannot enter is refused with advice, and root's rights are kept only on purpose.
#[test]
fn a_page_over_a_store_that_it_may_not_use_reports_it() {
    let Some(testbed) = Testbed::new("a_page_over_a_store_that_it_may_not_use") else { return };
    let scratch = Scratch::new("closed");
    let store = scratch.file("closed/runs.db", None);
    let folder = std::path::Path::new(&store).parent().unwrap().to_owned();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let ui = ["ui", "--listen", "127.0.0.1:0", "--store", &store];
    super::support::run(&ui).code(2).prints("--user root");
    let process = Running::start(pathmeter(Some(testbed.server()), &[&ui[..], &["--user", "root"]].concat()));
    process.wait_for("the page is at");
    assert!(threads(process.pid()).iter().all(|(_, found)| found[0] == "0 0 0 0"));
    process.signal("TERM");
    process.end();
}

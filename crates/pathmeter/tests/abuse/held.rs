//! Places among the tests, held by those who want none.

use super::testbed::Testbed;
use std::io::Write;
use std::net::TcpStream;

/// The first messages of an iPerf3 client, before its data streams.
fn iperf3_begins(streams: &[TcpStream]) {
    let params = r#"{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"len":131072,"client_version":"3.12"}"#;
    let length = u32::try_from(params.len()).unwrap().to_be_bytes();
    for (n, mut stream) in streams.iter().enumerate() {
        let cookie = format!("{n:0>36}\0");
        stream.write_all(&[cookie.as_bytes(), &length, params.as_bytes()].concat()).unwrap();
    }
}

#[test]
fn seventy_that_begin_and_go_no_further_keep_no_client_out() {
    let Some(testbed) = Testbed::new("seventy_that_begin_and_go_no_further_keep_no_client_out") else {
        return;
    };
    let server = testbed.serve(&[]);
    let iperf3 = testbed.connect(1, 5201, 70);
    iperf3_begins(&iperf3);
    // Flags, streams, port, length, window, amount: a test of ten seconds, as clients before 2.0.10 ask for it.
    let header = [0x8000_0000_u32, 1, 5001, 0, 0, (-1000_i32).cast_unsigned()].map(u32::to_be_bytes).concat();
    let iperf2 = testbed.connect(2, 5001, 70);
    iperf2.iter().for_each(|mut stream| stream.write_all(&header).unwrap());
    let http = testbed.connect(3, 8080, 70);
    let put = b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\na";
    http.iter().for_each(|mut stream| stream.write_all(put).unwrap());
    server.process.wait_for("turned away: one address may have a quarter of the tests");
    testbed.all_are_served(&server);
    drop((iperf3, iperf2, http));
    server.stop();
}

#[test]
fn a_client_with_the_token_finds_a_slot_that_others_cannot_take() {
    let Some(testbed) = Testbed::new("a_client_with_the_token_finds_a_slot_that_others_cannot_take") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "a long random line").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let token = file.to_str().unwrap();
    let server = testbed.serve_only(&["--token-file", token, "--iperf3", "--max-tests", "4"]);
    // The iPerf3 port has no token: unauthenticated clients have three of the four places, one for each of their addresses.
    let attackers: Vec<_> = (1..=4)
        .map(|n| {
            let source = format!("10.77.1.{n}");
            let args = ["throughput", "10.77.0.2", "--protocol", "iperf3", "-t", "60s", "-b", "1M", "--bind"];
            let client = testbed.client(&[&args[..], &[&source]].concat());
            if n < 4 {
                client.wait_for("  0.0-");
            }
            client
        })
        .collect();
    let args = ["throughput", "10.77.0.2", "-n", "1M", "--token-file", token, "--json"];
    testbed.client(&args).end().code(0);
    drop(attackers);
    drop(server);
}

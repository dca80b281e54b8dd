//! Clients that lie, stall or vanish: others go on being served.

use super::process::{free_port, has_iperf, our_client, our_server, start_their_client};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

/// A client of ours is served.
fn is_served(port: u16) {
    let (output, run) = our_client(port, "-n 1M");
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(run["summary"]["local"]["streams"][0]["bytes"], 1 << 20);
}

/// A header: flags, streams, port, length, window, amount; then the extension of 2.1.8.
fn header(flags: u32, streams: u32, amount: i32) -> Vec<u8> {
    let base = [flags, streams, 5001, 0, 0, amount as u32];
    let mut bytes: Vec<u8> = base.iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.resize(60, 0);
    bytes
}

#[test]
fn first_bytes_of_all_kinds() {
    let port = free_port();
    let server = our_server(port, "");
    let mut held = Vec::new();
    for first in [
        &b""[..],
        b"\0",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        &header(0x4001_0078, 0xffff_ffff, -100),
        &header(0x4001_0078, 1, i32::MIN),
        &header(0x4001_01fe, 1, -100),
        &header(0x4001_0078, 1, -100)[..30],
        &header(0xffff_ffff, 1, -100),
        b"\0\x80\0\0\xff\xff\xff\xff\0\0\0\x01",
        b"\0\x80\0\0\0\0\0\x01\0\0\0\x01",
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.write_all(first).expect("it takes bytes");
        held.push(stream);
    }
    is_served(port);
    drop(held);
    is_served(port);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn datagrams_of_all_kinds() {
    let port = free_port();
    let server = our_server(port, "");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.connect(("127.0.0.1", port)).expect("loopback");
    let mut numbered = vec![0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    numbered.extend(header(0x4801_0098, 100_000, -100));
    let mut fin = numbered.clone();
    fin[0] = 0x80;
    for datagram in [&b""[..], b"x", &[0xff; 1470], &fin, &numbered, &numbered[..20]] {
        socket.send(datagram).ok();
    }
    let (output, run) = our_client(port, "--udp -t 1 -b 2M");
    assert_eq!(output.code, Some(0), "{output:#?}");
    let rows = run["summary"]["peer"]["streams"].as_array().expect("the server's report");
    assert_eq!(rows.len(), 1, "{run:#}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_client_that_asks_for_data_and_takes_none() {
    let port = free_port();
    let server = our_server(port, "");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let mut reverse = header(0x4401_0078, 1, -100);
    reverse[32..34].copy_from_slice(&0x0400_u16.to_be_bytes());
    stream.write_all(&reverse).expect("it takes bytes");
    is_served(port);
    // The client requested one second, and the server does not wait for it for ever.
    server.wait_for("down ");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket of ours");
    let mut data = [0; 10];
    stream.read_exact(&mut data).expect("what was sent is there");
    assert_eq!(&data, b"0123456789");
}

#[test]
fn a_client_that_vanishes() {
    if !has_iperf() {
        return;
    }
    let port = free_port();
    let server = our_server(port, "");
    for options in ["-t 30 -b 10M -i 0.5", "-u -t 30 -b 10M -i 0.5"] {
        let client = start_their_client(port, options);
        // The client is served: its first interval is over.
        client.wait_for(" 0.0000-0.5");
        client.signal("KILL");
        client.wait();
        is_served(port);
    }
    // The rest of the UDP flow is cut: no packet shows the server that its client is gone.
    let stopped = server.stop();
    assert_eq!(stopped.code, Some(0), "{stopped:#?}");
}

//! Opening sockets on loopback, in IPv4, IPv6 and both at once.

use super::*;
use std::io::{Read, Write};
use std::time::Duration;

const SECOND: Nanos = Nanos::from_secs(1);

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// The address a client of `text`'s kind reaches the port of `local` at.
fn towards(client: &str, local: SocketAddr) -> SocketAddr {
    SocketAddr::new(client.parse().unwrap(), local.port())
}

#[test]
fn tcp_connects_with_every_option() {
    let listener = tcp_listen(address("127.0.0.1:0"), &TcpOptions::default(), 8).unwrap();
    let wanted = TcpOptions {
        local_address: Some("127.0.0.2".parse().unwrap()),
        device: Some("lo".into()),
        mss: Some(Bytes(1200)),
        send_buffer: Some(Bytes(100_000)),
        recv_buffer: Some(Bytes(100_000)),
        congestion: Some("reno".into()),
        tos: Some(0x20),
        nodelay: true,
        user_timeout: Some(SECOND),
        ..TcpOptions::default()
    };
    let mut client = tcp_connect(listener.local_addr().unwrap(), &wanted, SECOND).unwrap();
    let (mut server, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), wanted.local_address.unwrap());
    assert_eq!(options::congestion(&client).unwrap(), "reno");
    assert!(options::mss(&client).unwrap() <= Bytes(1200));
    assert_eq!(options::send_buffer(&client).unwrap(), Bytes(200_000));
    assert_eq!(options::tos(&client).unwrap(), 0x20);
    assert!(client.nodelay().unwrap());
    client.write_all(b"hello").unwrap();
    let mut text = [0; 5];
    server.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"hello");
}

#[test]
fn a_wildcard_listener_takes_both_families_unless_set_otherwise() {
    let listener = tcp_listen(address("[::]:0"), &TcpOptions::default(), 8).unwrap();
    let local = listener.local_addr().unwrap();
    for client in ["127.0.0.1", "::1"] {
        tcp_connect(towards(client, local), &TcpOptions::default(), SECOND).unwrap();
        listener.accept().unwrap();
    }
    let v6_only = TcpOptions { v6_only: true, ..TcpOptions::default() };
    let listener = tcp_listen(address("[::]:0"), &v6_only, 8).unwrap();
    let v4 = towards("127.0.0.1", listener.local_addr().unwrap());
    let error = tcp_connect(v4, &TcpOptions::default(), SECOND).unwrap_err();
    assert_eq!(error.to_string(), format!("connect to tcp {v4}: Connection refused (os error 111)"));
}

#[test]
fn a_fixed_local_port_and_a_flow_label_are_kept() {
    let listener = tcp_listen(address("[::1]:0"), &TcpOptions::default(), 8).unwrap();
    let spare = std::net::UdpSocket::bind("[::1]:0").unwrap().local_addr().unwrap().port();
    let wanted = TcpOptions { local_port: Some(spare), flow_label: Some(0x12345), ..TcpOptions::default() };
    let client = tcp_connect(listener.local_addr().unwrap(), &wanted, SECOND).unwrap();
    assert_eq!(client.local_addr().unwrap().port(), spare);
}

#[test]
fn a_silent_target_times_out() {
    let full = tcp_listen(address("127.0.0.1:0"), &TcpOptions::default(), 0).unwrap();
    let target = full.local_addr().unwrap();
    let mut waiting = Vec::new();
    let error = loop {
        match tcp_connect(target, &TcpOptions::default(), Nanos::from_millis(20)) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
        assert!(waiting.len() < 100, "a listener without accepts must fill up");
    };
    assert_eq!(error.errno(), Some(libc::ETIMEDOUT));
}

#[test]
fn multipath_falls_back_or_states_that_it_is_not_there() {
    let wanted = TcpOptions { mptcp: true, ..TcpOptions::default() };
    match tcp_listen(address("127.0.0.1:0"), &wanted, 8) {
        Ok(listener) => {
            let there = listener.local_addr().unwrap();
            let multipath = tcp_connect(there, &wanted, SECOND).unwrap();
            let accepted = listener.accept().unwrap().0;
            assert!(options::is_multipath(&multipath) && options::is_multipath(&accepted) && has_mptcp());
            let plain = tcp_connect(there, &TcpOptions::default(), SECOND).unwrap();
            let accepted = listener.accept().unwrap().0;
            assert!(!options::is_multipath(&plain) && !options::is_multipath(&accepted));
            let listener = tcp_listen(address("127.0.0.1:0"), &TcpOptions::default(), 8).unwrap();
            let fallen_back = tcp_connect(listener.local_addr().unwrap(), &wanted, SECOND).unwrap();
            assert!(!options::is_multipath(&fallen_back));
        }
        Err(error) => assert!(error.to_string().starts_with("open mptcp socket for 127.0.0.1:0"), "{error}"),
    }
}

#[test]
fn udp_takes_every_option() {
    let wanted = UdpOptions {
        reuse_address: true,
        device: Some("lo".into()),
        tos: Some(0x10),
        recv_buffer: Some(Bytes(100_000)),
        send_buffer: Some(Bytes(100_000)),
        mtu_discovery: Some(MtuDiscovery::Probe),
        v6_only: true,
    };
    let socket = udp_bind(address("[::1]:0"), &wanted).unwrap();
    udp_connect(&socket, socket.local_addr().unwrap(), Some(0x54321)).unwrap();
    assert_eq!(options::tos(&socket).unwrap(), 0x10);
    assert_eq!(options::recv_buffer(&socket).unwrap(), Bytes(200_000));
    let mode = rustix::net::sockopt::ipv6_mtu_discover(&socket).unwrap();
    assert_eq!(mode.as_raw(), MtuDiscovery::Probe as i32);
    socket.send(b"to myself").unwrap();
}

#[test]
fn connected_sockets_share_a_port_with_the_unconnected_one() {
    let cases =
        [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1"), ("[::]:0", "::1")];
    for (server, client) in cases {
        share_port(address(server), client);
    }
}

/// Three clients are served one after another as [`udp_bind`] describes; then each, and an unknown sender, sends again.
fn share_port(server: SocketAddr, client: &str) {
    let wanted = UdpOptions { reuse_address: true, ..UdpOptions::default() };
    let bind_client =
        || udp_bind(SocketAddr::new(client.parse().unwrap(), 0), &UdpOptions::default()).unwrap();
    let mut listener = udp_bind(server, &wanted).unwrap();
    let local = listener.local_addr().unwrap();
    let mut served = Vec::new();
    for number in 0..3_u8 {
        let client_socket = bind_client();
        udp_connect(&client_socket, towards(client, local), None).unwrap();
        client_socket.send(&[number]).unwrap();
        let (_, peer) = receive(&listener);
        udp_connect(&listener, peer, None).unwrap();
        let next = udp_bind(local, &wanted).unwrap();
        served.push((client_socket, std::mem::replace(&mut listener, next)));
    }
    bind_client().send_to(&[99], towards(client, local)).unwrap();
    for (number, (client_socket, _)) in served.iter().enumerate() {
        client_socket.send(&[number as u8 + 10]).unwrap();
    }
    for (number, (client_socket, server_socket)) in served.iter().enumerate() {
        assert_eq!(receive(server_socket).0, number as u8 + 10, "{server} from {client}");
        server_socket.send(&[7]).unwrap();
        assert_eq!(receive(client_socket).0, 7);
    }
    assert_eq!(receive(&listener).0, 99, "{server} from {client}");
}

fn receive(socket: &UdpSocket) -> (u8, SocketAddr) {
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut byte = [0];
    let (len, peer) = socket.recv_from(&mut byte).unwrap();
    assert_eq!(len, 1);
    (byte[0], peer)
}

#[test]
fn sockets_are_described_with_their_addresses() {
    let socket = udp_bind(address("127.0.0.1:0"), &UdpOptions::default()).unwrap();
    let local = socket.local_addr().unwrap();
    assert_eq!(describe(&socket), format!("udp {local}"));
    udp_connect(&socket, local, None).unwrap();
    assert_eq!(describe(&socket), format!("udp {local} to {local}"));
}

#[test]
fn an_address_in_use_is_named() {
    let first = udp_bind(address("127.0.0.1:0"), &UdpOptions::default()).unwrap();
    let taken = first.local_addr().unwrap();
    let error = udp_bind(taken, &UdpOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("bind udp {taken}: Address already in use (os error 98)"));
}

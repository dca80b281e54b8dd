//! The checks of iPerf3 once all options are read: the role, options of the other role, sizes, and defaults.

use super::options::BLOCK_SIZE;
use super::plan::file_size;
use super::{CommandLine, Fault, Json, Request};
use model::framing::LARGEST_UDP_PAYLOAD;
use model::plan::{Directions, End, Transport};
use model::units::{BitRate, Bytes};

/// The request of a line whose options have all been taken.
pub(super) fn finish(mut line: CommandLine) -> Result<Request, Fault> {
    let is_client = line.client.host.is_some();
    if is_client && line.server_only {
        return Err(Fault::parameter("some option you are trying to set is server only"));
    }
    if line.server.asked && line.client_only {
        return Err(Fault::parameter("some option you are trying to set is client only"));
    }
    authentication(&line)?;
    client(&mut line)?;
    if line.both.json != Json::Off && line.both.unit != 'a' {
        line.warnings.push("Report format (-f) flag ignored with JSON output (-J)".into());
    }
    match (is_client, line.server.asked) {
        (true, _) => Ok(Request::Client(Box::new(line))),
        (_, true) => Ok(Request::Server(Box::new(line))),
        _ => Err(Fault::parameter("must either be a client (-c) or server (-s)")),
    }
}

fn authentication(line: &CommandLine) -> Result<(), Fault> {
    let (client, server) = (&line.client, &line.server);
    if client.username.is_some() != client.public_key.is_some() {
        let refusal = "you must specify a username, password, and path to a valid RSA public key";
        return Err(Fault::parameter(refusal));
    }
    if server.private_key.is_some() != server.users.is_some() {
        let refusal = "you must specify a path to a valid RSA private key and a user credential file";
        return Err(Fault::parameter(refusal));
    }
    Ok(())
}

fn client(line: &mut CommandLine) -> Result<(), Fault> {
    let (asked_timeout, client) = (line.both.local.receive_timeout.is_some(), &mut line.client);
    let test = &mut client.test;
    test.mptcp &= test.transport == Transport::Tcp;
    if let Some(file) = &line.both.local.file {
        if test.transport == Transport::Udp {
            return Err(Fault::parameter("cannot transfer file using UDP"));
        }
        let open = matches!(test.end, End::Time(_)) && !client.time_given && test.directions.up();
        if let Some(size) = file_size(file).filter(|size| open && *size > 0) {
            test.end = End::Bytes(Bytes(size));
        }
    }
    if asked_timeout && client.host.is_some() && test.directions == Directions::Up {
        return Err(Fault::parameter("client receive timeout is valid only in receiving mode"));
    }
    if test.length.is_some_and(|length| length > MAX_BLOCK) {
        return Err(Fault::parameter(BLOCK_SIZE));
    }
    if test.transport == Transport::Tcp {
        return Ok(());
    }
    if test.length.is_some_and(|length| !(16..=LARGEST_UDP_PAYLOAD).contains(&length)) {
        let refusal = "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)";
        return Err(Fault::parameter(refusal));
    }
    if !client.rate_given {
        test.bitrate = Some(UDP_RATE);
    }
    // Without a rate to keep, offload is what makes an end fast; with one, each datagram is timed by itself.
    test.offload = client.gsro || test.bitrate.is_none();
    Ok(())
}

const MAX_BLOCK: u32 = 1 << 20;
/// 1 Mbit/s as iPerf3 defines it.
const UDP_RATE: BitRate = BitRate(1 << 20);

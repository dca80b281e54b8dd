use super::super::client::{Lost, RemoteCommand};
use super::*;
use std::io::{Read, Write};

/// A server of one machine; the end of the machine's port; a client's connection to the server.
fn served() -> (CommandServer, UnixStream, impl Fn() -> UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    far.set_read_timeout(Some(LIMIT)).unwrap();
    let machine = ("vm".to_owned(), Arc::new(Control::new(near).unwrap()));
    let address = {
        use std::os::linux::net::SocketAddrExt;
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pathmeter-test-{}-{number}", std::process::id());
        std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
    };
    let listener = UnixListener::bind_addr(&address).unwrap();
    let server = CommandServer::serve(listener, vec![machine]).unwrap();
    let connect = move || {
        let client = UnixStream::connect_addr(&address).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        client
    };
    (server, far, connect)
}

fn request(socket: UnixStream, node: &str) -> RemoteCommand {
    RemoteCommand::request(
        socket,
        CommandRequest { node: node.into(), command: vec!["ip".into(), "route".into()] },
    )
    .unwrap()
}

/// The order as the machine gets it.
fn started(machine: &mut UnixStream) -> u32 {
    let frame = Frame::read(machine).unwrap().unwrap();
    let start: Start = serde_json::from_slice(&frame.payload).unwrap();
    assert_eq!((frame.kind, start.command), (Kind::Start, vec!["ip".to_owned(), "route".to_owned()]));
    frame.stream
}

fn follow(command: RemoteCommand) -> (Result<Ended, Lost>, Vec<u8>, Vec<u8>) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    (command.follow(&mut out, &mut err), out, err)
}

#[test]
fn what_a_command_writes_and_how_it_ends_reach_the_client() {
    let (_server, mut machine, connect) = served();
    let command = request(connect(), "vm");
    let mut asker = command.asker().unwrap();
    let stream = started(&mut machine);
    let long = vec![b'x'; 3 * CHUNK + 1];
    for part in long.chunks(CHUNK) {
        Frame::new(Kind::Stdout, stream, part.to_vec()).write(&mut machine).unwrap();
    }
    Frame::new(Kind::Stderr, stream, b"so".to_vec()).write(&mut machine).unwrap();
    asker.terminate().unwrap();
    assert_eq!(Frame::read(&mut machine).unwrap(), Some(Frame::new(Kind::Terminate, stream, Vec::new())));
    let ended = Ended { code: Some(7), ..Ended::default() };
    Frame::json(Kind::Ended, stream, &ended).unwrap().write(&mut machine).unwrap();
    let (end, out, err) = follow(command);
    assert_eq!((end.unwrap(), out == long, &err[..]), (ended, true, &b"so"[..]));
}

#[test]
fn a_command_is_killed_when_its_client_goes() {
    let (_server, mut machine, connect) = served();
    let command = request(connect(), "vm");
    let stream = started(&mut machine);
    drop(command);
    assert_eq!(Frame::read(&mut machine).unwrap(), Some(Frame::new(Kind::Kill, stream, Vec::new())));
}

#[test]
fn a_machine_that_ends_differs_from_a_lab_that_goes() {
    let (server, mut machine, connect) = served();
    let command = request(connect(), "vm");
    started(&mut machine);
    drop(machine);
    let end = follow(command).0.unwrap();
    assert_eq!((end.signal, end.error.as_deref()), (Some(KILLED), Some(GONE)));
    drop(server);

    let (server, mut machine, connect) = served();
    let command = request(connect(), "vm");
    started(&mut machine);
    drop(server);
    drop(machine);
    assert!(matches!(follow(command).0, Err(Lost::Lab)));
}

#[test]
fn garbage_is_refused_and_the_next_client_served() {
    let (_server, mut machine, connect) = served();
    for bytes in [&[0xff; 64][..], b"GET / HTTP/1.1\r\n\r\n", &[0, 0, 0, 0, 0, 0, 0, 0, 4], &[]] {
        let mut client = connect();
        client.write_all(bytes).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // The unread rest may show as a reset.
        let _ = client.read_to_end(&mut answer);
    }
    let end = follow(request(connect(), "absent")).0.unwrap();
    assert_eq!(end.error.unwrap(), "no machine is named absent");
    // After its order a client may send nothing but the wish that it ends.
    let mut client = connect();
    let command = request(client.try_clone().unwrap(), "vm");
    let stream = started(&mut machine);
    client.write_all(&[7; 9]).unwrap();
    assert_eq!(Frame::read(&mut machine).unwrap(), Some(Frame::new(Kind::Kill, stream, Vec::new())));
    drop(command);
}

#[test]
fn only_so_many_commands_run_at_once() {
    let (_server, mut machine, connect) = served();
    let commands: Vec<_> = (0..MOST_CLIENTS)
        .map(|_| {
            let command = request(connect(), "vm");
            started(&mut machine);
            command
        })
        .collect();
    let end = follow(request(connect(), "vm")).0.unwrap();
    assert!(end.error.unwrap().starts_with("16 commands run"));
    drop(commands);
}

const LIMIT: Duration = Duration::from_secs(30);

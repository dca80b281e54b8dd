use super::*;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

/// Answers everybody with a byte.
struct Answers(Arc<Budget>);

impl Service for Answers {
    fn connections(&self) -> &Arc<Budget> {
        &self.0
    }

    fn serve(&self, accepted: Accepted) -> Result<()> {
        (&*accepted.socket).write_all(b"!")?;
        Ok(())
    }
}

/// A port that is flooded: there is always one more datagram.
struct Flooded {
    socket: UdpSocket,
    taken: Arc<AtomicU32>,
}

impl DatagramPort for Flooded {
    fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    fn take(&mut self, _threads: &mut SessionThreads) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }
}

fn answers() -> Arc<Answers> {
    Arc::new(Answers(Budget::new(budget::connections())))
}

/// A port of loopback.
pub(crate) fn bound() -> (TcpListener, SocketAddr) {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    (socket, address)
}

fn is_answered(address: SocketAddr) -> bool {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let mut answer = [0];
    matches!((&socket).read(&mut answer), Ok(1))
}

/// The notes of a listener with these ports while `act` ran.
pub(crate) fn noted_while(ports: impl FnOnce(&mut Listener), act: impl FnOnce()) -> Vec<String> {
    let (interrupt, lines) = (Interrupt::default(), Arc::new(Mutex::new(Vec::new())));
    let kept = lines.clone();
    let note = Arc::new(move |line: &str| kept.lock().expect("it is whole").push(line.to_owned()));
    let mut served = Listener::new(&interrupt, Arc::new(Notes::new(note)), Confined::with_all_rights())
        .expect("a listener");
    ports(&mut served);
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || served.accept_all(None).map(|()| served.finish()));
        // A test that fails ends what it has started, too.
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        interrupt.raise();
        thread.join().expect("it ran").expect("it served");
        acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    Arc::into_inner(lines).expect("it is over").into_inner().expect("it is whole")
}

/// Everybody is answered there.
fn answers_all(address: SocketAddr) {
    assert!((0..20).all(|_| is_answered(address)), "everybody is answered");
}

#[test]
fn a_port_that_cannot_accept_rests_alone() {
    let (socket, address) = bound();
    // A connection with something to read: it wakes the poll, and nothing can be accepted from it.
    let (door, at) = bound();
    let mut far = TcpStream::connect(at).expect("it listens");
    let (near, _) = door.accept().expect("somebody is there");
    far.write_all(b"!").expect("it takes a byte");
    let broken = TcpListener::from(OwnedFd::from(near));
    let lines = noted_while(
        |listener| {
            listener.add(broken, answers()).expect("it is added");
            listener.add(socket, answers()).expect("it is added");
        },
        || answers_all(address),
    );
    assert!(lines.iter().any(|line| line.starts_with("accept:")), "{lines:?}");
}

#[test]
fn a_flood_of_datagrams_keeps_no_client_from_connecting() {
    let (socket, address) = bound();
    let flooded = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    flooded.send_to(b"!", flooded.local_addr().expect("it is bound")).expect("it is sent");
    let taken = Arc::new(AtomicU32::new(0));
    let counted = taken.clone();
    noted_while(
        |listener| {
            listener.add_datagram_port(Box::new(Flooded { socket: flooded, taken: counted }));
            listener.add(socket, answers()).expect("it is added");
        },
        || answers_all(address),
    );
    assert!(taken.load(Ordering::Relaxed) > 20, "it was flooded all the while");
}

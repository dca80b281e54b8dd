//! TWAMP's control dialogue on the virtual link: tests set up, begun and ended, and ends that vanish or break off.

use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_wire::stamp::Timestamp;
use pathmeter_wire::twamp::{Client, Request, Server, TestRequest, TwampCommand};
use pathmeter_wire::{Input, Output, ProtocolError, Session, WorkReply, WorkRequest};
use world::{Nature, Trouble, Who, Work, World};

/// The server with sockets of its own: on port 7000 and up.
struct Serving {
    server: Server,
    control: Vec<TwampCommand>,
    port: u16,
}

impl Session for Serving {
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        self.server.input(now, input)?;
        while let Some(command) = self.server.take_command() {
            self.control.push(command);
            if let TwampCommand::Open(_) = command {
                self.server.opened(now, Ok(self.port))?;
                self.port += 1;
            }
        }
        Ok(())
    }

    fn output(&mut self, now: MonoTime) -> Output {
        self.server.output(now)
    }
}

/// The engine handles packets: the dialogue requests no work.
struct Nothing;

impl Work for Nothing {
    fn request(&mut self, _: MonoTime, who: Who, request: WorkRequest) -> Option<WorkReply> {
        panic!("{who:?} asks for {request:?}")
    }
}

type Talk = World<'static, Client, Serving, Nothing>;

fn talk(nature: Nature<'static>) -> Talk {
    let request = Request {
        sender: None,
        sender_port: 0x1122,
        receiver: None,
        receiver_port: 0x3344,
        padding: 30,
        start: Timestamp(0),
        timeout: Nanos::from_millis(2500),
        type_p: Request::of_dscp(46),
    };
    let serving =
        |now| Serving { server: Server::new([7; 12], Timestamp(9), now), control: Vec::new(), port: 7000 };
    World::new(nature, |now| Client::new(request, now), serving, Nothing)
}

fn troubled(millis: u64, trouble: Trouble) -> Talk {
    talk(Nature { troubles: vec![(Nanos::from_millis(millis), trouble)], ..Nature::default() })
}

#[test]
fn a_test_is_agreed_on_begun_and_ended() {
    for (portion, clock_offset) in [(1, 0), (7, 3_000_000_000), (1000, -5)] {
        let mut world = talk(Nature { portion, clock_offset, ..Nature::default() });
        world.run_until(|world| world.client.session.port().is_some());
        assert_eq!(world.client.session.port(), Some(7000), "{portion}");
        let begun = [TwampCommand::Open(TestRequest { port: 0x3344, dscp: 46 }), TwampCommand::Begin];
        assert_eq!(world.server.session.control, begun, "{portion}");
        world.client.session.finish();
        assert_eq!(world.client.session.port(), None);
        let _ = world.run();
        assert_eq!(world.server.session.control.last(), Some(&TwampCommand::End(Nanos::from_millis(2500))));
        assert_eq!(world.errors(), [None, None], "{portion}");
    }
}

/// Neither end waits for ever before the test; during it the engine watches the packets (REFWAIT).
#[test]
fn an_end_that_vanishes_before_the_test_is_given_up() {
    let mut world = troubled(7, Trouble::Vanish(Who::Server));
    let took = world.run();
    assert!(matches!(world.client.error, Some(ProtocolError::Timeout(_))), "{:?}", world.client.error);
    let mut world = troubled(7, Trouble::Vanish(Who::Client));
    let waited = world.run();
    assert!(matches!(world.server.error, Some(ProtocolError::Timeout(_))), "{:?}", world.server.error);
    assert!(took <= waited && waited <= Nanos::from_secs(61), "{took} {waited}");
}

#[test]
fn a_connection_that_breaks_is_the_end_of_both() {
    for millis in [0, 3, 8, 13, 18, 40, 60, 500] {
        let mut world = troubled(millis, Trouble::Break);
        let _ = world.run();
        assert!(matches!(world.client.error, Some(ProtocolError::Closed(_))), "{millis}");
        assert_eq!(world.server.error, None, "{millis}: a client may leave at any time");
    }
}

#[test]
fn an_interrupt_is_the_end() {
    for (who, index) in [(Who::Client, 0), (Who::Server, 1)] {
        let mut world = troubled(12, Trouble::Interrupt(who));
        let _ = world.run();
        assert!(matches!(world.errors()[index], Some(ProtocolError::Stopped(_))), "{:?}", world.errors());
    }
}

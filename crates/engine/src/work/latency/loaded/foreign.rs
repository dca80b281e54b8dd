//! Probes over connections of their own: what a new flow waits while the load runs.

use crate::error::{Context, Result, refused};
use crate::host;
use crate::session::connect::Security;
use crate::session::link::Link;
use crate::session::tls;
use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use linux::socket::{TcpOptions, tcp_connect};
use model::latency::EgressPath;
use model::stats::responsiveness::ForeignProbe;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use wire::native::probe::ProbeClient;
use wire::native::{Decoder, Message};
use wire::{Output, Session};

/// Makes such probes.
#[derive(Debug)]
pub(super) struct Asker<'a> {
    egress: &'a EgressPath,
    security: &'a Security,
    /// Greeting and hello, which the server answers with its own.
    request: Vec<u8>,
}

impl<'a> Asker<'a> {
    /// To the server of this path.
    ///
    /// # Errors
    /// The system gave no random bytes.
    pub(super) fn new(egress: &'a EgressPath, security: &'a Security) -> Result<Asker<'a>> {
        let config = wire::native::ClientConfig {
            token: security.token.clone(),
            entropy: host::entropy()?,
            software: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).into(),
            host: model::host::Host::default(),
            binding: Vec::new(),
        };
        let mut first_words = ProbeClient::new(config, mono_now());
        let mut request = Vec::new();
        while let Output::Send(bytes) = first_words.output(mono_now()) {
            request.extend(bytes);
        }
        Ok(Asker { egress, security, request })
    }

    /// One probe: a connection, TLS where it is used, one request and its answer.
    ///
    /// # Errors
    /// A part of it took longer than [`TIMEOUT`], or failed.
    pub(super) fn ask(&self) -> Result<ForeignProbe> {
        let options = TcpOptions {
            local_address: self.egress.bind,
            device: self.egress.device.clone(),
            nodelay: true,
            ..TcpOptions::default()
        };
        let begun = mono_now();
        let socket = tcp_connect(self.egress.target.address, &options, TIMEOUT)?;
        let connected = mono_now();
        let encrypted = self.security.fingerprint.map(tls::connect).transpose()?;
        let encrypts = encrypted.is_some();
        let mut link = Link::new(socket, Vec::new(), encrypted).context("set up a probe's connection")?;
        let hello = mono_now();
        link.handshake(hello + TIMEOUT)?;
        let sent_at = mono_now();
        self.exchange(&mut link, sent_at + TIMEOUT)?;
        let answered = mono_now();
        Ok(ForeignProbe {
            tcp: connected - begun,
            // TLS 1.3 takes one round trip (RFC 8446 section 2).
            tls: encrypts.then(|| sent_at - hello),
            http: answered - sent_at,
        })
    }

    fn exchange(&self, link: &mut Link, deadline: MonoTime) -> Result<()> {
        link.write(&self.request, deadline)?;
        let (mut decoder, mut buffer) = (Decoder::default(), [0; 4096]);
        loop {
            if !link.has_buffered() {
                wait(&mut [Interest::readable(link.socket())], Some(deadline))?;
            }
            match link.read(&mut buffer)? {
                Some(0) => return Err(refused("the server closed")),
                Some(length) => decoder.push(&buffer[..length]),
                None if mono_now() >= deadline => return Err(refused("the server does not answer")),
                None => {}
            }
            match decoder.next_message()? {
                Some(Message::Hello(_)) => return Ok(()),
                Some(other) => return Err(refused(format!("the server answers a hello with {other:?}"))),
                None => {}
            }
        }
    }
}

/// Time from one probe to the next, so that they take at most a twentieth of what the load carries (PTC of the draft).
pub(super) fn pause(goodput: BitRate) -> Nanos {
    let share = BitRate(goodput.0 / PTC_SHARE);
    let time = share.time_for(PROBE).unwrap_or(SLOWEST);
    Nanos(time.0.clamp(QUICKEST.0, SLOWEST.0))
}

/// Longest wait for each part of a probe.
const TIMEOUT: Nanos = Nanos::from_secs(3);
const PTC_SHARE: u64 = 20;
/// The bytes that the draft counts for a probe of this kind.
const PROBE: model::units::Bytes = model::units::Bytes(5000);
/// Ten a second, where the draft allows a hundred: more would load small hosts by themselves.
const QUICKEST: Nanos = Nanos::from_millis(100);
const SLOWEST: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Target;
    use std::time::Duration;

    #[test]
    fn probes_take_little_of_a_slow_path() {
        assert_eq!(pause(BitRate(0)), SLOWEST);
        assert_eq!(pause(BitRate(1_000_000)), Nanos::from_millis(800));
        assert_eq!(pause(BitRate(8_000_000)), QUICKEST);
        assert_eq!(pause(BitRate(u64::MAX)), QUICKEST);
    }

    /// A server that waits before its part of TLS and before its answer, each for another time.
    #[test]
    fn each_part_of_a_probe_takes_what_the_server_took_for_it() {
        let (for_tls, for_answer) = (Duration::from_millis(60), Duration::from_millis(150));
        let own = tls::ServerTls::new().unwrap();
        let print = own.fingerprint();
        for encrypted in [None, Some(&own)] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let egress = egress_to(listener.local_addr().unwrap());
            let security = Security { fingerprint: encrypted.map(|_| print), ..Security::default() };
            let asker = Asker::new(&egress, &security).unwrap();
            let probe = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let socket = listener.accept().unwrap().0;
                    socket.set_nonblocking(true).unwrap();
                    let deadline = mono_now() + TIMEOUT;
                    // Each wait begins when the probe's part of it has come: the probe's clock runs by then.
                    wait(&mut [Interest::readable(&socket)], Some(deadline)).unwrap();
                    std::thread::sleep(if encrypted.is_some() { for_tls } else { Duration::ZERO });
                    let encrypted = encrypted.map(|own| own.accept().unwrap());
                    let mut link = Link::new(socket, Vec::new(), encrypted).unwrap();
                    link.handshake(deadline).unwrap();
                    while link.read(&mut [0; 4096]).unwrap().is_none() {
                        wait(&mut [Interest::readable(link.socket())], Some(deadline)).unwrap();
                    }
                    std::thread::sleep(for_answer);
                    let hello = br#"{"type":"hello","software":"slow","features":[]}"#;
                    let length = u32::try_from(hello.len()).unwrap().to_be_bytes();
                    let answer = [b"PMTRCTRL\x01\x01".as_slice(), &length, hello].concat();
                    link.write(&answer, deadline).unwrap();
                    // Until the probe has gone.
                    wait(&mut [Interest::readable(link.socket())], Some(deadline)).unwrap();
                });
                let begun = mono_now();
                let probe = asker.ask().unwrap();
                let all = probe.tcp + probe.tls.unwrap_or_default() + probe.http;
                assert!(all <= mono_now() - begun, "no time is counted twice: {probe:?}");
                probe
            });
            let at_least = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap());
            assert_eq!(probe.tls.is_some(), encrypted.is_some());
            assert!(probe.tcp > Nanos::ZERO);
            assert!(probe.tls.is_none_or(|tls| tls >= at_least(for_tls)), "{probe:?}");
            assert!(probe.http >= at_least(for_answer), "{probe:?}");
        }
    }

    fn egress_to(address: std::net::SocketAddr) -> EgressPath {
        let target = Target { host: "here".into(), address };
        EgressPath { label: "here".into(), target, bind: None, port: None, device: None }
    }

    #[test]
    fn a_probe_of_another_service_is_an_error() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let service = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut socket, b"220 mail.example ESMTP\r\n").unwrap();
            // Until the probe has gone.
            std::io::Read::read_to_end(&mut socket, &mut Vec::new()).ok();
        });
        let egress = egress_to(address);
        let security = Security::default();
        let asker = Asker::new(&egress, &security).unwrap();
        assert!(asker.request.starts_with(b"PMTRCTRL"));
        assert!(asker.ask().is_err(), "it speaks no protocol of ours");
        service.join().unwrap();
        assert!(asker.ask().is_err(), "nothing listens any more");
    }
}

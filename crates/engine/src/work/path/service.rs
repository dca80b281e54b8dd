//! The largest datagram that a UDP service answers: a box that cannot be looked into, asked with one request in many
//! sizes.
//!
//! Datagrams go as those of users' programs do: any router may fragment them. Every one has a socket of its own, so that
//! a late answer is not taken for that of another size.

mod ask;

use super::foreign::bisect::Bisect;
use super::foreign::facts::Facts;
use crate::error::Result;
use crate::host::interrupt::Interrupt;
use ask::{Asker, Reply};
use model::event::Event;
use model::framing::LARGEST_PACKET;
use model::path::{PathPlan, ServiceLimit, ServicePlan, headers};

/// Looks for it.
///
/// # Errors
/// A socket that this host refuses. A service that answers nothing is no error, and is reported in the result.
pub(crate) fn service(
    plan: &PathPlan,
    service: &ServicePlan,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&Event),
) -> Result<ServiceLimit> {
    let facts = Facts::from_plan(plan)?;
    let headers = headers(facts.ipv6);
    let whole = facts.interface.saturating_sub(headers);
    let most = service.largest.min(LARGEST_PACKET - if facts.ipv6 { 8 } else { headers });
    let mut asker = Asker::new(plan, service, interrupt);
    sink(&Event::progress(format!("asking the service at UDP port {}", service.port)));
    let (payload, silent) = match first(&mut asker, service, whole, most)? {
        Some(base) => {
            let (payload, silent) = search(&mut asker, base, (whole, most, headers), sink)?;
            (Some(payload), silent)
        }
        None => (None, None),
    };
    Ok(ServiceLimit {
        port: service.port,
        payload,
        silent,
        fragmented_from: whole + 1,
        refused: asker.refused.take(),
        sizes: asker.tallies.into_values().collect(),
    })
}

/// A size that is answered: the request as it is, or filled up, where the service wants more.
fn first(asker: &mut Asker<'_>, service: &ServicePlan, whole: u32, most: u32) -> Result<Option<u32>> {
    let least = u32::try_from(service.payload.len()).unwrap_or(u32::MAX).max(1);
    let mut sizes = vec![least.min(most)];
    sizes.extend(USUAL.into_iter().chain([whole]).filter(|size| (least..=most).contains(size)));
    sizes.dedup();
    for _ in 0..TURNS {
        let answered = asker.probe_train(&sizes)?;
        let found = sizes.iter().zip(answered).find(|(_, answered)| *answered).map(|(size, _)| *size);
        if found.is_some() || asker.closed {
            return Ok(found);
        }
    }
    Ok(None)
}

/// From a size that is answered to the largest that is, and the least that is not where one is known. Common sizes are those of packets.
fn search(
    asker: &mut Asker<'_>,
    base: u32,
    (whole, most, headers): (u32, u32, u32),
    sink: &mut dyn FnMut(&Event),
) -> Result<(u32, Option<u32>)> {
    let mut bisect = Bisect::new(base + headers, most + headers);
    bisect.hint(whole + headers);
    let mut silent: Option<u32> = None;
    loop {
        let Some(packet) = bisect.next() else {
            // A service that seemed silent may be slow.
            match silent.filter(|_| !asker.patient) {
                Some(size) if asker.ask_patiently(size)? => {
                    (bisect, silent) = (Bisect::new(size + headers, most + headers), None);
                    continue;
                }
                _ => break,
            }
        };
        let size = packet - headers;
        sink(&Event::progress(format!("does it answer {size} bytes?")));
        match asker.ask(size, bisect.low() - headers)? {
            Reply::Answered => bisect.take(packet, true),
            Reply::Silent => {
                silent = Some(silent.map_or(size, |least| least.min(size)));
                bisect.take(packet, false);
            }
            Reply::Unclear => break,
        }
    }
    let payload = bisect.low() - headers;
    Ok((payload, silent.filter(|silent| *silent > payload)))
}

/// Requests that are padded to what a service may want at least: QUIC's 1200, and less.
const USUAL: [u32; 3] = [64, 512, 1200];
const TURNS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use model::framing::LARGEST_UDP_PAYLOAD;
    use model::path::PathMethod;
    use model::plan::{LocalOptions, Target};
    use model::units::Nanos;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    /// A service that answers what `answers` states it does, by request length and number, while `work` asks it.
    fn served(answers: impl Fn(usize, usize) -> bool + Sync, work: impl FnOnce(u16)) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut bytes, mut number) = (vec![0; 1 << 16], 0);
                while !over.load(Ordering::Relaxed) {
                    let Ok((length, from)) = server.recv_from(&mut bytes) else { continue };
                    number += 1;
                    if answers(length, number) {
                        server.send_to(b"ok, and more", from).unwrap();
                    }
                }
            });
            let port = server.local_addr().unwrap().port();
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(port)));
            over.store(true, Ordering::Relaxed);
            worked.unwrap();
        });
    }

    fn found_limit(port: u16, payload: &[u8], reply: &[u8], largest: u32) -> ServiceLimit {
        let target = Target { host: "here".into(), address: ([127, 0, 0, 1], 0).into() };
        let wanted = ServicePlan {
            port,
            payload: payload.to_vec(),
            fill: 0,
            reply: reply.to_vec(),
            timeout: Nanos::from_millis(700),
            largest,
        };
        let plan = PathPlan {
            target,
            method: PathMethod::Auto,
            largest: None,
            service: Some(wanted.clone()),
            encap: None,
            local: LocalOptions::default(),
        };
        service(&plan, &wanted, &Interrupt::default(), &mut |_| {}).unwrap()
    }

    #[test]
    fn the_limit_of_a_service_is_found_to_the_byte() {
        for limit in [1, 1472, 4096] {
            served(
                move |length, _| length <= limit,
                |port| {
                    let found = found_limit(port, b"", b"ok", 9000);
                    let limit = u32::try_from(limit).unwrap();
                    assert_eq!((found.payload, found.silent), (Some(limit), Some(limit + 1)));
                    assert!(
                        found.sizes.iter().all(|probe| (probe.received > 0) == (probe.size <= limit)),
                        "{found:?}"
                    );
                },
            );
        }
    }

    #[test]
    fn a_service_without_a_limit_answers_the_largest() {
        served(
            |_, _| true,
            |port| {
                let found = found_limit(port, b"hello", b"", LARGEST_UDP_PAYLOAD);
                assert_eq!(
                    (found.payload, found.silent, found.refused),
                    (Some(LARGEST_UDP_PAYLOAD), None, None)
                );
                assert!(found.sizes.iter().map(|probe| probe.sent).sum::<u32>() < 12, "{:?}", found.sizes);
            },
        );
    }

    #[test]
    fn lost_answers_are_asked_for_again() {
        served(
            |length, number| length <= 700 && number % 5 != 0,
            |port| {
                assert_eq!(found_limit(port, b"", b"ok", 1400).payload, Some(700));
            },
        );
    }

    #[test]
    fn answers_of_another_kind_are_none() {
        served(
            |_, _| true,
            |port| {
                let found = found_limit(port, b"hello", b"no", 100);
                assert_eq!((found.payload, found.silent), (None, None));
                assert!(found.sizes.iter().any(|probe| probe.sent > 0 && probe.received == 0));
            },
        );
    }

    #[test]
    fn a_slow_answer_is_an_answer() {
        let slow = |length: usize| {
            // Far longer than the ten times that an answer took before.
            std::thread::sleep(Duration::from_millis(if length > 990 { 220 } else { 0 }));
            length <= 1000
        };
        served(
            move |length, _| slow(length),
            |port| {
                assert_eq!(found_limit(port, b"", b"ok", 1001).payload, Some(1000));
            },
        );
    }

    #[test]
    fn a_closed_port_is_reported_at_once() {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let found = found_limit(port, b"hello", b"", 1400);
        assert_eq!(found.payload, None);
        assert!(found.refused.unwrap().contains("nothing listens"), "it is reported");
    }
}

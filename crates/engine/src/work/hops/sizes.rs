//! Finds the hop that refuses packets of full size: some are sent, and each refusal gives the next size to try.

use super::CLOSED_PORT;
use super::HopsJob;
use crate::error::Result;
use crate::work::probe::numbered::{Numbered, ProbeReply, Sent, Word};
use linux::clock::mono_now;
use linux::nic::Nic;
use linux::options::MtuDiscovery;
use linux::poll::{Interest, wait};
use model::framing::LARGEST_PACKET;
use model::hops::{HopsResult, LEAST_WAIT, settled};
use model::path::headers;
use model::units::Nanos;

/// Fills in the path MTU where the far end answers, and at each router that refused the MTU of the link behind it.
pub(super) fn look(job: &HopsJob<'_>, result: &mut HopsResult) -> Result<()> {
    let address = job.plan.target.address;
    let mut to = address;
    to.set_port(CLOSED_PORT);
    if let Some(flow) = result.flows.first().and_then(|flow| flow.flow) {
        to.set_port(flow.to.port());
    }
    let mut size = Nic::toward(address.ip().to_canonical())?.link.mtu.min(LARGEST_PACKET);
    let slowest = result.far_end().and_then(|hop| hop.rtt).map_or(Nanos::ZERO, |rtt| rtt.max);
    let mut socket = Numbered::open(to, &job.plan.local, MtuDiscovery::Probe)?;
    let least = headers(to.is_ipv6()) + LEAST_PAYLOAD;
    let mut unanswered = 0;
    for number in 0..TRIES {
        if job.interrupt.is_raised() || unanswered == TIMEOUT {
            return Ok(());
        }
        let sent = socket.send(number, size)?;
        result.packets += u64::from(sent == Sent::Left);
        let timeout = if slowest > Nanos::ZERO { settled(slowest) } else { LEAST_WAIT };
        match ask(&mut socket, number, timeout)? {
            Some(Word { reply: ProbeReply::TooBig(mtu), from, .. }) if (least..size).contains(&mtu) => {
                let routers = result.hops.iter_mut().flat_map(|hop| &mut hop.routers);
                routers
                    .filter(|router| Some(router.address) == from)
                    .for_each(|router| router.next_mtu = Some(mtu));
                size = mtu;
            }
            Some(Word { reply: ProbeReply::Answer | ProbeReply::Closed, .. }) => {
                result.path_mtu = Some(size);
                return Ok(());
            }
            // The loss may be chance, or the far end's limit of answers.
            _ => unanswered += 1,
        }
    }
    Ok(())
}

/// The first message about this probe.
fn ask(socket: &mut Numbered, number: u32, timeout: Nanos) -> Result<Option<Word>> {
    let deadline = mono_now() + timeout;
    loop {
        let about = socket.hear()?.into_iter().find(|word| word.number.is_none_or(|known| known == number));
        if about.is_some() || mono_now() >= deadline {
            return Ok(about);
        }
        wait(&mut [Interest::readable(socket.socket())], Some(deadline))?;
    }
}

const TRIES: u32 = 8;
/// Packets without a useful answer after which the size stays unknown.
const TIMEOUT: u32 = 2;
const LEAST_PAYLOAD: u32 = 12;

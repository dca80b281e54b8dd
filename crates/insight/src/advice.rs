//! The numbers to set on a path of known MTU: tunnels, interfaces, MSS clamps, datagrams; each with its command.

mod clamp;
mod tunnel;

use model::host::Host;
use model::path::advice::{Advice, Setting};
use model::path::{BlackHoleCause, Bound, PathDirection, PathResult, least_mtu};
use model::plan::Direction;
use model::run::Run;

/// Advice on the path of a run; none where no path MTU is known.
#[must_use]
pub(crate) fn of_run(run: &Run) -> Vec<Advice> {
    let Some(result) = &run.summary.path else { return Vec::new() };
    let named = run.path().and_then(|plan| plan.encap.as_deref());
    Path { result, named, here: run.host.as_ref(), there: run.peer.as_ref() }.advice()
}

/// A path to advise on.
struct Path<'a> {
    result: &'a PathResult,
    /// The requested encapsulation.
    named: Option<&'a str>,
    here: Option<&'a Host>,
    there: Option<&'a Host>,
}

impl Path<'_> {
    fn advice(&self) -> Vec<Advice> {
        let Some(mtu) = self.mtu() else { return Vec::new() };
        let mut all: Vec<Advice> =
            self.each(|direction, one_way| self.interface(direction, one_way, mtu)).collect();
        all.extend(self.probing());
        if self.reduced(mtu) {
            all.extend(clamp::both(mtu, self.whole()));
        }
        all.extend(self.udp_payload());
        all.extend(tunnel::each(mtu, self.ipv6(), self.named, self.whole()));
        all
    }

    fn directions(&self) -> impl Iterator<Item = (Direction, &PathDirection)> {
        let both_directions =
            Direction::BOTH.map(|direction| (direction, self.result.in_direction(direction)));
        let known =
            both_directions.into_iter().filter_map(|(direction, one_way)| Some((direction, one_way?)));
        known.filter(|(_, one_way)| !self.is_filtered(one_way))
    }

    /// Whether the figure of a direction likely comes from a filter of large echo requests, by whose size nothing is to be set.
    fn is_filtered(&self, one_way: &PathDirection) -> bool {
        let hole = self.result.echo_hole.filter(|hole| hole.is_likely_filter());
        one_way.bound == Bound::AtLeast && hole.is_some_and(|hole| one_way.path_mtu <= Some(hole.first))
    }

    fn each<'b, F>(&'b self, advise: F) -> impl Iterator<Item = Advice>
    where
        F: Fn(Direction, &'b PathDirection) -> Option<Advice>,
    {
        self.directions().filter_map(move |(direction, one_way)| advise(direction, one_way))
    }

    /// The largest packet that is known to cross in every direction and flow that was examined. A direction that may carry more, and one
    /// that a rule of its receiver limits, count where no other is known.
    fn mtu(&self) -> Option<u32> {
        let least = |is_counted: fn(&PathDirection) -> bool| {
            let counted = self.directions().filter(|(_, one_way)| is_counted(one_way));
            counted.filter_map(|(_, one_way)| one_way.crosses_in_every_flow()).min()
        };
        least(|one_way| one_way.bound != Bound::AtLeast && !is_receivers_rule(one_way))
            .or_else(|| least(|one_way| !is_receivers_rule(one_way)))
            .or_else(|| least(|_| true))
    }

    fn ipv6(&self) -> bool {
        self.directions().any(|(_, direction)| direction.ipv6)
    }

    /// Both directions are known.
    fn whole(&self) -> bool {
        self.directions().filter(|(_, direction)| direction.crosses().is_some()).count() == 2
    }

    /// Senders would send more than crosses.
    fn reduced(&self, mtu: u32) -> bool {
        let sends_more = |one_way: &PathDirection| {
            one_way.bound != Bound::AtLeast && one_way.interface_mtu.is_some_and(|own| own > mtu)
        };
        self.directions().any(|(_, one_way)| {
            sends_more(one_way) && !one_way.is_held_by_route() && !is_receivers_rule(one_way)
        })
    }

    fn interface(&self, direction: Direction, one_way: &PathDirection, mtu: u32) -> Option<Advice> {
        // An interface of less than 1280 bytes has no IPv6: what would be held small would not be sent at all.
        let helps = !one_way.ipv6 || mtu >= least_mtu(true);
        one_way.interface_mtu.filter(|own| *own > mtu && is_untold(one_way) && helps)?;
        let device = self.device(direction);
        let mut why = format!(
            "its kernel does not know that {direction} no more than {} bytes cross; the same {mtu} at both ends keeps TCP's \
             segments small in both directions",
            one_way.crosses()?
        );
        if mtu < least_mtu(true) {
            why.push_str("; below 1280 the interface has no IPv6 any more");
        }
        Some(Advice {
            setting: Setting::InterfaceMtu,
            value: mtu,
            place: place(direction).into(),
            commands: vec![format!("ip link set dev {device} mtu {mtu}")],
            why,
        })
    }

    fn probing(&self) -> Option<Advice> {
        let off = |one_way: &PathDirection| {
            !matches!(one_way.tcp.as_ref().and_then(|tcp| tcp.mtu_probing), Some(1..))
        };
        let ends: Vec<Direction> = self
            .directions()
            .filter(|(_, one_way)| is_untold(one_way) && off(one_way))
            .map(|(direction, _)| direction)
            .collect();
        let place = match ends.as_slice() {
            [] => return None,
            [one] => place(*one),
            _ => "both ends",
        };
        Some(Advice {
            setting: Setting::MtuProbing,
            value: 1,
            place: place.into(),
            commands: vec!["sysctl -w net.ipv4.tcp_mtu_probing=1".into()],
            why: "TCP then finds out by itself when large segments vanish, after a stall of some seconds (RFC 4821)"
                .into(),
        })
    }

    fn udp_payload(&self) -> Option<Advice> {
        let known = |direction: &PathDirection| {
            direction.crosses_in_every_flow()?.checked_sub(direction.headers()).filter(|left| *left > 0)
        };
        let payloads: Vec<u32> = self.directions().filter_map(|(_, direction)| known(direction)).collect();
        let least = payloads.iter().copied().min()?;
        let why = match (payloads.as_slice(), self.whole()) {
            (_, false) => {
                "the largest that crosses unfragmented in the one direction that could be tested".into()
            }
            ([up, down], true) if up != down => {
                format!("the largest that crosses unfragmented in both directions: {up} up, {down} down")
            }
            _ => "the largest that crosses unfragmented in both directions".into(),
        };
        Some(Advice {
            setting: Setting::UdpPayload,
            value: least,
            place: "programs that send datagrams".into(),
            commands: vec![
                format!("iperf3 -c HOST -u -l {least}"),
                format!("pathmeter throughput HOST --udp -l {least}"),
            ],
            why,
        })
    }

    /// The sender's interface in this direction, by name where it is known.
    fn device(&self, direction: Direction) -> &str {
        let host = direction.choose(self.here, self.there);
        host.and_then(|host| host.nic.as_ref()).map_or("INTERFACE", |nic| nic.name.as_str())
    }
}

/// A sender would send more than crosses, and does not learn of it. A rule of the receiver is taken away, and senders stay as they are.
fn is_untold(one_way: &PathDirection) -> bool {
    one_way.untold() && !one_way.is_held_by_route() && !is_receivers_rule(one_way)
}

fn is_receivers_rule(one_way: &PathDirection) -> bool {
    one_way.black_hole.is_some_and(|hole| hole.cause == BlackHoleCause::ReceiverFilter)
}

/// The end that sends.
fn place(direction: Direction) -> &'static str {
    direction.choose("this host", "the far host")
}

/// The caution on a number when only one direction is known.
fn caution(whole: bool) -> &'static str {
    if whole { "" } else { "; the other direction is not known and may carry less" }
}

#[cfg(test)]
mod tests;

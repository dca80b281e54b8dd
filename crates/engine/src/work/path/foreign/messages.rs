//! Sentences about facts that could not be measured, and what that takes.

use super::tcp::named_port;
use super::{EchoState, Methods, forward::Reach};
use crate::error::{Failure, Result, fault};
use crate::work::hops::CLOSED_PORT;
use insight::fix;
use model::path::{Bound, Outcome, PathDirection, PathMethod, PathResult, Unknown};
use model::plan::Direction;
use std::net::Ipv6Addr;

impl Methods<'_> {
    /// That the far end gives no answer of any kind.
    pub(super) fn check(&mut self) -> Result<()> {
        let host = &self.plan.target.host;
        if self.tcp.as_ref().is_some_and(|tcp| tcp.open.is_some()) {
            return Ok(());
        }
        if self.interrupt.is_raised() {
            return Err(fault(format!("stopped before {host} answered")));
        }
        if self.plan.method == PathMethod::Icmp && self.lacks_right() {
            return Err(
                Failure::usage("--protocol icmp: this user may open no socket for it", echo_right()).into()
            );
        }
        let mut tried = Vec::new();
        if let Some(port) = &self.port {
            let refused = port.refused.map(|(from, kind, code)| {
                let who = from.map_or_else(|| "a box on the path".into(), |from| from.to_string());
                format!(" (refused by {who} with ICMP type {kind} code {code})")
            });
            tried.push(format!("UDP to port {CLOSED_PORT} and the next ones{}", refused.unwrap_or_default()));
        }
        match &self.echo {
            EchoState::NotPlanned | EchoState::Answers(_) => {}
            EchoState::Forbidden => tried.push("ICMP echo (not allowed to this user)".into()),
            EchoState::Silent(_) => tried.push("ICMP echo".into()),
        }
        if let Some(tcp) = &self.tcp {
            let closed = if tcp.answered { " (closed)" } else { "" };
            tried.push(match named_port(self.plan) {
                None => format!("TCP to ports 443, 80 and 22{closed}"),
                Some(port) => format!("TCP to port {port}{closed}"),
            });
        }
        let advice = match (self.lacks_right(), self.plan.method) {
            (true, _) => echo_right(),
            (false, PathMethod::Tcp) => {
                format!("name an open port: {}, or ask without --protocol tcp", at_port(host))
            }
            (false, PathMethod::Auto) => format!(
                "run `pathmeter serve` on {host}, name an open TCP port ({}), or try a host behind the same path",
                at_port(host)
            ),
            _ => "ask without --protocol, by every method".to_owned(),
        };
        let message = format!("{host} answers nothing that shows packet sizes: tried {}", tried.join(", "));
        Err(Failure::unreachable(message, advice).into())
    }

    /// Adds the facts that each method cannot find.
    pub(super) fn note_unknown(&mut self, result: &mut PathResult) {
        let host = self.plan.target.host.clone();
        let mut add = |direction, what: &str, why: String| {
            result.unknown.push(Unknown { direction, what: what.into(), why });
        };
        if !self.answers() {
            let why = format!("{host} answers TCP alone, which shows the MSS and no more");
            add(None, "which packets cross", why);
            return;
        }
        if let Some(why) = self.unknown_return() {
            add(Some(Direction::Down), "which packets come back", why);
        }
        let unasked = |one_way: &PathDirection| one_way.fragments.tests.is_empty();
        if result.up.as_ref().is_some_and(unasked) {
            let why = match self.facts.cut_size() {
                None => "this host's interface carries every datagram whole".to_owned(),
                Some(_) => {
                    format!(
                        "{host} answers no datagram in fragments, which may have been lost in either direction"
                    )
                }
            };
            add(Some(Direction::Up), FRAGMENTS, why);
        }
        let is_whole = |echo: &EchoState| matches!(echo, EchoState::Answers(echo) if echo.cut_to.is_none());
        if result.down.as_ref().is_some_and(unasked) && is_whole(&self.echo) {
            let why = match self.facts.cut_size() {
                None => {
                    "this host's interface carries every datagram whole, and so does the far one's".to_owned()
                }
                Some(_) => format!(
                    "none could be provoked: {host} does not receive the requests, or its replies are lost"
                ),
            };
            add(Some(Direction::Down), FRAGMENTS, why);
        }
    }

    /// Why nothing is known of the return path.
    fn unknown_return(&self) -> Option<String> {
        let host = &self.plan.target.host;
        Some(match &self.echo {
            EchoState::Answers(echo) => format!(
                "{host} cuts its echo replies to {} bytes: they show which requests arrive and nothing of what comes back; \
                 `pathmeter serve` there would show it",
                echo.cut_to?
            ),
            EchoState::Forbidden => echo_right(),
            EchoState::Silent(echo) => format!(
                "{host} answered none of {} ICMP echo requests; `pathmeter serve` there would show it",
                echo.packets
            ),
            EchoState::NotPlanned => "ICMP echo shows it, which was not asked: --protocol icmp".to_owned(),
        })
    }

    /// Where answers leave room for doubt, or contradict one another.
    pub(super) fn note_doubts(
        &self,
        result: &mut PathResult,
        up: &PathDirection,
        down: &PathDirection,
        echo: Option<&Outcome>,
        port: Option<Reach>,
    ) {
        let mut add = |direction, what: &str, why: String| {
            result.unknown.push(Unknown { direction: Some(direction), what: what.into(), why });
        };
        let echoed = echo.filter(|echo| echo.bound == Bound::Exact).and_then(|echo| echo.path_mtu);
        let arrived = port.filter(|port| port.bound == Bound::Exact).and_then(|port| port.path_mtu);
        if let (Some(echoed), Some(arrived)) = (echoed, arrived)
            && echoed > arrived
        {
            let why = format!(
                "ICMP echo requests of {echoed} bytes arrive, datagrams above {arrived} do not: a box on the path treats \
                 them differently"
            );
            add(Direction::Up, "which packets of TCP arrive", why);
        }
        if let (Some(port), Some(mtu)) = (port, up.path_mtu)
            && port.bound == Bound::AtLeast
            && up.bound != Bound::Exact
        {
            let why = format!(
                "after {mtu} bytes the far end answered small datagrams no more: it limits its ICMP messages; try again \
                 later"
            );
            add(Direction::Up, "whether larger packets arrive", why);
        }
        if let EchoState::Answers(echo) = &self.echo
            && let Some((sent, answered)) = echo.rationed()
        {
            let why = format!(
                "only {answered} of {sent} ICMP echo requests were answered, of sizes that are answered at other times: the \
                 far host or a router limits ICMP echo, or the path loses packets"
            );
            add(Direction::Up, "whether larger packets cross", why);
        }
        let own = up.interface_mtu;
        let one_way = up.limiting_hop.is_none()
            && port.is_none()
            && echoed.is_some()
            && echoed < own
            && down.path_mtu == echoed;
        if one_way && down.bound != Bound::Exact {
            let why = "echo requests and replies are as large as one another; a far end that forbids routers to cut its \
                       replies would make a narrow return path look like this"
                .to_owned();
            add(Direction::Up, "whether the forward path is what limits", why);
        }
        if down.bound == Bound::AtLeast
            && let Some(mtu) = down.path_mtu
        {
            let why = format!(
                "no reply above {mtu} bytes could be provoked whole; `pathmeter serve` there would show it"
            );
            add(Direction::Down, "whether larger packets come back", why);
        }
    }

    /// That no port of TCP is open.
    pub(super) fn note_no_tcp(&self, result: &mut PathResult) {
        let what = "which segments TCP sends".to_owned();
        let why = match named_port(self.plan) {
            None => {
                format!(
                    "none of the ports 443, 80 and 22 is open; name one: {}",
                    at_port(&self.plan.target.host)
                )
            }
            Some(port) => format!("port {port} is not open"),
        };
        result.unknown.push(Unknown { direction: None, what, why });
    }
}

/// How a port of a host is named: an IPv6 address stands in brackets (RFC 3986 section 3.2.2).
fn at_port(host: &str) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]:PORT"),
        Err(_) => format!("{host}:PORT"),
    }
}

const FRAGMENTS: &str = "how fragments are handled";
/// The rights that ICMP echo takes.
fn echo_right() -> String {
    format!(
        "ICMP echo is not allowed to this user: `{}`, run as root, or `sysctl -w net.ipv4.ping_group_range=\"0 2147483647\"`",
        fix::rights(None)
    )
}

#[cfg(test)]
mod tests {
    use super::at_port;

    #[test]
    fn an_ipv6_address_stands_in_brackets_before_a_port() {
        assert_eq!(at_port("fd77:4::2"), "[fd77:4::2]:PORT");
        assert_eq!(at_port("10.77.4.2"), "10.77.4.2:PORT");
        assert_eq!(at_port("far.example"), "far.example:PORT");
    }
}

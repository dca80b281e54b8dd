//! The line of a connection: `[  1] local 10.0.0.1 port 49550 connected with 10.0.0.2 port 5001 (…)`.

use super::{Iperf2Options, Iperf2Role};
use model::time::WallTime;
use model::units::{Bytes, Nanos};
use std::net::{IpAddr, SocketAddr};

/// Known details of a connection or flow beside its addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iperf2Connection {
    /// Stream number.
    pub stream: u32,
    /// This end and the other.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// The interface it leaves through.
    pub device: Option<String>,
    /// The requested options, as the line names them: `reverse`, `full-duplex`, `trip-times`, `no-udp-fin`…
    pub remarks: Vec<String>,
    /// TOS byte.
    pub tos: u8,
    /// File descriptor.
    pub socket: Option<i32>,
    /// The other end's version: `2.1.8`.
    pub peer: Option<String>,
    /// TCP: initial congestion window, largest segment, first RTT.
    pub tcp: Option<(Bytes, u32, Nanos)>,
    /// connect(2) took so long.
    pub took: Option<Nanos>,
}

impl Iperf2Connection {
    /// The line. `id`: `[  1] ` or the like.
    pub(super) fn line(&self, options: &Iperf2Options, id: &str, wall: Option<WallTime>) -> String {
        let Some((local, remote)) = self.ends else { return String::new() };
        let device = self.device.as_ref().filter(|_| options.enhanced);
        let device = device.map(|name| format!("%{name}")).unwrap_or_default();
        let remarks: String = self.remarks(options, wall).iter().map(|word| format!(" {word}")).collect();
        format!(
            "{id}local {}{device} port {} connected with {} port {}{remarks}\n",
            shown(local.ip(), options),
            local.port(),
            shown(remote.ip(), options),
            remote.port()
        )
    }

    fn remarks(&self, options: &Iperf2Options, wall: Option<WallTime>) -> Vec<String> {
        let mut remarks: Vec<String> = self.remarks.iter().map(|word| format!("({word})")).collect();
        let has = |word: &str| self.remarks.iter().any(|own| own == word);
        if let (true, Some(socket)) = (options.enhanced, self.socket) {
            remarks.push(format!("(sock={socket})"));
        }
        if self.tos > 0 {
            remarks.push(match () {
                () if has("full-duplex") => format!("(tos rx/tx=0x{0:x}/0x{0:x})", self.tos),
                () if has("reverse") => format!("(tos tx=0x{:x})", self.tos),
                () => format!("(tos rx=0x{:x})", self.tos),
            });
        }
        if let (true, Some(peer)) = (options.enhanced, &self.peer) {
            remarks.push(format!("(peer {peer})"));
        }
        if let Some((window, mss, rtt)) = self.tcp {
            remarks.push(format!("(icwnd/mss/irtt={}/{mss}/{})", window.0 / 1024, rtt.0 / 1000));
        }
        if options.enhanced {
            remarks.extend(self.took.map(|took| format!("(ct={:4.2} ms)", took.0 as f64 / 1e6)));
            // A server that sends prints no time, as iPerf2's.
            let sends = options.role == Iperf2Role::Server && (has("reverse") || has("full-duplex"));
            remarks.extend(wall.filter(|_| !sends).map(|wall| format!("on {}", options.zone.date(wall))));
        }
        remarks
    }
}

/// An address, of which `--hide-ips` leaves the end.
pub(super) fn shown(address: IpAddr, options: &Iperf2Options) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) if options.hide_ips => format!("*.*.*.{}", address.octets()[3]),
        IpAddr::V6(address) if options.hide_ips => format!("*:{:x}", address.segments()[7]),
        address => address.to_string(),
    }
}

/// `[ CT] final connect times …`: of two connections or more; `errors` could not be opened.
#[must_use]
pub fn connect_times(times: &[Nanos], errors: u64) -> Option<String> {
    if times.len() < 2 {
        return None;
    }
    let millis: Vec<f64> = times.iter().map(|time| time.0 as f64 / 1e6).collect();
    let mean = millis.iter().sum::<f64>() / millis.len() as f64;
    let squares: f64 = millis.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = (squares / (millis.len() - 1) as f64).sqrt();
    let least = millis.iter().copied().fold(f64::INFINITY, f64::min);
    let most = millis.iter().copied().fold(0.0, f64::max);
    Some(format!(
        "[ CT] final connect times (min/avg/max/stdev) = {least:.3}/{mean:.3}/{most:.3}/{deviation:.3} ms \
         (tot/err) = {}/{errors}\n",
        times.len() as u64 + errors
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_connects() {
        assert_eq!(connect_times(&[Nanos::from_nanos(1)], 0), None);
        let line = connect_times(&[Nanos::from_micros(12), Nanos::from_micros(389)], 1).expect("two");
        let figures = "0.012/0.201/0.389/0.267 ms (tot/err) = 3/1";
        assert_eq!(line, format!("[ CT] final connect times (min/avg/max/stdev) = {figures}\n"));
    }

    #[test]
    fn a_line_as_2_1_8_prints_it() {
        let options = Iperf2Options { enhanced: true, ..Iperf2Options::default() };
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let connection = Iperf2Connection {
            ends: Some((address("127.0.0.1:51980"), address("127.0.0.1:38815"))),
            device: Some("lo".into()),
            remarks: vec!["reverse".into()],
            tos: 0x20,
            socket: Some(3),
            tcp: Some((Bytes(10 * 32_741), 32_741, Nanos::from_nanos(37_400))),
            took: Some(Nanos::from_micros(420)),
            ..Iperf2Connection::default()
        };
        let wall = "2026-11-21T21:39:54Z".parse().expect("a time");
        assert_eq!(
            connection.line(&options, "[  1] ", Some(wall)),
            "[  1] local 127.0.0.1%lo port 51980 connected with 127.0.0.1 port 38815 (reverse) (sock=3) \
             (tos tx=0x20) (icwnd/mss/irtt=319/32741/37) (ct=0.42 ms) on 2026-11-21 21:39:54 (UTC)\n"
        );
        let plain = Iperf2Options { hide_ips: true, ..Iperf2Options::default() };
        assert_eq!(
            connection.line(&plain, "[  1] ", Some(wall)),
            "[  1] local *.*.*.1 port 51980 connected with *.*.*.1 port 38815 (reverse) (tos tx=0x20) \
             (icwnd/mss/irtt=319/32741/37)\n"
        );
    }
}

//! Two namespaces with a cable between them, and helpers to inspect them.

use pathmeter_linux::namespace::Namespace;
use pathmeter_linux::netlink::Network;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

/// Two namespaces with a cable between them: `eth0` in both, the first with 10.98.0.1 and `fd98::1`, the second `.2`.
pub(super) struct Cable {
    pub(super) here: Namespace,
    pub(super) there: Namespace,
}

impl Cable {
    pub(super) fn build() -> pathmeter_linux::Result<Self> {
        let cable = Self { here: Namespace::new()?, there: Namespace::new()? };
        for end in [&cable.here, &cable.there] {
            end.set_sysctl("net/ipv6/conf/default/accept_dad", "0")?;
        }
        cable.here.run(Network::open)??.add_veth("eth0", "eth0", &cable.there)?;
        for (end, host) in [(&cable.here, 1), (&cable.there, 2)] {
            let mut network = end.run(Network::open)??;
            network.set_up("lo")?;
            network.set_up("eth0")?;
            network.add_address("eth0", v4(0, host), 24)?;
            network.add_address("eth0", v6(0, host), 64)?;
        }
        Ok(cable)
    }

    pub(super) fn networks(&self) -> [Network; 2] {
        [&self.here, &self.there].map(|end| end.run(Network::open).expect("it opens").expect("netlink opens"))
    }
}

pub(super) fn v4(net: u8, host: u8) -> IpAddr {
    [10, 98, net, host].into()
}

pub(super) fn v6(net: u8, host: u8) -> IpAddr {
    Ipv6Addr::new(0xfd98, 0, 0, net.into(), 0, 0, 0, host.into()).into()
}

pub(super) fn six(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V6(address) => address,
        IpAddr::V4(_) => unreachable!("it is an IPv6 address"),
    }
}

/// Output of a tool in a namespace.
pub(super) fn tool(namespace: &Namespace, line: &str) -> String {
    let args: Vec<&str> = line.split(' ').collect();
    let mut command = Command::new(args[0]);
    command.args(&args[1..]);
    namespace.spawn_inside(&mut command).expect("the namespace is open");
    let output = command.output().unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A datagram of 1000 bytes from one address to the other, whether it arrives or not.
pub(super) fn arrives(from: (&Namespace, IpAddr), to: (&Namespace, IpAddr)) -> bool {
    let bind = |(namespace, address): (&Namespace, IpAddr)| {
        let bound = namespace.run(|| UdpSocket::bind((address, 0))).expect("the namespace opens");
        bound.expect("the address is there")
    };
    let (sender, receiver) = (bind(from), bind(to));
    receiver.set_read_timeout(Some(Duration::from_secs(3))).expect("a deadline can be set");
    sender.send_to(&[7; 1000], receiver.local_addr().expect("it is bound")).expect("the datagram is taken");
    receiver.recv(&mut [0; 2000]).is_ok_and(|length| length == 1000)
}

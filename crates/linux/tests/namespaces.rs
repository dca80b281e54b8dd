//! Namespaces, veth pairs, routes and the fragment filter together, with real packets through a router.
//!
//! Making namespaces needs root or user namespaces; without either each test here reports on stderr that it is skipped.

use pathmeter_linux::namespace::{self, Namespace};
use pathmeter_linux::netlink::{HostRoute, Network, OperState, RouteSpec};
use pathmeter_linux::nft::FragmentFilter;
use pathmeter_linux::nic::{Nic, Offload};
use pathmeter_linux::privilege::{Capabilities, Capability};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// A client and a server with a router between them.
struct Path {
    client: Namespace,
    router: Namespace,
    server: Namespace,
}

impl Path {
    fn build() -> pathmeter_linux::Result<Self> {
        let path = Self { client: Namespace::new()?, router: Namespace::new()?, server: Namespace::new()? };
        for namespace in [&path.client, &path.router, &path.server] {
            // Else link-local addresses wait two seconds, and neighbour discovery for them.
            namespace.set_sysctl("net/ipv6/conf/default/accept_dad", "0")?;
        }
        let mut router = path.router.run(Network::open)??;
        for (host, net) in [(&path.client, 1), (&path.server, 2)] {
            let mut end = host.run(Network::open)??;
            let toward = format!("toward{net}");
            router.add_veth(&toward, "eth0", host)?;
            router.set_up(&toward)?;
            end.set_up("lo")?;
            end.set_up("eth0")?;
            for (gateway, own, prefix) in [(v4(net, 1), v4(net, 2), 24), (v6(net, 1), v6(net, 2), 64)] {
                router.add_address(&toward, gateway, prefix)?;
                end.add_address("eth0", own, prefix)?;
                end.add_route_spec(&RouteSpec { via: Some(gateway), ..RouteSpec::default() })?;
            }
        }
        path.router.set_sysctl("net/ipv4/ip_forward", "1")?;
        path.router.set_sysctl("net/ipv6/conf/all/forwarding", "1")?;
        Ok(path)
    }

    /// Sends datagrams of these sizes from client to server, the last one surely small; gives the sizes that arrive.
    fn arriving(&self, server: IpAddr, sizes: &[usize]) -> Vec<usize> {
        const LAST: usize = 1;
        let bind = |namespace: &Namespace, address: IpAddr| {
            let socket = namespace.run(|| UdpSocket::bind((address, 0))).expect("the namespace opens");
            socket.expect("the address is there")
        };
        let receiver = bind(&self.server, server);
        receiver.set_read_timeout(Some(Duration::from_secs(10))).expect("a deadline can be set");
        let to = receiver.local_addr().expect("a bound socket has an address");
        let sender = bind(&self.client, unspecified(to));
        for size in sizes.iter().chain([&LAST]) {
            sender.send_to(&vec![7; *size], to).expect("the path takes it");
        }
        let mut buffer = vec![0; 65536];
        let mut arrived = Vec::new();
        loop {
            match receiver.recv(&mut buffer).expect("the small datagram ends the wait") {
                LAST => return arrived,
                size => arrived.push(size),
            }
        }
    }
}

fn v4(net: u8, host: u8) -> IpAddr {
    [10, 97, net, host].into()
}

fn v6(net: u8, host: u8) -> IpAddr {
    Ipv6Addr::new(0xfd97, 0, 0, net.into(), 0, 0, 0, host.into()).into()
}

fn unspecified(like: SocketAddr) -> IpAddr {
    if like.is_ipv4() { [0, 0, 0, 0].into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// The path, or `None` after saying why not: only for want of permission.
fn path() -> Option<Path> {
    match Path::build() {
        Ok(path) => Some(path),
        Err(error) if error.errno() == Some(libc::EPERM) => {
            skip::skip(format!("needs CAP_SYS_ADMIN: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_router_drops_fragments_and_nothing_else() {
    let Some(path) = path() else { return };
    let both = [v4(2, 2), v6(2, 2)];
    for server in both {
        assert_eq!(path.arriving(server, &[1400, 3000]), [1400, 3000], "before the filter, {server}");
    }
    let filter = path.router.run(FragmentFilter::install).expect("the router opens");
    let mut filter = filter.expect("the filter is taken");
    for server in both {
        assert_eq!(path.arriving(server, &[1400, 3000, 1300]), [1400, 1300], "with the filter, {server}");
    }
    let dropped = filter.dropped().expect("the counters can be read");
    assert_eq!((dropped.ipv4, dropped.ipv6), (3, 3), "3000 bytes are three fragments");
    filter.remove().expect("the filter can be removed");
    for server in both {
        assert_eq!(path.arriving(server, &[3000]), [3000], "after the filter, {server}");
    }
}

#[test]
fn a_second_filter_is_refused_by_name() {
    let Some(path) = path() else { return };
    let install = || path.router.run(FragmentFilter::install).expect("the router opens");
    let first = install().expect("the filter is taken");
    let error = install().expect_err("one is there");
    assert_eq!(error.errno(), Some(libc::EEXIST), "{error}");
    assert!(error.to_string().starts_with("install the fragment filter"), "{error}");
    drop(first);
    install().expect("dropping the first took it away");
}

#[test]
fn a_veth_is_described_without_inventing_a_speed() {
    let Some(path) = path() else { return };
    let nic = path.client.run(|| Nic::toward(v4(2, 2))).expect("the client opens").expect("it has a route");
    assert_eq!((nic.link.name.as_str(), nic.link.mtu), ("eth0", 1500));
    assert_eq!(nic.link.kind.as_deref(), Some("veth"));
    assert_eq!(nic.driver.as_deref(), Some("veth"));
    assert_eq!(nic.link.state, OperState::Up);
    assert!(nic.is_virtual);
    assert_eq!(nic.speed, None);
    assert!(nic.has(Offload::Tso) && nic.has(Offload::UdpSegmentation), "{:?}", nic.offloads);
    let before = nic.link.statistics;
    path.arriving(v4(2, 2), &[1000]);
    let after = path.client.run(|| Nic::named("eth0")).expect("the client opens").expect("eth0 is there");
    assert!(after.link.statistics.since(&before).tx_bytes >= 1000);
}

#[test]
fn links_are_changed_moved_and_deleted() {
    let Some(path) = path() else { return };
    let mut client = path.client.run(Network::open).expect("the client opens").expect("netlink opens");
    client.set_mtu("eth0", 1400).expect("the MTU can be set");
    assert_eq!(client.link("eth0").expect("eth0 is there").mtu, 1400);
    let route = client.route_to(v6(2, 2)).expect("there is a default route");
    assert_eq!((route.source, route.gateway), (Some(v6(1, 2)), Some(v6(1, 1))));
    let further = RouteSpec { to: Some((v4(9, 0), 24)), via: Some(v4(1, 1)), ..RouteSpec::default() };
    client.add_route_spec(&further).expect("a further route is taken");

    let elsewhere = Namespace::new().expect("one more namespace");
    client.move_link("eth0", &elsewhere).expect("the link can be moved");
    assert!(client.link("eth0").is_err());
    let mut there = elsewhere.run(Network::open).expect("it opens").expect("netlink opens");
    assert!(!there.link("eth0").expect("the link has arrived").is_up);
    there.delete_link("eth0").expect("the link can be deleted");
    let names: Vec<_> =
        there.links().expect("links can be listed").into_iter().map(|link| link.name).collect();
    assert!(names.contains(&"lo".to_owned()) && !names.contains(&"eth0".to_owned()), "{names:?}");
    let error = client.route_to(v4(2, 2)).expect_err("no route leads there now");
    assert_eq!(error.errno(), Some(libc::ENETUNREACH), "{error}");
}

#[test]
fn a_command_starts_inside() {
    let Some(path) = path() else { return };
    let mut command = Command::new("cat");
    command.arg("/proc/self/net/dev");
    path.server.spawn_inside(&mut command).expect("the namespace is open");
    let output = command.output().expect("cat starts");
    let devices = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && devices.contains("eth0:") && !devices.contains("toward"), "{devices}");
}

/// Runs this file again as an ordinary user who is root of a user namespace; `nobody` when we are root.
#[test]
fn a_namespace_is_opened_by_its_file() {
    let Some(path) = path() else { return };
    let own = path.client.run(|| Namespace::open("/proc/thread-self/ns/net")).unwrap().unwrap();
    assert!(own.is_same(&path.client).unwrap() && !own.is_same(&path.server).unwrap());
    for wrong in ["/proc/self/ns/uts", "/etc/passwd", "/no/such"] {
        let error = Namespace::open(wrong).unwrap_err().to_string();
        assert!(error.starts_with(&format!("open {wrong}: ")), "{error}");
    }
}

#[test]
fn an_ordinary_user_can_do_all_this() {
    const INSIDE: &str = "PATHMETER_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    if let Err(error) = namespace::try_user_namespace() {
        skip::skip(format!("this host allows no user namespaces: {error}"));
        return;
    }
    let mut again = Command::new(std::env::current_exe().expect("a running test has a file"));
    again.args(["--test-threads=1", "--nocapture"]).env(INSIDE, "1").current_dir("/");
    if pathmeter_linux::privilege::is_root() {
        again.uid(65534).gid(65534);
    }
    namespace::spawn_in_user_namespace(&mut again);
    let output = match again.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            skip::skip(format!("the user nobody may not run this file at its path: {error}"));
            return;
        }
        Err(error) => panic!("the test does not start as an ordinary user: {error}"),
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("SKIPPED"), "{text}");
}

#[test]
fn rights_in_a_user_namespace_are_detected() {
    let rights = Capabilities::of_this_thread().expect("/proc is there");
    let built = Path::build();
    assert_eq!(built.is_ok(), rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin));
}

#[test]
fn a_host_has_a_route_with_an_mtu_of_its_own_until_it_is_deleted() {
    let Some(path) = path() else { return };
    let mut network = path.client.run(Network::open).expect("the client opens").expect("netlink");
    for destination in [v4(2, 2), v6(2, 2)] {
        let before = network.route_to(destination).expect("there is a route");
        let route = HostRoute { destination, route: before.clone() };
        network.set_host_route(&route, 1400, false).expect("it is made");
        let made = network.route_to(destination).expect("there is a route");
        assert_eq!((made.mtu, made.gateway, made.link), (Some(1400), before.gateway, before.link));
        let again = network.set_host_route(&route, 1300, false).expect_err("there is one");
        assert_eq!(again.errno(), Some(libc::EEXIST), "{again}");
        network.set_host_route(&route, 1300, true).expect("ours is replaced");
        assert_eq!(network.route_to(destination).expect("there is a route").mtu, Some(1300));
        network.delete_host_route(&route).expect("it is deleted");
        assert_eq!(network.route_to(destination).expect("there is a route").mtu, before.mtu);
        let gone = network.delete_host_route(&route).expect_err("there is none");
        assert_eq!(gone.errno(), Some(libc::ESRCH), "{gone}");
    }
    // On the link itself there is no gateway.
    let neighbour = v4(1, 1);
    let route =
        HostRoute { destination: neighbour, route: network.route_to(neighbour).expect("on the link") };
    assert_eq!(route.route.gateway, None);
    network.set_host_route(&route, 1280, false).expect("it is made");
    assert_eq!(network.route_to(neighbour).expect("on the link").mtu, Some(1280));
    network.delete_host_route(&route).expect("it is deleted");
}

#[test]
fn drivers_say_which_mtu_they_take() {
    let Some(path) = path() else { return };
    let mut network = path.client.run(Network::open).expect("the client opens").expect("netlink");
    let link = network.link("eth0").expect("there is one");
    assert_eq!(link.mtu_limits, Some((68, 65535)), "of veth");
    let refused = network.set_mtu("eth0", 67).expect_err("less than the least");
    assert_eq!(refused.errno(), Some(libc::EINVAL), "{refused}");
}

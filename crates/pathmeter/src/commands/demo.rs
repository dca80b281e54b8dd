//! `pathmeter demo`: a path with a fault, made on this machine, measured and explained.

use super::keep::Keep;
use super::live::carry_out;
use super::notes::Notes;
use super::progress::print;
use super::session::{Measured, conclude_all};
use crate::exit::Exit;
use crate::signals;
use cli::{Common, DemoArgs};
use engine::error::{Context, Failure, Result, fault};
use engine::host::address::Family;
use engine::host::interrupt::Interrupt;
use engine::request::{FarEnd, Host, Measure, Request, resolve};
use engine::run::Options;
use engine::server::{Config, Confined, Server};
use engine::work::observer::Observer;
use lab::build::Lab;
use lab::feature::Feature;
use lab::privilege::{Unprivileged, gain};
use lab::shipped;
use lab::topology::{Filter, Topology};
use linux::namespace::Namespace;
use std::net::IpAddr;
use std::sync::Arc;

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, global: &Common) -> Result<Exit> {
    // Before any thread starts: an ordinary user's process moves into a user namespace here.
    gain().map_err(|refused| Failure::usage(refused.to_string(), Unprivileged::ADVICE))?;
    let (topology, notes) = topology()?;
    let lab = Lab::build(&topology).context("build the demo's network")?;
    print(INTRODUCTION);
    notes.iter().chain(lab.notes()).for_each(|note| print(&format!("note: {note}")));
    let before = lab.counters()?;
    let interrupt = signals::interrupt()?;
    let measured = std::thread::scope(|scope| {
        let stop = Interrupt::default();
        let (client, here) = (namespace(&lab, &topology.from)?, namespace(&lab, &topology.to)?);
        let server = here.run(|| Server::bind(Config { max_tests: Some(8), ..Config::default() }))??;
        let ended = stop.clone();
        // The client prints what belongs to its session.
        let is_shown = global.verbose > 0;
        let note = move |text: &str| {
            if is_shown {
                print(&format!("server: {text}"))
            }
        };
        let observer: Arc<dyn Observer> = Arc::new(Notes(note));
        // The lab alone can reach it.
        let inside = Confined::with_all_rights();
        let server = scope.spawn(move || here.run(|| server.serve(inside, &ended, &observer)));
        let run = address(&topology)
            .and_then(|server| client.run(|| measure(server, args.quick, &interrupt, global))?);
        stop.raise();
        server.join().map_err(|_| fault("the demo's server failed"))???;
        run
    })?;
    let traffic = lab.counters()?.since(&before);
    if let Some(dropped) = traffic.nodes.iter().find_map(|node| node.fragments) {
        print(&format!("\nThe router's own count: {} IPv4 fragments dropped.\n", dropped.ipv4));
    }
    conclude_all(measured, false, &[], Keep::default(), global)
}

/// The topology `demo`, as far as this kernel can build it, and what it cannot.
fn topology() -> Result<(Topology, Vec<String>)> {
    let mut topology = shipped::find("demo").map_err(|error| fault(error.to_string()))?;
    let mut notes = Vec::new();
    if let Err(lack) = Feature::Nftables.probe() {
        topology.nodes.iter_mut().for_each(|node| node.filters.retain(|filter| *filter != Filter::Fragments));
        let why = lack.reason;
        notes.push(format!("the router lets IP fragments pass, for it cannot filter: {why}"));
    }
    Ok((topology, notes))
}

fn namespace<'a>(lab: &'a Lab, node: &str) -> Result<&'a Namespace> {
    lab.node(node)?.namespace().context("the demo's hosts are namespaces")
}

/// Where the server answers, over IPv4.
fn address(topology: &Topology) -> Result<IpAddr> {
    let server = topology.nodes.iter().find(|node| node.name == topology.to);
    let addresses = server.into_iter().flat_map(|node| &node.addresses).map(|own| own.address);
    addresses.into_iter().find(IpAddr::is_ipv4).context("the demo's server has an IPv4 address")
}

fn measure(server: IpAddr, quick: bool, interrupt: &Interrupt, global: &Common) -> Result<Measured> {
    let mut far = FarEnd::named(&server.to_string());
    far.origin.family = Family::V4("the demo");
    let request = Measure { quick, ..Measure::to(far) };
    let plan = resolve(&Request::Measure(Box::new(request)), &Host::here())?;
    let options = Options { stop: interrupt.clone(), ..Options::default() };
    carry_out(&plan, options, &mut Keep::default(), global)
}

const INTRODUCTION: &str = "\
Two hosts and a router between them, made on this machine (network namespaces):

  client 192.0.2.2 ──── router ──── 198.51.100.2 server
                          └─ drops IP fragments, as some clouds and firewalls do

Measuring from the client: `pathmeter measure 198.51.100.2`
";

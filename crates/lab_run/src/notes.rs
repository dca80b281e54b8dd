//! Remarks on figures from one machine.

use super::plan::Plan;
use lab::topology::Topology;
use model::host::Host;

/// The notes on a plan that is carried out on this host.
pub(super) fn notes(plan: &Plan, host: &Host) -> Vec<String> {
    let mut notes = Vec::new();
    let all = || plan.variants.iter().map(|one| &one.topology);
    let virtual_links =
        all().flat_map(Topology::sides).any(|side| side.shape.rate.is_none() && side.real.is_none());
    if virtual_links {
        notes.push(
            "Links between namespaces (veth) have no speed of their own: the 10 Gbit/s they name is nominal. What is \
             measured is what the CPUs of this host carry."
                .to_owned(),
        );
    }
    if plan.compared {
        let first = &plan.variants[0].topology.name;
        notes.push(format!(
            "Where a link has no speed, shares are of what {first} transferred in the same test: frames against its frames, and \
             goodput against what such packets would carry at its rate of frames."
        ));
    }
    if plan.variants[0].topology.sides().any(|side| side.offload != Some(false)) {
        notes.push(
            "With segmentation offloads on, one packet of up to 64 KiB crosses a link as one: rates are higher, and \
             packets per second lower, than those of frames on a cable. kpps counts the frames a cable would carry."
                .to_owned(),
        );
    }
    if all().flat_map(|topology| &topology.nodes).any(|node| node.place.is_machine()) {
        notes.push(
            "CPU and softirq are this host's: the work of its virtual machines is within them.".to_owned(),
        );
    }
    if host.cpus <= FEW && all().flat_map(|topology| &topology.nodes).all(|node| node.cpus.is_empty()) {
        notes.push(format!(
            "Sender, device under test and receiver share {} CPUs: each takes from the others, so that a device alone \
             would carry more.",
            host.cpus
        ));
    }
    notes
}

/// With so few CPUs nothing runs by itself.
const FEW: u32 = 4;

//! The request of `pathmeter rfc2544`.

use super::Asks;
use crate::arguments::{Flows, Rfc2544Args, TrafficArgs};
use engine::error::Result;
use engine::request::{Device, Request, Search, Traffic};
use model::dut::y1564::Profile;
use model::plan::Directions;

impl Asks for Rfc2544Args {
    fn request(&self) -> Result<Request> {
        let (device, search, profile) = (&self.device, &self.search, &self.profile);
        Ok(Request::Device(Box::new(Device {
            ports: self.ports.clone(),
            lab: self.lab.clone(),
            standard: self.standard,
            tests: self.tests.clone(),
            quick: self.quick,
            traffic: traffic(&self.traffic),
            search: Search {
                method: search.search,
                goals: search.goals.clone(),
                loss_ratio: search.loss_ratio.0,
                min_rate: search.min_rate,
                max_rate: search.max_rate,
                time: search.time,
                repeat: search.repeat,
            },
            service: profile.cir.map(|committed| Profile {
                committed,
                excess: profile.eir,
                loss: profile.max_loss.0,
                delay: profile.max_delay,
                variation: profile.max_variation,
                policing_margin: Profile::USUAL_POLICING_MARGIN,
                availability: Profile::USUAL_AVAILABILITY,
            }),
            service_time: profile.service_time,
            addresses: device.address.clone(),
            gateways: device.gateway.clone(),
            tunnel: device.tunnel.clone(),
            reset_command: device.reset_command.clone(),
            cpus: device.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
            device_cpu: device.device_cpu,
            allow_live_network: device.allow_live_network,
            link: self.session.link,
        })))
    }
}

fn traffic(args: &TrafficArgs) -> Traffic {
    Traffic {
        frames: args.frame.clone(),
        imix: args.imix.clone(),
        ipv4: args.ipv4,
        ipv6: args.ipv6,
        directions: match (args.both, args.reverse) {
            (true, _) => Some(Directions::Both),
            (_, true) => Some(Directions::Down),
            _ => None,
        },
        one_flow: args.flows == Flows::One,
        vlan: args.vlan,
        encap: args.encap.clone(),
    }
}

#[cfg(test)]
mod tests;

//! The request of `pathmeter linerate`.

use crate::arguments::LinerateArgs;
use engine::error::Failure;
use model::framing::{Framing, Network, Transport};
use model::line_rate::{Measured, Question};
use model::units::BitRate;

impl LinerateArgs {
    /// The question.
    ///
    /// # Errors
    /// A link without a speed.
    pub fn question(&self) -> Result<Question, Failure> {
        if self.link == BitRate(0) {
            return Err(Failure::usage("--link 0: a link has a speed", "give it as in --link 25G"));
        }
        let framing = Framing {
            network: if self.ipv6 { Network::V6 } else { Network::V4 },
            transport: if self.udp { Transport::Udp } else { Transport::TCP_TIMESTAMPS },
            encaps: self.encap.clone(),
            link_mtu: self.mtu,
        };
        Ok(Question {
            link: self.link,
            framing,
            frames: self.frame.clone(),
            payload: self.payload,
            measured: self.goodput.map(Measured::Goodput).or(self.pps.map(Measured::Packets)),
        })
    }
}

#[cfg(test)]
mod tests;

//! The request of `pathmeter frames`.

use super::{Asks, Measures, Shared, direction, far};
use crate::arguments::FramesArgs;
use engine::error::Result;
use engine::request::{Frames, Request};

impl Measures for FramesArgs {
    fn shared(&self) -> Shared<'_> {
        Shared::of_session("frames", &self.target, &self.session, &self.keep, None)
    }
}

impl Asks for FramesArgs {
    fn request(&self) -> Result<Request> {
        Ok(Request::Frames(Box::new(Frames {
            far: far(&self.target)?,
            sizes: self.frame.clone(),
            transports: self.tests.clone(),
            direction: direction(self.reverse),
            time: self.time,
            quick: self.quick,
            streams: self.parallel,
            pairs: self.pairs,
            no_offload: self.no_offload,
            encaps: self.encap.clone(),
            link: self.session.link,
            explain: self.explain.budget(),
        })))
    }
}

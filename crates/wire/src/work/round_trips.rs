//! Messages that are answered as they come on the flow of a latency session (native server).

use super::WorkRequest;
use model::latency::LatencySpec;

/// What a session wants of its flow.
#[derive(Clone, Debug)]
pub enum Request {
    /// Answer its messages from now on.
    Reflect(LatencySpec),
    /// Say what has come of them; [`WorkReply::RoundTrips`](super::WorkReply::RoundTrips) follows.
    Count,
}

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::RoundTrips(request)
    }
}

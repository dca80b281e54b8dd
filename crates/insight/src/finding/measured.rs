//! One direction of one test, with what the rules ask of it.

use super::path;
use model::limit::LimitKind;
use model::path::headers;
use model::plan::{Direction, Plan, Transport};
use model::run::Run;
use model::sample::{Role, SideResult, StreamResult, TcpCounters};
use model::summary::{DirectionSummary, Loss};
use model::units::Nanos;
use model::wire_rate::{IMPOSSIBLE_SHARE, LINE_RATE};

/// A direction that has figures.
#[derive(Clone, Copy)]
pub(crate) struct MeasuredDirection<'a> {
    pub(crate) run: &'a Run,
    pub(crate) plan: &'a Plan,
    pub(crate) direction: Direction,
    pub(crate) figures: &'a DirectionSummary,
    /// The end that sent, where its result is known.
    pub(crate) sender: Option<&'a SideResult>,
    /// The end that received, where its result is known.
    pub(crate) receiver: Option<&'a SideResult>,
}

/// The directions of this run that have figures, up first.
pub(crate) fn measured_directions(run: &Run) -> impl Iterator<Item = MeasuredDirection<'_>> {
    let plan = run.throughput();
    plan.into_iter().flat_map(move |plan| {
        plan.test
            .directions
            .each()
            .filter_map(move |direction| MeasuredDirection::from_run(run, plan, direction))
    })
}

impl<'a> MeasuredDirection<'a> {
    pub(crate) fn from_run(
        run: &'a Run,
        plan: &'a Plan,
        direction: Direction,
    ) -> Option<MeasuredDirection<'a>> {
        let figures = run.summary.direction(direction)?;
        let ends = (run.summary.local.as_ref(), run.summary.peer.as_ref());
        let (sender, receiver) = direction.choose(ends, (ends.1, ends.0));
        Some(MeasuredDirection { run, plan, direction, figures, sender, receiver })
    }

    pub(crate) fn udp(&self) -> bool {
        self.figures.transport == Transport::Udp
    }

    /// The test requests no limit of the rate.
    pub(crate) fn unlimited(&self) -> bool {
        self.plan.test.bitrate.is_none() && self.plan.test.fq_rate.is_none()
    }

    /// The limit of this direction is one of these kinds, or not known.
    pub(crate) fn may_be(&self, kinds: &[LimitKind]) -> bool {
        let kind = self.figures.limit.as_ref().map_or(LimitKind::NotKnown, |limit| limit.kind);
        kind == LimitKind::NotKnown || kinds.contains(&kind)
    }

    pub(crate) fn at_line_rate(&self) -> bool {
        self.figures.wire.line_rate_share.is_some_and(|share| (LINE_RATE..IMPOSSIBLE_SHARE).contains(&share))
    }

    /// The largest packets that this direction sent, whole: full segments, or datagrams that no one cut.
    pub(crate) fn full_packet(&self) -> Option<u32> {
        let ipv6 = self.plan.target.address.is_ipv6();
        if self.udp() {
            return Some(self.figures.mss?.saturating_add(headers(ipv6)));
        }
        let headers = if ipv6 { 60 } else { 40 };
        let Some(payload) = self.figures.mss else {
            return Some(self.announced_mss()?.saturating_add(headers));
        };
        let timestamps = self.tcp_rows().any(|tcp| tcp.timestamps);
        let options = if timestamps { TIMESTAMPS } else { 0 };
        Some(payload.saturating_add(options).saturating_add(headers))
    }

    /// The MSS that the receiver announced, of which options take a part; the sender's own segments may not be known.
    fn announced_mss(&self) -> Option<u32> {
        let path = self.run.summary.path.as_ref()?;
        let tcp = path.in_direction(self.direction.reversed())?.tcp.as_ref()?;
        tcp.mss_received.or(tcp.mss_sent)
    }

    /// Packets of the size that this direction sent vanish on the path, which another finding names.
    pub(crate) fn is_lost_by_size(&self) -> bool {
        self.full_packet().is_some_and(|packet| {
            path::loses(self.run, self.direction, packet) || self.is_lost_in_part(packet)
        })
    }

    /// Fragments as large as the sender's kernel makes them vanish on the path, as whole packets of their size do.
    pub(crate) fn loses_full_pieces(&self) -> bool {
        let piece = self.figures.wire.frame.map(|frame| frame.saturating_sub(ETHERNET));
        piece.is_some_and(|piece| path::loses(self.run, self.direction, piece))
    }

    /// Packets of this size lose about what the test lost, and smaller ones do not.
    fn is_lost_in_part(&self, packet: u32) -> bool {
        let path = self.run.summary.path.as_ref().and_then(|path| path.in_direction(self.direction));
        let loss = path.and_then(|one_way| one_way.size_dependent_loss);
        let at_size = loss.filter(|loss| loss.from.is_some_and(|from| (from..=loss.size).contains(&packet)));
        let share = match self.udp() {
            true => self.share_of_sent(self.loss().path),
            false => 0.0,
        };
        at_size.is_some_and(|loss| share <= ABOUT * loss.large)
    }

    /// Losses by place; all zero when they are not known.
    pub(crate) fn loss(&self) -> Loss {
        self.figures.loss.unwrap_or_default()
    }

    /// `count` as a share of the datagrams that were sent.
    pub(crate) fn share_of_sent(&self, count: u64) -> f64 {
        let loss = self.loss();
        let places = [self.figures.received.datagrams, loss.path, loss.receiver, loss.sender];
        let accounted = places.into_iter().fold(0, u64::saturating_add);
        let sent = self.figures.sent.datagrams.max(accounted);
        if sent == 0 { 0.0 } else { count as f64 / sent as f64 }
    }

    pub(crate) fn end(&self, role: Role) -> Option<&'a SideResult> {
        match role {
            Role::Sender => self.sender,
            Role::Receiver => self.receiver,
        }
    }

    /// The rows of this direction at one end.
    pub(crate) fn rows(&self, role: Role) -> impl Iterator<Item = &'a StreamResult> {
        let direction = self.direction;
        let rows = self.end(role).into_iter().flat_map(|end| &end.streams);
        rows.filter(move |row| row.direction == direction && row.role == role)
    }

    pub(crate) fn tcp_rows(&self) -> impl Iterator<Item = &'a TcpCounters> {
        self.rows(Role::Sender).filter_map(|row| row.tcp.as_ref())
    }

    /// Retransmits are why data comes with gaps; those of segments that had arrived, right or spoilt, are no loss.
    pub(crate) fn is_crippled(&self) -> bool {
        let figures = self.figures;
        let again = figures.retransmits.unwrap_or(0);
        let arrived = figures.spurious_retransmits.unwrap_or(0);
        let spoilt = self.receiver.map_or(0, |end| end.kernel.tcp_checksum_errors);
        let lost = again.saturating_sub(arrived).saturating_sub(spoilt);
        let sent = figures.segments.and_then(|segments| segments.sent).unwrap_or(0);
        !self.udp() && lost >= A_FEW && lost >= sent / CRIPPLED
    }

    /// Packets of this test's kind are dropped whatever their size, which a finding names.
    pub(crate) fn is_dropped_by_kind(&self) -> bool {
        let answers = self.run.summary.explanation.as_deref();
        let held = |id| answers.is_some_and(|answers| answers.held(id, self.direction).is_some());
        held("mark-dropped") || held("joined-segments") || held("segment-size")
    }

    /// CPU share of the busiest stream thread of this direction at one end.
    pub(crate) fn busiest_thread(&self, role: Role) -> f64 {
        let Some(end) = self.end(role) else { return 0.0 };
        let mine = |row: &StreamResult| row.direction == self.direction && row.role == role;
        let shares = end.streams.iter().zip(&end.cpu.threads).filter(|(row, _)| mine(row));
        shares.map(|(_, share)| *share).reduce(f64::max).unwrap_or(end.cpu.busiest_thread)
    }

    /// Name of the interface towards the other end, or a word that stands for it.
    pub(crate) fn interface(&self, role: Role) -> &'a str {
        let host = match (self.direction, role) {
            (Direction::Up, Role::Sender) | (Direction::Down, Role::Receiver) => self.run.host.as_ref(),
            _ => self.run.peer.as_ref(),
        };
        host.and_then(|h| h.nic.as_ref()).map_or("INTERFACE", |nic| nic.name.as_str())
    }

    /// RTT of the path with empty queues: the least that anything saw.
    pub(crate) fn idle_rtt(&self) -> Option<Nanos> {
        let probed = self.run.summary.rtt.map(|rtt| rtt.min);
        let observed = self.tcp_rows().map(|tcp| tcp.min_rtt);
        probed.into_iter().chain(observed).filter(|rtt| rtt.0 > 0).min()
    }
}

/// Bytes of TCP's timestamps in a segment (RFC 7323), padded.
const TIMESTAMPS: u32 = 12;
/// Header and FCS of a frame.
const ETHERNET: u32 = 18;
/// A share of loss that was measured twice differs by less.
const ABOUT: f64 = 2.5;
/// Fewer retransmits may be the end of a slow start.
const A_FEW: u64 = 20;
/// One retransmit in so many segments.
const CRIPPLED: u64 = 10;

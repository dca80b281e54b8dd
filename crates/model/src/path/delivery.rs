//! Handling of fragments, from the tests of it.

use super::{FragmentDelivery, FragmentShape, FragmentTest};

impl FragmentDelivery {
    /// The delivery that the tests of one direction show.
    ///
    /// Fragments made by hand are stronger evidence than those of a kernel, which sends all of a datagram and in order. Counts of
    /// fragments cover the receiver's whole host: at least half a fragment for each datagram counts as one.
    pub fn from_tests(tests: &[FragmentTest]) -> FragmentDelivery {
        let test = |shape| tests.iter().find(|test| test.shape == shape && test.sent > 0);
        let kernel = test(FragmentShape::ByKernel);
        let cut = test(FragmentShape::MayBeCut);
        match test(FragmentShape::InOrder) {
            Some(whole) if crossed(whole) => {
                let pieces = [test(FragmentShape::FirstAlone), test(FragmentShape::RestAlone)];
                let swallowed = |piece: Option<&FragmentTest>| piece.and_then(arrived) == Some(false);
                match test(FragmentShape::Reversed) {
                    Some(reversed) if !crossed(reversed) => FragmentDelivery::OutOfOrderDropped,
                    _ if pieces.into_iter().all(swallowed) => FragmentDelivery::Reassembled,
                    reversed => {
                        let is_sound = all_crossed(whole) && reversed.is_none_or(all_crossed);
                        let by_size = kernel.filter(|_| is_sound).and_then(|kernel| by_size(kernel, cut));
                        by_size.unwrap_or(FragmentDelivery::Pass)
                    }
                }
            }
            // Those that a kernel makes are larger.
            Some(_) if kernel.is_some_and(all_crossed) => FragmentDelivery::SmallDropped,
            Some(whole) if reached(whole) => FragmentDelivery::NotReassembled,
            Some(_) => match [FragmentShape::FirstAlone, FragmentShape::RestAlone]
                .map(|shape| test(shape).and_then(arrived))
            {
                [Some(true), Some(false)] => FragmentDelivery::NonFirstDropped,
                [Some(false), Some(true)] => FragmentDelivery::FirstDropped,
                [Some(false), Some(false)] if kernel.is_some_and(large_arrived) => {
                    FragmentDelivery::SmallDropped
                }
                [Some(false), Some(false)] => FragmentDelivery::AllDropped,
                _ => FragmentDelivery::Dropped,
            },
            None => kernel.map_or_else(|| cut_by_routers(cut), |kernel| by_kernel(kernel, cut)),
        }
    }

    /// Datagrams in fragments are lost, all or some of them.
    pub fn is_lossy(self) -> bool {
        use FragmentDelivery::{Pass, Reassembled, Unknown};
        !matches!(self, Unknown | Pass | Reassembled)
    }
}

/// One datagram that arrives shows that its fragments may pass; others may be lost like any packet.
fn crossed(test: &FragmentTest) -> bool {
    test.received > 0
}

fn all_crossed(test: &FragmentTest) -> bool {
    test.received >= test.sent
}

/// The receiver's kernel counted every piece.
fn reached(test: &FragmentTest) -> bool {
    test.pieces_received.is_some_and(|pieces| pieces >= u64::from(test.pieces) * u64::from(test.sent))
}

/// The receiver's kernel counted all of the pieces that a kernel made, or all but the last of each datagram, which is small.
fn large_arrived(kernel: &FragmentTest) -> bool {
    let each = kernel.pieces_received.and_then(|pieces| pieces.checked_div(u64::from(kernel.sent)));
    kernel.pieces > 1 && each.is_some_and(|each| each + 1 >= u64::from(kernel.pieces))
}

/// Which of a kernel's fragments are lost, the large ones or the small last one, where fragments of middle size cross. `cut`: a
/// packet of the interface's size that routers might fragment; where it is lost, all large packets are.
fn by_size(kernel: &FragmentTest, cut: Option<&FragmentTest>) -> Option<FragmentDelivery> {
    if crossed(kernel) || cut.is_some_and(|cut| !crossed(cut)) {
        return None;
    }
    let (counted, sent) = (kernel.pieces_received?, u64::from(kernel.sent));
    match counted.checked_div(sent)? {
        _ if kernel.pieces < 3 => None,
        each if each >= u64::from(kernel.pieces) => Some(FragmentDelivery::NotReassembled),
        each if each + 1 == u64::from(kernel.pieces) => Some(FragmentDelivery::SmallDropped),
        0 | 1 => Some(FragmentDelivery::LargeDropped),
        _ => Some(FragmentDelivery::Dropped),
    }
}

/// Did pieces of which no whole datagram can become reach the receiver's kernel?
fn arrived(test: &FragmentTest) -> Option<bool> {
    test.pieces_received.map(|pieces| pieces * 2 >= u64::from(test.sent))
}

/// `cut`: a packet of the interface's size that routers might cut.
fn by_kernel(test: &FragmentTest, cut: Option<&FragmentTest>) -> FragmentDelivery {
    if crossed(test) {
        return FragmentDelivery::Pass;
    }
    let Some(pieces) = test.pieces_received else { return FragmentDelivery::Dropped };
    let each = (pieces as f64 / f64::from(test.sent)).round() as u64;
    match each {
        0 => FragmentDelivery::AllDropped,
        // A kernel's fragments are as large as its interface allows. Where such packets are lost even when routers may fragment
        // them, only the small last fragment arrives, however fragments are handled.
        _ if cut.is_some_and(|cut| !crossed(cut)) => FragmentDelivery::Unknown,
        // With two fragments the one that arrives may be either.
        1 if test.pieces > 2 => FragmentDelivery::NonFirstDropped,
        n if test.pieces > 2 && n + 1 == u64::from(test.pieces) => FragmentDelivery::FirstDropped,
        _ => FragmentDelivery::Dropped,
    }
}

/// A datagram that arrived in pieces shows that these pass; one that did not may have been too big.
fn cut_by_routers(test: Option<&FragmentTest>) -> FragmentDelivery {
    match test {
        Some(test) if crossed(test) && test.largest_piece.is_some() => FragmentDelivery::Pass,
        _ => FragmentDelivery::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FragmentShape::{ByKernel, FirstAlone, InOrder, MayBeCut, RestAlone, Reversed};

    fn test(shape: FragmentShape, pieces: u32, received: u32, pieces_received: u64) -> FragmentTest {
        let pieces_received = Some(pieces_received);
        FragmentTest { shape, payload: 1000, pieces, sent: 5, received, pieces_received, largest_piece: None }
    }

    /// In order, reversed, the first alone, the rest alone: datagrams and pieces that arrived of each.
    fn by_hand(rows: [(u32, u64); 4]) -> FragmentDelivery {
        let shapes = [(InOrder, 2), (Reversed, 2), (FirstAlone, 1), (RestAlone, 1)];
        let tests =
            shapes.into_iter().zip(rows).map(|((shape, n), (got, pieces))| test(shape, n, got, pieces));
        FragmentDelivery::from_tests(&tests.collect::<Vec<_>>())
    }

    #[test]
    fn a_shape_sets_the_pieces_and_their_sequence() {
        let sent = |shape: FragmentShape| shape.arrange(vec![1, 2, 3]);
        for in_order in [MayBeCut, ByKernel, InOrder] {
            assert_eq!(sent(in_order), [1, 2, 3]);
        }
        assert_eq!([sent(Reversed), sent(FirstAlone), sent(RestAlone)], [vec![3, 2, 1], vec![1], vec![2, 3]]);
        assert!(RestAlone.arrange(Vec::<u8>::new()).is_empty());
    }

    #[test]
    fn each_middlebox_is_identified_by_the_fragments_it_forwards() {
        assert_eq!(by_hand([(5, 10), (5, 10), (0, 5), (0, 5)]), FragmentDelivery::Pass);
        assert_eq!(by_hand([(0, 0), (0, 0), (0, 0), (0, 0)]), FragmentDelivery::AllDropped);
        assert_eq!(by_hand([(0, 5), (0, 5), (0, 5), (0, 0)]), FragmentDelivery::NonFirstDropped);
        assert_eq!(by_hand([(0, 5), (0, 5), (0, 0), (0, 5)]), FragmentDelivery::FirstDropped);
        assert_eq!(by_hand([(5, 10), (0, 5), (0, 5), (0, 0)]), FragmentDelivery::OutOfOrderDropped);
        assert_eq!(by_hand([(5, 10), (5, 10), (0, 0), (0, 0)]), FragmentDelivery::Reassembled);
        assert_eq!(
            by_hand([(0, 10), (0, 10), (0, 5), (0, 5)]),
            FragmentDelivery::NotReassembled,
            "both pieces, no datagram"
        );
        assert_eq!(
            by_hand([(5, 11), (5, 12), (0, 7), (0, 6)]),
            FragmentDelivery::Pass,
            "others' fragments count too"
        );
    }

    #[test]
    fn pieces_of_some_sizes_alone_are_dropped() {
        let delivery = |small: (u32, u64), kernel: (u32, u64)| {
            let tests = [
                test(MayBeCut, 1, 5, 0),
                test(ByKernel, 3, kernel.0, kernel.1),
                test(InOrder, 2, small.0, small.1),
                test(Reversed, 2, small.0, small.1),
                test(FirstAlone, 1, 0, small.1 / 2),
                test(RestAlone, 1, 0, small.1 / 2),
            ];
            FragmentDelivery::from_tests(&tests)
        };
        assert_eq!(delivery((5, 10), (0, 5)), FragmentDelivery::LargeDropped);
        assert_eq!(delivery((5, 10), (0, 10)), FragmentDelivery::SmallDropped, "the last piece is missing");
        assert_eq!(delivery((0, 0), (5, 15)), FragmentDelivery::SmallDropped);
        assert_eq!(
            delivery((0, 0), (0, 15)),
            FragmentDelivery::SmallDropped,
            "no memory to put them together"
        );
        assert_eq!(delivery((0, 0), (0, 10)), FragmentDelivery::SmallDropped, "the last is small too");
        assert_eq!(delivery((0, 0), (0, 5)), FragmentDelivery::AllDropped);
        assert_eq!(delivery((5, 10), (0, 15)), FragmentDelivery::NotReassembled);
        assert_eq!(delivery((5, 10), (5, 15)), FragmentDelivery::Pass);
        assert_eq!(delivery((3, 8), (0, 9)), FragmentDelivery::Pass, "loss by chance shows no size");
    }

    #[test]
    fn a_kernels_three_pieces_show_which_are_dropped() {
        let delivery = |pieces, received, counted| {
            FragmentDelivery::from_tests(&[test(ByKernel, pieces, received, counted)])
        };
        assert_eq!(delivery(3, 5, 15), FragmentDelivery::Pass);
        assert_eq!(delivery(3, 0, 0), FragmentDelivery::AllDropped);
        assert_eq!(delivery(3, 0, 5), FragmentDelivery::NonFirstDropped);
        assert_eq!(delivery(3, 0, 10), FragmentDelivery::FirstDropped);
        assert_eq!(delivery(2, 0, 5), FragmentDelivery::Dropped);
        assert_eq!(delivery(3, 0, 15), FragmentDelivery::Dropped);
        let uncounted = FragmentTest { pieces_received: None, ..test(ByKernel, 3, 0, 0) };
        assert_eq!(FragmentDelivery::from_tests(&[uncounted]), FragmentDelivery::Dropped);
    }

    #[test]
    fn without_a_test_of_fragments_nothing_is_known() {
        assert_eq!(FragmentDelivery::from_tests(&[]), FragmentDelivery::Unknown);
        assert_eq!(FragmentDelivery::from_tests(&[test(MayBeCut, 1, 0, 0)]), FragmentDelivery::Unknown);
        let cut = FragmentTest { largest_piece: Some(1396), ..test(MayBeCut, 1, 5, 10) };
        assert_eq!(FragmentDelivery::from_tests(&[cut]), FragmentDelivery::Pass);
    }

    #[test]
    fn packets_lost_by_chance_are_no_filter() {
        assert_eq!(by_hand([(2, 8), (1, 7), (0, 4), (0, 5)]), FragmentDelivery::Pass);
        assert_eq!(FragmentDelivery::from_tests(&[test(ByKernel, 3, 1, 9)]), FragmentDelivery::Pass);
    }

    #[test]
    fn large_pieces_on_a_link_that_loses_all_large_packets_say_nothing() {
        let lost = test(MayBeCut, 1, 0, 0);
        assert_eq!(
            FragmentDelivery::from_tests(&[lost.clone(), test(ByKernel, 5, 0, 5)]),
            FragmentDelivery::Unknown
        );
        assert_eq!(
            FragmentDelivery::from_tests(&[lost, test(ByKernel, 5, 0, 0)]),
            FragmentDelivery::AllDropped
        );
    }
}

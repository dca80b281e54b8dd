//! What becomes of fragments, from the tests that were made of it.

use super::{FragmentFate, FragmentShape, FragmentTest};

impl FragmentFate {
    /// The fate that the tests of one direction show.
    ///
    /// Fragments made by hand tell more than those of a kernel, which sends all of a datagram and in order. Counts of
    /// pieces are of the receiver's whole host: at least half a piece for each datagram is one.
    pub fn of(tests: &[FragmentTest]) -> FragmentFate {
        let test = |shape| tests.iter().find(|test| test.shape == shape && test.sent > 0);
        let kernel = test(FragmentShape::ByKernel);
        match test(FragmentShape::InOrder) {
            Some(whole) if crossed(whole) => {
                let pieces = [test(FragmentShape::FirstAlone), test(FragmentShape::RestAlone)];
                let swallowed = |piece: Option<&FragmentTest>| piece.and_then(arrived) == Some(false);
                match test(FragmentShape::Reversed) {
                    Some(reversed) if !crossed(reversed) => FragmentFate::OutOfOrderDropped,
                    _ if pieces.into_iter().all(swallowed) => FragmentFate::Reassembled,
                    _ => FragmentFate::Pass,
                }
            }
            Some(_) => match [FragmentShape::FirstAlone, FragmentShape::RestAlone]
                .map(|shape| test(shape).and_then(arrived))
            {
                [Some(true), Some(false)] => FragmentFate::NonFirstDropped,
                [Some(false), Some(true)] => FragmentFate::FirstDropped,
                [Some(false), Some(false)] => FragmentFate::AllDropped,
                _ => FragmentFate::Dropped,
            },
            None => {
                let cut = test(FragmentShape::MayBeCut);
                kernel.map_or_else(|| cut_on_the_way(cut), |kernel| by_kernel(kernel, cut))
            }
        }
    }

    /// Datagrams in fragments are lost, all or some of them.
    pub fn is_lossy(self) -> bool {
        matches!(
            self,
            FragmentFate::AllDropped
                | FragmentFate::NonFirstDropped
                | FragmentFate::FirstDropped
                | FragmentFate::Dropped
                | FragmentFate::OutOfOrderDropped
        )
    }
}

/// One datagram that arrives shows that its fragments may pass; others may be lost like any packet.
fn crossed(test: &FragmentTest) -> bool {
    test.received > 0
}

/// Did pieces of which no whole datagram can become reach the receiver's kernel?
fn arrived(test: &FragmentTest) -> Option<bool> {
    test.pieces_received.map(|pieces| pieces * 2 >= u64::from(test.sent))
}

/// `cut`: a packet of the interface's size that routers might cut.
fn by_kernel(test: &FragmentTest, cut: Option<&FragmentTest>) -> FragmentFate {
    if crossed(test) {
        return FragmentFate::Pass;
    }
    let Some(pieces) = test.pieces_received else { return FragmentFate::Dropped };
    let each = (pieces as f64 / f64::from(test.sent)).round() as u64;
    match each {
        0 => FragmentFate::AllDropped,
        // A kernel's pieces are as large as its interface takes. Where such packets are lost even with leave to be cut,
        // the small last piece alone arrives, whatever becomes of fragments.
        _ if cut.is_some_and(|cut| !crossed(cut)) => FragmentFate::Unknown,
        // Of two pieces one is as well the first as the last.
        1 if test.pieces > 2 => FragmentFate::NonFirstDropped,
        n if test.pieces > 2 && n + 1 == u64::from(test.pieces) => FragmentFate::FirstDropped,
        _ => FragmentFate::Dropped,
    }
}

/// A datagram that arrived in pieces shows that these pass; one that did not may have been too big.
fn cut_on_the_way(test: Option<&FragmentTest>) -> FragmentFate {
    match test {
        Some(test) if crossed(test) && test.largest_piece.is_some() => FragmentFate::Pass,
        _ => FragmentFate::Unknown,
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
    fn by_hand(rows: [(u32, u64); 4]) -> FragmentFate {
        let shapes = [(InOrder, 2), (Reversed, 2), (FirstAlone, 1), (RestAlone, 1)];
        let tests =
            shapes.into_iter().zip(rows).map(|((shape, n), (got, pieces))| test(shape, n, got, pieces));
        FragmentFate::of(&tests.collect::<Vec<_>>())
    }

    #[test]
    fn a_shape_says_which_pieces_go_in_which_order() {
        let sent = |shape: FragmentShape| shape.of(vec![1, 2, 3]);
        for in_order in [MayBeCut, ByKernel, InOrder] {
            assert_eq!(sent(in_order), [1, 2, 3]);
        }
        assert_eq!([sent(Reversed), sent(FirstAlone), sent(RestAlone)], [vec![3, 2, 1], vec![1], vec![2, 3]]);
        assert!(RestAlone.of(Vec::<u8>::new()).is_empty());
    }

    #[test]
    fn each_box_on_the_way_is_known_by_what_it_lets_through() {
        assert_eq!(by_hand([(5, 10), (5, 10), (0, 5), (0, 5)]), FragmentFate::Pass);
        assert_eq!(by_hand([(0, 0), (0, 0), (0, 0), (0, 0)]), FragmentFate::AllDropped);
        assert_eq!(by_hand([(0, 5), (0, 5), (0, 5), (0, 0)]), FragmentFate::NonFirstDropped);
        assert_eq!(by_hand([(0, 5), (0, 5), (0, 0), (0, 5)]), FragmentFate::FirstDropped);
        assert_eq!(by_hand([(5, 10), (0, 5), (0, 5), (0, 0)]), FragmentFate::OutOfOrderDropped);
        assert_eq!(by_hand([(5, 10), (5, 10), (0, 0), (0, 0)]), FragmentFate::Reassembled);
        assert_eq!(
            by_hand([(0, 10), (0, 10), (0, 5), (0, 5)]),
            FragmentFate::Dropped,
            "both pieces, no datagram"
        );
        assert_eq!(
            by_hand([(5, 11), (5, 12), (0, 7), (0, 6)]),
            FragmentFate::Pass,
            "others' fragments count too"
        );
    }

    #[test]
    fn a_kernels_three_pieces_tell_which_are_dropped() {
        let fate = |pieces, received, counted| FragmentFate::of(&[test(ByKernel, pieces, received, counted)]);
        assert_eq!(fate(3, 5, 15), FragmentFate::Pass);
        assert_eq!(fate(3, 0, 0), FragmentFate::AllDropped);
        assert_eq!(fate(3, 0, 5), FragmentFate::NonFirstDropped);
        assert_eq!(fate(3, 0, 10), FragmentFate::FirstDropped);
        assert_eq!(fate(2, 0, 5), FragmentFate::Dropped);
        assert_eq!(fate(3, 0, 15), FragmentFate::Dropped);
        let uncounted = FragmentTest { pieces_received: None, ..test(ByKernel, 3, 0, 0) };
        assert_eq!(FragmentFate::of(&[uncounted]), FragmentFate::Dropped);
    }

    #[test]
    fn without_a_test_of_fragments_nothing_is_known() {
        assert_eq!(FragmentFate::of(&[]), FragmentFate::Unknown);
        assert_eq!(FragmentFate::of(&[test(MayBeCut, 1, 0, 0)]), FragmentFate::Unknown);
        let cut = FragmentTest { largest_piece: Some(1396), ..test(MayBeCut, 1, 5, 10) };
        assert_eq!(FragmentFate::of(&[cut]), FragmentFate::Pass);
    }

    #[test]
    fn packets_lost_by_chance_are_no_filter() {
        assert_eq!(by_hand([(2, 8), (1, 7), (0, 4), (0, 5)]), FragmentFate::Pass);
        assert_eq!(FragmentFate::of(&[test(ByKernel, 3, 1, 9)]), FragmentFate::Pass);
    }

    #[test]
    fn large_pieces_on_a_link_that_loses_all_large_packets_say_nothing() {
        let lost = test(MayBeCut, 1, 0, 0);
        assert_eq!(FragmentFate::of(&[lost.clone(), test(ByKernel, 5, 0, 5)]), FragmentFate::Unknown);
        assert_eq!(FragmentFate::of(&[lost, test(ByKernel, 5, 0, 0)]), FragmentFate::AllDropped);
    }
}

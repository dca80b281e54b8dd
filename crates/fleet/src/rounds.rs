//! Which pairs of sites are measured at the same time: rounds in which no site and no shared link is used beyond its capacity.
//!
//! Every site to every other is a round-robin tournament (circle method): `n - 1` rounds of `n / 2` disjoint pairs for an even
//! number of sites, `n` rounds with one site resting in each for an odd one. Fewer pairs, or shared links, make a greedy edge
//! colouring: without shared links at most `2Δ - 1` rounds, Δ the most pairs of one site.

/// Two sites by their numbers, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
}

impl Pair {
    /// The pair of two sites, in either order; `None` for a site with itself.
    #[must_use]
    pub fn new(one: usize, other: usize) -> Option<Pair> {
        (one != other).then(|| Pair { a: one.min(other), b: one.max(other) })
    }
}

/// A link that several pairs use, and how many of them may at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// The pairs that cross it.
    pub pairs: Vec<Pair>,
    /// How many of them may be measured at the same time; zero is taken as one.
    pub capacity: usize,
}

/// Pairs that are measured together, round after round.
pub type Rounds = Vec<Vec<Pair>>;

/// Every site with every other, by the circle method: a site stands still, the others move on by one place each round.
#[must_use]
pub fn tournament(sites: usize) -> Rounds {
    if sites < 2 {
        return Vec::new();
    }
    // With an odd number, an empty place takes part: who meets it rests.
    let places = sites + sites % 2;
    let turning = places - 1;
    let opponents =
        |round: usize, place: usize| ((round + place) % turning, (round + turning - place) % turning);
    (0..turning)
        .map(|round| {
            let fixed = Pair::new(round, places - 1);
            let turned = (1..places / 2).filter_map(|place| {
                let (one, other) = opponents(round, place);
                Pair::new(one, other)
            });
            fixed.into_iter().chain(turned).filter(|pair| pair.b < sites).collect()
        })
        .collect()
}

/// Some pairs of sites, under shared links, in few rounds: each pair in the first round with room for it.
///
/// Two sequences are tried, that of the tournament and that of the busiest sites first, and the one with fewer rounds is
/// taken; so a full mesh without shared links is exactly the tournament. Pairs that are named twice count once.
#[must_use]
pub fn colour(sites: usize, pairs: &[Pair], shared: &[SharedLink]) -> Rounds {
    let mut pairs: Vec<Pair> = pairs.to_vec();
    pairs.sort_unstable();
    pairs.dedup();
    let by_tournament = first_fit(sites, &in_tournament_sequence(sites, &pairs), shared);
    let by_degree = first_fit(sites, &busiest_first(sites, &pairs), shared);
    if by_degree.len() < by_tournament.len() { by_degree } else { by_tournament }
}

fn in_tournament_sequence(sites: usize, pairs: &[Pair]) -> Vec<Pair> {
    let wanted: std::collections::HashSet<Pair> = pairs.iter().copied().collect();
    tournament(sites).into_iter().flatten().filter(|pair| wanted.contains(pair)).collect()
}

fn busiest_first(sites: usize, pairs: &[Pair]) -> Vec<Pair> {
    let mut degree = vec![0_usize; sites];
    for pair in pairs {
        degree[pair.a] += 1;
        degree[pair.b] += 1;
    }
    let mut sorted = pairs.to_vec();
    sorted.sort_by_key(|pair| (std::cmp::Reverse(degree[pair.a].max(degree[pair.b])), *pair));
    sorted
}

fn first_fit(sites: usize, pairs: &[Pair], shared: &[SharedLink]) -> Rounds {
    let links = links_of_pairs(shared);
    let mut rounds: Vec<RoundUse> = Vec::new();
    for pair in pairs {
        let crossed = links.get(pair).map_or(&[][..], Vec::as_slice);
        let free = rounds.iter().position(|round| round.has_room(*pair, crossed, shared));
        let index = free.unwrap_or_else(|| {
            rounds.push(RoundUse::new(sites, shared.len()));
            rounds.len() - 1
        });
        rounds[index].add(*pair, crossed);
    }
    rounds.into_iter().map(|round| round.pairs).collect()
}

/// The numbers of the shared links that each pair crosses.
fn links_of_pairs(shared: &[SharedLink]) -> std::collections::HashMap<Pair, Vec<usize>> {
    let mut links: std::collections::HashMap<Pair, Vec<usize>> = std::collections::HashMap::new();
    for (number, link) in shared.iter().enumerate() {
        for pair in &link.pairs {
            let crossed = links.entry(*pair).or_default();
            if !crossed.contains(&number) {
                crossed.push(number);
            }
        }
    }
    links
}

/// The part of the network that a round already uses.
struct RoundUse {
    pairs: Vec<Pair>,
    busy: Vec<bool>,
    on_link: Vec<usize>,
}

impl RoundUse {
    fn new(sites: usize, links: usize) -> RoundUse {
        RoundUse { pairs: Vec::new(), busy: vec![false; sites], on_link: vec![0; links] }
    }

    fn has_room(&self, pair: Pair, crossed: &[usize], shared: &[SharedLink]) -> bool {
        !self.busy[pair.a]
            && !self.busy[pair.b]
            && crossed.iter().all(|link| self.on_link[*link] < shared[*link].capacity.max(1))
    }

    fn add(&mut self, pair: Pair, crossed: &[usize]) {
        self.busy[pair.a] = true;
        self.busy[pair.b] = true;
        crossed.iter().for_each(|link| self.on_link[*link] += 1);
        self.pairs.push(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn all_pairs(sites: usize) -> Vec<Pair> {
        (0..sites).flat_map(|a| (a + 1..sites).map(move |b| Pair { a, b })).collect()
    }

    fn assert_disjoint(rounds: &Rounds) {
        for round in rounds {
            let sites: HashSet<usize> = round.iter().flat_map(|pair| [pair.a, pair.b]).collect();
            assert_eq!(sites.len(), 2 * round.len(), "a site twice in {round:?}");
        }
    }

    fn sorted(rounds: &Rounds) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = rounds.iter().flatten().copied().collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn a_hundred_sites_take_99_rounds_of_50_pairs() {
        let rounds = tournament(100);
        assert_eq!(rounds.len(), 99);
        assert!(rounds.iter().all(|round| round.len() == 50));
    }

    #[test]
    fn no_agents_have_no_rounds() {
        assert!(tournament(0).is_empty() && tournament(1).is_empty());
        assert!(colour(0, &[], &[]).is_empty());
        assert_eq!(Pair::new(3, 3), None);
    }

    /// A star cannot be done in fewer rounds than it has rays, nor a shared link faster than one pair at a time.
    #[test]
    fn a_star_and_a_shared_link_set_the_rounds() {
        let star: Vec<Pair> = (1..8).map(|b| Pair { a: 0, b }).collect();
        assert_eq!(colour(8, &star, &[]).len(), 7);
        let apart: Vec<Pair> = (0..6).map(|n| Pair { a: 2 * n, b: 2 * n + 1 }).collect();
        assert_eq!(colour(12, &apart, &[]).len(), 1);
        let uplink = SharedLink { pairs: apart.clone(), capacity: 2 };
        assert_eq!(colour(12, &apart, &[uplink]).len(), 3);
    }

    proptest! {
        #[test]
        fn a_tournament_has_each_pair_once_and_the_fewest_rounds(sites in 2_usize..120) {
            let rounds = tournament(sites);
            assert_disjoint(&rounds);
            prop_assert_eq!(sorted(&rounds), all_pairs(sites));
            prop_assert_eq!(rounds.len(), sites - 1 + sites % 2);
        }

        #[test]
        fn a_full_mesh_is_coloured_as_the_tournament(sites in 2_usize..40) {
            prop_assert_eq!(colour(sites, &all_pairs(sites), &[]).len(), tournament(sites).len());
        }

        #[test]
        fn a_colouring_keeps_sites_and_links_within_their_capacity(
            sites in 2_usize..20,
            chosen in proptest::collection::vec((0_usize..20, 0_usize..20), 1..80),
            link in proptest::collection::vec(0_usize..80, 0..30),
            capacity in 0_usize..4,
        ) {
            let pairs: Vec<Pair> = chosen.iter().filter_map(|(a, b)| Pair::new(a % sites, b % sites)).collect();
            prop_assume!(!pairs.is_empty());
            let crossing: Vec<Pair> = link.iter().map(|n| pairs[n % pairs.len()]).collect();
            let shared = [SharedLink { pairs: crossing.clone(), capacity }];
            let rounds = colour(sites, &pairs, &shared);
            assert_disjoint(&rounds);
            let mut once = pairs.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(sorted(&rounds), once.clone());
            for round in &rounds {
                prop_assert!(round.iter().filter(|pair| crossing.contains(pair)).count() <= capacity.max(1));
            }
            let degree = (0..sites).map(|s| once.iter().filter(|p| p.a == s || p.b == s).count()).max().unwrap_or(0);
            if crossing.is_empty() {
                prop_assert!(rounds.len() < 2 * degree);
            }
        }
    }
}

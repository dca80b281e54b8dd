//! Findings of a matrix of sites that no cell shows alone: a site that is slow from everywhere, a family that fails from one
//! site, a direction that differs from the other.

use model::experiment::MatrixFinding;
use model::stats::quantile::median;
use std::collections::BTreeSet;

/// One path of a matrix, with one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The site that it begins at.
    pub source: String,
    /// The site that it ends at.
    pub target: String,
    /// The IP version, 4 or 6, where the path has one.
    pub family: Option<u8>,
    /// The measured value; absent: it failed.
    pub value: Option<f64>,
}

/// The findings from all cells of one test. `higher_is_better`: whether more of the figure is better.
#[must_use]
pub fn findings(test: &str, cells: &[Cell], higher_is_better: bool) -> Vec<MatrixFinding> {
    let matrix = Matrix { test, cells, higher_is_better };
    let mut found = Vec::new();
    found.extend(matrix.families());
    found.extend(matrix.slow_sites());
    let explained = found.iter().map(|(site, _)| site.clone()).collect::<BTreeSet<_>>();
    found.extend(matrix.directions(&explained));
    found.into_iter().map(|(_, finding)| finding).collect()
}

struct Matrix<'a> {
    test: &'a str,
    cells: &'a [Cell],
    higher_is_better: bool,
}

/// An end of a path, as named by a site.
struct End {
    id: &'static str,
    words: &'static str,
    site: fn(&Cell) -> &str,
    other: fn(&Cell) -> &str,
}

const INTO: End =
    End { id: "site-slow-in", words: "into", site: |cell| &cell.target, other: |cell| &cell.source };
const OUT_OF: End =
    End { id: "site-slow-out", words: "out of", site: |cell| &cell.source, other: |cell| &cell.target };

/// A site, and what was found of it.
type Found = (String, MatrixFinding);

impl Matrix<'_> {
    fn finding(&self, id: &str, title: String) -> MatrixFinding {
        MatrixFinding { id: id.into(), test: self.test.into(), title }
    }

    fn sites(&self, of: fn(&Cell) -> &str) -> BTreeSet<&str> {
        self.cells.iter().map(of).collect()
    }

    /// Sites that are slow with everybody: at one end of their paths, or at both.
    fn slow_sites(&self) -> Vec<Found> {
        let (into, out_of) = (self.slow_at(&INTO), self.slow_at(&OUT_OF));
        let both = |site: &str| {
            let title = format!(
                "everything into and out of {site} is slow: {FAR} times worse or more than what the other sites have \
                 with one another"
            );
            (site.to_owned(), self.finding("site-slow", title))
        };
        let is_in = |found: &[Found], site: &str| found.iter().any(|(one, _)| one == site);
        let mut found: Vec<Found> =
            into.iter().filter(|(site, _)| is_in(&out_of, site)).map(|(site, _)| both(site)).collect();
        let one_end = into.iter().filter(|(site, _)| !is_in(&out_of, site));
        found.extend(one_end.chain(out_of.iter().filter(|(site, _)| !is_in(&into, site))).cloned());
        found
    }

    /// Every path of one end at a site is far worse than what the other ends have with other sites: it is the site.
    fn slow_at(&self, end: &End) -> Vec<Found> {
        let is_slow = |site: &&str| {
            let own: Vec<&Cell> =
                self.cells.iter().filter(|cell| (end.site)(cell) == *site && cell.value.is_some()).collect();
            let others: BTreeSet<&str> = own.iter().map(|cell| (end.other)(cell)).collect();
            others.len() >= ENOUGH && own.iter().all(|cell| self.is_far_from_others(cell, end))
        };
        let reported = |site: &str| {
            let others = self.cells.iter().filter(|cell| (end.site)(cell) == site);
            let others: BTreeSet<&str> = others.map(end.other).collect();
            let title = format!(
                "everything {} {site} is slow: {} with it are {FAR} times worse or more than the same sites are with \
                 others",
                end.words,
                others.into_iter().collect::<Vec<_>>().join(", ")
            );
            (site.to_owned(), self.finding(end.id, title))
        };
        self.sites(end.site).into_iter().filter(is_slow).map(reported).collect()
    }

    fn is_far_from_others(&self, cell: &Cell, end: &End) -> bool {
        let others = self.cells.iter().filter(|one| {
            (end.other)(one) == (end.other)(cell)
                && (end.site)(one) != (end.site)(cell)
                && one.family == cell.family
        });
        let usual = median(&others.filter_map(|one| one.value).collect::<Vec<_>>());
        matches!((cell.value, usual), (Some(value), Some(usual)) if self.is_far(value, usual))
    }

    fn is_far(&self, value: f64, usual: f64) -> bool {
        if self.higher_is_better { value * FAR <= usual } else { value >= usual * FAR }
    }

    /// One family fails from a site, the other does not, and elsewhere both work.
    fn families(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for site in self.sites(|cell| &cell.source) {
            for (family, other) in [(4, 6), (6, 4)] {
                let cells_of = |from_here: bool, family: u8| -> Vec<&Cell> {
                    let own =
                        |cell: &&Cell| (cell.source == site) == from_here && cell.family == Some(family);
                    self.cells.iter().filter(own).collect()
                };
                let (failing, working) = (cells_of(true, family), cells_of(true, other));
                let fails = !failing.is_empty() && failing.iter().all(|cell| cell.value.is_none());
                let works = !working.is_empty() && working.iter().all(|cell| cell.value.is_some());
                let elsewhere = cells_of(false, family).iter().any(|cell| cell.value.is_some());
                if fails && works && elsewhere {
                    let title = format!(
                        "only IPv{family} from {site} fails: IPv{other} works from there, and IPv{family} elsewhere"
                    );
                    found.push((site.to_owned(), self.finding("one-family-from", title)));
                }
            }
        }
        found
    }

    /// There it is far worse than back, or fails: unless a site was found that explains it.
    fn directions(&self, explained: &BTreeSet<String>) -> Vec<Found> {
        let mut found = Vec::new();
        for there in self.cells {
            let back = self.cells.iter().find(|back| {
                back.source == there.target && back.target == there.source && back.family == there.family
            });
            let is_explained =
                [&there.source, &there.target].into_iter().any(|site| explained.contains(site));
            let Some(back) = back.and_then(|back| back.value).filter(|_| !is_explained) else { continue };
            let (source, target) = (&there.source, &there.target);
            let title = match there.value {
                None => {
                    format!("one direction: {source} to {target} fails, and {target} to {source} does not")
                }
                Some(value) if self.is_far(value, back) => format!(
                    "one direction: {source} to {target} is {FAR} times worse or more than {target} to {source}"
                ),
                Some(_) => continue,
            };
            found.push((there.source.clone(), self.finding("one-direction", title)));
        }
        found
    }
}

/// A path is far worse by this factor, more than one that is a little longer.
const FAR: f64 = 2.0;
/// Number of sites below which the cause cannot be located.
const ENOUGH: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// Three sites, each to each, with this rate unless `change` makes another of it.
    fn matrix(families: &[Option<u8>], change: impl Fn(&Cell) -> Option<f64>) -> Vec<Cell> {
        let mut cells = Vec::new();
        for source in ["A", "B", "C"] {
            for target in ["A", "B", "C"].into_iter().filter(|target| *target != source) {
                for family in families {
                    let mut cell = Cell {
                        source: source.into(),
                        target: target.into(),
                        family: *family,
                        value: Some(1e9),
                    };
                    cell.value = change(&cell);
                    cells.push(cell);
                }
            }
        }
        cells
    }

    fn ids(cells: &[Cell]) -> Vec<String> {
        findings("bulk", cells, true).into_iter().map(|one| one.id).collect()
    }

    #[test]
    fn nothing_is_reported_of_like_cells() {
        assert!(ids(&matrix(&[None], |_| Some(1e9))).is_empty());
        // A longer path is no fault, nor is a matrix that is slow as a whole.
        assert!(ids(&matrix(&[None], |cell| Some(if cell.target == "C" { 0.7e9 } else { 1e9 }))).is_empty());
        assert!(ids(&matrix(&[None], |_| Some(1.0))).is_empty());
        assert!(ids(&matrix(&[None], |_| None)).is_empty());
    }

    #[test]
    fn a_site_that_is_slow_from_everywhere_is_named() {
        let into = matrix(&[None], |cell| Some(if cell.target == "C" { 0.1e9 } else { 1e9 }));
        assert_eq!(ids(&into), ["site-slow-in"]);
        assert!(findings("bulk", &into, true)[0].title.starts_with("everything into C is slow: A, B"));
        let out = matrix(&[None], |cell| Some(if cell.source == "C" { 0.1e9 } else { 1e9 }));
        assert_eq!(ids(&out), ["site-slow-out"]);
        // Less of a delay is better: the same figures mean the opposite of the others.
        assert!(
            findings("rtt", &matrix(&[None], |cell| Some(if cell.target == "C" { 9.0 } else { 1.0 })), false)
                .iter()
                .any(|one| one.id == "site-slow-in" && one.title.contains("into C"))
        );
        let both = |cell: &Cell| cell.source == "C" || cell.target == "C";
        let all = matrix(&[None], |cell| Some(if both(cell) { 0.1e9 } else { 1e9 }));
        assert_eq!(ids(&all), ["site-slow"], "one site is reported once");
        assert!(findings("bulk", &all, true)[0].title.starts_with("everything into and out of C is slow"));
        // One slow path into it is no slow site.
        let cells =
            matrix(&[None], |cell| Some(if cell.source == "A" && cell.target == "C" { 0.1e9 } else { 1e9 }));
        assert_eq!(ids(&cells), ["one-direction"]);
    }

    #[test]
    fn one_family_that_fails_from_one_site_is_named() {
        let families = [Some(4), Some(6)];
        let from_a = |cell: &Cell| (cell.source != "A" || cell.family != Some(6)).then_some(1e9);
        assert_eq!(ids(&matrix(&families, from_a)), ["one-family-from"]);
        assert!(
            findings("t", &matrix(&families, from_a), true)[0].title.starts_with("only IPv6 from A fails")
        );
        let nowhere = |cell: &Cell| (cell.family != Some(6)).then_some(1e9);
        assert!(ids(&matrix(&families, nowhere)).is_empty(), "no site has IPv6: no site is at fault");
        let all_of_a = |cell: &Cell| (cell.source != "A").then_some(1e9);
        assert!(!ids(&matrix(&families, all_of_a)).contains(&"one-family-from".to_owned()));
    }

    #[test]
    fn a_direction_that_fails_while_the_other_works_is_named() {
        let fails = matrix(&[None], |cell| (cell.source != "A" || cell.target != "B").then_some(1e9));
        assert_eq!(findings("t", &fails, true)[0].title, "one direction: A to B fails, and B to A does not");
        let both = |cell: &Cell| cell.source == "C" || cell.target == "C";
        assert!(ids(&matrix(&[None], |cell| both(cell).then_some(1e9))).is_empty(), "both directions fail");
    }
}

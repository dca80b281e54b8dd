//! Every site to every site: a row for each source, a column for each target.

use super::tables::primary;
use crate::document::{Column, Table};
use model::experiment::{Row, Setting};

/// A matrix for each combination of values, of the rows that lie between sites.
pub(super) fn of(rows: &[&Row]) -> Vec<Table> {
    let mut combinations: Vec<(&[Setting], Option<u8>)> = Vec::new();
    for row in rows {
        let Some(sites) = &row.sites else { continue };
        if !combinations.contains(&(row.settings.as_slice(), sites.family)) {
            combinations.push((&row.settings, sites.family));
        }
    }
    let own = |settings: &[Setting], family: Option<u8>| -> Vec<&Row> {
        let is_own = |row: &&&Row| {
            row.settings == settings && row.sites.as_ref().is_some_and(|sites| sites.family == family)
        };
        rows.iter().filter(is_own).copied().collect()
    };
    let tables =
        combinations.into_iter().map(|(settings, family)| table(&own(settings, family), settings, family));
    tables.collect()
}

fn table(rows: &[&Row], settings: &[Setting], family: Option<u8>) -> Table {
    let (mut sources, mut targets): (Vec<&str>, Vec<&str>) = rows
        .iter()
        .filter_map(|row| row.sites.as_ref())
        .map(|of| (of.source.as_str(), of.target.as_str()))
        .unzip();
    for names in [&mut sources, &mut targets] {
        names.sort_unstable();
        names.dedup();
    }
    let cell = |source: &str, target: &str| {
        let is_own = |row: &&&Row| {
            row.sites.as_ref().is_some_and(|of| (of.source.as_str(), of.target.as_str()) == (source, target))
        };
        match rows.iter().find(is_own) {
            Some(row) if row.unavailable => "cannot run".to_owned(),
            Some(row) => primary(row).map_or_else(|| "failed".into(), |figure| figure.text.clone()),
            None => String::new(),
        }
    };
    let line = |source: &&str| {
        let cells = targets.iter().map(|target| cell(source, target));
        std::iter::once((*source).to_owned()).chain(cells).collect()
    };
    let name = rows.iter().find_map(|row| primary(row)).map(|figure| figure.name.as_str());
    let settings = settings.iter().map(|one| format!(", {} {}", one.name, one.value)).collect::<String>();
    let family = family.map(|family| format!(", IPv{family}")).unwrap_or_default();
    let columns =
        std::iter::once(Column::left("from \\ to")).chain(targets.iter().copied().map(Column::right));
    Table {
        title: format!("{}{family}{settings}", name.unwrap_or("nothing was measured")),
        ..Table::of(columns.collect(), sources.iter().map(line).collect())
    }
}

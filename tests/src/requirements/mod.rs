//! Which requirements are built, and which test shows it.
//!
//! The requirements are numbered rows in areas, `M-AREA-nn`. The files `requirements/AREA.txt`
//! hold one row a line:
//!
//! ```text
//! id | built | | subject
//! id | built | by construction: why nothing else is possible | subject
//! id | later | what it waits for | subject
//! id | n/a   | why it does not apply | subject
//! ```
//!
//! A test names the rows that it checks in its doc comment, at most three. [`check`] reads both and
//! finds what does not fit: a built row that no test names, a test that names a row that does not
//! exist, a test that names more than three. The functions below `tests/src/scenarios` are tests
//! too: each runtime's test file runs all of them.

mod rows;
mod scan;

pub use rows::{Row, State, parse};
pub use scan::{Mention, Source, Test, scan};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A test that claims more shows none of them well.
const ROWS_PER_TEST: usize = 3;

/// Where a crate keeps its sources.
const FOLDERS: [&str; 5] = ["src", "tests", "examples", "benches", "fuzz_targets"];

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// A line for each area, and one for all of them.
    pub summary: Vec<String>,
    /// What may be worth a look, and is no mistake.
    pub notes: Vec<String>,
    /// What does not fit.
    pub problems: Vec<String>,
}

/// Checks the workspace that this crate was built in.
pub fn check_workspace() -> io::Result<Report> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = tests.parent().unwrap_or(tests);
    let mut problems = Vec::new();
    let mut rows = Vec::new();
    for path in files(&tests.join("requirements"), "txt")? {
        let area = path.file_stem().unwrap_or_default().to_string_lossy();
        match parse(&area, &fs::read_to_string(&path)?) {
            Ok(parsed) => rows.extend(parsed),
            Err(wrong) => problems.extend(wrong),
        }
    }
    let mut source = Source::default();
    for entry in fs::read_dir(workspace)? {
        let crate_folder = entry?.path();
        if !crate_folder.join("Cargo.toml").is_file() {
            continue;
        }
        for folder in FOLDERS {
            for path in files(&crate_folder.join(folder), "rs")? {
                let name = path.strip_prefix(workspace).unwrap_or(&path);
                let name = name.to_string_lossy();
                source.extend(scan(&name, &fs::read_to_string(&path)?));
            }
        }
    }
    let mut report = check(&rows, &source);
    problems.append(&mut report.problems);
    report.problems = problems;
    Ok(report)
}

/// All files below the folder with this extension, in order. A folder that is not there has none.
fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Compares the rows with what the tests name.
pub fn check(rows: &[Row], source: &Source) -> Report {
    let known: BTreeMap<&str, &Row> = rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut report = Report::default();
    let mut tested: BTreeSet<&str> = BTreeSet::new();
    for test in &source.tests {
        let ids: BTreeSet<&str> = test.rows.iter().map(String::as_str).collect();
        if ids.len() > ROWS_PER_TEST {
            let problem = format!(
                "{}: the test `{}` names {} rows, more than {ROWS_PER_TEST}",
                test.place,
                test.name,
                ids.len()
            );
            report.problems.push(problem);
        }
        for id in &ids {
            if known.get(id).is_some_and(|row| row.state != State::Built) {
                let note =
                    format!("{}: the test `{}` names {id}, not built", test.place, test.name);
                report.notes.push(note);
            }
        }
        tested.extend(ids);
    }
    for mention in &source.mentions {
        if !known.contains_key(mention.id.as_str()) {
            let problem = format!("{}: there is no row {}", mention.place, mention.id);
            report.problems.push(problem);
        }
    }
    for row in rows {
        if row.state == State::Built && !tested.contains(row.id.as_str()) {
            let problem = format!("{} is marked as built, and no test names it", row.id);
            report.problems.push(problem);
        }
    }
    report.summary = summary(rows, &tested);
    report
}

fn summary(rows: &[Row], tested: &BTreeSet<&str>) -> Vec<String> {
    let mut areas: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        areas.entry(row.area()).or_default().push(row);
    }
    let line = |name: &str, rows: &[&Row]| {
        let count = |state| rows.iter().filter(|row| row.state == state).count();
        let shown = |row: &&&Row| row.state == State::Built && tested.contains(row.id.as_str());
        let mut line = format!("{name}: built {} of {} rows", count(State::Built), rows.len());
        let _ = write!(
            line,
            ", {} tested, {} later, {} not applicable",
            rows.iter().filter(shown).count(),
            count(State::Later),
            count(State::NotApplicable)
        );
        line
    };
    let mut lines: Vec<String> = areas.iter().map(|(area, rows)| line(area, rows)).collect();
    lines.push(line("all", &rows.iter().collect::<Vec<_>>()));
    lines
}

#[cfg(test)]
mod tests;

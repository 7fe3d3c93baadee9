//! The rows, the scan, and that each mistake is found.

use super::*;

const TESTS: &str = include_str!("samples/tests.rs.txt");
const FOUR: &str = include_str!("samples/four.rs.txt");

/// Written in pieces, so that the scan of this file does not take it for a mention.
fn id(area: &str, number: u32) -> String {
    format!("M-{area}-{number:02}")
}

fn row(area: &str, number: u32, state: State) -> Row {
    Row { id: id(area, number), state, note: "because".to_owned(), subject: "something".to_owned() }
}

fn rows(states: [State; 6]) -> Vec<Row> {
    let places = [("AAA", 1), ("AAA", 2), ("AAA", 3), ("BBB", 1), ("BBB", 2), ("BBB", 3)];
    let row = |((area, number), state)| row(area, number, state);
    places.into_iter().zip(states).map(row).collect()
}

#[test]
fn rows_are_read_with_state_and_reason() {
    let text = format!(
        "# AAA: letters\n\n{} | built | | one\n{} | later|HTTP|two\n{} | n/a | no | three\n\
         {} | built | by construction: it cannot fail | four\n",
        id("AAA", 1),
        id("AAA", 2),
        id("AAA", 3),
        id("AAA", 4)
    );
    let rows = parse("AAA", &text).unwrap();
    let states: Vec<State> = rows.iter().map(|row| row.state).collect();
    assert_eq!(states, [State::Built, State::Later, State::NotApplicable, State::Built]);
    assert_eq!((&*rows[1].note, &*rows[1].subject), ("HTTP", "two"));
    assert_eq!(rows[1].area(), "AAA");
}

#[test]
fn each_malformed_row_is_found_once() {
    let first = id("AAA", 1);
    for wrong in [
        format!("{first} | built | one"),
        format!("{first} | built | | one | two"),
        format!("{first} | done | | one"),
        format!("{first} | later | | one"),
        format!("{first} | n/a | | one"),
        format!("{first} | built | it is | one"),
        format!("{first} | built | by construction: | one"),
        format!("{first} | built | | "),
        format!("{} | built | | one", id("AAA", 2)),
        format!("{} | built | | one", id("BBB", 1)),
    ] {
        let text = format!("# x\n{wrong}\n{} | built | | fine\n", id("AAA", 2));
        let problems = parse("AAA", &text).unwrap_err();
        assert_eq!(problems.len(), 1, "{wrong}: {problems:?}");
        assert!(problems[0].starts_with("AAA.txt:2: "), "{problems:?}");
    }
    let twice = format!("{first} | built | | one\n{first} | built | | one\n");
    assert_eq!(parse("AAA", &twice).unwrap_err().len(), 1);
}

#[test]
fn the_scan_finds_tests_and_mentions() {
    let source = scan("x/src/lib.rs", TESTS);
    let found: Vec<(&str, Vec<String>)> =
        source.tests.iter().map(|test| (test.name.as_str(), test.rows.clone())).collect();
    let expected = [
        ("one_row", vec![id("AAA", 1)]),
        ("three_rows", vec![id("AAA", 2), id("AAA", 3), id("BBB", 1)]),
        ("asynchronous", vec![id("BBB", 2)]),
        ("looks_alike", vec![format!("M-{}-012", "AAA")]),
    ];
    assert_eq!(found, expected);
    assert_eq!(source.tests[0].place, "x/src/lib.rs:8");
    assert_eq!(source.mentions.len(), 11, "{:?}", source.mentions);
    assert_eq!(source.mentions[0].place, "x/src/lib.rs:1");
}

#[test]
fn every_function_of_a_scenario_file_is_a_test() {
    let source = scan("tests/src/scenarios/stdio.rs", TESTS);
    let names: Vec<&str> = source.tests.iter().map(|test| test.name.as_str()).collect();
    assert!(names.contains(&"no_test") && names.contains(&"helper"), "{names:?}");
}

#[test]
fn a_complete_list_has_no_problem() {
    use State::{Built, Later, NotApplicable};
    let rows = rows([Built, Built, Built, Built, NotApplicable, Later]);
    let sample = TESTS.split("/// XM").next().unwrap();
    let report = check(&rows, &scan("t.rs", sample));
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(
        report.summary,
        [
            "AAA: built 3 of 3 rows, 3 tested, 0 later, 0 not applicable",
            "BBB: built 1 of 3 rows, 1 tested, 1 later, 1 not applicable",
            "all: built 4 of 6 rows, 4 tested, 1 later, 1 not applicable",
        ]
    );
    assert_eq!(report.notes.len(), 1, "a test names a row that is not built");
    assert!(report.notes[0].contains(&id("BBB", 2)), "{:?}", report.notes);
}

#[test]
fn each_misfit_is_found() {
    let built = rows([State::Built; 6]);
    let sample = TESTS.split("/// XM").next().unwrap();
    let report = check(&built, &scan("t.rs", sample));
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert!(report.problems[0].contains(&id("BBB", 3)), "named, but not by a test");
    assert!(report.summary[1].contains("built 3 of 3 rows, 2 tested"));

    let report = check(&built, &scan("t.rs", TESTS));
    assert_eq!(report.problems.len(), 2, "{:?}", report.problems);
    assert!(report.problems[0].contains("there is no row"));

    let later = rows([State::Later; 6]);
    let report = check(&later, &scan("t.rs", FOUR));
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert!(report.problems[0].contains("`four_rows` names 4 rows"));
    let report = check(&later[1..], &scan("t.rs", FOUR));
    assert!(report.problems.iter().any(|it| it.contains(&id("AAA", 1))));
}

/// What `.ci/run` checks by the program, for those who run the tests only.
#[test]
fn the_rows_of_this_workspace_fit_its_tests() {
    let report = check_workspace().unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let all = report.summary.last().unwrap();
    assert!(all.contains(" of 631 rows"), "{all}");
    assert_eq!(report.summary.len(), 43, "42 areas, and all");
}

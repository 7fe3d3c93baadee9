//! Finds the tests in a source file, and the rows that they name.

/// Below this folder, every function is a test.
const SCENARIOS: &str = "tests/src/scenarios/";

/// What one or more source files say about rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The tests that name rows.
    pub tests: Vec<Test>,
    /// Every row named in any comment.
    pub mentions: Vec<Mention>,
}

/// A test that names rows in its doc comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The function's name.
    pub name: String,
    /// Its file and line.
    pub place: String,
    /// The rows, in order.
    pub rows: Vec<String>,
}

/// A row that is named in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// What is named, whether there is such a row or not.
    pub id: String,
    /// The file and line.
    pub place: String,
}

impl Source {
    /// Adds what another file says.
    pub fn extend(&mut self, other: Source) {
        self.tests.extend(other.tests);
        self.mentions.extend(other.mentions);
    }
}

/// What stands before an item: its comments and its attributes.
#[derive(Default)]
struct Preamble {
    rows: Vec<String>,
    is_test: bool,
    /// Inside an attribute of several lines.
    open_attribute: bool,
}

/// Reads one file, line by line. This is no parser: it knows what rustfmt leaves of comments,
/// attributes and functions, each at the start of a line.
pub fn scan(file: &str, text: &str) -> Source {
    let mut source = Source::default();
    let mut before = Preamble::default();
    let all_are_tests = file.contains(SCENARIOS);
    for (at, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", at + 1);
        let line = line.trim();
        let named = line.find("//").map_or(Vec::new(), |start| ids(&line[start..]));
        source
            .mentions
            .extend(named.iter().map(|id| Mention { id: id.clone(), place: place.clone() }));
        if line.starts_with("//") {
            before.rows.extend(named);
        } else if before.open_attribute || line.starts_with("#[") {
            before.is_test |= is_test_attribute(line);
            before.open_attribute = !line.ends_with(']');
        } else {
            let found = std::mem::take(&mut before);
            let name = function_name(line).filter(|_| found.is_test || all_are_tests);
            if let Some(name) = name.filter(|_| !found.rows.is_empty()) {
                source.tests.push(Test { name: name.to_owned(), place, rows: found.rows });
            }
        }
    }
    source
}

/// `#[test]`, `#[tokio::test]` and the like, with or without arguments.
fn is_test_attribute(line: &str) -> bool {
    let path = line.trim_start_matches("#[");
    let end = path.find(['(', ']', ' ']).unwrap_or(path.len());
    path[..end].split("::").last() == Some("test")
}

fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split([' ', '(', '<']);
    let is_function = words.by_ref().any(|word| word == "fn");
    let name = words.next().filter(|_| is_function)?;
    let head = line.split("fn ").next().unwrap_or_default();
    let is_item = head.split(' ').all(|word| {
        word.is_empty() || word == "async" || word == "const" || word.starts_with("pub")
    });
    is_item.then_some(name)
}

/// Everything in a comment that looks like a row's id: `M-`, capitals, `-`, and digits; also one
/// with too many digits, which is a mistake that has to be found.
fn ids(comment: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in comment.match_indices("M-") {
        let before = comment[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '-') {
            continue;
        }
        let rest = &comment[at + 2..];
        let area = rest.find(|c: char| !c.is_ascii_uppercase()).unwrap_or(rest.len());
        let Some(digits) = rest[area..].strip_prefix('-').filter(|_| area > 0) else {
            continue;
        };
        let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if count > 0 {
            found.push(comment[at..at + 2 + area + 1 + count].to_owned());
        }
    }
    found
}

//! The list of rows.

/// A requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `M-AREA-nn`
    pub id: String,
    /// How far it is.
    pub state: State,
    /// Why it is not built; or, of one that is built by construction, what makes it hold.
    pub note: String,
    /// What it is about.
    pub subject: String,
}

/// How far a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It holds, and a test shows it.
    Built,
    /// It waits for something.
    Later,
    /// It does not apply.
    NotApplicable,
}

impl Row {
    /// The area in the row's id.
    pub fn area(&self) -> &str {
        self.id.split('-').nth(1).unwrap_or_default()
    }
}

const CONSTRUCTION: &str = "by construction:";

/// Reads the rows of one area, which are numbered from 01 without a gap.
///
/// # Errors
///
/// A list of what is wrong, each with its line.
pub fn parse(area: &str, text: &str) -> Result<Vec<Row>, Vec<String>> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let id = format!("M-{area}-{:02}", rows.len() + 1);
        match parse_row(line, &id) {
            Ok(row) => rows.push(row),
            Err(what) => {
                problems.push(format!("{area}.txt:{}: {what}", at + 1));
                // Its number is spent, so that one mistake gives one message.
                rows.push(Row {
                    id,
                    state: State::Later,
                    note: String::new(),
                    subject: String::new(),
                });
            }
        }
    }
    if problems.is_empty() { Ok(rows) } else { Err(problems) }
}

fn parse_row(line: &str, expected: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [id, state, note, subject] = fields[..] else {
        return Err(format!("{} fields instead of four", fields.len()));
    };
    if id != expected {
        return Err(format!("{id} where {expected} was expected"));
    }
    let state = match state {
        "built" => State::Built,
        "later" => State::Later,
        "n/a" => State::NotApplicable,
        other => return Err(format!("{id}: there is no state `{other}`")),
    };
    let has_reason = match state {
        State::Built => {
            note.is_empty() || note.strip_prefix(CONSTRUCTION).is_some_and(|it| !it.is_empty())
        }
        State::Later | State::NotApplicable => !note.is_empty(),
    };
    if !has_reason {
        return Err(format!("{id}: `{note}` does not give the reason"));
    }
    if subject.is_empty() {
        return Err(format!("{id}: no subject"));
    }
    Ok(Row { id: id.to_owned(), state, note: note.to_owned(), subject: subject.to_owned() })
}

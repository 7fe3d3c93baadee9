//! Text of the server's on its way into texts of ours.

/// How much of a server's text goes into an event or the text of an error, in characters.
pub(crate) const MAX_PEER_TEXT: usize = 4096;

/// The text with its control characters escaped and its length bounded, so that it can neither
/// forge lines of a log nor fill it.
pub(crate) fn excerpt(text: &str) -> String {
    bounded(text, MAX_PEER_TEXT)
}

fn bounded(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    for (count, c) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            break;
        }
        if is_unsafe(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, and the marks that reorder what is shown.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What is left of the end of a server's stderr: valid text, line ends kept, other control
/// characters escaped.
pub(crate) fn last_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if is_unsafe(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-UNTR-16, M-UNTR-17
    #[test]
    fn text_of_the_servers_is_escaped_and_bounded() {
        assert_eq!(excerpt("a\nERROR forged\u{1b}[31m"), "a\\nERROR forged\\u{1b}[31m");
        assert_eq!(excerpt("x\u{202e}y"), "x\\u{202e}y");
        let long = "é".repeat(MAX_PEER_TEXT + 1);
        assert_eq!(excerpt(&long).chars().count(), MAX_PEER_TEXT + 1);
        assert!(excerpt(&long).ends_with("é…"));
    }

    #[test]
    fn last_words_keep_their_lines() {
        assert_eq!(last_words(b"one\r\ntwo\x07\xff\n"), "one\ntwo\\u{7}\u{fffd}");
    }
}

//! Values of HTTP headers, as MCP writes and reads them (specification:
//! basic/transports/streamable-http, "Value Encoding"; RFC 9110, section 5).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The longest session id that is accepted, in characters.
pub const MAX_SESSION_ID_CHARS: usize = 4096;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Writes a text as the value of `Mcp-Name` or `Mcp-Param-*`: as it is where a header can carry it,
/// or else as Base64 between two marks.
///
/// Encoded are texts with anything but ASCII, with control characters (a tab is one), with blanks
/// at an end, and texts that look encoded. The empty text stays an empty value: the specification's
/// test cases (SEP-2243) ask for that.
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    // `=?base64?=` has both marks, one over the other. It counts: who compares ends sees both.
    let looks_encoded = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    if plain && !looks_encoded && text.trim_ascii() == text {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{PREFIX}{}{SUFFIX}", BASE64.encode(text)))
}

/// Reads what [`encode`] writes, as a server does. `None` for what no client may send: bytes that a
/// header cannot carry, malformed Base64 between the marks, or Base64 of something that is no text.
#[must_use]
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) {
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => is_value(value).then_some(Cow::Borrowed(value)),
    }
}

/// Whether a text can be the name of a header: one token (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

pub(crate) fn is_token_byte(byte: u8) -> bool {
    // `#` to `'` are `#$%&'`, and before `a` to `z` stand `^`, `_` and the backquote.
    matches!(byte, b'0'..=b'9' | b'A'..=b'Z' | b'^'..=b'z' | b'#'..=b'\'')
        || matches!(byte, b'!' | b'*' | b'+' | b'-' | b'.' | b'|' | b'~')
}

/// Whether a text can be the value of a header without doing harm: visible ASCII, spaces, tabs
/// (RFC 9110, section 5.5, without its obsolete bytes beyond ASCII). Blanks at an end are harmless
/// but do not arrive.
#[must_use]
pub fn is_value(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\t' || (0x20..=0x7e).contains(&byte))
}

/// Whether the value of a `Content-Type` header names this media type, whatever its case and its
/// parameters (RFC 9110, section 8.3.1).
#[must_use]
pub fn is_media_type(value: &str, media_type: &str) -> bool {
    let named = value.split(';').next().unwrap_or_default();
    named.trim_ascii().eq_ignore_ascii_case(media_type)
}

/// Whether a text can be the id of a legacy session: 1 to [`MAX_SESSION_ID_CHARS`] characters of
/// visible ASCII (specification 2025-11-25: basic/transports, "Session Management").
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    (1..=MAX_SESSION_ID_CHARS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// M-HDR-13
    #[test]
    fn the_examples_of_the_specification() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            // SEP-2243, test cases
            ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
            ("\tindented", "=?base64?CWluZGVudGVk?="),
            ("", ""),
        ] {
            assert_eq!(encode(text), value);
            assert_eq!(decode(value).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_a_header_can_carry_stays_as_it_is() {
        let uri = "file:///projects/myapp/config.json";
        for text in [uri, "a b", "=?base64?", "?=", "=?BASE64?eA==?=", "=?base64?x", "x?="] {
            assert!(matches!(encode(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    /// M-HTTP-06
    #[test]
    fn what_it_cannot_carry_is_encoded() {
        for text in ["工具", "é", "a\tb", "\0", "\x7f", " ", "a ", "=?base64?=", "=?base64??="] {
            let value = encode(text);
            assert!(value.starts_with(PREFIX) && value.ends_with(SUFFIX), "{text:?}: {value}");
            assert_eq!(decode(&value).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_no_client_may_send_is_not_decoded() {
        for value in ["=?base64?%%%?=", "=?base64?eA?=", "=?base64?/w==?=", "é", "a\nb"] {
            assert_eq!(decode(value), None, "{value}");
        }
        assert_eq!(decode("=?base64??=").as_deref(), Some(""));
    }

    /// M-HDR-06
    #[test]
    fn names_are_tokens() {
        for name in ["Region", "x-mcp_1", "!#$%&'*+-.^_`|~"] {
            assert!(is_name(name), "{name}");
        }
        let tokens = (0..=255).filter(|byte| is_token_byte(*byte)).count();
        assert_eq!(tokens, 10 + 2 * 26 + 15);
        for name in ["", "My Region", "a:b", "a\r\nb", "a\tb", "é", "a(", "a/b", "\"a\"", "\x7f"] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn values_hold_no_line_end() {
        for value in ["", "Bearer abc", "a\tb", "~ !"] {
            assert!(is_value(value), "{value:?}");
        }
        for value in ["a\r\nX-Evil: 1", "a\rb", "a\nb", "\0", "\x7f", "é"] {
            assert!(!is_value(value), "{value:?}");
        }
    }

    #[test]
    fn media_types_are_compared_without_case_and_parameters() {
        let json = "application/json";
        for value in [
            json,
            "application/JSON;Charset=\"utf-8\"",
            "Application/json ; a=b;c",
            " application/json ",
        ] {
            assert!(is_media_type(value, json), "{value}");
        }
        for value in [
            "",
            "application/json5",
            "application/problem+json",
            "json",
            "text/event-stream; application/json",
        ] {
            assert!(!is_media_type(value, json), "{value}");
        }
        assert!(is_media_type("Text/Event-Stream;charset=UTF-8", "text/event-stream"));
    }

    /// M-SESS-06
    #[test]
    fn session_ids_are_visible_ascii_of_a_bounded_length() {
        let longest = "~".repeat(MAX_SESSION_ID_CHARS);
        for id in ["1868a90c-7c7e", "!", "~", &longest] {
            assert!(is_session_id(id));
        }
        let longer = longest.clone() + "~";
        for id in ["", " ", "a b", "a\r\nb", "a\x7f", "é", "\0", &longer] {
            assert!(!is_session_id(id), "{id:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_arrives_and_no_value_breaks_a_header(
            chars in proptest::collection::vec(any::<char>(), 0..20),
        ) {
            let text: String = chars.into_iter().collect();
            let value = encode(&text);
            prop_assert!(is_value(&value));
            prop_assert_eq!(value.trim_ascii(), &*value);
            let decoded = decode(&value);
            prop_assert_eq!(decoded.as_deref(), Some(&*text));
        }
    }
}

//! Finds the members of a JSON object without parsing what they hold.
//!
//! It counts brackets and quotes, which is several times faster than parsing, and copies nothing.
//! It is no validator: what it finds is parsed by whoever uses it. Whatever is not plain, such as
//! a member name with an escape, makes it give up, and then the caller parses.

/// The text is not plain: it must be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotPlain;

/// Reads some members of an object: the values that have these names, in the order of the names.
/// A member that is absent is `None`; one that stands twice is not plain.
pub(crate) fn members<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> Result<[Option<&'a str>; N], NotPlain> {
    find(text, names).ok_or(NotPlain)
}

fn find<'a, const N: usize>(text: &'a str, names: [&str; N]) -> Option<[Option<&'a str>; N]> {
    let bytes = text.as_bytes();
    let mut found = [None; N];
    let mut at = expect(bytes, 0, b'{')?;
    if let Some(end) = expect(bytes, at, b'}') {
        return is_end(bytes, end).then_some(found);
    }
    loop {
        let start = expect(bytes, at, b'"')?;
        let (end, plain) = string_end(bytes, start)?;
        let name = bytes.get(start..end - 1).filter(|_| plain)?;
        let start = blanks(bytes, expect(bytes, end, b':')?);
        at = value_end(bytes, start)?;
        if let Some(place) = names.iter().position(|wanted| wanted.as_bytes() == name)
            && found.get_mut(place)?.replace(text.get(start..at)?).is_some()
        {
            return None;
        }
        at = blanks(bytes, at);
        match bytes.get(at)? {
            b',' => at += 1,
            b'}' => return is_end(bytes, at + 1).then_some(found),
            _ => return None,
        }
    }
}

/// Where the blanks that begin at `at` end.
fn blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The end of this byte, which stands behind blanks.
fn expect(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = blanks(text, at);
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

fn is_end(text: &[u8], at: usize) -> bool {
    blanks(text, at) == text.len()
}

/// The end of the value that begins at `at`.
fn value_end(text: &[u8], at: usize) -> Option<usize> {
    let end = match text.get(at)? {
        b'"' => string_end(text, at + 1)?.0,
        b'{' | b'[' => nested_end(text, at)?,
        _ => scalar_end(text, at),
    };
    (end > at).then_some(end)
}

/// How many bytes of a string are looked at eight at a time. Most strings are names, and end before
/// the start of a vector search has paid.
const SHORT: usize = 32;

/// Where the first quote or backslash is.
fn quote_or_escape(rest: &[u8]) -> Option<usize> {
    let (words, _) = rest.get(..SHORT).unwrap_or(rest).as_chunks::<8>();
    for (n, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ every(b'"')) | zeros(word ^ every(b'\\'));
        if found != 0 {
            return Some(n * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let looked = words.len() * 8;
    memchr::memchr2(b'"', b'\\', rest.get(looked..)?).map(|found| looked + found)
}

/// A word of eight bytes like this one.
const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The high bit of each byte that is zero, up to the first: what is above it may be wrong.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(every(1)) & !word & every(0x80)
}

/// The end of the string whose text begins at `at`, its quote included, and whether it is free of
/// escapes.
fn string_end(text: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut plain = true;
    loop {
        let rest = text.get(at..)?;
        let found = quote_or_escape(rest)?;
        at += found + 1;
        if rest.get(found) == Some(&b'"') {
            return Some((at, plain));
        }
        plain = false;
        at += 1;
    }
}

/// The end of the object or array that begins at `at`.
fn nested_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'"' => at = string_end(text, at)?.0,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
}

/// The end of the number or word that begins at `at`.
fn scalar_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

/// What a value says that is a text without escapes, and without what would need one.
pub(crate) fn plain_text(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let plain = |byte| byte >= b' ' && byte != b'"' && byte != b'\\';
    // A whole stretch at once, which the compiler makes a few instructions of.
    let all = |stretch: &[u8]| stretch.iter().fold(true, |all, byte| all & plain(*byte));
    inner.as_bytes().chunks(64).all(all).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    #[test]
    fn members_are_found_as_they_stand() {
        let text = r#" { "a" : [1,{"b":"]}"}] ,"c":"x\"}" , "d":-1.5e3,"e":{} } "#;
        let found = members(text, ["e", "d", "c", "b", "a"]);
        let want = [Some("{}"), Some("-1.5e3"), Some(r#""x\"}""#), None, Some(r#"[1,{"b":"]}"}]"#)];
        assert_eq!(found, Ok(want));
        assert_eq!(members("{}", ["a"]), Ok([None]));
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_parser() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"\u0061":1}"#,
            r#"{"a":1} x"#,
            r#"{"a":1"#,
            r#"{"a":}"#,
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":"x}"#,
            r#"{"a":[}"#,
            "[1]",
            "1",
            "",
        ] {
            assert_eq!(members(text, ["a"]), Err(NotPlain), "{text}");
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            ".{0,12}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("[a-c\"\\\\]{0,2}", inner, 0..5)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        /// Where the scan finds something, a parser finds the same.
        #[test]
        fn it_agrees_with_the_parser(value in json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            type Parsed<'a> = std::collections::BTreeMap<String, &'a RawValue>;
            match (members(&text, ["a", "b"]), serde_json::from_str::<Parsed<'_>>(&text)) {
                (Ok([a, b]), Ok(parsed)) => {
                    prop_assert_eq!(a, parsed.get("a").map(|raw| raw.get()));
                    prop_assert_eq!(b, parsed.get("b").map(|raw| raw.get()));
                }
                (Err(NotPlain), _) => prop_assert!(!value.is_object() || text.contains('\\')),
                (Ok(_), Err(error)) => prop_assert!(false, "{error}"),
            }
        }
    }
}

//! Finds the members of a JSON object without parsing what they hold.
//!
//! It counts brackets and quotes, which is several times faster than parsing, and copies nothing.
//! It is no validator: what it finds is parsed by whoever uses it. Whatever is not plain, such as
//! a member name with an escape, makes it give up, and then the caller parses.

/// The members of an object, in order.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    First,
    Next,
    Over,
}

/// The text is not plain: it must be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotPlain;

/// How many bytes of a string are looked at one by one before a search over many at once begins:
/// most strings of the protocol's are names, and end before such a search pays.
const SHORT: usize = 24;

/// Where the first quote or backslash is.
fn quote_or_escape(rest: &[u8]) -> Option<usize> {
    let is = |byte: &u8| matches!(byte, b'"' | b'\\');
    let short = rest.get(..SHORT).unwrap_or(rest);
    short.iter().position(is).or_else(|| {
        let long = rest.get(SHORT..)?;
        memchr::memchr2(b'"', b'\\', long).map(|found| SHORT + found)
    })
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

impl<'a> Members<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Members { text, at: 0, state: State::First }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        if self.peek() == Some(byte) {
            self.at += 1;
            Some(())
        } else {
            None
        }
    }

    /// Takes a member's name. One with escapes is not plain.
    fn name(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let start = self.at;
        let (end, plain) = string_end(self.text.as_bytes(), start)?;
        self.at = end;
        self.text.get(start..end - 1).filter(|_| plain)
    }

    fn value(&mut self) -> Option<&'a str> {
        self.blanks();
        let (start, text) = (self.at, self.text.as_bytes());
        self.at = match self.peek()? {
            b'"' => string_end(text, start + 1)?.0,
            b'{' | b'[' => nested_end(text, start)?,
            _ => scalar_end(text, start),
        };
        self.text.get(start..self.at).filter(|value| !value.is_empty())
    }

    /// The next member; `None` in the option at the end of the text.
    fn step(&mut self) -> Option<Option<(&'a str, &'a str)>> {
        match self.state {
            State::First => {
                self.expect(b'{')?;
                if self.expect(b'}').is_some() {
                    return self.end();
                }
            }
            State::Next => {
                if self.expect(b'}').is_some() {
                    return self.end();
                }
                self.expect(b',')?;
            }
            State::Over => return Some(None),
        }
        self.state = State::Next;
        let name = self.name()?;
        self.expect(b':')?;
        Some(Some((name, self.value()?)))
    }

    fn end(&mut self) -> Option<Option<(&'a str, &'a str)>> {
        self.state = State::Over;
        self.blanks();
        (self.at == self.text.len()).then_some(None)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(&'a str, &'a str), NotPlain>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Some(member) => member.map(Ok),
            None => {
                self.state = State::Over;
                Some(Err(NotPlain))
            }
        }
    }
}

/// Reads some members of an object: the values that have these names, in the order of the names.
/// A member that is absent is `None`; one that stands twice is not plain.
pub(crate) fn members<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> Result<[Option<&'a str>; N], NotPlain> {
    let mut found = [None; N];
    for member in Members::of(text) {
        let (name, value) = member?;
        let place = names.iter().position(|wanted| *wanted == name);
        if let Some(place) = place.and_then(|at| found.get_mut(at))
            && place.replace(value).is_some()
        {
            return Err(NotPlain);
        }
    }
    Ok(found)
}

/// What a value says that is a text without escapes, and without what would need one.
pub(crate) fn plain_text(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let plain = |byte| byte >= b' ' && byte != b'"' && byte != b'\\';
    inner.bytes().all(plain).then_some(inner)
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

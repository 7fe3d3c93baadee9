//! What is answered to what. A request is searched for what tells them apart, and not parsed.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::rc::Rc;

use memchr::memmem;

/// How long the text of a large result is.
const BLOB: usize = 32 << 20;

/// An answer without its id: `{"jsonrpc":"2.0","id":` + id + `,` + this + `}`.
pub type Body = Rc<[u8]>;

/// What there is to answer.
pub struct Answers {
    discover: Body,
    initialize: Body,
    echo: Body,
    empty: Body,
    unknown: Body,
    tools: Body,
    plain: OnceCell<Body>,
    escaped: OnceCell<Body>,
}

fn result(members: &str) -> Body {
    Rc::from(format!(r#""result":{{"resultType":"complete",{members}}}"#).into_bytes())
}

fn text(text: &str) -> Body {
    result(&format!(r#""content":[{{"type":"text","text":"{text}"}}]"#))
}

fn tools(count: usize) -> Body {
    let mut all = String::from(r#""ttlMs":0,"cacheScope":"private","tools":["#);
    for n in 0..count {
        if n > 0 {
            all.push(',');
        }
        let _ = write!(
            all,
            concat!(
                r#"{{"name":"tool_{n}","title":"Tool {n}","description":"Looks up item {n} by its "#,
                r#"name, and tells what is known of it.","inputSchema":{{"type":"object","properties":"#,
                r#"{{"name":{{"type":"string","description":"What to look up"}},"limit":{{"type":"#,
                r#""integer","minimum":1,"maximum":100,"default":10}},"exact":{{"type":"boolean"}}}},"#,
                r#""required":["name"]}},"annotations":{{"readOnlyHint":true}}}}"#
            ),
            n = n
        );
    }
    all.push(']');
    result(&all)
}

impl Answers {
    pub fn new(count: usize) -> Self {
        let about = r#""capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}"#;
        Answers {
            discover: result(&format!(
                r#""supportedVersions":["2026-07-28"],{about},"ttlMs":3600000,"cacheScope":"private""#
            )),
            initialize: Rc::from(
                format!(r#""result":{{"protocolVersion":"2025-11-25",{about}}}"#).into_bytes(),
            ),
            echo: text("hi"),
            empty: Rc::from(&br#""result":{}"#[..]),
            unknown: Rc::from(&br#""error":{"code":-32601,"message":"no such method"}"#[..]),
            tools: tools(count),
            plain: OnceCell::new(),
            escaped: OnceCell::new(),
        }
    }

    /// The id of a request and what is answered to it; nothing for a notification.
    pub fn answer<'a>(&self, request: &'a [u8]) -> Option<(&'a [u8], Body)> {
        let id = &request[memmem::find(request, br#""id":"#)? + 5..];
        let id = &id[..id.iter().position(|byte| matches!(byte, b',' | b'}'))?];
        let has = |what: &[u8]| memmem::find(request, what).is_some();
        let body = match request.get(memmem::find(request, br#""method":""#)? + 10..)? {
            method if method.starts_with(b"tools/call\"") && has(br#""name":"plain""#) => {
                self.plain.get_or_init(|| text(&"x".repeat(BLOB)))
            }
            method if method.starts_with(b"tools/call\"") && has(br#""name":"escaped""#) => {
                let line = format!("{}\\n", "x".repeat(79));
                self.escaped.get_or_init(|| text(&line.repeat(BLOB / 80)))
            }
            method if method.starts_with(b"tools/call\"") => &self.echo,
            method if method.starts_with(b"tools/list\"") => &self.tools,
            method if method.starts_with(b"server/discover\"") => &self.discover,
            method if method.starts_with(b"initialize\"") => &self.initialize,
            method if method.starts_with(b"ping\"") => &self.empty,
            _ => &self.unknown,
        };
        Some((id, Rc::clone(body)))
    }
}

/// What stands around a body: before it, and after it.
pub fn frame(id: &[u8]) -> (Vec<u8>, &'static [u8]) {
    let mut head = Vec::with_capacity(40);
    head.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    head.extend_from_slice(id);
    head.push(b',');
    (head, b"}")
}

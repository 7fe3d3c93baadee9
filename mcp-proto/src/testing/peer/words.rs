//! What an honest server says.

use super::super::setup::{Probed, Setup};
use super::Message;

/// What an answer holds.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::testing) enum Words {
    /// A result.
    Result(String),
    /// An error.
    Error(i64),
    /// No answer at all.
    Nothing,
    /// The server dies of it.
    Death,
}

impl Words {
    /// The text of the message that answers a request with this id.
    pub(in crate::testing) fn text(&self, id: &str) -> String {
        match self {
            Words::Result(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            Words::Error(code) => {
                let error = format!(r#"{{"code":{code},"message":"no"}}"#);
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
            }
            Words::Nothing | Words::Death => String::new(),
        }
    }
}

/// What the server should say to a message. One that is healed answers in both eras.
pub(in crate::testing) fn good(setup: &Setup, healed: bool, message: &Message) -> Words {
    match &*message.method {
        "server/discover" if setup.modern || healed => Words::Result(discovered(setup)),
        "server/discover" if message.call.is_none() => match setup.probed {
            Probed::Silent if !setup.wire.is_http() => Words::Nothing,
            Probed::Dies if !setup.wire.is_http() => Words::Death,
            _ => Words::Error(-32601),
        },
        "initialize" if !setup.modern || healed => {
            let speaks = if setup.modern { "2025-11-25" } else { setup.speaks() };
            let offers = offers(setup);
            Words::Result(format!(
                r#"{{"protocolVersion":"{speaks}","capabilities":{offers},"serverInfo":{{"name":"peer","version":"1"}}}}"#
            ))
        }
        "initialize" => Words::Error(-32601),
        "tools/call" if message.lacks_header => Words::Error(-32020),
        _ => page(message, false),
    }
}

/// What the server offers. Some of what may be asked anyway is not in it.
fn offers(setup: &Setup) -> &'static str {
    if setup.version < 16 {
        return r#"{"tools":{}}"#;
    }
    r#"{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}}"#
}

fn discovered(setup: &Setup) -> String {
    let offers = offers(setup);
    let echo = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"1"}}"#;
    format!(
        r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{offers},"ttlMs":0,{echo}}}"#
    )
}

/// The tool that hosts call. Its parameter stands in a header.
const TOOL: &str = r#"{"name":"tool","inputSchema":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}},"required":["n"]}}"#;

/// A result that fits a message and says whose it is; of a list this page, and perhaps one more.
pub(in crate::testing) fn page(message: &Message, more: bool) -> Words {
    let page = message.page.map(|page| page.to_string());
    let page = page.as_deref().unwrap_or("null");
    let members = match &*message.method {
        method if method.ends_with("/list") => {
            let next = match message.page {
                _ if !more => String::new(),
                Some(page) => format!(r#","nextCursor":"p{}""#, page + 1),
                None => String::from(r#","nextCursor":"s""#),
            };
            let (member, item) = match method {
                "prompts/list" => ("prompts", String::from(r#"{"name":"a"}"#)),
                "resources/list" => ("resources", String::from(r#"{"uri":"test:a","name":"a"}"#)),
                "resources/templates/list" => {
                    ("resourceTemplates", String::from(r#"{"uriTemplate":"test:{a}","name":"a"}"#))
                }
                _ => {
                    let tool = format!(r#"{{"name":"t{page}","inputSchema":{{"type":"object"}}}}"#);
                    ("tools", format!("{tool},{TOOL}"))
                }
            };
            format!(r#""{member}":[{item}]{next},"#)
        }
        "tools/call" => String::from(r#""content":[],"#),
        "prompts/get" => String::from(r#""messages":[],"#),
        "resources/read" => String::from(r#""contents":[],"#),
        "completion/complete" => String::from(r#""completion":{"values":["ab"]},"#),
        _ => String::new(),
    };
    let echo = message.call.map(|call| {
        let key = super::super::ECHO_KEY;
        format!(r#","_meta":{{"{key}":{{"call":{call},"page":{page}}}}}"#)
    });
    let echo = echo.unwrap_or_default();
    Words::Result(format!(r#"{{{members}"resultType":"complete"{echo}}}"#))
}

/// A notification of progress; `None` when the request wants none. The first four are as they
/// should be.
pub(in crate::testing) fn progress(message: &mut Message, how: u8) -> Option<String> {
    let token = message.token.clone();
    message.told += 1;
    let told = message.told;
    let token = match how {
        4 => String::from("987654"),
        5 => format!("\"{}\"", token?.trim_matches('"')),
        _ => token?,
    };
    let rest = match how % 12 {
        0 | 1 => format!(r#""progress":{told}"#),
        2 => format!(r#""progress":{told},"total":9"#),
        3 => format!(r#""progress":{told},"message":"{}""#, "é".repeat(usize::from(how))),
        6 => String::from(r#""progress":"x""#),
        7 => String::from(r#""progress":1e999"#),
        8 => String::from(r#""total":1"#),
        9 => format!(r#""progress":0.5,"message":"{}""#, "x".repeat(400)),
        10 => format!(r#""progress":{told},"message":7"#),
        _ => String::from(r#""progress":-1"#),
    };
    let params = format!(r#"{{"progressToken":{token},{rest}}}"#);
    Some(format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#))
}

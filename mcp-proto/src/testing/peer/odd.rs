//! What servers say that are not honest, or were written in a hurry.

use super::{Message, Words, page};
use crate::testing::NUMBER_KEY;

/// Results of all shapes. None of them says whose it is.
const RESULTS: [&str; 22] = [
    "{}",
    "null",
    "5",
    "[]",
    r#"{"resultType":"bogus"}"#,
    r#"{"resultType":7}"#,
    r#"{"resultType":null,"tools":[]}"#,
    r#"{"resultType":"input_required","inputRequests":{}}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"q"}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"r"}"#,
    r#"{"tools":[{"name":"x"}],"nextCursor":""}"#,
    r#"{"resultType":"complete","tools":[{}],"nextCursor":null}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":7}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"\ud800"}"#,
    r#"{"resultType":"complete","tools":[tru],"nextCursor":"z"}"#,
    r#"{"supportedVersions":["2025-06-18","1999-01-01"]}"#,
    r#"{"supportedVersions":[]}"#,
    r#"{"supportedVersions":"2026-07-28"}"#,
    r#"{"protocolVersion":"2024-11-05"}"#,
    r#"{"protocolVersion":"2026-07-28"}"#,
    r#"{"protocolVersion":7}"#,
    r#"{"a":1,"a":2,"nextCursor":"x","nextCursor":"y"}"#,
];

const ERRORS: [&str; 15] = [
    r#"{"code":-32601,"message":"no"}"#,
    r#"{"code":-32603,"message":"no"}"#,
    r#"{"code":-32602,"message":"no","data":{"supported":["2024-11-05"]}}"#,
    r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#,
    r#"{"code":-32022,"message":"no","data":{"supported":["2025-03-26"]}}"#,
    r#"{"code":-32022}"#,
    r#"{"code":-32021,"message":"no","data":{"requiredCapabilities":{"roots":{}}}}"#,
    r#"{"code":-32000,"message":"no session"}"#,
    r#"{"code":1e400}"#,
    r#"{"code":"-32601","message":[1]}"#,
    "[]",
    r#""text""#,
    "null",
    "{}",
    r#"{"code":-32020,"message":"headers"}"#,
];

/// An error of the server's, in answer to a request with this id.
pub(in crate::testing) fn error(id: &str, how: u8) -> String {
    let at = usize::from(how) % ERRORS.len();
    let error = ERRORS.get(at).copied().unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// An answer that is not quite right, or all wrong. `max` is the longest message there may be.
pub(in crate::testing) fn odd(message: &Message, how: u8, max: usize) -> String {
    let id = message.id.as_deref().unwrap_or("1");
    let result = match page(message, false) {
        Words::Result(result) => result,
        _ => String::from("{}"),
    };
    let nobodys = RESULTS.get(usize::from(how) % 8).copied().unwrap_or_default();
    match how % 40 {
        n @ 0..22 => {
            let result = RESULTS.get(usize::from(n)).copied().unwrap_or_default();
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
        }
        22 => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{result}}}"#),
        23 => format!(r#"{{"jsonrpc":"2.0","id":{id}.0,"result":{result}}}"#),
        24 => format!(r#"{{"jsonrpc":"2.0","id":null,"result":{nobodys}}}"#),
        25 => format!(r#"{{"jsonrpc":"2.0","id":{id}7,"result":{nobodys}}}"#),
        26 => String::from(r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":1}}"#),
        27 => format!(r#"{{"jsonrpc":"2.0","result":{nobodys}}}"#),
        28 => format!(r#"{{"id":{id},"result":{result}}}"#),
        29 => format!(r#"[{{"jsonrpc":"2.0","id":{id},"result":{result}}}]"#),
        30 => format!(r#" {{ "result" : {result} , "id" : {id} }} "#),
        31 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"error":{{"code":1}}}}"#),
        32 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
        33 => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":"{}"}}}}"#, "é".repeat(max / 2))
        }
        34 => format!(r#"{{"x":"{}","jsonrpc":"2.0","id":{id},"result":{{}}}}"#, "y".repeat(max)),
        35 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":{}"#, "[".repeat(200)),
        36 => format!("\u{feff}{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"),
        37 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","result":{{}}}}"#),
        38 => format!(r#"[[{id}],{{"id":{id},"result":{{}}}},{{"method":"x"}}]"#),
        _ => error(id, how / 40),
    }
}

/// A result by which the server asks for input before it answers.
pub(in crate::testing) fn input(id: &str, what: u8) -> String {
    const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    const SAMPLE: &str =
        r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}"#;
    const ROOTS: &str = r#"{"method":"roots/list"}"#;
    let wants = match what % 6 {
        0 => format!(r#""inputRequests":{{"a":{FORM}}},"requestState":"s""#),
        1 => {
            format!(r#""inputRequests":{{"a":{FORM},"b":{SAMPLE},"c":{ROOTS}}},"requestState":"s""#)
        }
        2 => format!(r#""inputRequests":{{"b":{SAMPLE}}}"#),
        3 => String::from(r#""requestState":"wait""#),
        4 => format!(r#""inputRequests":{{"c":{ROOTS}}},"requestState":"s{what}""#),
        _ => String::from(r#""inputRequests":{"x":{"method":"y"}},"requestState":7"#),
    };
    let result = format!(r#"{{"resultType":"input_required",{wants}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// What a server of the other era would say to a request with this id.
pub(in crate::testing) fn of_the_other_era(modern: bool, id: &str, how: u8) -> String {
    const LEGACY: [&str; 5] = [
        r#""error":{"code":-32000,"message":"Bad Request: Server not initialized"}"#,
        r#""error":{"code":-32601,"message":"Method not found"}"#,
        r#""error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18"],"requested":"2026-07-28"}}"#,
        r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"peer","version":"1"}}"#,
        r#""result":{"content":[]}"#,
    ];
    const MODERN: [&str; 5] = [
        r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}"#,
        r#""error":{"code":-32020,"message":"Header mismatch: Mcp-Method"}"#,
        r#""error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"elicitation":{}}}}"#,
        r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
        r#""result":{"resultType":"input_required","inputRequests":{},"requestState":"s"}"#,
    ];
    let all = if modern { LEGACY } else { MODERN };
    let says = all.get(usize::from(how) % all.len()).copied().unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},{says}}}"#)
}

/// Lines that no protocol knows.
pub(in crate::testing) fn garbage(how: u8) -> &'static [u8] {
    const ALL: [&[u8]; 16] = [
        b"hello",
        b"",
        b" \t ",
        b"{",
        b"}{",
        b"[]",
        b"null",
        b"7",
        b"{\"id\":1}",
        b"{\"id\":4,\"id\":5,\"result\":{}}",
        b"\xff\xfe{}",
        b"{\"id\":1,\"result\":\"\xc3\x28\"}",
        b"data: {}",
        b"HTTP/1.1 200 OK\r",
        b"\x00\x1b[31m\x7f",
        b"{\"jsonrpc\":\"2.0\",\"method\":7}",
    ];
    ALL.get(usize::from(how) % ALL.len()).copied().unwrap_or_default()
}

/// Requests of the server's.
pub(in crate::testing) fn request(what: u8) -> String {
    const METHODS: [&str; 7] = [
        "ping",
        "elicitation/create",
        "elicitation/create",
        "roots/list",
        "sampling/createMessage",
        "",
        "tools/call",
    ];
    const IDS: [&str; 9] =
        ["0", "1", "\"1\"", "-9007199254740993", "\"a\\u0000b\"", "1.5", "null", "[1]", "007"];
    // The first of each are those that an honest server would send.
    let at = usize::from(what);
    let method = METHODS.get(at % METHODS.len()).copied().unwrap_or_default();
    let id = IDS.get(at / METHODS.len() % IDS.len()).copied().unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"message":"m"}}}}"#)
}

/// Notifications of the server's, with a number where there is a place for it. The first six are
/// those that an honest server would send.
pub(in crate::testing) fn notification(what: u8, number: u64) -> String {
    const ALL: [&str; 16] = [
        r#""notifications/tools/list_changed","params":{NUMBER}"#,
        r#""notifications/prompts/list_changed","params":{NUMBER}"#,
        r#""notifications/resources/list_changed","params":{NUMBER}"#,
        r#""notifications/resources/updated","params":{"uri":"test:a",NUMBER}"#,
        r#""notifications/message","params":{"level":"info","logger":"l","data":{"a":1},NUMBER}"#,
        r#""notifications/elicitation/complete","params":{"elicitationId":"e",NUMBER}"#,
        r#""notifications/tools/list_changed""#,
        r#""notifications/message","params":{"level":"x","data":[1]}"#,
        r#""notifications/cancelled","params":{"requestId":1}"#,
        r#""notifications/cancelled","params":{"requestId":"1"}"#,
        r#""notifications/cancelled""#,
        r#""notifications/progress""#,
        r#""notifications/progress","params":[3,1]"#,
        r#""x""#,
        r#""notifications/cancelled","params":{"requestId":0}"#,
        r#""notifications/resources/updated","params":{"uri":7,NUMBER}"#,
    ];
    let told = ALL.get(usize::from(what) % ALL.len()).copied().unwrap_or_default();
    let meta = format!(r#""_meta":{{"{NUMBER_KEY}":{number}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":{}}}"#, told.replace("NUMBER", &meta))
}

//! Lists in pages (specification: server/utilities/pagination).

use mcp_proto::op::{ListTools, ToolList};
use mcp_proto::{
    Call, Error, ErrorKind, ExitStatus, Operation, PaginationFault, PeerError, Reply, StdioInput,
};
use serde_json::{Value, json};

use crate::support::*;

fn page(tools: usize, next: Option<&str>) -> Value {
    let tools: Vec<_> = (0..tools).map(|n| json!({ "name": format!("t{n}") })).collect();
    let mut page = json!({ "tools": tools });
    if let Some(next) = next {
        page["nextCursor"] = Value::from(next);
    }
    page
}

fn list(bench: &mut Bench) -> (Call<ListTools>, Sent) {
    let call = bench.begin(ListTools);
    (call, bench.expect("tools/list"))
}

fn fault(error: &Error) -> (&PaginationFault, &Reply) {
    match error.kind() {
        ErrorKind::Pagination { reason, partial } => (reason, partial),
        other => panic!("{other}"),
    }
}

fn read(reply: &Reply) -> ToolList {
    ListTools.decode(reply).unwrap()
}

/// M-PAGE-01, M-PAGE-04, M-TOOL-09: pages of any size are read to the end, in order, each with the
/// cursor that the one before brought.
#[test]
fn pages_of_any_size_are_read_to_the_end() {
    in_both_eras(|bench| {
        let (call, first) = list(bench);
        assert!(first.params().get("cursor").is_none());
        assert!(first.params().is_object());
        let mut request = first;
        for (size, next) in [(1, "a"), (0, "b"), (500, "c")] {
            bench.completes(&request, page(size, Some(next)));
            request = bench.expect("tools/list");
            assert_eq!(request.params()["cursor"], next);
        }
        bench.completes(&request, page(2, None));
        let tools = bench.done(&call).unwrap();
        assert_eq!(tools.len(), 503);
        let names: Vec<_> = tools.iter().skip(501).map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["t0", "t1"]);
        bench.quiet();
    });
}

/// M-PAGE-04: one page, also an empty one, is a list.
#[test]
fn a_single_page_is_a_list() {
    in_both_eras(|bench| {
        for size in [0, 1, 500] {
            let (call, request) = list(bench);
            bench.completes(&request, page(size, None));
            assert_eq!(bench.done(&call).unwrap().len(), size);
            bench.quiet();
        }
    });
}

/// M-PAGE-03: the empty text is a cursor like any other, `null` is none, and what a cursor holds is
/// sent back as it came.
#[test]
fn cursors_are_opaque() {
    in_both_eras(|bench| {
        let (call, request) = list(bench);
        bench.answers(&request, r#"{"tools":[],"nextCursor":""}"#);
        let request = bench.expect("tools/list");
        assert_eq!(request.params().get("cursor"), Some(&json!("")));
        bench.answers(&request, r#"{"tools":[],"nextCursor":"\u00e9\n\u0000\/\"工"}"#);
        let request = bench.expect("tools/list");
        assert_eq!(request.params()["cursor"], "é\n\u{0}/\"工");
        let escaped = request.line.contains(r#""cursor":"\u00e9\n\u0000\/\"工""#);
        assert!(escaped, "byte for byte: {}", request.line);
        bench.answers(&request, r#"{"tools":[],"nextCursor":null}"#);
        bench.done(&call).unwrap();
        bench.quiet();
    });
}

/// M-PAGE-01, M-PAGE-02: a cursor that was seen before ends the list with an error, which has what
/// was read; it need not be the last one, nor spelled alike.
#[test]
fn a_repeated_cursor_is_an_error_with_what_was_read() {
    in_both_eras(|bench| {
        for cursors in [vec!["\"x\"", "\"x\""], vec!["\"a\"", "\"b\"", r#""\u0061""#]] {
            let (call, mut request) = list(bench);
            for (at, cursor) in cursors.iter().enumerate() {
                let tools = format!(r#"[{{"name":"t{at}"}}]"#);
                bench.answers(&request, &format!(r#"{{"tools":{tools},"nextCursor":{cursor}}}"#));
                if at + 1 < cursors.len() {
                    request = bench.expect("tools/list");
                }
            }
            let error = bench.error(&call);
            let (reason, partial) = fault(&error);
            assert_eq!(*reason, PaginationFault::RepeatedCursor);
            assert_eq!(read(partial).len(), cursors.len());
            assert_eq!(error.partial().map(|reply| reply.pages.len()), Some(cursors.len()));
            assert!(error.to_string().contains(&format!("{} pages", cursors.len())), "{error}");
            bench.quiet();
        }
    });
}

/// M-PAGE-02: a thousand pages are enough.
#[test]
fn endless_cursors_end_after_a_thousand_pages() {
    in_both_eras_with(quick(), |bench| {
        let call = bench.begin(ListTools);
        let mut requests = 0;
        while bench.is_pending(&call) {
            let request = bench.expect("tools/list");
            requests += 1;
            bench.completes(&request, page(1, Some(&requests.to_string())));
        }
        assert_eq!(requests, 1000);
        let error = bench.error(&call);
        let (reason, partial) = fault(&error);
        assert_eq!(*reason, PaginationFault::TooManyPages(1000));
        assert_eq!(read(partial).len(), 1000);
        assert!(error.to_string().contains("max_pages"), "{error}");
        bench.quiet();
    });
}

/// M-PAGE-01: the bounds can be set, and hold for the last page too.
#[test]
fn the_bounds_of_lists_can_be_set() {
    let mut config = config();
    config.max_pages = 2;
    config.max_list_bytes = 300;
    in_both_eras_with(config.clone(), |bench| {
        let (call, request) = list(bench);
        bench.completes(&request, page(1, Some("a")));
        let request = bench.expect("tools/list");
        bench.completes(&request, page(1, None));
        assert_eq!(bench.done(&call).unwrap().len(), 2, "two pages are allowed");

        let (call, request) = list(bench);
        bench.completes(&request, page(1, Some("a")));
        let request = bench.expect("tools/list");
        bench.completes(&request, page(1, Some("b")));
        assert_eq!(*fault(&bench.error(&call)).0, PaginationFault::TooManyPages(2));
        bench.quiet();
    });
    config.max_pages = 9;
    in_both_eras_with(config, |bench| {
        for next in [Some("b"), None] {
            let (call, request) = list(bench);
            bench.completes(&request, page(1, Some("a")));
            let request = bench.expect("tools/list");
            bench.completes(&request, page(30, next));
            let error = bench.error(&call);
            let (reason, partial) = fault(&error);
            assert_eq!(*reason, PaginationFault::TooManyBytes(300), "{next:?}");
            assert_eq!(read(partial).len(), 31);
            assert!(error.to_string().contains("max_list_bytes"), "{error}");
        }
        bench.quiet();
    });
}

/// M-PAGE-06: what is no page is an error, never an empty list.
#[test]
fn what_is_no_page_is_an_error() {
    in_both_eras(|bench| {
        for result in [
            "5",
            "null",
            "true",
            "\"tools\"",
            "[]",
            "{}",
            r#"{"tools":null}"#,
            r#"{"tools":{}}"#,
            r#"{"tools":"none"}"#,
            r#"{"tools":[],"nextCursor":5}"#,
            r#"{"tools":[],"nextCursor":{}}"#,
            r#"{"tools":[],"nextCursor":false}"#,
            r#"{"tools":[],"nextCursor":"\q"}"#,
            r#"{"tools":[],"nextCursor":"\ud800"}"#,
            r#"{"tools":[tru]}"#,
        ] {
            let (call, request) = list(bench);
            bench.answers(&request, result);
            let error = bench.error(&call);
            let peer = matches!(error.kind(), ErrorKind::Peer(PeerError::Result(_)));
            assert!(peer, "{result}: {error}");
            assert!(error.to_string().contains("`tools/list`"), "{error}");
            bench.quiet();
        }
    });
}

/// M-PAGE-01: an error in the middle is the error of the list.
#[test]
fn an_error_in_the_middle_ends_the_list() {
    in_both_eras(|bench| {
        let (call, request) = list(bench);
        bench.completes(&request, page(1, Some("a")));
        let request = bench.expect("tools/list");
        bench.refuse(&request, -32602, "Invalid cursor");
        assert_eq!(bench.error(&call).server_error().unwrap().code, -32602);
        bench.quiet();
    });
}

/// M-PAGE-01, M-STD-07: a list that was interrupted by the end of its server begins anew with the
/// next one: cursors are not carried from one process to another.
#[test]
fn a_list_begins_anew_on_another_process() {
    in_both_eras(|bench| {
        let era = bench.era();
        let (call, request) = list(bench);
        // The answer is still on its way when the end of the process is noticed.
        bench.signal(StdioInput::StderrClosed);
        bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
        bench.completes(&request, page(1, Some("a")));
        bench.quiet();
        bench.signal(StdioInput::StdoutClosed);
        bench.speak(era);
        let request = bench.expect("tools/list");
        assert!(request.params().get("cursor").is_none(), "{}", request.line);
        bench.completes(&request, page(2, None));
        assert_eq!(bench.done(&call).unwrap().len(), 2);
    });
}

//! The end of a legacy handshake: calls wait until the server has taken the notification.

use std::time::Duration;

use mcp_proto::op::ListTools;
use mcp_proto::{Call, ConnectionState, HttpFailureKind, Sent};
use serde_json::json;

use crate::support::*;

fn lists(bench: &mut Bench, call: &Call<ListTools>, post: &Posted) {
    bench.result(post, json!({ "tools": [] }));
    bench.done(call).unwrap();
}

/// M-ERA-13: nothing is asked before the server has taken `notifications/initialized`.
#[test]
fn calls_wait_for_the_end_of_the_handshake() {
    for status in [200, 202, 204, 400, 401, 404, 405] {
        let mut bench = Bench::cold();
        let list = bench.begin(ListTools);
        let probe = bench.expect("server/discover");
        bench.says(&probe, 400, "");
        let initialize = bench.expect("initialize");
        bench.welcome(&initialize, "2025-11-25", Some("s-1"));
        let notification = bench.expect(INITIALIZED);
        bench.quiet();
        assert_eq!(*bench.connection.state(), ConnectionState::Starting);
        bench.whole(&notification, status, &[("content-type", "text/plain")], b"accepted");
        let post = bench.expect("tools/list");
        lists(&mut bench, &list, &post);
    }
}

/// M-ERA-13: a notification that was lost is sent once more, and then the conversation goes on.
#[test]
fn a_lost_notification_is_sent_once_more() {
    for (first, second) in [(0, 202), (503, 202), (0, 0), (503, 0), (0, 404)] {
        let mut bench = Bench::cold();
        let list = bench.begin(ListTools);
        let probe = bench.expect("server/discover");
        bench.says(&probe, 400, "");
        let initialize = bench.expect("initialize");
        bench.welcome(&initialize, "2025-11-25", Some("s-1"));
        for status in [first, second] {
            let notification = bench.expect(INITIALIZED);
            bench.quiet();
            if status == 0 {
                bench.breaks(&notification, HttpFailureKind::Closed, Sent::All);
            } else {
                bench.whole(&notification, status, &[], b"");
            }
        }
        let post = bench.expect("tools/list");
        lists(&mut bench, &list, &post);
        bench.quiet();
    }
}

/// M-ERA-13: a server that never says whether it has taken the notification holds nobody up for
/// longer than a call.
#[test]
fn a_notification_that_is_never_taken_is_given_up() {
    let mut bench = Bench::cold();
    let list = bench.begin(ListTools);
    let probe = bench.expect("server/discover");
    bench.says(&probe, 400, "");
    let initialize = bench.expect("initialize");
    bench.welcome(&initialize, "2025-11-25", Some("s-1"));
    let notification = bench.expect(INITIALIZED);
    bench.advance(Duration::from_secs(29));
    bench.quiet();
    bench.advance(Duration::from_secs(1));
    assert!(!bench.watch.is_open(notification.exchange));
    let post = bench.expect("tools/list");
    lists(&mut bench, &list, &post);
}

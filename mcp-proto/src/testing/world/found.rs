//! What the simulator found: the shortest steps to each fault, kept so that it stays fixed.

use super::World;
use crate::testing::{CallKind, Fault, Manner, Setup, Step, Wire};

fn holds(setup: Setup, steps: &[Step]) {
    let mut world = World::recorded(setup).traced();
    steps.iter().for_each(|step| world.apply(*step));
    let end = world.finish();
    assert_eq!(end.violation, None, "{}", end.trace.join("\n"));
}

const fn begin(kind: CallKind) -> Step {
    Step::Begin { kind, progress: true, timeout: None }
}

/// The token of a request stayed booked after the server had asked for input: nobody could use it
/// again, and it was kept for as long as the connection.
#[test]
fn a_demand_for_input_gives_the_progress_token_free() {
    for wire in Wire::ALL {
        let setup = Setup {
            wire,
            modern: true,
            ready: true,
            lets_go: true,
            version: 18,
            ..Setup::default()
        };
        for what in 0..6 {
            let asks = Step::Reply { to: 0, manner: Manner::Ask(what) };
            holds(setup, &[begin(CallKind::GetPrompt), asks]);
            holds(Setup { elicitation: true, ..setup }, &[begin(CallKind::CallTool), asks]);
        }
    }
}

/// A call whose answer was to go on in another stream ended with the start of the next session, and
/// the pause before its rest was awaited even after the end of the connection.
#[test]
fn the_rest_of_an_answer_is_not_awaited_after_the_end_of_its_call() {
    let setup = Setup {
        wire: Wire::Events,
        version: 29,
        sessions: true,
        lets_go: true,
        ..Setup::default()
    };
    let fault = |fault, how| Step::Fault { fault, to: 0, how };
    let good = Step::Reply { to: 0, manner: Manner::Good };
    let steps = [
        begin(CallKind::ListToolsPage),
        good,
        fault(Fault::Duplicate, 7),
        Step::Reply { to: 0, manner: Manner::Ask(1) },
        begin(CallKind::ListResources),
        fault(Fault::LostMidCall, 69),
        good,
        fault(Fault::ClientError, 119),
    ];
    holds(setup, &steps);
}

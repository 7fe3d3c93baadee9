//! Steps into a connection with a host, a performer and a server around it.

use arbitrary::{Arbitrary as _, Unstructured};
use mcp_proto::testing::{End, Setup, Split, Step, World};

/// How many steps there are at most: more tell nothing new, and take long.
const MOST: usize = 200;

/// A whole conversation: no rule is broken, the journal replays, and however bytes are split, what
/// comes of it is the same.
pub fn connection(data: &[u8]) {
    let mut bytes = Unstructured::new(data);
    let Ok(setup) = Setup::arbitrary(&mut bytes) else { return };
    let mut steps = Vec::new();
    while !bytes.is_empty() && steps.len() < MOST {
        steps.extend(Step::arbitrary(&mut bytes));
    }
    let played = play(World::recorded(setup), &steps);
    assert_eq!(played.violation, None, "{setup:?}\n{steps:#?}");
    let split = if setup.split == Split::Whole { Split::Bytes } else { Split::Whole };
    let again = play(World::new(Setup { split, ..setup }), &steps);
    assert_eq!(again.violation, None, "{split:?}, {setup:?}\n{steps:#?}");
    assert_eq!(again.digest, played.digest, "{split:?} gives other outputs, {setup:?}\n{steps:#?}");
}

fn play(mut world: World, steps: &[Step]) -> End {
    steps.iter().for_each(|step| world.apply(*step));
    world.finish()
}

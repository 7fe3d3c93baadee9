//! Servers that do anything, performers that tell it in any order, hosts that do anything: nothing
//! panics, nothing is left, every call ends once, and no split of bytes makes a difference.

mod act;
mod play;
#[path = "../../connection/hostile/words.rs"]
mod words;

use proptest::prelude::*;

use self::act::{act, setup};
use self::play::play;
use crate::support::Split;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// M-UNTR-13, M-TIME-11, M-RTRY-06
    #[test]
    fn nothing_that_happens_breaks_a_connection(
        setup in setup(),
        acts in prop::collection::vec(act(), 0..60),
        lengths in prop::collection::vec(1usize..40, 1..6),
    ) {
        let whole = play(setup, &acts, Split::Whole, true);
        prop_assert_eq!(&play(setup, &acts, Split::Bytes, false), &whole);
        prop_assert_eq!(&play(setup, &acts, Split::Lengths(lengths), false), &whole);
    }
}

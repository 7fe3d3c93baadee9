//! Servers that do anything, hosts that do anything, in any order: nothing panics, nothing is left,
//! every call ends, and no split of bytes makes a difference.

mod act;
mod words;

use proptest::prelude::*;

use self::act::{act, play, setup};
use crate::support::Split;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// M-UNTR-13, M-TIME-11
    #[test]
    fn nothing_that_happens_breaks_a_connection(
        setup in setup(),
        acts in prop::collection::vec(act(), 0..60),
        lengths in prop::collection::vec(1usize..40, 1..6),
    ) {
        let whole = play(setup, &acts, Split::Whole);
        prop_assert_eq!(&play(setup, &acts, Split::Whole), &whole);
        prop_assert_eq!(&play(setup, &acts, Split::Bytes), &whole);
        prop_assert_eq!(&play(setup, &acts, Split::Lengths(lengths)), &whole);
    }
}

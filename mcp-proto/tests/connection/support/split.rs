//! How bytes of the server's arrive, which must make no difference.

use super::Bench;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Split {
    #[default]
    Whole,
    /// Each byte alone.
    Bytes,
    /// Each stretch in two, at this place modulo its length.
    At(usize),
    /// Each stretch in many, by lengths that are used in turn.
    Lengths(Vec<usize>),
}

impl Split {
    pub(crate) fn cut<'a>(&self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        match self {
            Split::Whole => vec![bytes],
            Split::Bytes => bytes.chunks(1).collect(),
            Split::At(place) => {
                let (head, tail) = bytes.split_at(place % (bytes.len() + 1));
                vec![head, tail]
            }
            Split::Lengths(lengths) => {
                let mut rest = bytes;
                let mut all = Vec::new();
                for length in lengths.iter().cycle() {
                    if rest.is_empty() {
                        break;
                    }
                    let (head, tail) = rest.split_at((*length).clamp(1, rest.len()));
                    all.push(head);
                    rest = tail;
                }
                all
            }
        }
    }
}

/// Plays a scenario with its bytes split in many ways; the outputs must be the same.
pub(crate) fn same_however_split(make: impl Fn() -> Bench, scenario: impl Fn(&mut Bench)) {
    let play = |split: Split| {
        let mut bench = make();
        bench.split = split;
        scenario(&mut bench);
        bench.whole_trace()
    };
    let want = play(Split::Whole);
    let more = (1..200).map(Split::At).chain((2..20).map(|n| Split::Lengths(vec![n, 1, 3])));
    for split in std::iter::once(Split::Bytes).chain(more) {
        assert_eq!(play(split.clone()), want, "{split:?}");
    }
}

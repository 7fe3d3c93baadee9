//! Numbers that look random and follow from a seed.

/// A source of numbers: the same seed brings the same ones, on every machine.
///
/// It is the generator SplitMix64: good enough to draw tests from, and of no use for secrets.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A source that begins with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The high bits of the product are as even as the number is, but for a bias that no test
        // would notice.
        let product = u128::from(self.roll()) * u128::from(end);
        u64::try_from(product >> 64).unwrap_or_default()
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.roll().to_be_bytes()[0]
    }

    /// Whether something happens that happens so many times of a hundred.
    pub fn percent(&mut self, of_hundred: u64) -> bool {
        self.below(100) < of_hundred
    }

    /// One of these, each as likely as its weight says. `None` when there is none.
    pub fn pick<T: Copy>(&mut self, of: &[(u64, T)]) -> Option<T> {
        let all = of.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(all);
        for (weight, value) in of {
            match at.checked_sub(*weight) {
                None => return Some(*value),
                Some(rest) => at = rest,
            }
        }
        None
    }
}

/// Spreads a number over all 64 bits.
#[must_use]
pub fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let mut dice = Dice::new(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([dice.roll(), dice.roll()], first);
    }

    #[test]
    fn weights_are_kept_and_nothing_is_picked_of_nothing() {
        let mut dice = Dice::new(7);
        assert_eq!(dice.pick::<u8>(&[]), None);
        assert_eq!(dice.pick(&[(0, 1), (5, 2), (0, 3)]), Some(2));
        let often = (0..1000).filter(|_| dice.pick(&[(9, true), (1, false)]) == Some(true)).count();
        assert!((850..950).contains(&often), "{often}");
        assert!((0..100).all(|_| dice.below(3) < 3));
    }
}

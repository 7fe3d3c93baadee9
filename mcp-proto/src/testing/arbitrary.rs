//! Steps and setups from the bytes of a fuzzer.
//!
//! Written by hand: what the derive macro makes of an enum keeps a static of each thread.

use arbitrary::{Arbitrary, Result, Unstructured};

use super::{Answering, CallKind, Choice, Fault, Manner, Probed, Setup, Split, Step, Wire};

impl<'a> Arbitrary<'a> for Step {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u.int_in_range(0u8..=20)? {
            0 => Step::Begin {
                kind: u.arbitrary()?,
                progress: u.arbitrary()?,
                timeout: u.arbitrary()?,
            },
            1 => Step::Cancel(u.arbitrary()?),
            2 => Step::Pull(u.arbitrary()?),
            3 => Step::Answer(u.arbitrary()?, u.arbitrary()?),
            4 => Step::Hear { elicitation: u.arbitrary()? },
            5 => Step::Meta(u.arbitrary()?),
            6 => Step::Disconnect,
            7 => Step::Close,
            8 => Step::Wait(u.arbitrary()?),
            9 => Step::Sleep(u.arbitrary()?),
            10 => Step::Deadline,
            11 => Step::Early,
            12 => Step::Reply { to: u.arbitrary()?, manner: u.arbitrary()? },
            13 => Step::Progress { to: u.arbitrary()?, how: u.arbitrary()? },
            14 => Step::Request { to: u.arbitrary()?, what: u.arbitrary()? },
            15 => Step::Notify { to: u.arbitrary()?, what: u.arbitrary()? },
            16 => Step::Stderr(u.arbitrary()?),
            17 => Step::Read,
            18 => Step::LetGo,
            19 => Step::PullNotification,
            _ => Step::Fault { fault: u.arbitrary()?, to: u.arbitrary()?, how: u.arbitrary()? },
        })
    }
}

impl<'a> Arbitrary<'a> for CallKind {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        u.choose(&CallKind::ALL).copied()
    }
}

impl<'a> Arbitrary<'a> for Fault {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        u.choose(&Fault::ALL).copied()
    }
}

impl<'a> Arbitrary<'a> for Answering {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        u.choose(&[Answering::Fitting, Answering::Other, Answering::Failed]).copied()
    }
}

impl<'a> Arbitrary<'a> for Manner {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u.int_in_range(0u8..=4)? {
            0 => Manner::Good,
            1 => Manner::Page,
            2 => Manner::Refuse(u.arbitrary()?),
            3 => Manner::Ask(u.arbitrary()?),
            _ => Manner::Odd(u.arbitrary()?),
        })
    }
}

impl<'a> Arbitrary<'a> for Setup {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Setup {
            wire: *u.choose(&Wire::ALL)?,
            open: u.arbitrary()?,
            modern: u.arbitrary()?,
            choice: *u.choose(&[Choice::Auto, Choice::Fitting, Choice::Other])?,
            version: u.arbitrary()?,
            probed: *u.choose(&[Probed::Refuses, Probed::Silent, Probed::Dies])?,
            sessions: u.arbitrary()?,
            ready: u.arbitrary()?,
            metadata: u.arbitrary()?,
            elicitation: u.arbitrary()?,
            small: u.arbitrary()?,
            lets_go: u.arbitrary()?,
            notified: u.arbitrary()?,
            split: match u.int_in_range(0u8..=2)? {
                0 => Split::Whole,
                1 => Split::Bytes,
                _ => Split::Lengths(u.arbitrary()?),
            },
            doctored: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_become_steps_and_every_kind_of_step_is_drawn() {
        let bytes: Vec<u8> = (0..20_000u32).map(|n| super::super::mix(n.into()) as u8).collect();
        let mut u = Unstructured::new(&bytes);
        let mut kinds = std::collections::BTreeSet::new();
        Setup::arbitrary(&mut u).unwrap();
        while !u.is_empty() {
            let step = format!("{:?}", Step::arbitrary(&mut u).unwrap());
            kinds.insert(step.split([' ', '(']).next().unwrap().to_owned());
        }
        assert_eq!(kinds.len(), 21, "{kinds:?}");
    }
}

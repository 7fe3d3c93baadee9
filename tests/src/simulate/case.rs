//! One seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_proto::testing::{Dice, End, Rule, Setup, Split, Step, Violation, World};

use super::draw;

/// What one seed has come to.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// How many steps there were.
    pub steps: u64,
    /// Who was it that ran, and what was met.
    pub setup: Setup,
    /// How it ended.
    pub end: End,
    /// What went wrong.
    pub failure: Option<Failure>,
}

/// A seed that breaks a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The setup.
    pub setup: Setup,
    /// The steps that lead there.
    pub steps: Vec<Step>,
    /// Whether it takes a recording.
    pub recorded: bool,
    /// The other split, where it takes one.
    pub twin: Option<Split>,
    /// What is broken; `None` for a panic.
    pub violation: Option<Violation>,
    /// The text of it.
    pub text: String,
}

impl Failure {
    /// What two failures have in common that are the same one.
    #[must_use]
    pub fn rule(&self) -> Option<Rule> {
        self.violation.as_ref().map(|violation| violation.rule)
    }
}

/// Plays a seed.
#[must_use]
pub fn play(seed: u64, doctored: u8) -> Played {
    let (plan, script, drawn) = drawn(seed, doctored);
    let steps = script.steps.len() as u64;
    let mut played = Played { steps, setup: plan.setup, ..Played::default() };
    match drawn {
        Err(text) => played.failure = Some(Failure { text, ..script }),
        Ok(end) => {
            played.failure = end.violation.clone().map(|violation| script.broken(violation));
            if let (None, Some(_)) = (&played.failure, plan.twin) {
                let script = Failure { twin: plan.twin, ..script };
                played.failure = compare(&script, end.digest).map(|v| script.broken(v));
            }
            played.end = end;
        }
    }
    played
}

/// The steps of a seed, which need not fail.
pub(super) fn script(seed: u64, doctored: u8) -> Failure {
    drawn(seed, doctored).1
}

fn drawn(seed: u64, doctored: u8) -> (draw::Plan, Failure, Result<End, String>) {
    let mut dice = Dice::new(seed);
    let mut plan = draw::plan(&mut dice);
    plan.setup.doctored = doctored;
    let mut steps = Vec::new();
    let end = catch_unwind(AssertUnwindSafe(|| {
        let mut world = world(plan.setup, plan.recorded);
        for left in (0..plan.length).rev() {
            if world.broken().is_some() || world.is_closed() {
                break;
            }
            let step = draw::step(&mut dice, &world, &plan, left);
            steps.push(step);
            world.apply(step);
        }
        world.finish()
    }));
    let script = Failure {
        setup: plan.setup,
        steps,
        recorded: plan.recorded,
        twin: None,
        violation: None,
        text: String::new(),
    };
    (plan, script, end.map_err(|panic| said(&*panic)))
}

impl Failure {
    fn broken(&self, violation: Violation) -> Failure {
        let text = violation.to_string();
        Failure { violation: Some(violation), text, ..self.clone() }
    }

    /// Plays the same steps again. `None` when nothing goes wrong.
    #[must_use]
    pub fn again(&self) -> Option<Failure> {
        let ends = catch_unwind(AssertUnwindSafe(|| {
            let end = again(self.setup, &self.steps, self.recorded);
            end.violation.or_else(|| self.twin.and_then(|_| compare(self, end.digest)))
        }));
        match ends {
            Ok(violation) => violation.map(|violation| self.broken(violation)),
            Err(panic) => Some(Failure { violation: None, text: said(&*panic), ..self.clone() }),
        }
    }

    /// All inputs and outputs of it, and those with the other split.
    #[must_use]
    pub fn traces(&self) -> Vec<String> {
        let twin = self.twin.map(|split| Setup { split, ..self.setup });
        let setups = [Some(self.setup), twin].into_iter().flatten();
        let traces = setups.map(|setup| {
            let played = catch_unwind(AssertUnwindSafe(|| {
                let mut world = world(setup, self.recorded).traced();
                self.steps.iter().for_each(|step| world.apply(*step));
                world.finish().trace.join("\n")
            }));
            played.unwrap_or_else(|panic| said(&*panic))
        });
        traces.collect()
    }
}

fn world(setup: Setup, recorded: bool) -> World {
    if recorded { World::recorded(setup) } else { World::new(setup) }
}

fn again(setup: Setup, steps: &[Step], recorded: bool) -> End {
    let mut world = world(setup, recorded);
    for step in steps {
        if world.broken().is_some() {
            break;
        }
        world.apply(*step);
    }
    world.finish()
}

/// However bytes are split, the outputs are the same.
fn compare(script: &Failure, digest: u64) -> Option<Violation> {
    let split = script.twin?;
    let end = again(Setup { split, ..script.setup }, &script.steps, false);
    let differs = || {
        let (one, other) = (script.setup.split, split);
        let what = format!("the outputs with {one:?} and with {other:?} differ");
        Violation { rule: Rule::Split, what }
    };
    end.violation.or_else(|| (end.digest != digest).then(differs))
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it panics: {}", text.unwrap_or("without a word"))
}

//! Where a node is: passes, in each of them slices of the candidates, in each slice steps. What a node sends
//! in a stage follows from what all nodes have sent in the stages before, so a stage is also a barrier.

/// What is sent in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Candidates, to their owners.
    Give,
    /// What the owner lacks, to the node that has not said it.
    Ask,
    /// The answers, to the owner.
    Answer,
    /// Large itemsets, to all.
    Large,
}

impl Step {
    pub(crate) const ALL: [Step; 4] = [Step::Give, Step::Ask, Step::Answer, Step::Large];
}

/// A stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stage {
    /// From 1: the length of its itemsets.
    pub pass: u32,
    /// A slice of the pass's candidates; of [`Step::Large`], the last one.
    pub slice: u32,
    pub step: Step,
}

/// The stages of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stages {
    pub slices: u32,
    /// Owners ask.
    pub asks: bool,
}

impl Stages {
    /// Whether a stage is one of them.
    pub(crate) fn has(self, stage: Stage) -> bool {
        match stage.step {
            Step::Give => stage.slice < self.slices,
            Step::Ask | Step::Answer => self.asks && stage.slice < self.slices,
            Step::Large => stage.slice + 1 == self.slices,
        }
    }
}

impl Stage {
    /// The first of a pass.
    pub(crate) fn first(pass: u32) -> Stage {
        Stage { pass, slice: 0, step: Step::Give }
    }

    /// The one behind it.
    pub(crate) fn next(self, stages: Stages) -> Stage {
        let Stage { pass, slice, step } = self;
        match step {
            Step::Give if stages.asks => Stage { step: Step::Ask, ..self },
            Step::Ask => Stage { step: Step::Answer, ..self },
            Step::Give | Step::Answer if slice + 1 < stages.slices => {
                Stage { pass, slice: slice + 1, step: Step::Give }
            }
            Step::Give | Step::Answer => Stage { step: Step::Large, ..self },
            Step::Large => Stage::first(pass + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_stages_are_none() {
        let stages = Stages { slices: 2, asks: false };
        let of = |slice, step| Stage { pass: 3, slice, step };
        for stage in [of(0, Step::Ask), of(1, Step::Answer), of(0, Step::Large), of(2, Step::Give)] {
            assert!(!stages.has(stage), "{stage:?}");
        }
        assert!(Stages { asks: true, ..stages }.has(of(1, Step::Answer)));
    }

    #[test]
    fn stages_follow_one_another_in_order() {
        for (slices, asks, many) in [(1, false, 2), (3, false, 4), (1, true, 4), (2, true, 7)] {
            let stages = Stages { slices, asks };
            let mut stage = Stage::first(4);
            for _ in 0..many {
                assert!(stage.pass == 4 && stages.has(stage) && stage.next(stages) > stage);
                stage = stage.next(stages);
            }
            assert_eq!(stage, Stage::first(5));
        }
    }
}

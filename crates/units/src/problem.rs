//! A setting that can't be as it is: the one error of everything that checks what people have set.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;

/// One step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the field of this name.
    Field(&'static str),
    /// To an entry of a list, from 0.
    Index(usize),
}

impl Step {
    /// Several steps in one text would be a path that has to be parsed.
    fn of(field: &'static str) -> Step {
        debug_assert!(!field.contains(['.', '[', ']']), "{field:?} is not one field's name");
        Step::Field(field)
    }
}

/// The way to a setting, from the outside to the inside. An empty path is the whole of what was checked.
///
/// A field's name alone is a path, and so are a list's name with an index and several names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Step>);

impl Path {
    /// Its steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(number, step)| match step {
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Field(name) if number > 0 => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
        })
    }
}

impl From<&'static str> for Path {
    fn from(field: &'static str) -> Path {
        Path(vec![Step::of(field)])
    }
}

impl From<usize> for Path {
    fn from(index: usize) -> Path {
        Path(vec![Step::Index(index)])
    }
}

impl From<(&'static str, usize)> for Path {
    fn from((list, index): (&'static str, usize)) -> Path {
        Path(vec![Step::of(list), Step::Index(index)])
    }
}

impl<const N: usize> From<[&'static str; N]> for Path {
    fn from(fields: [&'static str; N]) -> Path {
        Path(fields.into_iter().map(Step::of).collect())
    }
}

/// A field that can't be as it is.
///
/// ```
/// use units::Problem;
///
/// let problem = Problem::new("slots", "0: at least 1 is needed").within("work").within(("jobs", 0));
/// assert_eq!(problem.to_string(), "jobs[0].work.slots: 0: at least 1 is needed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Problem {
    /// The field.
    pub path: Path,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl Problem {
    /// A problem at `path`.
    pub fn new(path: impl Into<Path>, message: impl Display) -> Problem {
        Problem { path: path.into(), message: message.to_string() }
    }

    /// A problem of the whole of what was checked.
    pub fn whole(message: impl Display) -> Problem {
        Problem { path: Path::default(), message: message.to_string() }
    }

    /// The same problem, seen from further out: what was checked is at `outer`.
    #[must_use]
    pub fn within(self, outer: impl Into<Path>) -> Problem {
        let mut path = outer.into();
        path.0.extend(self.path.0);
        Problem { path, message: self.message }
    }
}

/// Refuses the value of a field that is not in a range, both ends included.
///
/// # Errors
/// What is allowed.
pub fn in_range<T: Display + PartialOrd>(
    field: impl Into<Path>,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), Problem> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Problem::new(field, format_args!("{value}: {} to {} are allowed", range.start(), range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_its_steps_and_reads_as_people_write_it() {
        let problem = Problem::new(1, "no such host").within(("pairs", 0)).within("work").within(("jobs", 2));
        let steps = [
            Step::Field("jobs"),
            Step::Index(2),
            Step::Field("work"),
            Step::Field("pairs"),
            Step::Index(0),
            Step::Index(1),
        ];
        assert_eq!(problem.path.steps(), steps);
        assert_eq!(problem.path.to_string(), "jobs[2].work.pairs[0][1]");
        assert_eq!(Path::from(["queue", "limit"]).to_string(), "queue.limit");
        assert_eq!(Problem::whole("empty").path, Path::default());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "is not one field's name")]
    fn a_text_that_would_have_to_be_parsed_is_no_step() {
        let _ = Path::from("queue.limit");
    }
}

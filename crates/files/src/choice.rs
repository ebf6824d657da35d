//! Which part of a folder is sent: everything except what patterns exclude; with its owners, or without.
//!
//! A pattern is one as in a `.gitignore` at the top of the folder (gitignore(5)). Excluded folders are not
//! searched.

use crate::error::Error;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Patterns, at most.
const PATTERNS_MAX: usize = 1000;
/// Length of one in bytes, at most.
const PATTERN_MAX: usize = 4096;

/// What of a folder is sent.
#[derive(Clone, Debug)]
pub struct Choice {
    excluded: Gitignore,
    pub(crate) owners: bool,
}

impl Default for Choice {
    /// All of it, without owners.
    fn default() -> Choice {
        Choice { excluded: Gitignore::empty(), owners: false }
    }
}

impl Choice {
    /// All but what these patterns exclude.
    ///
    /// # Errors
    /// The first that is none.
    pub fn without(patterns: &[String]) -> Result<Choice, Error> {
        if patterns.len() > PATTERNS_MAX {
            return Err(Error::refused("the patterns", format!("more than {PATTERNS_MAX}")));
        }
        let mut builder = GitignoreBuilder::new("");
        for pattern in patterns {
            let refuse = |why: String| Error::refused(format!("the pattern {pattern:?}"), why);
            // In a file such lines are blank or comments: here somebody has meant something by them.
            if pattern.trim().is_empty() || pattern.starts_with('#') || pattern.contains(['\n', '\0']) {
                return Err(refuse("it excludes nothing".into()));
            }
            if pattern.len() > PATTERN_MAX {
                return Err(refuse(format!("it is longer than {PATTERN_MAX} bytes")));
            }
            builder.add_line(None, pattern).map_err(|error| refuse(error.to_string()))?;
        }
        let excluded = builder.build().map_err(|error| Error::refused("the patterns", error.to_string()))?;
        Ok(Choice { excluded, owners: false })
    }

    /// The same, and owners are kept or not.
    #[must_use]
    pub fn owners(self, owners: bool) -> Choice {
        Choice { owners, ..self }
    }

    /// Whether something in the folder is left out, by its path from there.
    pub(crate) fn excludes(&self, path: &str, is_folder: bool) -> bool {
        self.excluded.matched(path, is_folder).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_gitignore() {
        let choice = |patterns: &[&str]| {
            Choice::without(&patterns.iter().map(|each| (*each).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        for (patterns, path, folder, out) in [
            (&["*.tmp"][..], "a/b.tmp", false, true),
            (&["/*.tmp"], "a/b.tmp", false, false),
            (&["a/*.tmp"], "a/b.tmp", false, true),
            (&["a/*.tmp"], "c/a/b.tmp", false, false),
            (&["**/a/*.tmp"], "c/a/b.tmp", false, true),
            (&["cache/"], "x/cache", true, true),
            (&["cache/"], "x/cache", false, false),
            (&["*.log", "!keep.log"], "keep.log", false, false),
            (&["!keep.log", "*.log"], "keep.log", false, true),
            (&["[a-c]?"], "bx", false, true),
            (&["\\#x"], "#x", false, true),
            (&[], "a", false, false),
        ] {
            assert_eq!(choice(patterns).excludes(path, folder), out, "{patterns:?} {path}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in ["", "  ", "# not this", "a\nb", "[z-a]", "{a"] {
            assert!(Choice::without(&[pattern.to_owned()]).is_err(), "{pattern:?}");
        }
        assert!(Choice::without(&["a".repeat(5000)]).is_err());
        assert!(Choice::without(&vec!["a".to_owned(); 1001]).is_err());
    }
}

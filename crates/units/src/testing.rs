//! How many random cases a property test tries.
//!
//! proptest reads `PROPTEST_CASES` only for tests that leave its own default alone. Tests whose cases take
//! long, or are very fast, have a usual number of their own, and follow the variable all the same.

/// As many as `PROPTEST_CASES` says, or else the usual number.
pub fn cases(usual: u32) -> u32 {
    said(std::env::var("PROPTEST_CASES").ok().as_deref(), usual)
}

fn said(cases: Option<&str>, usual: u32) -> u32 {
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_counts_if_it_is_a_number() {
        assert_eq!([said(Some("2000"), 40), said(None, 40), said(Some("many"), 40)], [2000, 40, 40]);
    }
}

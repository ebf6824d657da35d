//! Minimum support: from how many transactions on an itemset is large.
//!
//! R. Agrawal and R. Srikant, "Fast algorithms for mining association rules", VLDB 1994, section 1.1. A share
//! is met by a count when their quotient, as a double, is not below it: what mlxtend compares.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A minimum support.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// A share of the transactions, above 0 and at most 1.
    Share(f64),
    /// A number of transactions, at least 1.
    Count(u64),
}

/// No share or count that can be a minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a share above 0 and at most 1, or at least 1 transaction, is allowed")]
pub struct SupportError;

impl Support {
    /// The least count of a large itemset among so many transactions; at least 1.
    ///
    /// # Errors
    /// [`SupportError`] for a share outside of 0 to 1, and for a count of 0.
    pub fn minimum(self, transactions: u64) -> Result<u64, SupportError> {
        match self {
            Self::Count(0) => Err(SupportError),
            Self::Count(count) => Ok(count),
            Self::Share(share) if share > 0.0 && share <= 1.0 => {
                let all = transactions as f64;
                let mut count = (share * all) as u64;
                // The product is rounded: it may be one off in either direction.
                count = count.saturating_sub(1).max(1);
                while (count as f64) / all < share {
                    count += 1;
                }
                Ok(count)
            }
            Self::Share(_) => Err(SupportError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_met_by_the_least_count_whose_quotient_is_not_below_it() {
        let least = |share, all| Support::Share(share).minimum(all).unwrap();
        assert_eq!(least(0.007, 1_000_000), 7_000);
        assert_eq!(least(0.07, 100), 7); // 0.07 × 100 is 7.000000000000001
        assert_eq!(least(0.001, 1), 1);
        assert_eq!(least(1.0, 3), 3);
        assert_eq!(least(0.5, 3), 2);
        assert_eq!(least(0.5, 0), 1);
        assert_eq!(Support::Count(5).minimum(3), Ok(5));
    }

    #[test]
    fn other_shares_and_counts_are_refused() {
        for support in [0.0, -0.1, 1.1, f64::NAN].map(Support::Share) {
            assert_eq!(support.minimum(10), Err(SupportError));
        }
        assert_eq!(Support::Count(0).minimum(10), Err(SupportError));
    }
}

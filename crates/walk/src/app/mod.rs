//! What people get from walks: pure functions from finished walks to results.

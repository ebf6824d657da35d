//! Files that describe traffic: distributions of flow sizes, coflow traces (FB2010).

use ::traffic::{coflow, sizes};

/// A distribution is refused in words, or has sizes that ascend with the part of flows, within its points.
pub fn size_distribution(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match sizes::parse(text) {
        Ok(cdf) => {
            let (least, most) = (cdf.points()[0].0.max(1), cdf.points()[cdf.points().len() - 1].0.max(1));
            let drawn: Vec<u64> = (0..=20u32).map(|n| cdf.quantile(f64::from(n) / 20.0)).collect();
            assert!(drawn.is_sorted(), "{drawn:?}");
            assert!(drawn.iter().all(|size| (least..=most).contains(size)), "{drawn:?}");
            assert!(cdf.mean() > 0.0 && cdf.mean() <= most as f64);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A trace is refused in words with the line, or all of its coflows have ends.
pub fn coflow_trace(bytes: &[u8]) {
    match coflow::parse(bytes) {
        Ok(trace) => {
            assert!(trace.coflows.iter().all(|coflow| !coflow.mappers.is_empty()));
            assert!(trace.coflows.iter().all(|coflow| !coflow.reducers.is_empty()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

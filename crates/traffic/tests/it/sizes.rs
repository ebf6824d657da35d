//! Flow size distributions: the published tables, drawing, and what is refused.

use crate::support::rng;
use process::HostId;
use proptest::prelude::*;
use traffic::Cdf;
use traffic::demand::{self, PackedDemands};
use traffic::sizes::{self, DATA_MINING, Place, SizesError, WEB_SEARCH, parse};
use units::{Rate, Time};

#[test]
fn published_means() {
    // The sum over the tables' segments of probability times the middle of the two sizes.
    let mean = |points| Cdf::new(points).expect("published").mean();
    assert!((mean(WEB_SEARCH) - 1_711_250.0).abs() < 0.1, "{}", mean(WEB_SEARCH));
    assert!((mean(DATA_MINING) - 12_658_198.6).abs() < 0.1, "{}", mean(DATA_MINING));
}

#[test]
fn quantiles_interpolate_between_points() {
    let cdf = Cdf::new(WEB_SEARCH).expect("published");
    assert_eq!(
        [0.0, 0.15, 0.175, 0.8, 0.85, 1.0].map(|p| cdf.quantile(p)),
        [1, 10_000, 15_000, 2_000_000, 3_500_000, 30_000_000]
    );
    let atom = Cdf::new(&[(100, 0.5), (200, 0.5), (300, 1.0)]).expect("ascends");
    assert_eq!([0.0, 0.3, 0.5, 0.75].map(|p| atom.quantile(p)), [100, 100, 100, 250]);
    assert_eq!(atom.mean(), 175.0);
}

#[test]
fn drawn_sizes_follow_the_distribution() {
    let cdf = Cdf::new(DATA_MINING).expect("published");
    let hosts = [HostId(0), HostId(1)];
    let rate = Rate::from_gbps(1_000);
    let demands = demand::load(&hosts, rate, &cdf, 1.0, Time::from_secs(10), &mut rng(8));
    let drawn: Vec<u64> = demands.values().flat_map(PackedDemands::iter).map(|flow| flow.bytes).collect();
    assert!(drawn.len() > 90_000);
    for &(bytes, p) in DATA_MINING {
        let below = drawn.iter().filter(|size| **size <= bytes).count() as f64 / drawn.len() as f64;
        assert!((below - p).abs() < 0.006, "{below} of sizes up to {bytes}, expected {p}");
    }
}

#[test]
fn reads_the_common_text_format() {
    let text = "# data mining\n0 0\n\n180\t0.1 # mice\n3.16e+06 0.95\r\n1000000000 1\n";
    let cdf = parse(text).expect("good");
    assert_eq!(
        cdf,
        Cdf::new(&[(0, 0.0), (180, 0.1), (3_160_000, 0.95), (1_000_000_000, 1.0)]).expect("same")
    );
}

#[test]
fn errors_name_the_line_and_what_is_allowed() {
    let refusal = |text| parse(text).expect_err("bad").to_string();
    assert_eq!(
        refusal("0 0\n10 50\n20 100"),
        "line 2, probability: \"50\" is not allowed: a number from 0 to 1 (divide percent by 100)"
    );
    assert_eq!(refusal("0 0\n\nx 1"), "line 3, bytes: \"x\" is not allowed: a whole number from 0 to 2^53");
    assert_eq!(refusal("1.5 1"), "line 1, bytes: \"1.5\" is not allowed: a whole number from 0 to 2^53");
    assert_eq!(refusal("5 0.5\n4 1"), "line 2, bytes: less than the one before; points must ascend");
    assert_eq!(refusal("5 0.5\n6 0.4"), "line 2, probability: less than the one before; points must ascend");
    assert_eq!(refusal("5 0.5\n6 0.9\n"), "line 2, probability: the last one is 0.9; it must be 1");
    assert_eq!(refusal("5\n"), "line 1: \"5\" is not `bytes probability`, two numbers with a space between");
    assert_eq!(
        refusal("5 1 2"),
        "line 1: \"5 1 2\" is not `bytes probability`, two numbers with a space between"
    );
    assert_eq!(parse("# nothing\n"), Err(SizesError::Empty));
    assert_eq!(parse("0 1"), Err(SizesError::AllZero));
    let point = Cdf::new(&[(1, 0.5), (2, f64::NAN)]).expect_err("no number");
    assert_eq!(point, SizesError::Probability { place: Place::Point(2), text: "NaN".into() });
}

proptest! {
    #[test]
    fn any_text_gives_a_distribution_or_an_error(text in "[0-9 .e+#x\n-]{0,80}") {
        if let Ok(cdf) = sizes::parse(&text) {
            prop_assert!(cdf.mean() > 0.0 && cdf.quantile(0.5) >= 1);
        }
    }

    #[test]
    fn quantiles_ascend(mut sizes in proptest::collection::vec(1u64..1_000_000, 1..8), p in 0.0f64..1.0, q in 0.0f64..1.0) {
        sizes.sort();
        let last = sizes.len() as f64;
        let points: Vec<_> = (1..).zip(&sizes).map(|(i, size)| (*size, f64::from(i) / last)).collect();
        let cdf = Cdf::new(&points).expect("ascends");
        prop_assert!(cdf.quantile(p.min(q)) <= cdf.quantile(p.max(q)));
    }
}

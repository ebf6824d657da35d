//! A paced trace counts what all accesses count, and takes not many times as long as the run that it
//! foretells.

use farmem::cache::{Cache, Policy};
use farmem::pace::Pace;
use farmem::replay::{Setting, replay};
use farmem::steps::{Step, Steps};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64;

/// A fault, in ns.
const FAULT: u64 = 8_000;
const PAGES: u32 = 2_048;

fn steps(pages: impl Iterator<Item = u32>) -> Steps {
    Steps {
        steps: pages.map(Step::Read).collect(),
        pages: (0..u64::from(PAGES)).collect(),
        stored: PAGES,
        ..Steps::default()
    }
}

/// What programs do, with the ns that they compute for each access.
fn programs() -> Vec<(&'static str, u64, Steps)> {
    let mut random = Pcg64::seed_from_u64(7);
    let zipf = Zipf::new(f64::from(PAGES), 0.9).unwrap();
    let skewed: Vec<u32> = (0..100_000).map(|_| zipf.sample(&mut random) as u32 - 1).collect();
    let uniform: Vec<u32> = (0..100_000).map(|_| random.random_range(0..PAGES)).collect();
    let sort = (0..11u32)
        .flat_map(|level| (0..PAGES).flat_map(move |page| [page, (page ^ (1 << level)) % PAGES, page]));
    let mostly: Vec<u32> = (0..200_000)
        .map(|_| {
            let of = if random.random_bool(0.01) { PAGES } else { PAGES / 5 };
            random.random_range(0..of)
        })
        .collect();
    let moving: Vec<u32> =
        (0..200_000u32).map(|at| (at / 200 + random.random_range(0..PAGES / 8)) % PAGES).collect();
    vec![
        ("mostly a fifth", 100, steps(mostly.into_iter())),
        ("an eighth that moves", 100, steps(moving.into_iter())),
        ("a scan, again and again", 500, steps((0..10).flat_map(|_| 0..PAGES))),
        ("a loop that fits into a fifth, then a scan", 100, {
            let inner = (0..200).flat_map(|_| 0..PAGES / 5);
            steps(inner.chain((0..10).flat_map(|_| 0..PAGES)))
        }),
        ("two rows of a matrix and a vector", 200, {
            let pass = (0..PAGES - 8).flat_map(|row| (0..8).map(|at| PAGES - 8 + at).chain([row, row]));
            steps((0..10).flat_map(move |_| pass.clone()))
        }),
        ("some pages more often than others", 100, steps(skewed.into_iter())),
        ("any page", 100, steps(uniform.into_iter())),
        ("a sort", 100, steps(sort)),
    ]
}

/// What the handler sees, and the ns that it takes; without memories that are asked about, with `least` pages
/// all the time.
fn traced(of: &Steps, compute: u64, least: u32, asked: &[u32]) -> (Steps, u64) {
    let mut pace = (!asked.is_empty()).then(|| Pace::new(least, asked));
    let mut cache = Cache::new(PAGES + 1, Policy::Fifo);
    let (mut now, mut computed, mut before) = (0, 0, (0, 0));
    let (mut seen, mut gone) = (Vec::new(), Vec::new());
    if let Some(pace) = &mut pace {
        pace.asked(u64::from(PAGES), &mut gone);
    }
    for step in &of.steps {
        let Step::Read(page) = *step else { continue };
        now += compute;
        computed += compute;
        if !cache.touch(page.into(), false) {
            now += FAULT;
            let mut pages = least;
            if let Some(pace) = &mut pace {
                if pace.fault(page.into(), &mut gone) {
                    pace.look(now - before.0, computed - before.1);
                    before = (now, computed);
                }
                pages = pace.pages();
            }
            for page in gone.drain(..) {
                cache.remove(page);
            }
            while cache.len() >= pages {
                cache.evict();
            }
            cache.fault(page.into(), false);
            seen.push(*step);
        }
    }
    (Steps { steps: seen, ..of.clone() }, now)
}

fn faults(of: &Steps, pages: u32) -> u64 {
    replay(of, &Setting::new(pages, Policy::Fifo)).faults
}

#[test]
fn a_trace_takes_not_many_times_as_long_and_counts_the_same() {
    let asked = [PAGES / 4, PAGES / 2, PAGES / 4 * 3];
    for (name, compute, all) in programs() {
        let time = |faults: u64| all.accesses() * compute + faults * FAULT;
        let (paced, took) = traced(&all, compute, asked[0] / 64, &asked);
        let (_, slowly) = traced(&all, compute, asked[0] / 64, &[]);
        let run = time(faults(&all, asked[0]));
        let off = |pages: u32| time(faults(&paced, pages)) as f64 / time(faults(&all, pages)) as f64 - 1.0;
        let others = [asked[0] * 3 / 2, asked[0] * 5 / 2].map(off);
        println!(
            "{name}: {:.1} times ({:.1} without a pace), between what is asked about off by {others:.3?}",
            took as f64 / run as f64,
            slowly as f64 / run as f64
        );
        assert!(took <= 5 * run, "{name}");
        for pages in asked {
            assert_eq!(faults(&paced, pages), faults(&all, pages), "{name}");
        }
        // Nobody asked about these.
        assert!(others.iter().all(|off| off.abs() < 0.1), "{name}");
    }
}

#[test]
fn what_fits_into_a_memory_is_not_remote_with_it() {
    let mut pace = Pace::new(1, &[4, 8]);
    let mut gone = Vec::new();
    for page in 0..6 {
        pace.fault(page, &mut gone);
    }
    assert!(gone.is_empty());
    // More than four pages, of which the last two came last: the first two leave, the lowest ones.
    pace.asked(6, &mut gone);
    assert_eq!(gone, [0, 1]);
    pace.free(2);
    gone.clear();
    pace.fault(9, &mut gone);
    assert!(gone.is_empty());
    pace.fault(10, &mut gone);
    assert_eq!(gone, [3]);
}

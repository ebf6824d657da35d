//! A kernel that fails wherever one can fail, and as Linux 6.18 does beside compaction: no page is lost,
//! doubled or told twice.

use super::*;
use proptest::prelude::*;

const FROM: usize = 100 * PAGE;
const TO: usize = 500 * PAGE;

/// What happens when a call comes to a page.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The call moves so many pages from here on, and then reports this: it tried again, and remembers the
    /// first try.
    MovedAndSaid(usize, i32),
    /// It says so, and nothing has happened.
    Said(i32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    /// A hole.
    None,
    /// Also a forked process's.
    Shared,
    /// The program may only read it.
    ReadOnly,
    /// A device uses it.
    Pinned,
}

struct Fake {
    kinds: Vec<Kind>,
    from: Vec<Option<usize>>,
    to: Vec<Option<usize>>,
    /// What is still to happen at each page, the next one last.
    faults: Vec<Vec<Fault>>,
    may_own: bool,
    may_copy: bool,
    /// Pages are protected in different ways, so that none of them moves with another.
    differ: bool,
}

fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Fake {
    fn new(kinds: &[Kind], faults: Vec<Vec<Fault>>) -> Fake {
        let from = kinds.iter().enumerate().map(|(at, kind)| (*kind != Kind::None).then_some(at)).collect();
        Fake {
            kinds: kinds.to_vec(),
            from,
            to: vec![None; kinds.len()],
            faults,
            may_own: true,
            may_copy: true,
            differ: false,
        }
    }

    /// One page, as a kernel without faults moves it.
    fn step(&mut self, at: usize) -> Result<(), i32> {
        if self.to[at].is_some() {
            return Err(libc::EEXIST);
        }
        match self.kinds[at] {
            _ if self.from[at].is_none() => Err(libc::ENOENT),
            Kind::Shared | Kind::Pinned => Err(libc::EBUSY),
            Kind::ReadOnly => Err(libc::EINVAL),
            Kind::Plain | Kind::None => {
                self.to[at] = self.from[at].take();
                Ok(())
            }
        }
    }
}

impl Kernel for Fake {
    fn take(&mut self, to: Range, from: usize) -> Result<(), Moved> {
        let (first, pages) = ((from - FROM) / PAGE, to.bytes / PAGE);
        assert_eq!((to.start - TO) / PAGE, first);
        if self.differ && pages > 1 {
            return Err(Moved { bytes: 0, error: error(libc::EINVAL) });
        }
        for at in first..first + pages {
            let failed = match self.faults[at].pop() {
                Some(Fault::Said(number)) => Err(number),
                Some(Fault::MovedAndSaid(many, number)) => {
                    (at..(at + many).min(first + pages)).try_for_each(|at| self.step(at)).and(Err(number))
                }
                None => self.step(at),
            };
            if let Err(number) = failed {
                return Err(Moved { bytes: (at - first) * PAGE, error: error(number) });
            }
        }
        Ok(())
    }

    fn copy(&mut self, to: Range, from: usize) -> io::Result<()> {
        let at = (from - FROM) / PAGE;
        assert_eq!(((to.start - TO) / PAGE, to.bytes), (at, PAGE));
        if !self.may_copy {
            return Err(error(libc::EPERM));
        }
        assert_eq!(self.to[at], None);
        self.to[at] = self.from[at];
        Ok(())
    }

    fn has(&mut self, address: usize) -> io::Result<bool> {
        let side =
            if address >= TO { &self.to[(address - TO) / PAGE] } else { &self.from[(address - FROM) / PAGE] };
        Ok(side.is_some())
    }

    fn unshare(&mut self, page: Range) -> io::Result<()> {
        if !self.may_own {
            return Err(error(libc::EFAULT));
        }
        let kind = &mut self.kinds[(page.start - FROM) / PAGE];
        if *kind == Kind::Shared {
            *kind = Kind::Plain;
        }
        Ok(())
    }

    fn discard(&mut self, page: Range) -> io::Result<()> {
        self.from[(page.start - FROM) / PAGE] = None;
        Ok(())
    }
}

/// All pages are told once, and are where that says, with what they held.
fn check(kernel: &mut Fake) -> Vec<Fate> {
    let pages = kernel.kinds.len();
    let held = kernel.from.clone();
    let mut told = vec![None; pages];
    let mut say = |range: Range, fate| {
        let first = (range.start - FROM) / PAGE;
        for page in &mut told[first..first + range.bytes / PAGE] {
            assert_eq!(page.replace(fate), None, "a page is told twice");
        }
    };
    carry(kernel, Range { start: TO, bytes: pages * PAGE }, FROM, &mut say).unwrap();
    let told: Vec<Fate> = told.into_iter().map(|fate| fate.expect("each is told")).collect();
    for (at, fate) in told.iter().enumerate() {
        let expected = match fate {
            Fate::Moved => (None, held[at]),
            Fate::Missing => (None, None),
            Fate::Stays => (held[at], None),
        };
        assert_eq!((kernel.from[at], kernel.to[at]), expected, "page {at}, {fate:?}");
        assert_eq!(*fate == Fate::Missing, held[at].is_none(), "page {at} was there");
    }
    told
}

#[test]
fn a_page_that_moved_although_the_kernel_says_otherwise_has_moved() {
    for number in [libc::EEXIST, libc::ENOENT] {
        for at in 0..6 {
            for many in 1..4 {
                let mut faults = vec![Vec::new(); 6];
                faults[at].push(Fault::MovedAndSaid(many, number));
                assert_eq!(check(&mut Fake::new(&[Kind::Plain; 6], faults)), [Fate::Moved; 6]);
            }
        }
    }
}

#[test]
fn also_when_it_was_made_this_processs_own_before() {
    for number in [libc::EEXIST, libc::ENOENT] {
        // The first answer is that it is shared; the second that there is no page, or one in its place.
        let faults = vec![vec![Fault::MovedAndSaid(1, number), Fault::Said(libc::EBUSY)], vec![]];
        assert_eq!(check(&mut Fake::new(&[Kind::Shared, Kind::Plain], faults)), [Fate::Moved; 2]);
    }
}

#[test]
fn an_answer_that_is_wrong_is_asked_for_again() {
    for number in [libc::EEXIST, libc::ENOENT, libc::EAGAIN] {
        let faults = vec![vec![Fault::Said(number); 5]; 3];
        assert_eq!(check(&mut Fake::new(&[Kind::Plain; 3], faults)), [Fate::Moved; 3]);
    }
}

#[test]
fn what_a_device_uses_stays_and_what_may_only_be_read_is_copied() {
    let kinds = [Kind::Pinned, Kind::ReadOnly, Kind::Shared, Kind::None, Kind::Plain];
    let none = || vec![Vec::new(); 5];
    let (moved, stays, missing) = (Fate::Moved, Fate::Stays, Fate::Missing);
    assert_eq!(check(&mut Fake::new(&kinds, none())), [stays, moved, moved, missing, moved]);
    let mut copies_nothing = Fake { may_copy: false, ..Fake::new(&kinds, none()) };
    assert_eq!(check(&mut copies_nothing), [stays, stays, moved, missing, moved]);
    let mut owns_nothing = Fake { may_own: false, ..Fake::new(&kinds, none()) };
    assert_eq!(check(&mut owns_nothing), [moved, moved, moved, missing, moved]);
}

#[test]
fn pages_that_only_move_alone_are_not_copied() {
    let kernel = Fake::new(&[Kind::Plain, Kind::Shared, Kind::Plain], vec![Vec::new(); 3]);
    assert_eq!(check(&mut Fake { may_copy: false, differ: true, ..kernel }), [Fate::Moved; 3]);
}

#[test]
fn a_page_at_both_ends_is_nobodys_to_choose() {
    let mut kernel = Fake::new(&[Kind::Plain; 2], vec![Vec::new(); 2]);
    kernel.to[1] = Some(7);
    let failed = carry(&mut kernel, Range { start: TO, bytes: 2 * PAGE }, FROM, |_, _| {}).unwrap_err();
    assert_eq!(failed.raw_os_error(), Some(libc::EEXIST));
    assert_eq!((kernel.from[1], kernel.to[1]), (Some(1), Some(7)));
}

#[test]
fn a_kernel_that_is_never_right_is_given_up() {
    let faults = vec![vec![Fault::Said(libc::ENOENT); 5000]];
    assert_eq!(check(&mut Fake::new(&[Kind::Plain], faults)), [Fate::Stays]);
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => Just(Kind::Plain),
        1 => Just(Kind::None),
        2 => Just(Kind::Shared),
        1 => Just(Kind::ReadOnly),
        1 => Just(Kind::Pinned),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let numbers = || prop::sample::select(vec![libc::EEXIST, libc::ENOENT, libc::EAGAIN, libc::EBUSY]);
    prop_oneof![
        (1..6usize, numbers()).prop_map(|(many, number)| Fault::MovedAndSaid(many, number)),
        numbers().prop_map(Fault::Said),
    ]
}

proptest! {
    #[test]
    fn no_page_is_lost(
        pages in prop::collection::vec((kind(), prop::collection::vec(fault(), 0..4)), 1..40),
        may_own: bool,
        may_copy: bool,
        differ: bool,
    ) {
        let (kinds, faults): (Vec<Kind>, Vec<Vec<Fault>>) = pages.into_iter().unzip();
        check(&mut Fake { may_own, may_copy, differ, ..Fake::new(&kinds, faults) });
    }
}

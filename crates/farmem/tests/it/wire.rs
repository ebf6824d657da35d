//! Both ends of the memory protocol against a model: what was written is what is read, however it is shared,
//! however the stream is cut.

use farmem::wire::client::{Client, Coming, Greeting, Wrong};
use farmem::wire::session::{House, OUT_MAX, Session};
use farmem::wire::{CHALLENGE, HEAD, Key, LENGTH, Lengths, PAGE, TICKET, Ticket, WELCOME, lengths};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::Time;

const KEY: Key = Key(*b"0123456789abcdef");

/// Two ends, and what each of them has not yet sent.
struct Pair {
    client: Client,
    session: Session,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    /// What each page is full of, and its length.
    model: BTreeMap<u64, (u8, usize)>,
}

fn house(pages: u64) -> House {
    House::new(KEY, [7; 16], pages * PAGE as u64, u64::MAX)
}

fn take<const N: usize>(bytes: &mut Vec<u8>) -> [u8; N] {
    let taken = *bytes.first_chunk().expect("as much has come");
    bytes.drain(..N);
    taken
}

impl Pair {
    /// Connected; or what the server said instead.
    fn new(house: &mut House, key: Key, ticket: Ticket) -> Result<Pair, String> {
        let (mut session, mut out) = (Session::default(), Vec::new());
        let mut greeting = Greeting::new(key, [3; 16], ticket);
        assert_eq!(session.handle(house, Time::ZERO, &greeting.hello(), &mut out), CHALLENGE);
        let proof = greeting.prove(&take(&mut out)).expect("a challenge");
        assert!(!session.is_known());
        session.handle(house, Time::ZERO, &proof, &mut out);
        let mut client = Client::default();
        match client.handle(&take::<HEAD>(&mut out)).expect("a head") {
            Coming::Welcome => {
                greeting.welcomed(&take::<WELCOME>(&mut out)).expect("the key");
                assert!(session.is_known() && out.is_empty());
                let model = BTreeMap::new();
                Ok(Pair { client, session, to_server: Vec::new(), to_client: out, model })
            }
            Coming::Refused(bytes) => {
                assert_eq!(out.len(), bytes as usize);
                Err(String::from_utf8(out).expect("text"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// Up to so many bytes reach the server.
    fn carry(&mut self, house: &mut House, bytes: usize) {
        let part = &self.to_server[..bytes.min(self.to_server.len())];
        let done = self.session.handle(house, Time::ZERO, part, &mut self.to_client);
        self.to_server.drain(..done);
        assert!(self.to_client.len() <= OUT_MAX + HEAD + 512 * (LENGTH + PAGE));
    }

    /// All that waits reaches the server.
    fn carry_all(&mut self, house: &mut House, step: usize) {
        while !self.to_server.is_empty() {
            for end in (1..=self.to_server.len()).step_by(step).chain([self.to_server.len()]) {
                let before = self.to_server.len();
                self.carry(house, end);
                if self.to_server.len() < before {
                    break;
                }
            }
        }
    }

    /// Pages that travel as they are.
    fn write(&mut self, page: u64, count: u32, fill: u8) {
        self.write_packed(page, count, fill, PAGE);
    }

    /// Pages of which the last has so many bytes, and each other one of them a little less.
    fn write_packed(&mut self, page: u64, count: u32, fill: u8, bytes: usize) {
        let length =
            |next: u32| if bytes == PAGE { PAGE } else { (bytes - (count - 1 - next) as usize).max(1) };
        self.to_server.extend(self.client.write(page, count));
        lengths::put((0..count).map(length), &mut self.to_server);
        for next in 0..count {
            let fill = fill.wrapping_add(next as u8);
            self.model.insert(page + u64::from(next), (fill, length(next)));
            self.to_server.extend(vec![fill; length(next)]);
        }
    }

    fn read(&mut self, house: &mut House, page: u64, count: u32, step: usize) {
        self.to_server.extend(self.client.read(page, count));
        self.carry_all(house, step);
        let head = take::<HEAD>(&mut self.to_client);
        assert_eq!(self.client.handle(&head), Ok(Coming::Pages { page, count }));
        let told: Vec<u8> = self.to_client.drain(..count as usize * LENGTH).collect();
        let told = Lengths::read(&told).expect("lengths");
        for (page, bytes) in (page..page + u64::from(count)).zip(told.iter()) {
            let (fill, length) = self.model[&page];
            assert_eq!(bytes, length, "page {page}");
            assert!(self.to_client.drain(..bytes).all(|byte| byte == fill), "page {page}");
        }
    }

    fn share(&mut self, house: &mut House, step: usize) -> Ticket {
        self.to_server.extend(self.client.share());
        self.carry_all(house, step);
        assert_eq!(self.client.handle(&take::<HEAD>(&mut self.to_client)), Ok(Coming::Ticket));
        Ticket(take::<TICKET>(&mut self.to_client))
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, u32, u8, usize),
    Read(u64, u32),
    Free(u64, u32),
    Fork,
    End,
}

fn page() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..20, 500u64..530, Just(1 << 40)]
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        5 => (page(), 1u32..4, any::<u8>(), prop_oneof![Just(PAGE), 3..PAGE])
            .prop_map(|(page, count, fill, bytes)| Step::Write(page, count, fill, bytes)),
        5 => (page(), 1u32..4).prop_map(|(page, count)| Step::Read(page, count)),
        2 => (page(), prop_oneof![1u32..4, Just(600), Just(u32::MAX)]).prop_map(|(page, count)| Step::Free(page, count)),
        1 => Just(Step::Fork),
        1 => Just(Step::End),
    ];
    proptest::collection::vec((0usize..4, step), 1..60)
}

proptest! {
    #[test]
    fn what_was_written_is_read(steps in steps(), cut in 1usize..9000) {
        let mut house = house(10_000);
        let mut pairs = vec![Pair::new(&mut house, KEY, Ticket::NEW).unwrap()];
        for (who, step) in steps {
            let who = who % pairs.len();
            let pair = &mut pairs[who];
            match step {
                Step::Write(page, count, fill, bytes) => pair.write_packed(page, count, fill, bytes),
                Step::Read(page, count) => {
                    if (page..page + u64::from(count)).all(|page| pair.model.contains_key(&page)) {
                        pair.read(&mut house, page, count, cut);
                    }
                }
                Step::Free(page, count) => {
                    pair.to_server.extend(pair.client.free(page, count));
                    pair.model.retain(|at, _| !(page..page + u64::from(count)).contains(at));
                }
                Step::Fork => {
                    let ticket = pair.share(&mut house, cut);
                    let model = pair.model.clone();
                    let child = Pair::new(&mut house, KEY, ticket).unwrap();
                    prop_assert!(Pair::new(&mut house, KEY, ticket).is_err(), "a ticket is good once");
                    pairs.push(Pair { model, ..child });
                }
                Step::End if pairs.len() > 1 => drop(pairs.swap_remove(who)),
                Step::End => {}
            }
        }
        for pair in &mut pairs {
            for page in pair.model.keys().copied().collect::<Vec<_>>() {
                pair.read(&mut house, page, 1, cut);
            }
            let tables = |pages: &mut dyn Iterator<Item = u64>| pages.map(|page| page / 512).collect::<std::collections::BTreeSet<_>>().len();
            let least = pair.model.values().map(|(_, bytes)| bytes).sum::<usize>()
                + tables(&mut pair.model.keys().copied()) * PAGE;
            prop_assert!(house.bound().used() >= least as u64);
        }
        drop(pairs);
        prop_assert_eq!(house.bound().used(), 0, "what nobody has takes nothing");
    }

    #[test]
    fn damaged_bytes_do_no_harm(at in 0usize..3 * PAGE, bit in 0u8..8, cut in 1usize..9000) {
        let mut house = house(100);
        let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
        pair.write(3, 2, 9);
        pair.to_server.extend(pair.client.read(3, 2));
        let at = at % pair.to_server.len();
        pair.to_server[at] ^= 1 << bit;
        for _ in 0..20 {
            pair.carry(&mut house, cut.max(PAGE));
        }
        prop_assert!(house.bound().used() <= 100 * PAGE as u64);
        prop_assert!(pair.to_client.len() <= OUT_MAX + HEAD + 512 * (LENGTH + PAGE));
    }
}

#[test]
fn who_does_not_know_the_key_gets_nothing() {
    let mut house = house(10);
    let refused = Pair::new(&mut house, Key([1; 16]), Ticket::NEW).err().unwrap();
    assert!(refused.contains("wrong key"), "{refused}");
    assert!(Pair::new(&mut house, KEY, Ticket([5; TICKET])).err().unwrap().contains("no longer kept"));
    let (mut session, mut out) = (Session::default(), Vec::new());
    assert_eq!(session.handle(&mut house, Time::ZERO, b"GET / HTTP/1.1", &mut out), 14);
    assert!(session.refused().is_some() && out.is_empty());
    assert_eq!(house.bound().used(), 0);
}

#[test]
fn a_server_that_does_not_know_the_key_is_found_out() {
    let mut greeting = Greeting::new(KEY, [3; 16], Ticket::NEW);
    let challenge = greeting.hello();
    assert!(greeting.prove(&[0; CHALLENGE]).is_err());
    greeting.prove(&challenge).unwrap();
    assert_eq!(greeting.welcomed(&[0; WELCOME]), Err(Wrong::Key));
}

#[test]
fn a_full_server_says_so_and_keeps_what_it_has() {
    let mut house = house(4);
    let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
    pair.write(0, 4, 1);
    pair.carry_all(&mut house, PAGE + HEAD);
    let refused = pair.session.refused().unwrap();
    assert!(refused.contains("is full") && refused.contains("--memory"), "{refused}");
    let refused = Pair::new(&mut house, KEY, Ticket::NEW).err();
    assert!(refused.is_none(), "what was refused is free again: {refused:?}");
}

#[test]
fn one_client_has_no_more_than_its_part() {
    let mut house = House::new(KEY, [7; 16], 1 << 30, 3 * PAGE as u64);
    let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
    pair.write(0, 2, 1);
    pair.read(&mut house, 0, 2, PAGE);
    pair.write(0, 2, 5);
    pair.read(&mut house, 0, 2, PAGE);
    pair.write(2, 1, 1);
    pair.carry_all(&mut house, PAGE + HEAD);
    assert!(pair.session.refused().unwrap().contains("--client-memory"));
}

#[test]
fn packed_pages_take_less() {
    let mut house = house(4);
    let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
    pair.write_packed(0, 9, 1, 1000);
    pair.read(&mut house, 0, 9, PAGE);
    let used = house.bound().used();
    assert!(used > PAGE as u64 + 8 * 1000 && used < 4 * PAGE as u64, "{used}");
    pair.write_packed(0, 9, 2, 900);
    pair.read(&mut house, 0, 9, PAGE);
    assert!(house.bound().used() < used);
    pair.write(0, 2, 2);
    pair.carry_all(&mut house, PAGE);
    assert!(pair.session.refused().unwrap().contains("is full"), "a page that grows needs room");
    let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
    pair.write(0, 3, 1);
    assert_eq!(house.bound().used(), 0);
    pair.read(&mut house, 0, 3, PAGE);
    pair.write_packed(1, 1, 3, 7);
    pair.read(&mut house, 0, 3, PAGE);
}

#[test]
fn a_length_that_no_page_has_is_refused() {
    for length in [0, PAGE + 1] {
        let mut house = house(4);
        let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
        pair.to_server.extend(pair.client.write(0, 1));
        lengths::put([length], &mut pair.to_server);
        pair.carry_all(&mut house, PAGE);
        assert!(pair.session.refused().unwrap().contains("means nothing"));
        assert_eq!(house.bound().used(), 0);
    }
}

#[test]
fn tickets_take_room() {
    let mut house = house(100);
    let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
    (0..45).for_each(|table| pair.write(table * 512, 1, 1));
    pair.carry_all(&mut house, PAGE + HEAD);
    let used = house.bound().used();
    let ticket = pair.share(&mut house, PAGE);
    let each = house.bound().used() - used;
    assert!(each >= 45 * 16, "{each}");
    drop(Pair::new(&mut house, KEY, ticket).unwrap());
    assert_eq!(house.bound().used(), used, "a process that forked is gone");
    let room = (house.bound().all() - used) / each;
    for _ in 0..room {
        pair.share(&mut house, PAGE);
    }
    pair.to_server.extend(pair.client.share());
    pair.carry_all(&mut house, PAGE);
    assert!(pair.session.refused().unwrap().contains("is full"));
}

#[test]
fn a_ticket_ends_after_its_time() {
    let mut house = house(100);
    let mut pair = Pair::new(&mut house, KEY, Ticket::NEW).unwrap();
    pair.write(0, 1, 1);
    let ticket = pair.share(&mut house, PAGE);
    house.tick(Time::from_secs(61));
    assert!(Pair::new(&mut house, KEY, ticket).is_err());
}

#[test]
fn a_client_takes_only_what_it_asked_for() {
    let mut client = Client::default();
    client.read(5, 2);
    let other = Client::default().read(5, 2);
    assert_eq!(client.handle(&other), Err(Wrong::Order));
}

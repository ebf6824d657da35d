//! The cost of an exchange with remote memory (document 004, slide 7): delay = latency + size / bandwidth.
//!
//! Latency is paid per request and transmission per page, separately in each direction: from remote memory (a
//! fetch, for which the fault waits) and back to it (the write-back of a dirty page, for which a fault waits
//! that needs its place). Document 004 has one page per request. Requests of several pages pay latency once,
//! as a swap device with batches does (Gao et al., OSDI '16, section 3). Requests of several threads overlap:
//! each waits its own latency, but pages share the link, one after the other in each direction ([`Link`]).
//! Not here: which pages are exchanged ([`crate::cache`]).

use units::{Bytes, Rate, Time};

/// One direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// What a request waits however little it carries: propagation there and back, switches, the other end.
    pub latency: Time,
    /// At which a page is sent.
    pub rate: Rate,
    /// How many pages a request carries at most.
    pub pages_a_request: u32,
}

impl Way {
    /// The document's: a page a request.
    pub const fn new(latency: Time, rate: Rate) -> Way {
        Way { latency, rate, pages_a_request: 1 }
    }

    /// Requests that so many pages need when they are asked for together.
    pub fn requests(&self, pages: u64) -> u64 {
        pages.div_ceil(u64::from(self.pages_a_request.max(1)))
    }

    /// What pages of this size take that are asked for together.
    pub fn delay(&self, pages: u64, page: Bytes) -> Time {
        self.total(self.requests(pages), pages, page)
    }

    /// What these pages take, asked for together.
    pub fn crossing(&self, crossing: Crossing) -> Time {
        let latency = self.latency.saturating_mul(self.requests(crossing.pages));
        latency.saturating_add(self.rate.time_for(Bytes::new(crossing.bytes)))
    }

    /// What so many requests take, with so many pages in all of them; a page's transmission is rounded up to
    /// a picosecond.
    pub fn total(&self, requests: u64, pages: u64, page: Bytes) -> Time {
        let transmission = self.rate.time_for(page).saturating_mul(pages);
        self.latency.saturating_mul(requests).saturating_add(transmission)
    }
}

/// Pages that a fault exchanges in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// How many.
    pub pages: u64,
    /// Bytes of all of them as they travel: compressed, if they are.
    pub bytes: u64,
}

/// Both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// From remote memory.
    pub fetch: Way,
    /// Back to it; nothing where no fault waits for that.
    pub write_back: Option<Way>,
}

impl Cost {
    /// The document's formula in both directions: latency + size / bandwidth a page.
    pub const fn new(latency: Time, rate: Rate) -> Cost {
        let way = Way::new(latency, rate);
        Cost { fetch: way, write_back: Some(way) }
    }

    /// The same, but nobody waits for write-backs.
    pub const fn without_write_back(self) -> Cost {
        Cost { write_back: None, ..self }
    }

    /// What a fault waits that fetches these pages and writes these back.
    pub fn exchange(&self, fetched: Crossing, written_back: Crossing) -> Time {
        let back = self.write_back.map_or(Time::ZERO, |way| way.crossing(written_back));
        self.fetch.crossing(fetched).saturating_add(back)
    }

    /// What a fault waits that fetches so many pages of this size and writes so many back.
    pub fn fault(&self, fetched: u64, written_back: u64, page: Bytes) -> Time {
        let back = self.write_back.map_or(Time::ZERO, |way| way.delay(written_back, page));
        self.fetch.delay(fetched, page).saturating_add(back)
    }
}

/// Both directions of a link that requests share: until when the pages sent so far take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    fetch: Time,
    write_back: Time,
}

impl Link {
    /// How long a fault waits that asks at this time for the first pages and writes the second ones back.
    ///
    /// In each direction its pages are sent behind those of the faults that asked before. Where the link is
    /// free this is [`Cost::exchange`].
    pub fn exchange(&mut self, cost: &Cost, now: Time, fetched: Crossing, written_back: Crossing) -> Time {
        let mut busy = Time::ZERO;
        let mut cross = |free: &mut Time, way: Way, crossing: Crossing| {
            if crossing.bytes > 0 {
                busy = busy.saturating_add((*free).saturating_sub(now));
                *free = (*free).max(now).saturating_add(way.rate.time_for(Bytes::new(crossing.bytes)));
            }
        };
        if let Some(way) = cost.write_back {
            cross(&mut self.write_back, way, written_back);
        }
        cross(&mut self.fetch, cost.fetch, fetched);
        cost.exchange(fetched, written_back).saturating_add(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes::new(4096);

    #[test]
    fn the_documents_grid_takes_latency_and_a_page() {
        // 4096 bytes: 3.2768 µs at 10 Gb/s, 0.8192 at 40, 0.32768 at 100.
        for (gbps, page_ps) in [(10, 3_276_800), (40, 819_200), (100, 327_680)] {
            for us in [1, 10, 20] {
                let cost = Cost::new(Time::from_us(us), Rate::from_gbps(gbps));
                assert_eq!(cost.fault(1, 0, PAGE).as_ps(), us * 1_000_000 + page_ps);
                assert_eq!(cost.fault(1, 1, PAGE).as_ps(), 2 * (us * 1_000_000 + page_ps));
                assert_eq!(cost.without_write_back().fault(1, 1, PAGE), cost.fault(1, 0, PAGE));
            }
        }
    }

    #[test]
    fn pages_of_a_request_share_its_latency() {
        let way = Way { pages_a_request: 8, ..Way::new(Time::from_us(10), Rate::from_gbps(40)) };
        assert_eq!(way.requests(0), 0);
        assert_eq!(way.delay(0, PAGE), Time::ZERO);
        assert_eq!(way.delay(8, PAGE).as_ps(), 10_000_000 + 8 * 819_200);
        assert_eq!(way.delay(9, PAGE).as_ps(), 20_000_000 + 9 * 819_200);
    }

    #[test]
    fn a_large_page_is_sent_as_long_as_the_small_ones_in_it() {
        let way = Way::new(Time::ZERO, Rate::from_gbps(40));
        assert_eq!(way.delay(1, Bytes::new(2 << 20)), way.delay(512, PAGE));
    }

    #[test]
    fn what_is_compressed_is_sent_sooner_and_not_sooner_there() {
        let cost = Cost::new(Time::from_us(10), Rate::from_gbps(40));
        let crossing = |pages, bytes| Crossing { pages, bytes };
        assert_eq!(cost.exchange(crossing(1, 4096), crossing(2, 8192)), cost.fault(1, 2, PAGE));
        assert_eq!(
            cost.exchange(crossing(1, 1000), crossing(1, 4096)).as_ps(),
            20_000_000 + 200_000 + 819_200
        );
        assert_eq!(cost.exchange(crossing(1, 4096), Crossing::default()), cost.fault(1, 0, PAGE));
    }

    #[test]
    fn what_no_clock_can_show_is_for_ever() {
        let way = Way::new(Time::MAX, Rate::from_bps(1));
        assert_eq!(way.delay(u64::MAX, Bytes::new(2 << 20)), Time::MAX);
    }

    #[test]
    fn latencies_overlap_and_pages_are_sent_one_behind_the_other() {
        let cost = Cost::new(Time::from_us(100), Rate::from_gbps(40));
        let (page, none) = (Crossing { pages: 1, bytes: 4096 }, Crossing::default());
        let (now, one) = (Time::from_us(7), cost.fault(1, 0, PAGE));
        let mut link = Link::default();
        assert_eq!(link.exchange(&cost, now, page, none), one);
        // A second request at the same time waits for one more page, not for another latency.
        for others in 1..4 {
            assert_eq!(link.exchange(&cost, now, page, none).as_ps(), one.as_ps() + others * 819_200);
        }
        // The other direction is free; both are once all of it is sent.
        assert_eq!(link.exchange(&cost, now, none, page), one);
        let later = now.saturating_add(Time::from_us(10));
        assert_eq!(link.exchange(&cost, later, page, page), cost.fault(1, 1, PAGE));
    }

    #[test]
    fn a_link_that_is_the_bottleneck_sends_as_many_pages_however_many_ask() {
        // A page takes 32.768 µs; 4 threads ask again as soon as they have what they asked for.
        let cost = Cost::new(Time::from_us(1), Rate::from_gbps(1));
        let (page, none) = (Crossing { pages: 1, bytes: 4096 }, Crossing::default());
        let mut link = Link::default();
        let mut clocks = [Time::ZERO; 4];
        for _ in 0..1000 {
            let first = clocks.iter_mut().min().expect("four");
            *first = first.saturating_add(link.exchange(&cost, *first, page, none));
        }
        let last = clocks.iter().max().expect("four").as_ps();
        assert!((1000 * 32_768_000..=1005 * 32_768_000).contains(&last), "{last}");
    }
}

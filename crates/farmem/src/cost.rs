//! What an exchange with remote memory takes (document 004, slide 7): delay = latency + size / bandwidth.
//!
//! Latency is paid a request and transmission a page, in each direction apart: from remote memory (a fetch, which the fault waits
//! for) and back to it (the write-back of a dirty page, which a fault waits for that needs its place). The document's way is a page
//! a request; requests of several pages pay latency once, as a swap device with batches does (Gao et al., OSDI '16, section 3).
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

    /// What so many requests take, with so many pages in all of them; a page's transmission is rounded up to a picosecond.
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
}

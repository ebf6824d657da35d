//! What a memory server keeps: pages of many regions within one bound. Regions that were shared have pages in common until one of them
//! writes (copy on write).
//!
//! Pages lie in tables of 512. A table counts as a page: who writes one page here and one there takes no more than is counted.

use super::{PAGE, PAGES_MAX};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const TABLE: usize = PAGES_MAX as usize;

/// Bytes of a server's memory.
#[derive(Debug)]
pub struct Bound {
    all: u64,
    used: AtomicU64,
}

impl Bound {
    /// Nothing is used yet.
    pub fn new(all: u64) -> Arc<Bound> {
        Arc::new(Bound { all, used: AtomicU64::new(0) })
    }

    /// In all.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// Now.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    fn take(self: &Arc<Bound>) -> Result<Taken, Full> {
        if self.used() + PAGE as u64 > self.all {
            return Err(Full);
        }
        self.used.fetch_add(PAGE as u64, Relaxed);
        Ok(Taken(Arc::clone(self)))
    }
}

/// There is no room for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A page's part of the bound, given back when it is dropped.
struct Taken(Arc<Bound>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.used.fetch_sub(PAGE as u64, Relaxed);
    }
}

struct Page {
    bytes: Box<[u8; PAGE]>,
    _taken: Taken,
}

struct Table {
    pages: Box<[Option<Arc<Page>>]>,
    _taken: Taken,
}

impl Table {
    fn new(bound: &Arc<Bound>) -> Result<Table, Full> {
        Ok(Table { _taken: bound.take()?, pages: vec![None; TABLE].into_boxed_slice() })
    }

    fn copy(&self, bound: &Arc<Bound>) -> Result<Table, Full> {
        Ok(Table { _taken: bound.take()?, pages: self.pages.clone() })
    }
}

/// A memory: pages by number. A clone has the same pages, and writes to either are not the other's.
#[derive(Clone)]
pub struct Region {
    bound: Arc<Bound>,
    /// Most pages and tables that it may have, those that it shares with others too.
    most: u64,
    pages: u64,
    tables: BTreeMap<u64, Arc<Table>>,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({} pages)", self.pages)
    }
}

fn place(page: u64) -> (u64, usize) {
    (page / TABLE as u64, (page % TABLE as u64) as usize)
}

impl Region {
    /// An empty one, which may have so many bytes.
    pub fn new(bound: &Arc<Bound>, most: u64) -> Region {
        Region { bound: Arc::clone(bound), most: most / PAGE as u64, pages: 0, tables: BTreeMap::new() }
    }

    /// Bytes that it has, and may have.
    pub fn size(&self) -> (u64, u64) {
        ((self.pages + self.tables.len() as u64) * PAGE as u64, self.most * PAGE as u64)
    }

    /// The bound that it shares with others.
    pub fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    /// The content of a page that was written.
    pub fn read(&self, page: u64) -> Option<&[u8; PAGE]> {
        let (table, at) = place(page);
        self.tables.get(&table)?.pages[at].as_deref().map(|page| &*page.bytes)
    }

    /// Keeps a page.
    ///
    /// # Errors
    /// When there is no room; every page has then what it had.
    pub fn write(&mut self, page: u64, bytes: &[u8; PAGE]) -> Result<(), Full> {
        let (number, at) = place(page);
        let more = u64::from(self.read(page).is_none()) + u64::from(!self.tables.contains_key(&number));
        if more > 0 && self.pages + self.tables.len() as u64 + more > self.most {
            return Err(Full);
        }
        if !self.tables.contains_key(&number) {
            self.tables.insert(number, Arc::new(Table::new(&self.bound)?));
        }
        let table = own(&mut self.tables, number, &self.bound)?;
        match table.pages[at].as_mut().and_then(Arc::get_mut) {
            Some(own) => own.bytes.copy_from_slice(bytes),
            None => {
                let taken = self.bound.take()?;
                self.pages += u64::from(table.pages[at].is_none());
                table.pages[at] = Some(Arc::new(Page { bytes: Box::new(*bytes), _taken: taken }));
            }
        }
        Ok(())
    }

    /// Pages are no longer needed; those that nobody has are none.
    ///
    /// # Errors
    /// When there is no room for a table that was shared; pages before it are free then.
    pub fn free(&mut self, page: u64, count: u32) -> Result<(), Full> {
        let end = page + u64::from(count);
        let numbers: Vec<u64> = self
            .tables
            .range(page / TABLE as u64..end.div_ceil(TABLE as u64))
            .map(|(number, _)| *number)
            .collect();
        for number in numbers {
            let start = number * TABLE as u64;
            let (from, to) = (page.max(start) - start, end.min(start + TABLE as u64) - start);
            let had = self
                .tables
                .get(&number)
                .map_or(0, |table| count_in(&table.pages[from as usize..to as usize]));
            if to - from < TABLE as u64 && had > 0 {
                let table = own(&mut self.tables, number, &self.bound)?;
                table.pages[from as usize..to as usize].fill(None);
            }
            self.pages -= had;
            let left = self.tables.get(&number).map_or(0, |table| count_in(&table.pages));
            if to - from == TABLE as u64 || left == 0 {
                self.tables.remove(&number);
            }
        }
        Ok(())
    }
}

fn count_in(pages: &[Option<Arc<Page>>]) -> u64 {
    pages.iter().filter(|page| page.is_some()).count() as u64
}

/// The table as this region's own.
fn own<'a>(
    tables: &'a mut BTreeMap<u64, Arc<Table>>,
    number: u64,
    bound: &Arc<Bound>,
) -> Result<&'a mut Table, Full> {
    let table = tables.get_mut(&number).ok_or(Full)?;
    if Arc::get_mut(table).is_none() {
        *table = Arc::new(table.copy(bound)?);
    }
    Arc::get_mut(table).ok_or(Full)
}

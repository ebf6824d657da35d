//! A memory server's storage: pages of many regions within one bound. Shared regions have pages in common
//! until one of them writes (copy on write).
//!
//! Pages are in tables of 512. A table counts as a page, so scattered pages take no more than is counted. A
//! packed page counts as its bytes and `BESIDE`, and never as more than a whole page. Pages that regions
//! have in common count once; each further region counts `ENTRY` for a table.

use super::{PAGE, PAGES_MAX};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const TABLE: usize = PAGES_MAX as usize;
/// Bytes that a page takes beside its content: where it is, how often, how long.
const BESIDE: u64 = 96;

/// Bytes that a table takes in a region beside the table.
const ENTRY: u64 = 64;

/// What a page of so many bytes counts.
fn cost(bytes: usize) -> u64 {
    (bytes as u64 + BESIDE).min(PAGE as u64)
}

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

    fn take(self: &Arc<Bound>, bytes: u64) -> Result<Taken, Full> {
        if self.used() + bytes > self.all {
            return Err(Full);
        }
        self.used.fetch_add(bytes, Relaxed);
        Ok(Taken { bound: Arc::clone(self), bytes })
    }
}

/// There is no room for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A page's part of the bound, given back when it is dropped.
struct Taken {
    bound: Arc<Bound>,
    bytes: u64,
}

impl Taken {
    fn resize(&mut self, bytes: u64) -> Result<(), Full> {
        if self.bound.used() - self.bytes + bytes > self.bound.all {
            return Err(Full);
        }
        self.bound.used.fetch_sub(self.bytes, Relaxed);
        self.bound.used.fetch_add(bytes, Relaxed);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.bound.used.fetch_sub(self.bytes, Relaxed);
    }
}

struct Page {
    bytes: Box<[u8]>,
    taken: Taken,
}

struct Table {
    pages: Box<[Option<Arc<Page>>]>,
    _taken: Taken,
}

impl Table {
    fn new(bound: &Arc<Bound>) -> Result<Table, Full> {
        Ok(Table { _taken: bound.take(PAGE as u64)?, pages: vec![None; TABLE].into_boxed_slice() })
    }

    fn copy(&self, bound: &Arc<Bound>) -> Result<Table, Full> {
        Ok(Table { _taken: bound.take(PAGE as u64)?, pages: self.pages.clone() })
    }
}

/// A memory: pages by number.
pub struct Region {
    bound: Arc<Bound>,
    /// Most bytes that its pages and tables may count, those that it shares with others too.
    most: u64,
    /// What its pages count.
    pages_bytes: u64,
    tables: BTreeMap<u64, Arc<Table>>,
    /// For the tables that it had from another one.
    _entries: Option<Taken>,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({} bytes)", self.size().0)
    }
}

fn place(page: u64) -> (u64, usize) {
    (page / TABLE as u64, (page % TABLE as u64) as usize)
}

impl Region {
    /// An empty one, which may have so many bytes.
    pub fn new(bound: &Arc<Bound>, most: u64) -> Region {
        Region { bound: Arc::clone(bound), most, pages_bytes: 0, tables: BTreeMap::new(), _entries: None }
    }

    /// Another one with the same pages; writes to either are not the other's.
    ///
    /// # Errors
    /// When there is no room to know of them all.
    pub fn fork(&self) -> Result<Region, Full> {
        let entries = self.bound.take(self.tables.len() as u64 * ENTRY)?;
        let (bound, tables) = (Arc::clone(&self.bound), self.tables.clone());
        Ok(Region { bound, tables, _entries: Some(entries), ..*self })
    }

    /// Bytes that it has, and may have.
    pub fn size(&self) -> (u64, u64) {
        (self.pages_bytes + (self.tables.len() * PAGE) as u64, self.most)
    }

    /// The bound that it shares with others.
    pub fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    /// The content of a page that was written.
    pub fn read(&self, page: u64) -> Option<&[u8]> {
        let (table, at) = place(page);
        self.tables.get(&table)?.pages[at].as_deref().map(|page| &*page.bytes)
    }

    /// Keeps a page of at most [`PAGE`] bytes.
    ///
    /// # Errors
    /// When there is no room; every page has then what it had.
    pub fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), Full> {
        let (number, at) = place(page);
        let (had, costs) = (self.read(page).map_or(0, |before| cost(before.len())), cost(bytes.len()));
        let table = if self.tables.contains_key(&number) { 0 } else { PAGE as u64 };
        if costs + table > had && self.size().0 - had + costs + table > self.most {
            return Err(Full);
        }
        if table > 0 {
            self.tables.insert(number, Arc::new(Table::new(&self.bound)?));
        }
        let table = unshared(&mut self.tables, number, &self.bound)?;
        match table.pages[at].as_mut().and_then(Arc::get_mut) {
            Some(own) if own.bytes.len() == bytes.len() => own.bytes.copy_from_slice(bytes),
            Some(own) => {
                own.taken.resize(costs)?;
                own.bytes = bytes.into();
            }
            None => {
                let taken = self.bound.take(costs)?;
                table.pages[at] = Some(Arc::new(Page { bytes: bytes.into(), taken }));
            }
        }
        self.pages_bytes = self.pages_bytes - had + costs;
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
            let had =
                self.tables.get(&number).map_or(0, |table| cost_of(&table.pages[from as usize..to as usize]));
            if to - from < TABLE as u64 && had > 0 {
                let table = unshared(&mut self.tables, number, &self.bound)?;
                table.pages[from as usize..to as usize].fill(None);
            }
            self.pages_bytes -= had;
            let left = self.tables.get(&number).map_or(0, |table| cost_of(&table.pages));
            if to - from == TABLE as u64 || left == 0 {
                self.tables.remove(&number);
            }
        }
        Ok(())
    }
}

fn cost_of(pages: &[Option<Arc<Page>>]) -> u64 {
    pages.iter().flatten().map(|page| cost(page.bytes.len())).sum()
}

/// The table as this region's own.
fn unshared<'a>(
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

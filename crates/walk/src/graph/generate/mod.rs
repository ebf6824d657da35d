//! Graphs made on the spot: stochastic block models, the document's among them, and R-MAT.

mod blocks;
mod rmat;
mod sbm;

pub use blocks::Blocks;
pub use rmat::Rmat;
pub use sbm::Sbm;

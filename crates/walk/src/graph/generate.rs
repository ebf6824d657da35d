//! Graphs made on the spot: the document's stochastic block model, and R-MAT.

mod rmat;
mod sbm;

pub use rmat::Rmat;
pub use sbm::Sbm;

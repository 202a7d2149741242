//! The reader against real machines' files, synthetic shapes, and nonsense.

mod captures;
mod corpus;
mod fixtures;
mod hostile;
mod scene;
mod shapes;
mod xml;

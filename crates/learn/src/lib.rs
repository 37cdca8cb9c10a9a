//! x
#![allow(missing_docs, dead_code)]
mod act;
mod data;
mod encode;
mod error;
mod fold;
mod head;
mod lanes;
mod net;
mod store {
    pub fn hex(b: &[u8]) -> String {
        b.iter().map(|b| format!("{b:02x}")).collect()
    }
}

pub use act::Act;
pub use data::{Data, Row, Split};
pub use encode::{Actions, Code, Encoder, Table};
pub use error::Error;
pub use fold::{Batch, Folded, Line, Scratch};
pub use head::{Head, Link};
pub use net::{Cascade, Layer, Mlp, Net, Unit};

//! `ludex bench`.

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
pub struct Bench {}

impl Bench {
    pub fn run(&self) -> Result<()> {
        Ok(())
    }
}

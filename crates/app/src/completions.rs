//! `ludex completions` and `ludex man`: the command line, for shells and for man.

use crate::command;
use crate::errors::usage;
use crate::verbs::say;
use anyhow::{Context, Result};
use clap::Parser;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex completions bash > ~/.local/share/bash-completion/completions/ludex\n  \
    ludex completions zsh > ~/.zfunc/_ludex\n  ludex completions fish > ~/.config/fish/completions/ludex.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(&self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "ludex", &mut script);
        say(String::from_utf8(script)?.trim_end())
    }
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex man | man -l -\n  ludex man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Write a page for every verb into this directory; without it, the page of ludex itself is printed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub fn run(&self) -> Result<()> {
        let Some(dir) = &self.out else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command()).render(&mut page)?;
            return say(String::from_utf8(page)?.trim_end());
        };
        if dir.exists() && !dir.is_dir() {
            return Err(usage(format!("{} is no directory", dir.display())));
        }
        let failed = || format!("writing the pages to {}", dir.display());
        std::fs::create_dir_all(dir).with_context(failed)?;
        clap_mangen::generate_to(command(), dir).with_context(failed)?;
        say(format!("pages of all verbs are in {}", dir.display()))
    }
}

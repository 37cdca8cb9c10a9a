//! Words that people can paste into a shell.

use std::borrow::Cow;

/// This program as it was called, so that what is printed can be typed.
pub fn program() -> String {
    let name = std::env::args_os().next().map(|name| name.to_string_lossy().into_owned());
    shell_word(name.as_deref().unwrap_or("ludex")).into_owned()
}

/// The text as one word of a POSIX shell: in single quotes where it would read as something else.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || "_./:=,@%+-".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_the_word_as_the_text() {
        assert_eq!(shell_word("runs/connect4-uct-1"), "runs/connect4-uct-1");
        let texts =
            ["", "a b", "a b, (c)/run é", "it's", "$HOME", "~", "a\nb", "*?[!]", "\\", "\"", "runs/é", "&;|<>#"];
        for text in texts {
            let Ok(out) = Command::new("sh").args(["-c", &format!("printf %s {}", shell_word(text))]).output() else {
                return; // no POSIX shell here
            };
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
        }
    }
}

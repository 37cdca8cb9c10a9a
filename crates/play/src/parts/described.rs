//! What `parts.txt` says of the parts that every game has: it explains its form.

use super::{Composition, OptionInfo, OptionType, PartInfo, PartKind, Route};
use ludex_core::LimitKind;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Parts and compositions, in the order of the file.
#[derive(Default)]
pub(super) struct Described {
    pub parts: Vec<PartInfo>,
    pub compositions: Vec<Composition>,
}

pub(super) static DESCRIBED: LazyLock<Described> =
    LazyLock::new(|| Described::read(include_str!("../../parts.txt")).expect("parts.txt is well-formed"));

/// So many fields of a line; those that are missing are empty, and the last has the rest of the line.
fn fields<const N: usize>(line: &'static str) -> [&'static str; N] {
    let mut fields = line.splitn(N, '|').map(str::trim);
    [(); N].map(|()| fields.next().unwrap_or(""))
}

fn words(text: &'static str) -> &'static [&'static str] {
    text.split_whitespace().collect::<Vec<_>>().leak()
}

fn option(line: &'static str) -> Option<OptionInfo> {
    let [name, default, typed, about] = fields(line);
    let ty = match *words(typed) {
        ["limit"] => OptionType::Whole(1, LimitKind::named(name)?.most()),
        ["whole", low, high] => OptionType::Whole(low.parse().ok()?, high.parse().ok()?),
        ["real", low, high] => OptionType::Real(low.parse().ok()?, high.parse().ok()?),
        ["part", kind] => OptionType::Part(PartKind::keyed(kind)?),
        ["model"] => OptionType::Model,
        _ => OptionType::Word(words(typed)),
    };
    Some(OptionInfo { name, default, ty, about })
}

impl Described {
    fn read(text: &'static str) -> Option<Self> {
        let (mut all, mut groups) = (Described::default(), HashMap::<&str, Vec<OptionInfo>>::new());
        for block in text.split("\n\n").filter(|b| !b.starts_with('#')) {
            let mut lines = block.lines();
            let (kind, head) = lines.next()?.split_once(' ')?;
            let [name, about, template] = fields(head);
            let (mut options, mut routes) = (Vec::new(), Vec::new());
            for line in lines {
                match (line.strip_prefix("+ "), line.split_once(" -> ")) {
                    (Some(group), _) => options.extend(groups.get(group)?),
                    (_, Some((option, rest))) => {
                        let [to, default, typed, about] = fields(rest);
                        routes.push(Route { option, to, default, words: words(typed), about });
                    }
                    _ => options.push(option(line)?),
                }
            }
            match kind {
                "group" => drop(groups.insert(name, options)),
                "composed" => all.compositions.push(Composition { name, about, template, routes, shared: options }),
                kind => all.parts.push(PartInfo { kind: PartKind::keyed(kind)?, name, about, options, own: false }),
            }
        }
        Some(all)
    }
}

//! Checks a TOML document against [`super::shape`]. Returns valid values as a tree with
//! positions, and reports invalid values as errors. A check depends on the kind of a value, not
//! on its key.

use super::Day;
use super::errors::{PolicyError, PolicySource};
use super::shape::{self, PolicyKey, ValueKind};
use super::words::TextKind;
use crate::catalogue::Catalogue;
use crate::order::Arrange as _;
use crate::text::nearest;
use crate::text::show;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A valid value of a policy, with its position.
#[derive(Debug)]
pub(super) struct PolicyNode {
    /// The byte range of the value in the policy file.
    pub(super) span: Range<usize>,
    /// The value, without its position.
    pub(super) value: PolicyValue,
}

/// A valid value of a policy. Its variant depends on the kind of the key.
#[derive(Debug)]
pub(super) enum PolicyValue {
    /// The version of the policy format, which is always 1.
    Schema,
    /// Text that its kind accepts.
    Text(String),
    /// A TOML local date.
    Date(Day),
    /// A boolean.
    Truth(bool),
    /// A list of texts or tables.
    List(Vec<PolicyNode>),
    /// A table, with known keys or with keys of one kind.
    Table(Table),
}

/// A table with its valid entries, in file order.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The byte range of the table's heading or braces.
    pub(super) span: Range<usize>,
    /// Keys with their positions and values.
    pub(super) entries: Vec<(String, Range<usize>, PolicyNode)>,
    /// True if an entry was left out because its key or value is invalid. `build` then reports no
    /// errors that the entry may explain: missing alternative keys, a `from` without a list, or a
    /// duplicate of the table.
    pub(super) partial: bool,
}

impl Table {
    /// The value at the key `name`; `None` if the key is absent or its value is invalid.
    pub(super) fn get(&self, name: &str) -> Option<&PolicyNode> {
        self.entries.iter().find(|(key, ..)| key == name).map(|(.., node)| node)
    }

    /// The text at the key `name`; `None` if there is no valid text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(PolicyNode::text)
    }

    /// The tables in the list at the key `name`; none if the key is absent.
    pub(super) fn tables(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.get(name).into_iter().flat_map(PolicyNode::items).filter_map(PolicyNode::table)
    }

    /// The table at the key `name`; `None` if there is no valid table.
    pub(super) fn table(&self, name: &str) -> Option<&Self> {
        self.get(name).and_then(PolicyNode::table)
    }

    /// The texts at the key `name`, with their positions. The value may be one text or a list.
    pub(super) fn texts(&self, name: &str) -> impl Iterator<Item = (&str, &PolicyNode)> {
        let items = self.get(name).into_iter().flat_map(|node| match &node.value {
            PolicyValue::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        });
        items.filter_map(|node| Some((node.text()?, node)))
    }
}

impl PolicyNode {
    /// The text; `None` if the value is of another kind.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            PolicyValue::Text(text) => Some(text),
            _ => None,
        }
    }

    fn items(&self) -> &[Self] {
        match &self.value {
            PolicyValue::List(items) => items,
            _ => &[],
        }
    }

    fn table(&self) -> Option<&Table> {
        match &self.value {
            PolicyValue::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The boolean; `None` if the value is of another kind.
    pub(super) fn truth(&self) -> Option<bool> {
        match self.value {
            PolicyValue::Truth(is) => Some(is),
            _ => None,
        }
    }

    /// The day; `None` if the value is of another kind.
    pub(super) fn day(&self) -> Option<Day> {
        match self.value {
            PolicyValue::Date(day) => Some(day),
            _ => None,
        }
    }
}

/// Checks one document against the table of keys.
pub(super) struct DocumentCheck<'a> {
    source: &'a Arc<PolicySource>,
    /// The rules that a policy may name.
    pub(super) catalogue: &'a Catalogue,
    /// The errors that the check found in the document.
    pub(super) problems: Vec<PolicyError>,
}

impl<'a> DocumentCheck<'a> {
    pub(super) fn new(source: &'a Arc<PolicySource>, catalogue: &'a Catalogue) -> Self {
        Self { source, catalogue, problems: Vec::new() }
    }

    /// Reports an error at a position, with its correction.
    pub(super) fn wrong(&mut self, span: &Range<usize>, wrong: String, right: impl Into<String>) {
        let place = Some((Arc::clone(self.source), span.clone()));
        self.problems.push(PolicyError { place, wrong, right: right.into(), lacking: false });
    }

    /// Reports a missing key of the table at `span`, with its correction.
    pub(super) fn lacks(&mut self, span: &Range<usize>, wrong: String, right: impl Into<String>) {
        self.wrong(span, wrong, right);
        self.problems.last_mut().into_iter().for_each(|problem| problem.lacking = true);
    }

    /// Checks a table with known keys; `name` is its name in messages.
    pub(super) fn table(
        &mut self,
        name: &str,
        keys: &'static [PolicyKey],
        span: Range<usize>,
        table: &DeTable<'_>,
    ) -> Table {
        let mut out = Table { span, ..Table::default() };
        let mut meant = Vec::new();
        for (typed, value) in in_order(table) {
            let Some(key) = keys.iter().find(|key| key.name == typed.get_ref()) else {
                meant.extend(self.unknown(name, keys, typed));
                out.partial = true;
                continue;
            };
            match self.value(key.name, &key.kind, value) {
                Some(node) => out.entries.push((key.name.to_owned(), typed.span(), node)),
                None => out.partial = true,
            }
        }
        for key in keys.iter().filter(|key| key.required && !meant.contains(&key.name)) {
            if !table.keys().any(|typed| typed.get_ref() == key.name) {
                let wrong = format!("missing key `{}` in {name}", key.name);
                let right = format!("add `{} = {}`", key.name, example(key.name, &key.kind));
                self.lacks(&out.span, wrong, right);
            }
        }
        out
    }

    /// Reports an unknown key, and returns the key that was probably meant; `None` if no key is
    /// similar.
    fn unknown(
        &mut self,
        name: &str,
        keys: &'static [PolicyKey],
        typed: &Spanned<impl AsRef<str>>,
    ) -> Option<&'static str> {
        let text = typed.get_ref().as_ref();
        let names = || keys.iter().map(|key| key.name);
        let near = nearest(text, names());
        let right = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("{name} has {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.wrong(&typed.span(), format!("{name} has no key `{}`", show(text.as_bytes())), right);
        near
    }

    fn value(
        &mut self,
        key: &str,
        kind: &'static ValueKind,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<PolicyNode> {
        let span = value.span();
        let node = |value| Some(PolicyNode { span: span.clone(), value });
        match (kind, value.get_ref()) {
            (ValueKind::Schema, DeValue::Integer(number)) => {
                if number.as_str() == "1" && number.radix() == 10 {
                    return node(PolicyValue::Schema);
                }
                let wrong = format!("`{key}` is {number}: unknown version of the format");
                self.wrong(&span, wrong, "write 1");
                None
            }
            (ValueKind::Text(word), DeValue::String(_)) => self.text(key, word, value),
            (ValueKind::Date, DeValue::Datetime(date)) => {
                let (Some(date), None, None) = (date.date, date.time, date.offset) else {
                    let wrong = format!("`{key}` is not a day");
                    self.wrong(&span, wrong, "remove the time: 2027-06-01");
                    return None;
                };
                node(PolicyValue::Date(Day { year: date.year, month: date.month, day: date.day }))
            }
            (ValueKind::Truth, DeValue::Boolean(is)) => node(PolicyValue::Truth(*is)),
            (ValueKind::OneOrMore(word), DeValue::String(_)) => self.text(key, word, value),
            (ValueKind::List(word) | ValueKind::OneOrMore(word), DeValue::Array(items)) => {
                if items.is_empty() && matches!(kind, ValueKind::OneOrMore(_)) {
                    let wrong = format!("`{key}` is empty");
                    self.wrong(&span, wrong, "write something, or remove the key");
                    return None;
                }
                let items = items.iter().filter_map(|item| match item.get_ref() {
                    DeValue::String(_) => self.text(key, word, item),
                    other => {
                        let wrong = format!("`{key}` holds {}", found(other));
                        let right = format!("write text, as in \"{}\"", word.example);
                        self.wrong(&item.span(), wrong, right);
                        None
                    }
                });
                let items = items.collect();
                node(PolicyValue::List(items))
            }
            (ValueKind::Table(keys), DeValue::Table(table)) => node(PolicyValue::Table(
                self.table(&format!("`[{key}]`"), keys, span.clone(), table),
            )),
            (ValueKind::Tables(keys), DeValue::Array(items)) => {
                let mut out = Vec::new();
                for item in items {
                    let span = item.span();
                    let DeValue::Table(table) = item.get_ref() else {
                        let wrong = format!("`{key}` holds {}", found(item.get_ref()));
                        let right = format!("write tables, as in {}", example(key, kind));
                        self.wrong(&span, wrong, right);
                        continue;
                    };
                    let name = match key {
                        "files" | "symbols" | "libraries" => format!("an entry of `{key}`"),
                        _ => format!("`[[{key}]]`"),
                    };
                    let value = PolicyValue::Table(self.table(&name, keys, span.clone(), table));
                    out.push(PolicyNode { span, value });
                }
                node(PolicyValue::List(out))
            }
            (ValueKind::Map(name, word), DeValue::Table(table)) => {
                node(PolicyValue::Table(self.map(key, (name, word), span.clone(), table)))
            }
            (_, DeValue::Datetime(date)) if date.date.is_none() && date.time.is_none() => None,
            (kind, other) => {
                self.mistyped(key, kind, &span, other);
                None
            }
        }
    }

    fn text(
        &mut self,
        key: &str,
        word: &'static TextKind,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<PolicyNode> {
        let text = value.get_ref().as_str()?;
        if let Err(fault) = word.check(text, self.catalogue) {
            self.wrong(&value.span(), fault.about(&format!("`{key}`")), fault.right);
            return None;
        }
        Some(PolicyNode { span: value.span(), value: PolicyValue::Text(text.to_owned()) })
    }

    /// Checks a table whose keys are texts of one kind, and whose values are texts of another.
    fn map(
        &mut self,
        key: &str,
        (name, word): (&'static TextKind, &'static TextKind),
        span: Range<usize>,
        table: &DeTable<'_>,
    ) -> Table {
        let mut out = Table { span, ..Table::default() };
        for (typed, value) in in_order(table) {
            let text: &str = typed.get_ref();
            let fine = name.check(text, self.catalogue).map_err(|fault| {
                let wrong = fault.about(&format!("a key of `{key}`"));
                self.wrong(&typed.span(), wrong, fault.right);
            });
            let node = match value.get_ref() {
                DeValue::String(_) => self.text(text, word, value),
                other => {
                    let shown = show(text.as_bytes());
                    let wrong = format!("`{shown}` is {}, not text", found(other));
                    let right = format!("write `{shown} = \"{}\"`", word.example);
                    self.wrong(&value.span(), wrong, right);
                    None
                }
            };
            match node.filter(|_| fine.is_ok()) {
                Some(node) => out.entries.push((text.to_owned(), typed.span(), node)),
                None => out.partial = true,
            }
        }
        out
    }

    fn mistyped(&mut self, key: &str, kind: &ValueKind, span: &Range<usize>, value: &DeValue<'_>) {
        let wrong = format!("`{key}` is {}, not {}", found(value), wanted(kind));
        let right = match kind {
            ValueKind::Table(_) => format!("write `[{key}]`"),
            ValueKind::Map(..) => format!("write a table: {}", example(key, kind)),
            ValueKind::Tables(_)
                if matches!(value, DeValue::Table(_))
                    && !matches!(key, "symbols" | "libraries") =>
            {
                format!("write `[[{key}]]`")
            }
            _ => format!("write `{key} = {}`", example(key, kind)),
        };
        self.wrong(span, wrong, right);
    }
}

/// Keys and values in file order.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.arrange_by_key(|(key, _)| key.span().start);
    entries
}

/// The kind of a value, in words.
fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The expected kind of a value, in words.
fn wanted(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Schema => "a whole number".to_owned(),
        ValueKind::Text(_) => "text".to_owned(),
        ValueKind::Date => "a day".to_owned(),
        ValueKind::Truth => "true or false".to_owned(),
        ValueKind::List(_) => "a list".to_owned(),
        ValueKind::OneOrMore(_) => "text or a list".to_owned(),
        ValueKind::Table(_) | ValueKind::Map(..) => "a table".to_owned(),
        ValueKind::Tables(_) => "a list of tables".to_owned(),
    }
}

/// An example value of a key for messages. A table has its required keys, and the first of its
/// alternative keys (`shape::one_of`).
fn example(key: &str, kind: &ValueKind) -> String {
    match kind {
        ValueKind::Schema => "1".to_owned(),
        ValueKind::Text(word) | ValueKind::OneOrMore(word) => format!("\"{}\"", word.example),
        ValueKind::Date => "2027-06-01".to_owned(),
        ValueKind::Truth => "true".to_owned(),
        ValueKind::List(word) => format!("[\"{}\"]", word.example),
        ValueKind::Map(name, word) => format!("{{ {} = \"{}\" }}", name.example, word.example),
        ValueKind::Table(keys) => {
            let any = shape::one_of(key).and_then(|names| names.first());
            let needed = keys.iter().filter(|key| key.required || any == Some(&key.name));
            let pair = |key: &PolicyKey| format!("{} = {}", key.name, example(key.name, &key.kind));
            format!("{{ {} }}", needed.map(pair).collect::<Vec<_>>().join(", "))
        }
        ValueKind::Tables(keys) => format!("[{}]", example(key, &ValueKind::Table(keys))),
    }
}

//! The JSON Schema (draft 2020-12) of policy files, generated from the table that the parser uses.

use super::shape::{self, PolicyKey, ValueKind};
use super::words::TextKind;
use crate::catalogue::Catalogue;
use serde_json::{Map, Value, json};

/// The schema of policy files as formatted JSON. `catalogue` has the names of rules that the
/// schema accepts.
pub fn schema(catalogue: &Catalogue) -> String {
    let maker = SchemaBuilder(catalogue);
    let mut root = maker.table(shape::FILE, None);
    let head = [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("$id", "linkaudit.policy/1"),
        ("title", "linkaudit policy"),
        ("description", "A policy of linkaudit: linkaudit.toml, or a file that --policy names."),
    ];
    root.extend(head.map(|(key, value)| (key.to_owned(), json!(value))));
    format!("{:#}\n", Value::Object(root))
}

/// Builds the parts of the schema. The catalogue has the rules that a policy may name.
struct SchemaBuilder<'c>(&'c Catalogue);

impl SchemaBuilder<'_> {
    /// The schema of a table with known keys. If the table is an entry of a list, `name` is the key
    /// of the list.
    fn table(&self, keys: &[PolicyKey], name: Option<&str>) -> Map<String, Value> {
        let properties = keys.iter().map(|key| {
            let mut schema = self.value(&key.kind, key.name);
            schema.insert("description".to_owned(), json!(key.doc));
            (key.name.to_owned(), Value::Object(schema))
        });
        let mut out = object(&[
            ("type", json!("object")),
            ("additionalProperties", json!(false)),
            ("properties", properties.collect::<Map<_, _>>().into()),
        ]);
        let required: Vec<&str> =
            keys.iter().filter(|key| key.required).map(|key| key.name).collect();
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        if let Some(any) = name.and_then(shape::one_of) {
            let any: Vec<Value> = any.iter().map(|key| json!({ "required": [key] })).collect();
            out.insert("anyOf".to_owned(), any.into());
        }
        out
    }

    fn value(&self, kind: &ValueKind, name: &str) -> Map<String, Value> {
        match kind {
            ValueKind::Schema => object(&[("const", json!(1))]),
            ValueKind::Text(word) => self.text(word),
            // Editors convert a local date of TOML to a string of JSON.
            ValueKind::Date => object(&[("type", json!("string")), ("format", json!("date"))]),
            ValueKind::Truth => object(&[("type", json!("boolean"))]),
            ValueKind::List(word) => self.list(word),
            ValueKind::OneOrMore(word) => {
                let mut several = self.list(word);
                several.insert("minItems".to_owned(), json!(1));
                object(&[("oneOf", json!([self.text(word), several]))])
            }
            ValueKind::Table(keys) => self.table(keys, None),
            ValueKind::Tables(keys) => {
                object(&[("type", json!("array")), ("items", self.table(keys, Some(name)).into())])
            }
            ValueKind::Map(names, word) => {
                let all = names.all(self.0);
                let mut out = object(&[("type", json!("object"))]);
                if all.is_empty() {
                    out.insert("propertyNames".to_owned(), self.text(names).into());
                    out.insert("additionalProperties".to_owned(), self.text(word).into());
                } else {
                    let properties =
                        all.into_iter().map(|name| (name.to_owned(), self.text(word).into()));
                    out.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
                    out.insert("additionalProperties".to_owned(), json!(false));
                }
                out
            }
        }
    }

    fn list(&self, word: &TextKind) -> Map<String, Value> {
        object(&[
            ("type", json!("array")),
            ("items", self.text(word).into()),
            ("uniqueItems", json!(true)),
        ])
    }

    fn text(&self, word: &TextKind) -> Map<String, Value> {
        let all = word.all(self.0);
        let mut out = object(&[("type", json!("string"))]);
        if all.is_empty() {
            out.insert("examples".to_owned(), json!([word.example]));
        } else {
            out.insert("enum".to_owned(), json!(all));
        }
        if let Some(regex) = word.regex {
            out.insert("pattern".to_owned(), json!(regex));
        }
        out
    }
}

fn object(pairs: &[(&str, Value)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

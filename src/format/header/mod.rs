//! Headers of C and C++: the files that they include on every path through their conditions. A
//! header is read alone, so macros of other headers and of the user's command line are unknown.
//! Includes that depend on unknown macros are left out.
//!
//! [`named`] is fast and may list too many files, because it ignores comments and conditions.
//! Callers use it to select the few headers that [`certain`] reads exactly.

mod condition;
mod lex;
mod macros;

use condition::{and, evaluate, guarded_name, not};
use lex::{Directive, Directives};
use macros::{Macros, Truth};

/// Upper bound, in bytes, for a header that is read.
pub const MOST: u64 = 16 << 20;
/// Upper bound for nested conditions, far above real headers.
const DEEPEST: usize = 1000;

/// An `#include` or `#import` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// The name as written.
    pub name: Vec<u8>,
    /// True for `"name"`: compilers first search the directory of the including file.
    pub quoted: bool,
    /// The line of the directive, from 1.
    pub line: u32,
}

/// The names in all lines that look like an `#include` or `#import`. The flag is true for names in
/// quotes.
pub fn named(text: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    memchr::memchr_iter(b'#', text).filter_map(move |at| {
        // Only blanks may precede a directive on its line.
        let mut before = text[..at].iter().rev().skip_while(|b| matches!(**b, b' ' | b'\t'));
        if before.next().is_some_and(|b| *b != b'\n') {
            return None;
        }
        let rest = blanks(&text[at + 1..]);
        let rest = rest.strip_prefix(b"include").or_else(|| rest.strip_prefix(b"import"))?;
        lex::header_name(blanks(rest))
    })
}

fn blanks(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    &text[count..]
}

/// The includes that every C++ compiler for Linux reaches when it reads the file. `#include_next`
/// directives are left out. Empty if every compiler reaches an `#error`, if the conditions are not
/// balanced, or if a condition is too long or nested too deep.
pub fn certain(text: &[u8]) -> Vec<Include> {
    let mut reader = Reader::default();
    for directive in Directives::new(text) {
        if reader.directive(&directive).is_none() {
            return Vec::new();
        }
    }
    if reader.groups.is_empty() { reader.out } else { Vec::new() }
}

/// One `#if` up to its `#endif`.
struct ConditionalGroup {
    /// True if the lines around the group are compiled.
    outer: Truth,
    /// True if an earlier branch was compiled.
    taken: Truth,
    /// True if the current branch is the one that the group compiles.
    now: Truth,
}

/// The include guard, whose condition is true when the file is read for the first time.
#[derive(Default)]
enum Guard {
    #[default]
    None,
    /// The last directive, apart from `#pragma`, was `#ifndef NAME` or `#if !defined(NAME)`.
    Asked(Vec<u8>),
    /// The file defined the name; the includes from this index on are inside the guard.
    Open(usize),
    /// The guard ended; the includes with these indices were inside the guard.
    Closed(std::ops::Range<usize>),
}

#[derive(Default)]
struct Reader {
    groups: Vec<ConditionalGroup>,
    macros: Macros,
    guard: Guard,
    out: Vec<Include>,
}

impl Reader {
    /// True if the lines at this position are compiled.
    fn active(&self) -> Truth {
        self.groups.last().map_or(Some(true), |group| and(group.outer, group.now))
    }

    /// Handles a directive; `None` if the includes of the file cannot be determined.
    fn directive(&mut self, directive: &Directive<'_>) -> Option<()> {
        let rest = directive.rest.as_slice();
        self.guard(directive);
        match directive.keyword {
            b"if" => self.open(evaluate(directive.whole()?, &self.macros), guarded_name(rest))?,
            b"ifdef" => self.open(self.macros.defined(macros::name(rest)), None)?,
            b"ifndef" => {
                let name = macros::name(rest);
                self.open(not(self.macros.defined(name)), Some(name))?;
            }
            b"elif" => {
                let condition = evaluate(directive.whole()?, &self.macros);
                self.branch(condition)?;
            }
            b"elifdef" => self.branch(self.macros.defined(macros::name(rest)))?,
            b"elifndef" => self.branch(not(self.macros.defined(macros::name(rest))))?,
            b"else" => self.branch(Some(true))?,
            b"endif" => {
                self.groups.pop()?;
                if let Guard::Open(from) = self.guard
                    && self.groups.is_empty()
                {
                    self.guard = Guard::Closed(from..self.out.len());
                }
            }
            b"define" | b"undef" => {
                let is_define = directive.keyword == b"define";
                self.macros.set(rest, is_define, self.active());
            }
            b"include" | b"import" | b"include_next" => self.include(directive),
            b"error" if self.active() == Some(true) => return None,
            _ => {}
        }
        Some(())
    }

    /// Updates the guard before a directive is handled.
    fn guard(&mut self, directive: &Directive<'_>) {
        match std::mem::take(&mut self.guard) {
            asked @ Guard::Asked(_) if directive.keyword == b"pragma" => self.guard = asked,
            Guard::Asked(name) => {
                let is_same =
                    directive.keyword == b"define" && macros::name(&directive.rest) == name;
                if let Some(group) = self.groups.first_mut().filter(|_| is_same) {
                    group.now = Some(true);
                    self.guard = Guard::Open(self.out.len());
                }
            }
            // Another directive follows the guard. If the command line defines the guard's name,
            // the compiler skips the guarded includes, but compiles the rest. So the guarded
            // includes are not certain.
            Guard::Closed(inside) => drop(self.out.drain(inside)),
            guard @ (Guard::Open(_) | Guard::None) => self.guard = guard,
        }
    }

    fn include(&mut self, directive: &Directive<'_>) {
        let active = self.active();
        if active != Some(false) {
            self.macros.forget();
        }
        let is_plain = directive.keyword != b"include_next" && active == Some(true);
        if let Some((name, quoted)) = directive.header.filter(|_| is_plain) {
            let line = directive.line;
            self.out.push(Include { name: name.to_vec(), quoted, line });
        }
    }

    /// Handles an `#if`. `guarded` is NAME in `#ifndef NAME` and `#if !defined(NAME)`. `None` if
    /// conditions are nested too deep.
    fn open(&mut self, condition: Truth, guarded: Option<&[u8]>) -> Option<()> {
        let outer = self.active();
        let is_first = self.groups.is_empty() && condition.is_none();
        if let Some(name) = guarded.filter(|_| is_first) {
            self.guard = Guard::Asked(name.to_vec());
        }
        self.groups.push(ConditionalGroup { outer, taken: Some(false), now: condition });
        (self.groups.len() <= DEEPEST).then_some(())
    }

    /// Handles another branch of the innermost `#if`; `None` if no `#if` is open.
    fn branch(&mut self, condition: Truth) -> Option<()> {
        // A guard has one branch, so this `#ifndef` was not a guard.
        if let Guard::Open(from) = self.guard
            && self.groups.len() == 1
        {
            self.out.truncate(from);
            self.guard = Guard::None;
            self.groups.first_mut()?.now = None;
        }
        let group = self.groups.last_mut()?;
        group.taken = condition::or(group.taken, group.now);
        group.now = and(not(group.taken), condition);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{certain, named};

    fn names(text: &str) -> Vec<String> {
        let text_of = |name: Vec<u8>| String::from_utf8(name).expect("text");
        certain(text.as_bytes()).into_iter().map(|include| text_of(include.name)).collect()
    }

    #[test]
    fn lines_that_look_like_includes() {
        let text = b"#include <a.h>\n  # include \"b.h\"\nx #include <c.h>\n/*\n#include <d.h>*/";
        let found: Vec<(&[u8], bool)> = named(text).collect();
        assert_eq!(found, [(&b"a.h"[..], false), (b"b.h", true), (b"d.h", false)]);
        assert_eq!(named(b"#include MACRO\n#include <a\n>\n#").count(), 0);
    }

    #[test]
    fn guards_are_open_the_first_time() {
        let guarded = "/* c */\n#ifndef A_H\n#define A_H\n#include <a.h>\n#endif\n";
        assert_eq!(names(guarded), ["a.h"]);
        assert_eq!(names("#pragma once\n#include <a.h>"), ["a.h"]);
        assert_eq!(names("#if !defined(A_H)\n# define A_H 1\n#include <a.h>\n#endif"), ["a.h"]);
        // A user may define such a name.
        let other = "#ifndef A\n#include <b.h>\n#define A\n#endif\n#include <a.h>";
        assert_eq!(names(other), ["a.h"]);
        let behind = "#ifndef A\n#define A\n#include <b.h>\n#endif\n#include <a.h>";
        assert_eq!(names(behind), ["a.h"]);
        let branches = "#ifndef A\n#define A\n#include <b.h>\n#else\n#include <a.h>\n#endif";
        assert_eq!(names(branches), [""; 0]);
    }

    #[test]
    fn only_known_conditions_count() {
        assert_eq!(names("#if 0\n#include <a.h>\n#else\n#include <b.h>\n#endif"), ["b.h"]);
        assert_eq!(names("#ifdef _WIN32\n#include <a.h>\n#else\n#include <b.h>\n#endif"), ["b.h"]);
        assert_eq!(names("#ifdef HAVE_X\n#include <a.h>\n#else\n#include <b.h>\n#endif"), [""; 0]);
        let either = "#if defined(X) || defined(__linux__)\n#include <a.h>\n#endif";
        assert_eq!(names(either), ["a.h"]);
        assert_eq!(names("#if __has_include(<a.h>)\n#include <a.h>\n#endif"), [""; 0]);
        assert_eq!(names("#if X > 3\n#elif 1\n#include <a.h>\n#endif"), [""; 0]);
        assert_eq!(names("#if 1\n#elif X\n#include <a.h>\n#else\n#include <a.h>\n#endif"), [""; 0]);
        assert_eq!(names("#define X 2\n#if X == 2\n#include <a.h>\n#endif"), ["a.h"]);
        let forgotten = "#define X 2\n#include <b.h>\n#if X == 2\n#include <a.h>\n#endif";
        assert_eq!(names(forgotten), ["b.h"]);
        assert_eq!(names("#ifndef __linux__\n#error no\n#endif\n#include <a.h>"), ["a.h"]);
        assert_eq!(names("#ifdef __linux__\n#error no\n#endif\n#include <a.h>"), [""; 0]);
        assert_eq!(names("#include CONFIG_H\n#include_next <a.h>"), [""; 0]);
    }

    #[test]
    fn comments_and_strings_hold_no_directives() {
        assert_eq!(names("/*\n#include <a.h>\n*/\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("// x \\\n#include <a.h>\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("const char *a = \"/*\";\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("auto a = R\"x(\n#include <a.h>\n)\" )x\";\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("int a = 1'000'000; /* ' */\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("#if 0\ndon't /*\n#endif\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("#define X /* a\n#include <a.h> */ 1\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("#define X 1 \\\n#include <a.h>\n#include <b.h>"), ["b.h"]);
        assert_eq!(names("#if 1 /* yes */ // no\n#include <b//c.h>\n#endif"), ["b//c.h"]);
    }

    #[test]
    fn lines_are_counted() {
        let text = b"/*\n\n*/ // \\\n\n#define X \\\n 1\n  #include \"a.h\"\r\n";
        let line = certain(text).first().map(|include| include.line);
        assert_eq!(line, Some(7));
    }

    #[test]
    fn hostile_headers_end() {
        let many = 1_000_000;
        let cases = [
            "#if 1\n".repeat(many),
            "#if 1\n".repeat(many) + &"#endif\n".repeat(many),
            format!("#if {}1", "(".repeat(many)),
            format!("#if {}1\n#endif", "!".repeat(many)),
            format!("#if {}\n#endif", "1 ? 2 : ".repeat(many)),
            format!("#if {}1\n#endif", "1 + ".repeat(many)),
            format!("#define X {}", "x".repeat(many)),
            format!("#include \"{}", "a".repeat(many)),
            "#".repeat(many),
            " \t".repeat(many) + "#",
            "/*".repeat(many),
            "R\"(".repeat(many),
            "'".repeat(many),
            "\\\n".repeat(many),
            "\0#include <a.h>\0".repeat(1000),
            "#endif\n#include <a.h>".to_owned(),
            "#else\n#include <a.h>".to_owned(),
        ];
        for case in cases {
            let found = certain(case.as_bytes());
            assert!(found.is_empty(), "{} in {:?}", found.len(), &case[..20.min(case.len())]);
            let _ = named(case.as_bytes()).count();
        }
    }
}

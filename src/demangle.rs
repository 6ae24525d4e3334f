//! Demangles C++ and Rust symbols, with limits on size and depth. Reports show demangled names,
//! and users may type them. Findings have raw names.

use crate::text::show;
use std::borrow::Cow;
use std::fmt::{self, Write};

/// Limit for a mangled name, in bytes. A longer name is not demangled.
const MOST_INPUT: usize = 64 << 10;
/// Limit for a demangled name, in bytes. A longer result is discarded.
const MOST_OUTPUT: usize = 1 << 20;
/// Maximum depth of nested C++ names.
const MOST_DEPTH: u32 = 96;

/// A buffer that refuses to grow beyond [`MOST_OUTPUT`].
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_OUTPUT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The demangled form of a raw name; `None` if the name is not mangled, or if a limit is exceeded.
pub fn demangle(raw: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(raw).ok().filter(|name| name.len() <= MOST_INPUT)?;
    if let Ok(symbol) = rustc_demangle::try_demangle(name) {
        let mut out = Bounded(String::new());
        write!(out, "{symbol:#}").ok()?;
        return Some(show(out.0.as_bytes()));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let options = cpp_demangle::ParseOptions::default().recursion_limit(MOST_DEPTH);
    let symbol = cpp_demangle::BorrowedSymbol::new_with_options(raw, &options).ok()?;
    let options = cpp_demangle::DemangleOptions::default().recursion_limit(MOST_DEPTH);
    let mut out = Bounded(String::new());
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(show(usual(&out.0).as_bytes()))
}

/// Rewrites `cpp_demangle`'s names of vtables, VTTs and thunks as `c++filt` writes them: `vtable
/// for X`.
fn usual(text: &str) -> Cow<'_, str> {
    let inside = |begin: &str| text.strip_prefix(begin)?.strip_suffix(")}");
    if let Some(name) = inside("{vtable(") {
        return format!("vtable for {name}").into();
    }
    if let Some(name) = inside("{vtt(") {
        return format!("VTT for {name}").into();
    }
    let Some((offset, name)) =
        inside("{virtual override thunk(").and_then(|rest| rest.split_once(")}, "))
    else {
        return text.into();
    };
    let is_virtual = offset.starts_with("{virtual offset(");
    let word = if is_virtual { "virtual" } else { "non-virtual" };
    format!("{word} thunk to {name}").into()
}

/// The demangled form of a raw Rust name with its hash, which [`demangle`] omits. `None` for any
/// other name, or if a limit is exceeded.
pub fn demangle_with_hashes(raw: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(raw).ok().filter(|name| name.len() <= MOST_INPUT)?;
    let symbol = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded(String::new());
    write!(out, "{symbol}").ok()?;
    Some(show(out.0.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{demangle, demangle_with_hashes};

    #[test]
    fn both_languages_and_neither() {
        assert_eq!(demangle(b"_ZN3foo3barEv").as_deref(), Some("foo::bar()"));
        let rust = b"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE";
        assert_eq!(demangle(rust).as_deref(), Some("core::fmt::Formatter::write_str"));
        let hashed = "core::fmt::Formatter::write_str::h0123456789abcdef";
        assert_eq!(demangle_with_hashes(rust).as_deref(), Some(hashed));
        assert_eq!(demangle_with_hashes(b"_ZN3foo3barEv"), None);
        assert_eq!(demangle(b"_ZTV1A").as_deref(), Some("vtable for A"));
        assert_eq!(demangle(b"_ZTT1A").as_deref(), Some("VTT for A"));
        assert_eq!(demangle(b"_ZThn8_N1A1fEv").as_deref(), Some("non-virtual thunk to A::f()"));
        assert_eq!(demangle(b"_ZTv0_n24_N1A1fEv").as_deref(), Some("virtual thunk to A::f()"));
        assert_eq!(demangle(b"malloc"), None);
        assert_eq!(demangle(b"_Z\xff"), None);
    }
}

//! Writes an object of a graph as assembly text and its versions as a version script.

use std::fmt::Write;

use super::model::{Arch, Def, Kind, Object, Ref, Use, Visibility};

/// The assembly text with only the definitions, as a link against the object needs them.
pub fn stub(object: &Object) -> String {
    let mut text = String::new();
    for def in &object.defs {
        define(&mut text, def, &object.versions, true);
    }
    text + END
}

/// The assembly text of the object that is loaded.
pub fn whole(arch: Arch, object: &Object) -> String {
    let mut text = String::new();
    for def in &object.final_defs {
        define(&mut text, def, &object.final_versions, false);
    }
    text.push_str(".text\n.globl _start\n_start:\n");
    for (index, reference) in object.refs.iter().enumerate() {
        refer(&mut text, arch, reference, index);
    }
    text.push_str(".text\n ret\n.data\n.balign 8\n.Lhere: ");
    line(&mut text, &format!("{} .Lhere", word(arch)));
    text + END
}

const END: &str = ".section .note.GNU-stack,\"\",@progbits\n";

/// The version script; `None` for an object without versions.
pub fn version_script(defs: &[Def], versions: &[String]) -> Option<String> {
    let mut text = String::new();
    for (index, version) in versions.iter().enumerate() {
        let _ = write!(text, "{version} {{ global:");
        // An empty node is refused by some linkers.
        let _ = write!(text, " _marker_{index};");
        for def in defs.iter().filter(|def| def.version == Some(index)) {
            let _ = write!(text, " {};", def.name);
        }
        text.push_str(" }");
        if index % 2 == 1 {
            let _ = write!(text, " {}", versions[index - 1]);
        }
        text.push_str(";\n");
    }
    (!versions.is_empty()).then_some(text)
}

fn line(text: &mut String, what: &str) {
    text.push_str(what);
    text.push('\n');
}

fn word(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => ".quad",
        Arch::I386 => ".long",
    }
}

fn define(text: &mut String, def: &Def, versions: &[String], stub: bool) {
    body(text, def, &def.name);
    if def.visibility == Visibility::Protected && !stub {
        line(text, &format!(".protected {}", def.name));
    }
    for old in &def.old {
        let label = format!("{}_in_{old}", def.name);
        body(text, def, &label);
        line(text, &format!(".symver {label}, {}@{}, remove", def.name, versions[*old]));
    }
}

fn body(text: &mut String, def: &Def, label: &str) {
    let Def { kind, weak, size, .. } = def;
    line(text, &format!("{} {label}", if *weak { ".weak" } else { ".globl" }));
    let (section, kind) = match kind {
        Kind::Function => (".text", "function"),
        Kind::Ifunc => (".text", "gnu_indirect_function"),
        Kind::Data => (".data", "object"),
        Kind::Unique => (".data", "gnu_unique_object"),
        Kind::Tls => (".section .tdata,\"awT\",@progbits", "object"),
        Kind::Absolute => {
            line(text, &format!("{label} = 0x{}", size * 1000 - 4000));
            return;
        }
    };
    line(text, section);
    if section != ".text" {
        line(text, ".balign 4");
    }
    line(text, &format!(".type {label}, @{kind}"));
    line(text, &format!("{label}:"));
    if section == ".text" {
        line(text, " ret");
        line(text, &format!(".size {label}, .-{label}"));
    } else {
        line(text, &format!(" .fill {}, 4, 1", size / 4));
        line(text, &format!(".size {label}, {size}"));
    }
}

fn refer(text: &mut String, arch: Arch, reference: &Ref, index: usize) {
    let symbol = match &reference.version {
        Some(version) => {
            let label = format!("versioned_{index}");
            line(text, &format!(".symver {label}, {}@{version}", reference.name));
            label
        }
        None => reference.name.clone(),
    };
    if reference.weak {
        line(text, &format!(".weak {symbol}"));
    }
    for how in &reference.uses {
        if *how == Use::Pointer {
            line(text, &format!(".data\n.balign 8\n {} {symbol}\n.text", word(arch)));
            continue;
        }
        let code = match arch {
            Arch::Amd64 => amd64(*how, &symbol),
            Arch::I386 => i386(*how, &symbol),
        };
        line(text, &code);
    }
}

fn amd64(how: Use, symbol: &str) -> String {
    match how {
        Use::Call => format!(" call {symbol}@PLT"),
        Use::Got | Use::Pointer => format!(" movq {symbol}@GOTPCREL(%rip), %rax"),
        Use::Copy => format!(" movl {symbol}(%rip), %eax"),
        Use::Address => format!(" movl ${symbol}, %eax"),
        // The byte sequence that linkers expect around a call for a thread-local address.
        Use::TlsGlobal => format!(
            " .byte 0x66\n leaq {symbol}@tlsgd(%rip), %rdi\n .word 0x6666\n rex64\n \
             call __tls_get_addr@PLT"
        ),
        Use::TlsInitial => format!(" movq {symbol}@gottpoff(%rip), %rax"),
        Use::TlsDescriptor => {
            format!(" leaq {symbol}@tlsdesc(%rip), %rax\n call *{symbol}@tlscall(%rax)")
        }
    }
}

fn i386(how: Use, symbol: &str) -> String {
    match how {
        Use::Call => format!(" call {symbol}@PLT"),
        Use::Got | Use::Pointer => format!(" movl {symbol}@GOT(%ebx), %eax"),
        Use::Copy => format!(" movl {symbol}, %eax"),
        Use::Address => format!(" movl ${symbol}, %eax"),
        Use::TlsGlobal => {
            format!(" leal {symbol}@tlsgd(,%ebx,1), %eax\n call ___tls_get_addr@PLT")
        }
        Use::TlsInitial => format!(" movl {symbol}@gotntpoff(%ebx), %eax"),
        Use::TlsDescriptor => {
            format!(" leal {symbol}@tlsdesc(%ebx), %eax\n call *{symbol}@tlscall(%eax)")
        }
    }
}

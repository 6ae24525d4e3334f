//! Lists with `llvm_map_components_to_libnames()`, whose values are components: `Core` stands for
//! the archive `LLVMCore`.

use super::targets::{Archive, build, fixed};

const COMPILER: &[Archive] = &[
    ("clangTool", &[("tool", &["basic", "core"])]),
    ("clangBasic", &[("basic", &[])]),
    ("LLVMIRReader", &[("reader", &["core"])]),
    ("LLVMCore", &[("core", &[])]),
    ("LLVMSupport", &[("support", &[])]),
];
const LINKED: [&str; 4] = ["clangTool", "LLVMIRReader", "LLVMCore", "LLVMSupport"];
const LINK: &str = "target_link_libraries(m PRIVATE ${CLANG_LIBS} ${LLVM_LIBS})\n";

/// An archive of another project joins a variable that can write its name, although the components
/// are the longest list.
#[test]
fn components_take_no_other_archives() {
    let lab = build(COMPILER, &["tool", "reader", "support"], &LINKED);
    let components = "llvm_map_components_to_libnames(LLVM_LIBS IRReader Core Support)\n";
    let list = |names| format!("set(CLANG_LIBS {names})\n{components}{LINK}");
    let (status, new, said) = fixed(&lab, &list("clangTool"));
    assert_eq!((status, new), (Some(0), list("clangTool clangBasic")), "{said}");
}

/// A component with the name of an archive does not list that archive.
#[test]
fn components_are_not_archives() {
    let lab = build(COMPILER, &["tool", "reader", "support"], &LINKED);
    let list = "llvm_map_components_to_libnames(LLVM_LIBS clangTool)\n\
                target_link_libraries(m PRIVATE ${LLVM_LIBS})\n";
    let (status, new, said) = fixed(&lab, list);
    assert!(status == Some(2) && !new.contains("clangBasic"), "{status:?} {new}{said}");
}

/// A variable may get components a second time. Its components are then left out, but other
/// variables take names.
#[test]
fn components_may_be_set_again() {
    let lab = build(COMPILER, &["tool", "reader", "support"], &LINKED);
    let again = "llvm_map_components_to_libnames(LLVM_LIBS Core)\n\
                 target_link_libraries(other PRIVATE ${LLVM_LIBS})\n\
                 llvm_map_components_to_libnames(LLVM_LIBS IRReader Core Support)\n";
    let list = |names| format!("set(CLANG_LIBS {names})\n{again}{LINK}");
    let (status, new, said) = fixed(&lab, &list("clangTool"));
    assert_eq!((status, new), (Some(0), list("clangTool clangBasic")), "{said}");
}

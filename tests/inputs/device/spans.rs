//! Compares `image-span` on large objects with `readelf -S`: the largest sections, and the distance
//! between code and data. The objects are large because of data that takes no space in the file.

use crate::support::{self, Lab, has, skip};
use serde_json::Value;

/// A loaded section: name, address, size and flags.
type Section = (String, u64, u64, String);

const MODEL: &str = "-mcmodel=large";
/// GCC 14 puts larger data of that model into `.lbss`.
const THRESHOLD: &str = "-mlarge-data-threshold=2147483647";

#[test]
fn sections_and_distances_equal_those_of_readelf() {
    let lab = Lab::new();
    let device = "__attribute__((section(\".hip_fatbin\"))) const char d[3 << 20] = {1};";
    let text = "__attribute__((section(\".far\"))) void far(void) {}";
    let thread = "__thread char t[1700ul << 20]; char *thread(void) { return t; }";
    let cases: [(&str, String, &[&str]); 5] = [
        ("bss", "char a[1600ul << 20]; char *start(void) { return a; }".into(), &[]),
        (
            "device",
            format!("{device} char a[1790ul << 20]; char *start(void) {{ return a; }}"),
            &[],
        ),
        (
            "two",
            format!(
                "char a[900ul << 20]; char b[900ul << 20] __attribute__((section(\".more,\\\"aw\\\",@nobits#\"))); {text}"
            ),
            &[],
        ),
        // .tbss takes no room: the second array makes the image large.
        (
            "thread",
            format!("{thread} char a[1600ul << 20]; char *start(void) {{ return a; }}"),
            &[],
        ),
        (
            "code first",
            "char a[1600ul << 20]; char *start(void) { return a; }".into(),
            &["-Wl,-z,noseparate-code"],
        ),
    ];
    let (mut sections, mut differences) = (0, Vec::new());
    for (name, source, flags) in &cases {
        let path = format!("{}/lib/liblarge.so", name.replace(' ', "-"));
        let flags = [&[MODEL, THRESHOLD, "-Wl,-soname,liblarge.so"], *flags].concat();
        lab.so(&path, source, &flags);
        let (message, parts) = said(&lab, &path);
        let (apart, largest) = expected(&lab, &path);
        if !message.ends_with(&format!("code and data are up to {apart} MiB apart")) {
            differences.push(format!("{name}: {message}: {apart}"));
        }
        sections += parts.len();
        if parts != largest {
            differences.push(format!("{name}: {parts:#?} {largest:#?}"));
        }
    }
    println!(
        "image-span: {} images, {sections} sections, {} differences",
        cases.len(),
        differences.len()
    );
    assert!(sections >= cases.len() && differences.is_empty(), "{differences:#?}");
}

/// Code of the medium model reaches `.lbss` with 64-bit addresses: only the other sections count.
/// readelf shows the flag as `l`.
#[test]
fn large_sections_do_not_count() {
    let lab = Lab::new();
    let far = "static char far[3ul << 30]; char *start(void) { return far; }";
    let near = "char near[1600ul << 20] __attribute__((section(\".bss.near\")));";
    lab.so("far/liblarge.so", far, &["-mcmodel=medium"]);
    lab.so("both/liblarge.so", &format!("{far} {near}"), &["-mcmodel=medium"]);
    let shown = lab.sh("readelf -SW far/liblarge.so both/liblarge.so").stdout;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let sections: Vec<Section> = shown.lines().filter_map(section).collect();
    let is_large = |one: &&Section| one.0 == ".lbss" && one.3.contains('l') && one.2 == 3 << 30;
    assert_eq!(sections.iter().filter(is_large).count(), 2, "{shown}");

    let report = lab.linkaudit(&["check", "far", "--isolated", "--format", "json"]);
    let report: Value = support::whole(&report.stdout);
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(0), "{report:#}");
    let (message, parts) = said(&lab, "both/liblarge.so");
    assert!(message.starts_with("spans 1600 MiB, 78 %"), "{message}");
    assert!(message.ends_with("up to 1600 MiB apart"), "{message}");
    assert!(parts[0].starts_with("the section .bss at"), "{parts:?}");
}

/// With 65,280 sections or more, their number is in the first section header.
#[test]
fn an_image_of_many_sections() {
    if !has("ld.lld-19") {
        return skip("an_image_of_many_sections", "there is no ld.lld-19");
    }
    let lab = Lab::new();
    let each = ".altmacro\n.macro one n\n.section t\\n,\"a\"\n.byte 1\n.endm\n.set i, 0\n";
    let many = ".rept 66000\none %i\n.set i, i + 1\n.endr\n";
    lab.write("many.s", format!("{each}{many}.text\n.byte 0\n.bss\n.skip 1600 << 20\n"));
    lab.mkdir("lib");
    let made = lab.sh("gcc -c many.s -o many.o && ld.lld-19 -shared -o lib/liblarge.so many.o");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (message, parts) = said(&lab, "lib/liblarge.so");
    let (apart, largest) = expected(&lab, "lib/liblarge.so");
    assert!(message.ends_with(&format!("code and data are up to {apart} MiB apart")), "{message}");
    assert_eq!(parts[0], largest[0]);
}

/// Without section headers the message has the segments.
#[test]
fn segments_stand_for_sections_that_are_not_there() {
    let lab = Lab::new();
    lab.so(
        "p/libl.so",
        "char a[1600ul << 20]; char *start(void) { return a; }",
        &[MODEL, THRESHOLD],
    );
    let mut bytes = std::fs::read(lab.path("p/libl.so")).expect("a library");
    // e_shoff, then e_shnum and e_shstrndx.
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    std::fs::write(lab.path("p/libl.so"), bytes).expect("written");
    let (message, parts) = said(&lab, "p/libl.so");
    assert!(!message.contains("apart"), "{message}");
    assert!(parts[0].starts_with("the writable segment at 0x"), "{parts:?}");
}

/// The message of the only finding, and the largest parts.
fn said(lab: &Lab, path: &str) -> (String, Vec<String>) {
    let args = ["check", path, "--isolated", "--format", "json"];
    let report: Value = support::whole(&lab.linkaudit(&args).stdout);
    let findings = report["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|one| one["rule"] == "image-span");
    let finding = finding.unwrap_or_else(|| panic!("{path}: {report:#}"));
    let parts = finding["evidence"].as_array().expect("evidence").iter();
    let parts = parts.filter(|part| part["how"] == "largest");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    (text(&finding["message"]), parts.map(|part| text(&part["reason"])).collect())
}

/// The same facts, as `readelf` prints them.
fn expected(lab: &Lab, path: &str) -> (u64, Vec<String>) {
    let shown = lab.sh(&format!("readelf -SW {path}")).stdout;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let mut all: Vec<Section> = shown.lines().filter_map(section).collect();
    let extent = |is_code: bool| {
        let some = || all.iter().filter(|section| section.3.contains('X') == is_code);
        let first = some().map(|section| section.1).min().expect("a section");
        (first, some().map(|section| section.1 + section.2).max().expect("a section"))
    };
    let (code, data) = (extent(true), extent(false));
    let apart = data.1.saturating_sub(code.0).max(code.1.saturating_sub(data.0));
    all.sort_by_key(|section| std::cmp::Reverse(section.2));
    let words = |(name, address, size, _): &Section| {
        let device = if name == ".hip_fatbin" { " of GPU code" } else { "" };
        format!("the section {name} at {address:#x}: {} MiB{device}", size >> 20)
    };
    (apart >> 20, all.iter().take(3).filter(|section| section.2 >> 20 > 0).map(words).collect())
}

/// A line of `readelf -SW`: number, name, type, address, offset, size, entry size, flags.
fn section(line: &str) -> Option<Section> {
    let (number, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let _: u32 = number.trim().parse().ok()?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [name, kind, address, _, size, _, flags, ..] = words[..] else { return None };
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let is_loaded = flags.contains('A') && !(kind == "NOBITS" && flags.contains('T'));
    is_loaded.then(|| Some((name.to_owned(), hex(address)?, hex(size)?, flags.to_owned())))?
}

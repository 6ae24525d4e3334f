# QA of a recipe, like those of insane.bbclass: audits ${D} as it will be installed over the recipe's
# sysroot. INHERIT += "linkaudit" in local.conf enables it for all recipes.
#   LINKAUDIT_FLAGS = "--policy ${UNPACKDIR}/linkaudit.toml"   allows one finding, in the recipe
#   INSANE_SKIP += "linkaudit"                                 turns it off, in the recipe
#   ERROR_QA:remove = "linkaudit", WARN_QA:append = " linkaudit"   warns only

LINKAUDIT_FLAGS ?= ""
DEPENDS:append:class-target = " linkaudit-native"
ERROR_QA:append = " linkaudit"

python do_linkaudit() {
    import shlex
    import subprocess
    import oe.qa

    if "linkaudit" in (d.getVar("INSANE_SKIP") or "").split():
        return
    command = ["linkaudit", "--isolated", "--root", d.getVar("RECIPE_SYSROOT"), "--staged", d.getVar("D")]
    command += shlex.split(d.getVar("LINKAUDIT_FLAGS") or "")
    env = dict(os.environ, PATH=d.getVar("PATH"))
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    if result.returncode != 0:
        text = "linkaudit: status %d\n%s" % (result.returncode, result.stdout)
        oe.qa.handle_error("linkaudit", text, d)
        oe.qa.exit_if_errors(d)
}
addtask linkaudit after do_install before do_package

# Audits the root file system of an image: `inherit linkaudit-image` in its recipe.
#   LINKAUDIT_IMAGE_FLAGS = "--policy ${THISDIR}/files/linkaudit.toml"   allows one finding
#   LINKAUDIT_IMAGE = "0"                                                turns it off

LINKAUDIT_IMAGE ?= "1"
LINKAUDIT_IMAGE_FLAGS ?= ""
do_rootfs[depends] += "linkaudit-native:do_populate_sysroot"
ROOTFS_POSTPROCESS_COMMAND:append = " linkaudit_image;"

linkaudit_image() {
    if [ "${LINKAUDIT_IMAGE}" != 0 ]; then
        linkaudit --isolated --root ${IMAGE_ROOTFS} ${LINKAUDIT_IMAGE_FLAGS} ${IMAGE_ROOTFS}
    fi
}

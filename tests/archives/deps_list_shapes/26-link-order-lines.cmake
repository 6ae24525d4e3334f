#: linked = tool yaml object binary
#: add = remarks
#: refers = tool>yaml yaml>object object>binary yaml>remarks remarks>binary
#: value = TOOL
#: words = remarks
#: diff = +1
#: before = yaml<remarks remarks<binary
set(TOOL
  tool
  yaml
  object
  binary
  pthread
)

#: linked = part1 part2 part10 part20
#: add = part9
#: value = PARTS
#: words = part9
#: diff = +1
set(PARTS
  part1
  part2
  part10
  part20
)

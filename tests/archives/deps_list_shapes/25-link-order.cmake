#: linked = app zmid core base
#: add = helper
#: refers = app>zmid zmid>core core>base zmid>helper helper>base
#: value = LINK
#: words = helper
#: diff = ~1
#: before = helper<base zmid<helper
set(LINK app zmid core base)

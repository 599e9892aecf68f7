# Joins the lines of each sense and drops its number, part of speech, and [syn: ...] and [ant: ...] lists.
function flush() {
  if (text == "") return
  gsub(/\[(syn|ant):[^]]*\]/, "", text)
  if (!(text in seen)) print text
  seen[text] = 1
  text = ""
}
/^[^ ]/ { flush(); next }
/^ *((n|v|adj|adv) )?[0-9]+: / { flush(); sub(/^ *((n|v|adj|adv) )?[0-9]+: /, ""); text = $0; next }
{ if (text != "") { sub(/^ +/, " "); text = text $0 } }
END { flush() }
# SPDX-License-Identifier: Apache-2.0

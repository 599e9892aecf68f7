"""What the program carries of this folder, as text of C: embed.py NAME FILE OUT [STYLE]. Of a script there is also NAME_HASH, by which a
page allows it alone, and its colours are those of STYLE, gnuplot's."""
import base64
import hashlib
import json
import re
import sys

name, source, out = sys.argv[1:4]
with open(source, encoding="utf-8") as file:
    text = file.read()
lines = []
if len(sys.argv) > 4:
    with open(sys.argv[4], encoding="utf-8") as file:
        colours = re.search(r"array colour\[\d+\] = \[(.*?)\]", file.read(), re.S)[1].replace("\\\n", "")
    text = "".join(line.strip() + "\n" for line in text.splitlines() if not line.startswith("//")).replace("/*colours*/", colours)
    lines = [f'#define {name}_HASH "{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"']
with open(out, "w", encoding="utf-8") as file:
    file.write("\n".join([*lines, f"#define {name} {json.dumps(text, ensure_ascii=False)}", ""]))
# SPDX-License-Identifier: Apache-2.0

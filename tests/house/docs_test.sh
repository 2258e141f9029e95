# SPDX-License-Identifier: Apache-2.0
# Pages of docs/ that follow from the sources are up to date, links within the
# repository lead somewhere, and the kernel map names functions where they are.
set -eu
"$RK_SOURCE/scripts/gen-docs" --check
exec python3 - "$RK_SOURCE" <<'EOF'
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = [root / "README.md", root / "workloads/README.md", *sorted((root / "docs").glob("*.md"))]
faults = []
for page in pages:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
            faults.append(f"{page.relative_to(root)}: the link to {target} leads nowhere")
rows = 0
for line in (root / "docs/kernel-map.md").read_text(encoding="utf-8").splitlines():
    cells = line.split("|")
    at = next((i for i, c in enumerate(cells) if re.search(r"`(?:kernel_events|sim)/[\w/.]+\.(?:cpp|h)`", c)), 0)
    if not line.startswith("|") or not 0 < at < 3 or at + 1 >= len(cells):
        continue
    rows += 1
    folder, text = "", ""
    files = []
    for name in re.findall(r"`([\w/.]+\.(?:cpp|h|def))`", cells[at]):
        if "/" in name:
            folder = name.rsplit("/", 1)[0]
        else: # beside the one before it
            name = f"{folder}/{name}"
        files.append(name)
        if not (root / name).exists():
            faults.append(f"docs/kernel-map.md: there is no {name}")
            continue
        for path in {root / name, (root / name).with_suffix(".h")}:
            if path.exists():
                text += path.read_text(encoding="utf-8")
    for name in re.findall(r"`(_*[a-z][a-z0-9_]*)`", cells[at + 1]):
        if not re.search(rf"\b{name}\b", text):
            faults.append(f"docs/kernel-map.md: {', '.join(files)}: no {name}")
print("\n".join(faults))
sys.exit(1 if faults or len(pages) < 3 or rows < 30 else 0)
EOF

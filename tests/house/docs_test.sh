# SPDX-License-Identifier: Apache-2.0
# Pages of docs/ that follow from the sources are up to date, and links within the
# repository lead somewhere.
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
print("\n".join(faults))
sys.exit(1 if faults or len(pages) < 3 else 0)
EOF

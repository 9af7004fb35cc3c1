"""The sources are formatted by clang-format 14 (Debian 12); another version may differ.

usage: format.py
"""

import subprocess
import sys

from checker import ROOT, files, need

sources = [
    path for folder in ("src", "tests") for path in files(ROOT / folder)
    if path.suffix in (".h", ".cc")
]
command = [need("clang-format-14", "clang-format"), "--dry-run", "-Werror", *sources]
status = subprocess.run(command).returncode
print("clean" if status == 0 else "the lines above are not as clang-format has them: make format")
sys.exit(status)

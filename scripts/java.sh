#!/bin/sh
# Install a Java runtime for Spark with the system's package manager. Where that takes rights that
# we do not have, print the one command and fail.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

fail() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

# The first release that Spark runs on and this Debian or Ubuntu carries.
apt_package() {
    for release in 17 21 25; do
        if apt-cache show "openjdk-$release-jre-headless" 2>/dev/null | grep -q .; then
            echo "openjdk-$release-jre-headless"
            return
        fi
    done
}

none="Spark needs Java 17 or newer, and there is none here"
may=""
if ! has brew && [ "$(id -u)" != 0 ]; then may="sudo "; fi
if [ -n "$may" ] && has sudo && sudo -n true 2>/dev/null; then may="sudo -n "; fi

if has brew; then install="brew install openjdk@17"
elif has apt-get; then
    package=$(apt_package)
    if [ -z "$package" ] && [ "$may" != "sudo " ]; then
        ${may}apt-get update -qq >&2
        package=$(apt_package)
    fi
    install="apt-get install -y --no-install-recommends ${package:-openjdk-17-jre-headless}"
elif has dnf; then install="dnf install -y java-17-openjdk-headless"
elif has yum; then install="yum install -y java-17-openjdk-headless"
elif has apk; then install="apk add openjdk17-jre-headless"
elif has pacman; then install="pacman -S --noconfirm jre17-openjdk-headless"
elif has zypper; then install="zypper --non-interactive install java-17-openjdk-headless"
else fail "$none" "install one, or set JAVA_HOME to its folder"
fi

[ "$may" != "sudo " ] || fail "$none" "$may$install"

echo "$none. Running: $may$install"
said=$($may$install 2>&1) || { echo "$said" | tail -n 5 >&2; fail "Java could not be installed" "$may$install"; }

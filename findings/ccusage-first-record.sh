#!/usr/bin/env bash
# Claude Code writes an answer as a record for each block, and the tokens of the output in the last one are those of the whole answer.
# ccusage 18.0.11 takes the first record of a message: it counts 1 token of output here in place of 500.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ccusage@18.0.11 >/dev/null
project=config/projects/app; mkdir -p "$project"
record() {
	printf '{"type":"assistant","sessionId":"s","requestId":"req_1","timestamp":"2026-02-11T10:00:0%s.000Z","version":"2.1.30","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[%s],"usage":{"input_tokens":3,"cache_creation_input_tokens":2000,"cache_read_input_tokens":9000,"output_tokens":%s}}}\n' "$1" "$2" "$3"
}
{
	record 1 '{"type":"text","text":"I read the file."}' 1
	record 2 '{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.txt"}}' 500
} >"$project/s.jsonl"
counted=$(CLAUDE_CONFIG_DIR=$PWD/config node_modules/.bin/ccusage session --json --offline | node -e '
	let text = ""; process.stdin.on("data", (piece) => { text += piece; });
	process.stdin.on("end", () => console.log(JSON.parse(text).totals.outputTokens));')
echo "ccusage 18.0.11: $counted of 500 tokens of output"
[ "$counted" = 1 ]

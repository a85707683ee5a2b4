#!/usr/bin/env bash
# An extension of Oh My Pi gives a built-in provider another address: `pi.registerProvider("anthropic", { baseUrl })`.
# @oh-my-pi/pi-coding-agent 18.2.3 uses that address for its default model, and the old address if `--model` names a model of the provider.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @oh-my-pi/pi-coding-agent@18.2.3 bun@1.4.5 >/dev/null
mkdir -p home/.omp/agent project
cat >extension.ts <<'END'
export default (pi: any) => pi.registerProvider("anthropic", { baseUrl: process.env.ADDRESS_OF_EXTENSION });
END
cat >run.mjs <<'END'
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { Worker, isMainThread, parentPort } from "node:worker_threads";
import { createServer } from "node:http";

if (!isMainThread) {
	const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
	const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [], stop_reason: null };
	const answer = [
		{ type: "message_start", message: { ...message, usage: { input_tokens: 10, output_tokens: 1 } } },
		{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
		{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Done." } },
		{ type: "content_block_stop", index: 0 },
		{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
		{ type: "message_stop" },
	];
	let asked = 0;
	const server = createServer((request, response) => {
		asked += request.method === "POST" ? 1 : 0;
		request.resume().on("end", () => response.writeHead(200, { "Content-Type": "text/event-stream" }).end(answer.map(event).join("")));
	}).listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
	parentPort.on("message", () => parentPort.postMessage(asked));
} else {
	const next = (worker) => new Promise((resolve) => worker.once("message", resolve));
	const askedOf = (worker) => (worker.postMessage("asked"), next(worker));
	const workers = [0, 1].map(() => new Worker(new URL(import.meta.url)));
	const [own, ofExtension] = (await Promise.all(workers.map(next))).map((port) => `http://127.0.0.1:${port}`);
	writeFileSync("home/.omp/agent/models.yml", `providers:\n  anthropic:\n    baseUrl: ${own}\n`);
	const env = { PATH: process.env.PATH, HOME: `${process.cwd()}/home`, ANTHROPIC_API_KEY: "none", ADDRESS_OF_EXTENSION: ofExtension };
	const results = [];
	for (const model of [[], ["--model", "anthropic/claude-sonnet-4-5"]]) {
		const before = await Promise.all(workers.map(askedOf));
		const flags = ["--extension", "../extension.ts", ...model, "--no-title", "-p", "hello"];
		spawnSync("../node_modules/.bin/omp", flags, { cwd: "project", env, timeout: 60_000 });
		const after = await Promise.all(workers.map(askedOf));
		results.push(after.map((count, index) => (count > before[index] ? "asked" : "not asked")));
	}
	const [plain, named] = results;
	console.log(`@oh-my-pi/pi-coding-agent 18.2.3: own address and that of the extension: ${plain}; with --model: ${named}`);
	process.exit(`${plain};${named}` === "not asked,asked;asked,not asked" ? 0 : 1);
}
END
PATH="$folder/node_modules/.bin:$PATH" node run.mjs

// An MCP server in one file, for what no well-behaved server does. It writes lines by hand, and needs no package.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const write = (text) => process.stdout.write(text);
const send = (message) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const answer = (id, text, more) => send({ id, result: { content: [{ type: "text", text }], ...more } });
const linesOf = (count) => Array.from({ length: count }, (_, at) => `line ${at + 1}: ${"word ".repeat(10)}`).join("\n");
const asked = new Map();
const cancelled = new Set();

const tools = {
	echo: (id, given) => answer(id, JSON.stringify(given)),
	lines: (id, { count }) => answer(id, linesOf(count)),
	after: (id, { milliseconds }) =>
		setTimeout(() => cancelled.has(id) || answer(id, `after ${milliseconds} ms`), milliseconds),
	raw: (_id, { text }) => write(text),
	die: (_id, { code }) => process.exit(code),
	kill: (_id, { signal }) => process.kill(process.pid, signal),
	half(_id, { code }) {
		write('{"jsonrpc":"2.0","id":');
		setTimeout(() => process.exit(code), 50);
	},
	hang: () => {},
	flood(id, { count }) {
		for (let at = 0; at < count; at += 1)
			send({
				method: "notifications/progress",
				params: { progressToken: "t", progress: at, message: "x".repeat(500) },
			});
		answer(id, `${count} sent`);
	},
	huge(id, { megabytes }) {
		write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`);
		for (let at = 0; at < megabytes; at += 1) write("x".repeat(1_000_000));
		write('"}]}}\n');
	},
	ask(id) {
		asked.set(`ask-${id}`, id);
		send({ id: `ask-${id}`, method: "sampling/createMessage", params: { maxTokens: 5, messages: [] } });
	},
	surroundings: (id) => answer(id, JSON.stringify([process.env.SMALL_SERVER, process.argv.slice(2), process.cwd()])),
};

process.stderr.write("the small server has started\n");
process.on("SIGUSR2", () => process.exit(42));
process.stdin.on("data", (chunk) => process.env.RECORD && appendFileSync(process.env.RECORD, chunk));
createInterface({ input: process.stdin })
	.on("line", (line) => {
		const { id, method, params, result } = JSON.parse(line);
		if (method === "initialize") {
			const serverInfo = { name: "small", version: "1" };
			send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
		} else if (method === "tools/list") {
			const inputSchema = { type: "object" };
			send({ id, result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema })) } });
		} else if (method === "tools/call") tools[params.name](id, params.arguments ?? {});
		else if (method === "notifications/cancelled") cancelled.add(params.requestId);
		else if (asked.has(id)) answer(asked.get(id), JSON.stringify(result));
	})
	.on("close", () => process.exit(7));

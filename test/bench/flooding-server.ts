import { createInterface } from "node:readline";

// An MCP server that floods: `blocks` answers with one image and `count` short texts, `task` runs as a task and then tells
// `count` results of a megabyte.
interface Asked {
	readonly id?: number;
	readonly method: string;
	readonly params: { readonly name: string; readonly arguments: { readonly count: number } };
}

const say = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const block = (text: string) => ({ type: "text", text });

function blocks(count: number) {
	const texts = Array.from({ length: count }, (_, at) => block(`row ${at} ${"and some words ".repeat(4)}`));
	return { content: [{ type: "image", data: "QUJD", mimeType: "image/png" }, ...texts] };
}

async function tellResults(count: number): Promise<void> {
	for (let at = 0; at < count; at += 1) {
		const result = { content: [block(`${at} ${"row of words and numbers 12345 ".repeat(32_000)}`)] };
		const params = { taskId: "task", status: "completed", result };
		if (!say({ method: "notifications/tasks", params }))
			await new Promise((resolve) => process.stdout.once("drain", resolve));
	}
	say({ method: "notifications/end" });
}

const tools = ["blocks", "task"].map((name) => ({ name, inputSchema: { type: "object" } }));
createInterface({ input: process.stdin }).on("line", (line) => {
	const { id, method, params } = JSON.parse(line) as Asked;
	if (method === "tools/list") say({ id, result: { tools } });
	else if (method === "tools/call" && params.name === "blocks") say({ id, result: blocks(params.arguments.count) });
	else if (method === "tools/call") {
		say({ id, result: { task: { taskId: "task", status: "working" } } });
		setTimeout(() => void tellResults(params.arguments.count), 50);
	}
});

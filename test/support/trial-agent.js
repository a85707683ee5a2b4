// An agent in the place of a program: it speaks Anthropic's Messages at ANTHROPIC_BASE_URL, has one tool, and works in its folder.
import { execSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const [prompt = "", mode = "works"] = process.argv.slice(2);
if (mode === "crashes") process.exit(3);
if (mode === "asks nothing") process.exit(0);
if (mode === "hangs") {
	writeFileSync("started", String(process.pid));
	setInterval(() => {}, 1_000);
}
if (mode === "works") await work();

async function work() {
	const shell = { name: "bash", description: "Runs a command.", input_schema: schema() };
	const messages = [{ role: "user", content: [{ type: "text", text: prompt }] }];
	for (;;) {
		const { content, stop_reason } = await ask({ tools: [shell], messages });
		messages.push({ role: "assistant", content });
		if (stop_reason !== "tool_use") return;
		const results = content
			.filter(({ type }) => type === "tool_use")
			.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: run(input.command) }));
		messages.push({ role: "user", content: results });
	}
}

function schema() {
	return { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
}

function run(command) {
	return execSync(command, { encoding: "utf8" }) || "(no output)";
}

async function ask({ tools, messages }) {
	const last = messages.at(-1);
	const [block] = last.content.slice(-1);
	// A breakpoint on the last message, as programs set it.
	const marked = {
		...last,
		content: [...last.content.slice(0, -1), { ...block, cache_control: { type: "ephemeral" } }],
	};
	const body = { model: "claude-sonnet-4-5", max_tokens: 1_000, tools, messages: [...messages.slice(0, -1), marked] };
	const answer = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
		method: "POST",
		headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "key" },
		body: JSON.stringify(body),
	});
	if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
	return answer.json();
}

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Api } from "./provider-cache.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { finalText, recallText, writeProject } from "./scripted-session.ts";
import { type StandInProvider, startStandInProvider } from "./stand-in-provider.ts";

type Json = Record<string, unknown>;

const script = { toolTurns: 3, fileChars: 4000 };
let provider: StandInProvider;
afterEach(() => provider.close());

const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
/** For each API: the path, the request for these messages, and how a call and its result are added to them. */
const clients = {
	anthropic: {
		path: () => "/v1/messages",
		request: (messages: unknown[]) => ({ model: "m", messages, tools: [{ name: "Bash", input_schema: parameters }] }),
		read: (answer: Json) => {
			const [block] = answer.content as Json[];
			const { command } = (block?.input ?? {}) as { command?: string };
			return {
				text: block?.text as string | undefined,
				command,
				items: [{ role: "assistant", content: answer.content }],
			};
		},
		result: (answer: Json, text: string) => {
			const [block] = answer.content as Json[];
			return { role: "user", content: [{ type: "tool_result", tool_use_id: block?.id, content: text }] };
		},
	},
	"openai-chat": {
		path: () => "/v1/chat/completions",
		request: (messages: unknown[]) => {
			return { model: "m", messages, tools: [{ type: "function", function: { name: "bash", parameters } }] };
		},
		read: (answer: Json) => {
			const message = (answer.choices as Json[])[0]?.message as Json;
			const call = (message.tool_calls as Json[] | undefined)?.[0]?.function as { arguments: string } | undefined;
			const command = call && (JSON.parse(call.arguments).command as string);
			return { text: message.content as string | undefined, command, items: [message] };
		},
		result: (answer: Json, content: string) => {
			const message = (answer.choices as Json[])[0]?.message as Json;
			return { role: "tool", tool_call_id: (message.tool_calls as Json[])[0]?.id, content };
		},
	},
	"openai-responses": {
		path: () => "/v1/responses",
		request: (input: unknown[]) => ({ model: "m", input, tools: [{ type: "function", name: "shell", parameters }] }),
		read: (answer: Json) => {
			const [item] = answer.output as Json[];
			const text = (item?.content as Json[] | undefined)?.[0]?.text as string | undefined;
			const command = item?.arguments ? (JSON.parse(item.arguments as string).command as string) : undefined;
			return { text, command, items: [item] };
		},
		result: (answer: Json, output: string) => {
			return { type: "function_call_output", call_id: (answer.output as Json[])[0]?.call_id, output };
		},
	},
	gemini: {
		path: (streams: boolean) => `/v1beta/models/m:${streams ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		request: (messages: unknown[]) => {
			const contents = messages.map((one) => {
				const { role, content, ...rest } = one as Json;
				return content ? { role, parts: [{ text: content }] } : { role, ...rest };
			});
			return { contents, tools: [{ functionDeclarations: [{ name: "run_shell_command", parameters }] }] };
		},
		read: (answer: Json) => {
			const content = ((answer.candidates as Json[])[0] as Json).content as { parts: Json[] };
			const call = content.parts[0]?.functionCall as { args: { command: string } } | undefined;
			return { text: content.parts[0]?.text as string | undefined, command: call?.args.command, items: [content] };
		},
		result: (_: Json, output: string) => {
			return { role: "user", parts: [{ functionResponse: { name: "run_shell_command", response: { output } } }] };
		},
	},
} as const;

/** Plays the session as a program would: runs what is asked, sends everything again, until there is a text. */
async function play(api: Api, streams: boolean, runCommand: (command: string) => Promise<string>): Promise<string> {
	const { path, request, read, result } = clients[api];
	const messages: unknown[] = [{ role: "user", content: "Read the files." }];
	for (;;) {
		const body = {
			...request(messages),
			...(streams ? { stream: true, stream_options: { include_usage: true } } : {}),
		};
		const response = await fetch(provider.origin + path(streams), { method: "POST", body: JSON.stringify(body) });
		const answer = streams ? assemble(api, await response.text()) : ((await response.json()) as Json);
		const { text, command, items } = read(answer);
		if (command === undefined) return text ?? "";
		messages.push(...items, result(answer, await runCommand(command)));
	}
}

/** The whole answer that a stream's events make. */
function assemble(api: Api, stream: string): Json {
	const events = stream
		.split("\n\n")
		.map((event) => /^data: (.*)$/m.exec(event)?.[1] ?? "[DONE]")
		.filter((data) => data !== "[DONE]")
		.map((data) => JSON.parse(data));
	if (api === "gemini") return events[0];
	if (api === "openai-responses") return events.at(-1).response;
	if (api === "openai-chat") {
		const message = Object.assign({}, ...events.map(({ choices }) => choices[0]?.delta ?? {}));
		return { choices: [{ message }], usage: events.at(-1).usage };
	}
	const block = events.find(({ type }) => type === "content_block_start").content_block;
	const { delta } = events.find(({ type }) => type === "content_block_delta");
	const content = delta.text ? { ...block, text: delta.text } : { ...block, input: JSON.parse(delta.partial_json) };
	return { content: [content], usage: events[0].message.usage };
}

const apis = ["anthropic", "openai-chat", "openai-responses", "gemini"] as const;
const ways = apis.flatMap((api) => [[api, true] as const, [api, false] as const]);

async function startProject() {
	const folder = await scratchFolder();
	await writeProject(join(folder, "project"), script);
	provider = await startStandInProvider({ script, folder: join(folder, "bodies") });
	const runCommand = (command: string) => readFile(join(folder, "project", command.replace(/^cat /, "")), "utf8");
	return { folder, runCommand };
}

describe("the stand-in", () => {
	it.each(ways)("plays a session over %s, streamed: %s", async (api, streams) => {
		const { folder, runCommand } = await startProject();
		expect(await play(api, streams, runCommand)).toBe(finalText(script));
		expect(provider.requests.map((one) => one.api)).toEqual([api, api, api, api]);
		const bodies = await readdir(join(folder, "bodies"));
		expect(bodies).toHaveLength(4);
		expect(await readFile(join(folder, "bodies", bodies[3] ?? ""), "utf8")).toBe(provider.requests[3]?.body);
	});

	it("says so if a new result did not reach the model", async () => {
		const { runCommand } = await startProject();
		const loses = (command: string) =>
			command.includes("02") ? Promise.resolve("[Observation masked]") : runCommand(command);
		expect(await play("anthropic", true, loses)).toBe("Saw 2 of 3 files. The work is done.");
	});

	it("recalls a file at the end by the command of a placeholder, where the script says so", async () => {
		const folder = await scratchFolder();
		await writeProject(folder, script);
		provider = await startStandInProvider({ script: { ...script, recalls: true } });
		const commands: string[] = [];
		const masking = (recalled: string) => async (command: string) => {
			commands.push(command);
			if (command.startsWith("palimpsest")) return recalled;
			const text = await readFile(join(folder, command.replace(/^cat /, "")), "utf8");
			return command.includes("02") ? `${text}[Observation masked. Read it with \`palimpsest recall abc1\`.]` : text;
		};
		const first = await readFile(join(folder, "module-01.ts"), "utf8");
		expect(await play("openai-chat", false, masking(first))).toBe(`${finalText(script)} ${recallText}`);
		expect(commands.slice(3)).toEqual(["palimpsest recall abc1 --tail 20"]);
		expect(await play("openai-responses", false, masking("not found"))).toBe(`${finalText(script)} Recall failed.`);
	});

	it("bills what was sent, and counts a rewritten beginning as a cache break", async () => {
		provider = await startStandInProvider({ script });
		const ask = async (...texts: readonly string[]) => {
			const messages = [{ role: "user", content: "task" }, ...texts.map((content) => ({ role: "user", content }))];
			const body = JSON.stringify({ model: "m", messages });
			const response = await fetch(`${provider.origin}/v1/chat/completions`, { method: "POST", body });
			return ((await response.json()) as { usage: Json }).usage;
		};
		const [a, b, c] = ["a", "b", "c"].map((letter) => letter.repeat(16_000)) as [string, string, string];
		const usages = [await ask(a), await ask(a, b), await ask("x", b), await ask("x", b, c)];
		const prompts = usages.map(({ prompt_tokens }) => prompt_tokens as number);
		const cached = usages.map((usage) => (usage.prompt_tokens_details as { cached_tokens: number }).cached_tokens);
		expect(prompts[0]).toBe(Math.ceil((16_000 + JSON.stringify({ role: "user", content: "" }).length * 2 + 10) / 4));
		expect(cached.map((one) => one > 0)).toEqual([false, true, false, true]);
		const { requests, sent, billed, cacheBreaks } = provider.totals();
		expect([requests, sent, cacheBreaks]).toEqual([4, prompts.reduce((sum, one) => sum + one, 0), 1]);
		const lowest = cached.reduce((sum, one) => sum + one * 0.1, 0);
		expect(billed).toBeGreaterThan(lowest);
		expect(billed).toBeLessThan(sent * 1.25);
	});

	it("names no address but its own, and refuses WebSockets with 426", async () => {
		provider = await startStandInProvider({ script });
		for (const path of ["/v1/models", "/v1beta/models", "/.well-known/openid-configuration"]) {
			const text = await (await fetch(provider.origin + path)).text();
			expect(text.replaceAll(provider.origin, "")).not.toMatch(/https?:|\bwww\.|\.(?:com|org|net|ai)\b/);
		}
		const headers = { connection: "upgrade", upgrade: "websocket" };
		const { request } = await import("node:http");
		const status = await new Promise((resolve, reject) => {
			request(`${provider.origin}/v1/responses`, { headers }, ({ statusCode }) => resolve(statusCode))
				.on("error", reject)
				.end();
		});
		expect(status).toBe(426);
	});
});

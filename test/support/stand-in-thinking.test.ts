import { afterEach, describe, expect, it } from "vitest";
import { bindingBeta } from "./preserved-thinking.ts";
import { type StandInProvider, startStandInProvider } from "./stand-in-provider.ts";
import type { StandInThinking } from "./stand-in-thinking.ts";
import { readAnswer } from "./streamed-message.ts";

type Json = Record<string, unknown>;

let provider: StandInProvider;
afterEach(() => provider.close());

const script = { toolTurns: 3, fileChars: 500 };
const tools = [{ name: "Bash", input_schema: { type: "object", properties: { command: { type: "string" } } } }];
const task = { role: "user", content: "Read the files." };

async function start(thinking: Partial<StandInThinking> = {}): Promise<void> {
	provider = await startStandInProvider({ script, thinking: { account: "newer", ...thinking } });
}

async function post(messages: readonly unknown[], rest: Json = {}, beta = "") {
	const body = JSON.stringify({ model: "claude-opus-5-5", tools, messages, ...rest });
	const headers = beta === "" ? {} : { "anthropic-beta": beta };
	const response = await fetch(`${provider.origin}/v1/messages`, { method: "POST", headers, body });
	const text = await response.text();
	return { response, text, json: () => JSON.parse(text) as Json };
}

/** The messages after one turn. */
async function afterATurn(rest: Json = {}) {
	const { content } = (await post([task], rest)).json();
	const [, call] = content as Json[];
	const result = { type: "tool_result", tool_use_id: call?.id, content: "output" };
	return [task, { role: "assistant", content }, { role: "user", content: [result] }];
}

const other = { system: "Another text." };
const drops = { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } };
const betas = `context-management-2025-06-27, ${bindingBeta}`;

describe("an answer with thinking", () => {
	it("has it before the call, in a stream as in a whole answer", async () => {
		await start();
		for (const display of ["omitted", "summarized"]) {
			const thinking = { type: "adaptive", display };
			const whole = (await post([task], { thinking })).json();
			const streamed = readAnswer((await post([task], { thinking, stream: true })).text);
			if (streamed.kind === "error") throw new Error(streamed.message);
			for (const content of [whole.content as Json[], streamed.content]) {
				expect(content.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
				expect(content[0]?.thinking).toEqual(display === "omitted" ? "" : expect.stringContaining("Thought"));
				expect(content[0]?.signature).toMatch(/^[\w+/]{300,}$/);
			}
			const usage = { output_tokens: 420, output_tokens_details: { thinking_tokens: 400 } };
			expect(whole.usage).toMatchObject(usage);
			expect(streamed.usage).toMatchObject(usage);
		}
	});

	it("has none where thinking is disabled, in a side request, or from an older model that was not asked", async () => {
		await start();
		const typesOf = async (rest: Json) => ((await post([task], rest)).json().content as Json[]).map(({ type }) => type);
		expect(await typesOf({})).toEqual(["thinking", "tool_use"]);
		expect(await typesOf({ thinking: { type: "disabled" } })).toEqual(["tool_use"]);
		expect(await typesOf({ tools: [] })).toEqual(["text"]);
		expect(await typesOf({ model: "claude-opus-5" })).toEqual(["tool_use"]);
		expect(await typesOf({ model: "claude-opus-5", thinking: { type: "enabled" } })).toEqual(["thinking", "tool_use"]);
	});
});

describe("a request with thinking that is bound to another conversation", () => {
	it("gets the 400 of the API, with its header", async () => {
		await start();
		const { response, json } = await post(await afterATurn(), other);
		expect(response.status).toBe(400);
		const mismatch = "block=messages.1.content.0;kind=system_changed";
		expect(response.headers.get("anthropic-thinking-prefix-mismatch")).toBe(mismatch);
		expect(json()).toEqual({
			type: "error",
			error: {
				type: "invalid_request_error",
				message:
					'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. The `system` prompt differs from the one this block was created with.',
			},
			request_id: "req_1",
		});
		expect(provider.requests).toHaveLength(1);
		expect(provider.refusals).toHaveLength(1);
	});

	it("lists what was left out: in a whole answer at the top, in a stream in message_start", async () => {
		await start();
		const messages = await afterATurn();
		const entry = { type: "thinking_dropped", path: "messages.1.content.0", reason: "prefix_binding_mismatch" };
		const whole = (await post(messages, { ...other, ...drops }, betas)).json();
		expect(whole.input_transformations).toEqual([entry]);
		const { text } = await post(messages, { ...other, ...drops, stream: true }, betas);
		const [first = ""] = text.split("\n\n");
		expect(first).toContain(`"input_transformations":[${JSON.stringify(entry)}]`);
		expect((await post(messages, drops, betas)).json().input_transformations).toEqual([]);
		expect((await post(messages)).json()).not.toHaveProperty("input_transformations");
	});

	it("is refused for the field if the beta header is missing or unknown", async () => {
		await start();
		const refusal = async (beta: string) => (await post([task], drops, beta)).json().error as Json;
		expect((await refusal("")).message).toBe("thinking.adaptive.block_binding: Extra inputs are not permitted");
		await provider.close();
		await start({ isGateway: true });
		expect((await refusal("")).message).toBe("thinking.adaptive.block_binding: Extra inputs are not permitted");
		expect((await refusal(betas)).message).toContain(`Unexpected value(s) \`${bindingBeta}\``);
	});
});

it("A request of a refused shape gets the API's 400", async () => {
	await start();
	const [first, answer] = await afterATurn();
	const { response, json } = await post([first, answer]);
	expect(response.status).toBe(400);
	expect((json().error as Json).message).toContain("`tool_use` ids were found without `tool_result` blocks");
});

import { beforeAll, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfModel, ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const model = "claude-opus-4-7";

const layer: PolicyLayer = { locale: "en", mask: { placeholder_template: "[masked {tool_call_id}]" } };

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pngOf(900, 900) } };

const turn = (id: string, ...content: readonly object[]) => [
	{ role: "assistant", content: [{ type: "tool_use", id, name: "look", input: { path: `${id}.txt` } }] },
	{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
];

const text = (id: string) => ({ type: "text", text: outputOf(id, 40) });

const messages = [
	{ role: "user", content: [{ type: "text", text: "What is in it?" }, image] },
	...["a", "b", "c", "d", "e"].flatMap((id) => turn(id, text(id))),
	...turn("f", text("f"), image),
	...turn("g", text("g")),
	{ role: "assistant", content: "All of it." },
];

const request = (sent: readonly object[]) => ({
	model,
	system: "Look closely.",
	tools: [{ name: "look", input_schema: { type: "object", properties: {} } }],
	messages: sent,
});

let replayed: Awaited<ReturnType<typeof replayOnce>>;

beforeAll(async () => {
	replayed = await replayOnce(Number.POSITIVE_INFINITY);
});

async function replayOnce(contextWindow: number) {
	const policies = await replayedPolicies("raw,window:2,stride:2:2", [layer]);
	const rates = await ratesOfModel(model, policyOf().prices);
	const replay = await startReplay({ policy: policyOf(layer), policies, rates, model, contextWindow, mostSeries: 1 });
	await replay.add({ file: "images", conversation: request(messages) });
	return { policies, figures: replay.report().policies, series: replay.series() };
}

/** What the calls are sent, each counted by itself as the model's estimate has it. */
async function callsUnder(index: number): Promise<number[]> {
	const sizes: number[] = [];
	for (const [end, { role }] of messages.entries()) {
		if (role !== "assistant") continue;
		const policy = replayed.policies[index]?.policy ?? policyOf(layer);
		const { report } = await maskConversation({ conversation: request(messages.slice(0, end)), policy });
		expect(report.method).toBe("estimated");
		sizes.push(report.tokens.after);
	}
	return sizes;
}

it.each([
	["raw", 0],
	["window:2", 1],
	["stride:2:2", 2],
])("of %s are the sum over its calls: texts are scaled, images and delimiters are not", async (name, index) => {
	const calls = await callsUnder(index);
	const { figures, series } = replayed;
	expect(figures[index]).toMatchObject({ policy: name, llm_calls: 8, peak_context_tokens: Math.max(...calls) });
	const sum = calls.reduce((all, tokens) => all + tokens, 0);
	// Each is rounded by itself here.
	expect(Math.abs((figures[index]?.input_tokens ?? 0) - sum)).toBeLessThanOrEqual(calls.length / 2);
	const drawn = series[index]?.context.map((parts) => Object.values(parts).reduce((all, tokens) => all + tokens, 0));
	drawn?.forEach((tokens, call) => {
		// As is each of the five parts.
		expect(Math.abs(tokens - (calls[call] ?? 0))).toBeLessThanOrEqual(3);
	});
	expect(drawn).toHaveLength(calls.length);
});

it("are compared with the window unscaled", async () => {
	const calls = await callsUnder(0);
	const window = (calls.at(-2) ?? 0) + 1;
	expect((await replayOnce(window)).figures[0]).toMatchObject({ calls_over_window: 1, calls_of_known_window: 8 });
});

it("has a rule of another program, with its own placeholder or ours", async () => {
	const policies = await replayedPolicies("raw,clear:0:1:0,clear-ours:0:1:0", [{ locale: "en" }]);
	const replay = await startReplay({ policy: policyOf(), policies, rates: ratesOfPrices(policyOf().prices) });
	await replay.add({ file: "images", conversation: request(messages) });
	const [raw, clear, ours] = replay.report().policies;
	expect(clear?.input_tokens).toBeLessThan(ours?.input_tokens ?? 0);
	expect(ours?.input_tokens).toBeLessThan(raw?.input_tokens ?? 0);
});

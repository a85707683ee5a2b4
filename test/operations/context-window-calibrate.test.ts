import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ guard: { reserve_tokens: 0 } });

const model = "claude-sonnet-4-5";

const seenByProvider = openaiMessages(user("Go."), ...["a", "b", "c"].map((id) => toolTurn(id, outputOf(id, 60))));

const answered = [...seenByProvider, ...openaiMessages(toolTurn("d", outputOf("d", 60)))];

const report = async (conversation: unknown, options: object = {}) =>
	(await guardConversation({ conversation, policy, contextWindow: 1_000_000, ...options })).report;

const counted = (await report(seenByProvider)).tokens.after;

const overhead = seenByProvider.length * policy.tokens.message_overhead;

const usageFor = (factor: number) => ({ input_tokens: Math.round((counted - overhead) * factor) + overhead });

describe("provider usage", () => {
	it("scales the total by the provider's count of the messages before the last answer", async () => {
		const all = (await report(answered)).tokens.after;
		const texts = all - answered.length * policy.tokens.message_overhead;
		const calibrated = await report(answered, { model, usage: usageFor(1.3) });
		expect(calibrated).toMatchObject({ method: "calibrated", encoding: "o200k_base", factor: 1.3, notes: [] });
		expect(calibrated.tokens.after).toBe(Math.round(texts * 1.3) + answered.length * policy.tokens.message_overhead);
	});

	it("treats parallel and consecutive answers at the end as the last answer", async () => {
		const pieces = [...answered, { role: "assistant", content: "So." }, { role: "assistant", content: "Done." }];
		const before = (await report(answered)).tokens.after - answered.length * 4;
		const usage = { input_tokens: Math.round(before * 1.25) + answered.length * 4 };
		expect(await report(pieces, { model, usage })).toMatchObject({ method: "calibrated", factor: 1.25 });
	});

	it("belongs to the answer after the last results when messages contain the results of their own calls", async () => {
		const step = (id: string, ...parts: readonly object[]) => ({ info: { id, role: "assistant" }, parts });
		const run = (callID: string) => ({
			type: "tool",
			callID,
			tool: "bash",
			state: { status: "completed", input: { command: "ls" }, output: outputOf(callID, 60) },
		});
		const asked = { info: { id: "m0", role: "user" }, parts: [{ type: "text", text: "Go." }] };
		const steps = [asked, step("m1", run("a")), step("m2", run("b"))];
		const before = (await report(steps)).tokens.after - steps.length * 4;
		const usage = { input_tokens: Math.round(before * 1.25) + steps.length * 4 };
		const done = [...steps, step("m3", { type: "text", text: "So." }), step("m4", { type: "text", text: "Done." })];
		expect(await report(done, { model, usage })).toMatchObject({ method: "calibrated", factor: 1.25 });
	});

	it("covers all messages before the first answer", async () => {
		const asked = openaiMessages(user(outputOf("question", 40)));
		const { tokens } = await report(asked);
		const usage = { input_tokens: (tokens.after - 4) * 2 + 4 };
		expect(await report(asked, { model, usage })).toMatchObject({ method: "calibrated", factor: 2 });
	});

	it("covers all messages if the answers before them are no longer sent", async () => {
		const record = (uuid: string, parentUuid: string | null, type: string, content: string, more = {}) => ({
			...{ type, uuid, parentUuid, sessionId: "s", message: { role: type, content } },
			...more,
		});
		const session = [
			record("a", null, "user", "Go."),
			record("b", "a", "assistant", "I went."),
			{ type: "system", subtype: "compact_boundary", uuid: "c", parentUuid: null, logicalParentUuid: "b" },
			record("d", "c", "user", outputOf("summary", 40), { isCompactSummary: true }),
		];
		const { tokens } = await report(session);
		const usage = { input_tokens: (tokens.after - 4) * 2 + 4 };
		expect(await report(session, { model, usage })).toMatchObject({ method: "calibrated", factor: 2 });
	});

	it("narrows the band, more so when the provider has seen more", async () => {
		const width = ({ band, tokens }: Awaited<ReturnType<typeof report>>) => (band.high - band.low) / tokens.after;
		const [estimated, calibrated] = [
			await report(answered, { model }),
			await report(answered, { model, usage: usageFor(1.2) }),
		];
		expect(width(calibrated)).toBeLessThan(width(estimated));
		const longer = [...answered, ...openaiMessages(user(outputOf("more", 400)))];
		expect(width(await report(longer, { model, usage: usageFor(1.2) }))).toBeGreaterThan(width(calibrated));
	});

	it("takes precedence over an exact count, since the provider counts everything that it adds", async () => {
		expect(await report(answered, { model: "gpt-4o", usage: usageFor(1.05) })).toMatchObject({ method: "calibrated" });
	});

	it.each([
		["no tokens", 0],
		["fewer than the delimiters", 3],
		["a tenth of the counted tokens", Math.round(counted / 10)],
		["six times as many", counted * 6],
		["a thousand times as many", counted * 1_000],
	])("is ignored with a note when it gives %s", async (_what, input_tokens) => {
		const aside = await report(answered, { model, usage: { input_tokens } });
		expect(aside).toMatchObject({ method: "estimated", factor: 1.2 });
		expect(aside.notes).toEqual([expect.stringContaining(`${input_tokens} input tokens, cannot be`)]);
	});

	it("has no effect on a conversation without texts", async () => {
		const { method, tokens, notes } = await report([], { usage: { input_tokens: 9 } });
		expect({ method, after: tokens.after, notes: notes.length }).toEqual({ method: "exact", after: 0, notes: 2 });
	});

	it("causes a note when it exceeds the size of the conversation", async () => {
		const { notes, method } = await report(answered, { model, usage: usageFor(3) });
		expect(method).toBe("calibrated");
		expect(notes).toEqual([expect.stringContaining("pass the system prompt and the tools")]);
	});

	it("is refused without an input count", async () => {
		await expect(report(answered, { usage: { output_tokens: 5 } })).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("of a conversation that begins with its only answer is ignored", async () => {
		const conversation = [{ role: "assistant", content: "Hello." }];
		const { method, notes } = await report(conversation, { usage: { input_tokens: 50 } });
		expect(method).toBe("exact");
		expect(notes.join()).toContain("which had 0 counted tokens before its last answer");
	});
});

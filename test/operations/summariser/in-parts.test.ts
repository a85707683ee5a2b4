import { describe, expect, it, onTestFinished } from "vitest";
import { SummariserError } from "../../../src/errors.ts";
import { createOpenAiCompatible } from "../../../src/operations/summariser/endpoint.ts";
import { summariseInParts } from "../../../src/operations/summariser/in-parts.ts";
import type { Summariser, SummaryProgress } from "../../../src/operations/summariser/summariser.ts";
import { answer, type Behaviour, complete, type SeenRequest, startChatServer } from "./chat-server.ts";
import { fakeClock } from "./fake-clock.ts";

const tooLong = answer(400, { error: { code: "context_length_exceeded", message: "…" } });
const promptOf = (request: SeenRequest) => request.body.messages[0]?.content ?? "";

/** A model whose window takes prompts of so many characters. */
const windowOf =
	(chars: number): Behaviour =>
	(response, request) =>
		promptOf(request).length > chars
			? tooLong(response, request)
			: complete(`<${promptOf(request).replaceAll(/\s/g, "").length}>`)(response, request);

async function inParts(
	behaviour: Behaviour,
	pieces: readonly string[],
	given: Partial<Parameters<typeof summariseInParts>[0]> = {},
) {
	const server = await startChatServer(behaviour);
	const clock = fakeClock();
	const summariser = createOpenAiCompatible({ baseUrl: server.baseUrl, model: "m", clock });
	onTestFinished(() => summariser.close());
	const progress: SummaryProgress[] = [];
	const outcome = await summariseInParts({
		summariser,
		pieces,
		writePrompt: (some) => some.join("\n"),
		writeJoinPrompt: (some) => `J${some.join("\n")}`,
		maxTokens: 100,
		countTokens: (text) => text.length,
		marker: "…",
		clock,
		onProgress: (one) => progress.push(one),
		...given,
	}).catch((error: unknown) => error);
	const phases = progress.map((one) => (one.kind === "phase" ? one.phase : one.kind));
	return { outcome, prompts: server.requests.map(promptOf), phases };
}

const piece = (letter: string) => letter.repeat(20);

describe("summarising in parts", () => {
	it("asks once when everything fits", async () => {
		const { outcome, prompts, phases } = await inParts(windowOf(100), ["a", "b"]);
		expect(outcome).toMatchObject({ text: "<2>", parts: 1, usage: { promptTokens: 100, completionTokens: 10 } });
		expect(prompts).toEqual(["a\nb"]);
		expect(phases).toEqual(["asking"]);
	});

	it("splits at a message boundary when the model reports a too long prompt, then joins", async () => {
		const { outcome, prompts, phases } = await inParts(windowOf(50), ["a", "b", "c", "d"].map(piece));
		expect(prompts.slice(1)).toEqual([`${piece("a")}\n${piece("b")}`, `${piece("c")}\n${piece("d")}`, "J<40>\n<40>"]);
		expect(outcome).toMatchObject({ text: "<9>", parts: 2, usage: { promptTokens: 300, completionTokens: 30 } });
		expect(phases).toEqual(["asking", "splitting", "asking", "asking", "joining", "asking"]);
	});

	it("halves only oversized parts, and cuts an oversized message", async () => {
		const long = "x".repeat(150);
		const { outcome, prompts } = await inParts(windowOf(50), [long, piece("b")]);
		expect(outcome).toMatchObject({ parts: 2 });
		const lengths = prompts.map((prompt) => prompt.length);
		expect(lengths.slice(0, 3)).toEqual([171, 150, 75]);
		expect(lengths[3]).toBeLessThanOrEqual(50);
		expect(prompts[3]).toContain("…");
		expect(prompts[4]).toBe(piece("b"));
	});

	it("splits at once when the window is known", async () => {
		const { prompts, outcome } = await inParts(windowOf(50), ["a", "b", "c"].map(piece), { partTokens: 45 });
		expect(prompts).toEqual([`${piece("a")}\n${piece("b")}`, piece("c"), "J<40>\n<20>"]);
		expect(outcome).toMatchObject({ parts: 2 });
	});

	it("joins the summaries in parts too", async () => {
		const bulky: Behaviour = (response, request) =>
			promptOf(request).length > 50 ? tooLong(response, request) : complete(piece("s"))(response, request);
		const { outcome, prompts } = await inParts(bulky, ["a", "b", "c", "d"].map(piece), { partTokens: 20 });
		expect(outcome).toMatchObject({ text: piece("s"), parts: 4 });
		const joins = prompts.filter((prompt) => prompt.startsWith("J"));
		expect(joins.map((prompt) => prompt.length)).toEqual([84, 42, 42, 42]);
	});

	it("gives up after four halvings, with the typed error", async () => {
		const { outcome, prompts } = await inParts(
			windowOf(0),
			Array.from({ length: 64 }, () => "message"),
		);
		expect(outcome).toBeInstanceOf(SummariserError);
		expect(outcome).toMatchObject({ code: "context_too_long" });
		expect(prompts.length).toBe(5);
	});

	it("splits for no other error", async () => {
		const refusing = answer(400, { error: { message: "too long" } });
		const { outcome, prompts } = await inParts(refusing, ["a", "b"]);
		expect(outcome).toMatchObject({ code: "unknown" });
		expect(prompts.length).toBe(1);
	});

	it("reports elapsed that never decreases", async () => {
		const elapsed: number[] = [];
		const clock = fakeClock();
		const slow: Summariser = {
			name: "slow",
			async summarise({ prompt, onProgress }) {
				const began = clock.now();
				for (const phase of ["asking", "waiting"] as const) {
					onProgress?.({ kind: "phase", phase, elapsed: (clock.now() - began) / 1000 });
					await clock.sleep(3_000, new AbortController().signal);
				}
				if (prompt.length > 50) throw new SummariserError("context_too_long", "…", 400);
				return { text: "s", finishReason: "stop" };
			},
			close: async () => {},
		};
		await summariseInParts({
			summariser: slow,
			pieces: ["a", "b", "c", "d"].map(piece),
			writePrompt: (some) => some.join("\n"),
			writeJoinPrompt: (some) => some.join("\n"),
			maxTokens: 100,
			countTokens: (text) => text.length,
			marker: "…",
			clock,
			onProgress: (one) => {
				if (one.kind !== "phase") return;
				elapsed.push(one.elapsed);
			},
		});
		expect(elapsed).toEqual(elapsed.toSorted((a, b) => a - b));
		expect(elapsed.at(-1)).toBe(21);
	});
});

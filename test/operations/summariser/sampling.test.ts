import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { followUps } from "../../../src/engine/compaction/prompt.ts";
import { SummariserError } from "../../../src/errors.ts";
import { createSamplingSummariser } from "../../../src/operations/summariser/sampling.ts";
import { patience } from "../../support/patience.ts";
import {
	type ClientBehaviour,
	fail,
	type SamplingCall,
	sample,
	samplingErrorOf,
	say,
	silent,
} from "./sampling-asking.ts";

const text = (role: "user" | "assistant", words: string) => ({ role, content: { type: "text", text: words } });
const content =
	(value: unknown): ClientBehaviour =>
	() => ({ role: "assistant", model: "m", stopReason: "endTurn", content: value });

describe("an answer of the client's model", () => {
	it("has its text and its stop reason", async () => {
		const { answer, requests, progress, delays } = await sample([say("a summary")]);
		expect(answer).toEqual({ text: "a summary", finishReason: "stop" });
		expect(requests).toEqual([{ messages: [text("user", "Summarise this.")], maxTokens: 500, includeContext: "none" }]);
		expect(progress).toEqual([{ kind: "phase", phase: "asking", elapsed: 0 }]);
		expect(delays).toEqual([]);
	});

	it.each(["stopSequence", undefined, "end_turn", 7])("that stopped for %j is accepted too", async (reason) => {
		const given = () => ({ content: { type: "text", text: "ok" }, stopReason: reason });
		expect((await sample([given])).answer).toEqual({ text: "ok", finishReason: "other" });
	});

	it("may be a list of blocks", async () => {
		const blocks = [
			{ type: "text", text: "one " },
			{ type: "text", text: "two" },
		];
		expect((await sample([content(blocks)])).answer?.text).toBe("one two");
	});
});

describe("an unusable answer", () => {
	it.each([
		["nothing", (): unknown => undefined, "not a message"],
		["null", () => null, "not a message"],
		["a text", () => "a summary", "not a message"],
		["a list", () => [{ type: "text", text: "x" }], "not a message"],
		["an empty object", () => ({}), "cannot be read"],
		["no content", content(null), "cannot be read"],
		["a text as content", content("a summary"), "cannot be read"],
		["no blocks", content([]), "no text"],
		["empty text", content({ type: "text", text: "" }), "no text"],
		["white space", content([{ type: "text", text: " \n\t" }]), "no text"],
		["text that is a number", content({ type: "text", text: 42 }), "other than text"],
		["an image", content({ type: "image", data: "AAAA", mimeType: "image/png" }), "other than text"],
		[
			"text and an image",
			content([
				{ type: "text", text: "x" },
				{ type: "image", data: "" },
			]),
			"other than text",
		],
		["a tool call", content({ type: "tool_use", id: "a", name: "rm", input: {} }), "tool call"],
		["text and a tool call", content([{ type: "text", text: "x" }, { type: "tool_use" }]), "tool call"],
		["a refusal", say("I cannot help with that.", "refusal"), "a refusal"],
		["what a filter left", say("half of a", "content_filter"), "content filter"],
		["words that stopped for a call", say("I look first.", "toolUse"), "tool call"],
		["what an error left", say("half of a", "error"), "broke off"],
		["five million characters", content({ type: "text", text: "x".repeat(5_000_000) }), "more than"],
	] as [string, ClientBehaviour, string][])("%s is unknown, and not requested again", async (_, behaviour, message) => {
		const asked = await sample([behaviour]);
		const error = samplingErrorOf(asked);
		expect(error).toMatchObject({ code: "unknown", is_retryable: false, status_code: undefined });
		expect(error.message).toMatch(/^The client's model answers with .+, not with a summary\.$/);
		expect(error.message).toContain(message);
		expect(asked.requests.length).toBe(1);
	});
});

describe("a truncated answer", () => {
	it("is requested again, more concisely: truncated twice, then complete", async () => {
		const cut = say("too lo", "maxTokens");
		const { answer, requests, progress } = await sample([cut, cut, say("short")], {}, { locale: "en" });
		expect(answer?.text).toBe("short");
		expect(requests.map(({ messages }) => messages)).toEqual([
			[text("user", "Summarise this.")],
			[text("user", "Summarise this."), text("assistant", "too lo"), text("user", followUps.en)],
			[text("user", "Summarise this."), text("assistant", "too lo"), text("user", followUps.en)],
		]);
		const phases = progress.map((one) => (one.kind === "phase" ? one.phase : one.kind));
		expect(phases).toEqual(["asking", "asking_for_less", "asking", "asking_for_less", "asking"]);
	});

	it("may be empty, and is never passed on", async () => {
		const asked = await sample([say("", "maxTokens")]);
		expect(samplingErrorOf(asked)).toMatchObject({ code: "unknown", status_code: undefined });
		expect(asked.requests.length).toBe(4);
		expect(asked.requests[1]?.messages).toEqual([text("user", `Summarise this.\n\n${followUps.fr}`)]);
	});
});

describe("a request that fails", () => {
	it.each([
		[-1, "unknown", "declined"],
		[-32601, "model_not_found", "offers no model"],
		[-32000, "server_error", "closed"],
		[-32603, "server_error", "failed"],
		[-32602, "unknown", "does not accept"],
		[-32042, "unknown", "failed"],
		[undefined, "unknown", "failed"],
		["-1", "unknown", "failed"],
		[1.5, "unknown", "failed"],
	] as const)("JSON-RPC error %j is %s, and is not sent again", async (number, code, message) => {
		const asked = await sample([fail(number)]);
		const error = samplingErrorOf(asked);
		expect(error).toMatchObject({ code, status_code: undefined });
		expect(error.message).toContain(message);
		expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain("secret");
		expect(asked.requests.length).toBe(1);
		expect(asked.delays).toEqual([]);
	});

	it.each([null, "words", 42])("that fails with %j is unknown", async (thrown) => {
		const asked = await sample([() => Promise.reject(thrown)]);
		expect(samplingErrorOf(asked).code).toBe("unknown");
	});

	it("with a time-out of the transport is retried after 2, 4 and 8 s, and reported", async () => {
		const asked = await sample([fail(-32001)]);
		expect(samplingErrorOf(asked)).toMatchObject({ code: "timeout", is_retryable: true });
		expect(asked.requests.length).toBe(4);
		expect(asked.delays).toEqual([2, 4, 8]);
		expect(asked.progress.filter(({ kind }) => kind === "retry")).toEqual(
			[2, 4, 8].map((delay, index) => ({
				kind: "retry",
				attempt: index + 1,
				max_retries: 3,
				delay,
				code: "timeout",
				status_code: undefined,
			})),
		);
		expect((await sample([fail(-32001), say("late")])).answer?.text).toBe("late");
	});

	it("of a client that never answers is a time-out, whether it obeys the signal or not", async () => {
		const heeding = (_: unknown, { signal }: SamplingCall) =>
			new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
		for (const behaviour of [silent, heeding]) {
			const asked = await sample([behaviour], { timeoutMs: 20, heartbeatMs: 4 });
			expect(samplingErrorOf(asked).message).toBe(
				"The client's model: No whole answer within 0.02 s. Try again, or allow more time.",
			);
			expect(asked.requests.length).toBe(4);
			expect(asked.progress.some((one) => one.kind === "phase" && one.phase === "waiting")).toBe(true);
		}
	});

	it("passes its time limit to the transport", async () => {
		let told: SamplingCall | undefined;
		const behaviour = (_: unknown, call: SamplingCall) => {
			told = call;
			return say("ok")(_ as never, call);
		};
		await sample([behaviour], { timeoutMs: 1_234 });
		expect(told?.timeoutMs).toBe(1_234);
		await sample([behaviour]);
		expect(told?.timeoutMs).toBe(300_000);
	});
});

describe("an ended call", () => {
	it("by its signal rejects with the signal's reason, before and during the request", async () => {
		const reason = new Error("no longer wanted");
		const asked = await sample([say("x")], {}, { signal: AbortSignal.abort(reason) });
		expect(asked).toMatchObject({ error: reason, requests: [] });
		const controller = new AbortController();
		const ending = (_: unknown, call: SamplingCall) => {
			queueMicrotask(() => controller.abort(reason));
			return silent(_ as never, call);
		};
		const ended = await sample([ending], {}, { signal: controller.signal });
		expect(ended.error).toBe(reason);
		expect(ended.requests.length).toBe(1);
		expect(getEventListeners(controller.signal, "abort")).toEqual([]);
	});

	it("stops during the wait for a retry", async () => {
		const reason = new Error("no longer wanted");
		const controller = new AbortController();
		const onProgress = ({ kind }: { kind: string }) => kind === "retry" && controller.abort(reason);
		const asked = await sample([fail(-32001)], {}, { signal: controller.signal, onProgress });
		expect(asked.error).toBe(reason);
		expect(asked.requests.length).toBe(1);
	});

	it("stops when the summariser is closed", async () => {
		let begun = false;
		const createMessage = () => {
			begun = true;
			return new Promise(() => {});
		};
		const summariser = createSamplingSummariser({ createMessage });
		const call = summariser.summarise({ prompt: "p", maxTokens: 5 }).catch((error: unknown) => error);
		await expect.poll(() => begun, patience).toBe(true);
		await summariser.close();
		expect(await call).toBeInstanceOf(SummariserError);
		await expect(summariser.summarise({ prompt: "p", maxTokens: 5 })).rejects.toMatchObject({ code: "unknown" });
	});
});

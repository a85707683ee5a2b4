import { describe, expect, it } from "vitest";
import type { ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import {
	pricesNow,
	type ReplayResult,
	readHistory,
	scaleHistory,
	startView,
	walk,
} from "../../../src/engine/masking/history.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { placeholdersOf } from "../../../src/storage/restore/recognise.ts";
import { policyOf } from "../../support/policy-of.ts";
import { historyOf } from "../../support/replay-history.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const policy = policyOf({ mask: { keep_errors: false }, tokens: { message_overhead: 4 } });

const image = {
	path: [3, "media"],
	kind: "image",
	mediaType: "image/png",
	bytes: 9,
	dimensions: undefined,
	tokens: 50,
	write: (text: string) => text,
} as const;

const long = "x".repeat(800);

const whole = (message: number) => ({ path: [message, "content"], write: (text: string) => text });

const resultAt = (message: number, id: string | undefined, text: string) => {
	const result = resultOf(id, text);
	return { ...result, texts: [{ path: [message, "content"], text }], whole: whole(message) };
};

/** A task, a turn, a turn with an image, an answer in two messages, and an orphan. */
const transcript = {
	...transcriptOf(
		messageOf({ role: "user", counted: ["12345678"] }),
		messageOf({ calls: [{ id: "a", name: "read" }], counted: ["1234"] }),
		messageOf({ role: "tool", results: [resultAt(2, "a", long)] }),
		messageOf({ calls: [{ id: "b", name: "look" }] }),
		messageOf({ role: "tool", mediaTokens: 50, results: [{ ...resultAt(4, "b", long), media: [image] }] }),
		messageOf({ counted: ["one"] }),
		messageOf({ counted: ["two"] }),
		messageOf({ role: "tool", results: [resultAt(7, "gone", "12345678")] }),
	),
	surroundings: ["1234", "12345678"],
};

const history = historyOf(transcript, policy);

function editOf(result: ReplayResult | undefined): ReplaceEdit {
	const edit = typeof result?.outcome === "object" ? result.outcome[0] : undefined;
	return edit ?? expect.unreachable("the result is not masked");
}

describe("readHistory", () => {
	it("counts messages, surroundings and results", () => {
		expect(history.messageTokens).toEqual([6, 5, 204, 4, 254, 5, 5, 6]);
		expect(history.surroundingTokens).toBe(3);
		expect(history.results.map(({ tokens }) => tokens)).toEqual([200, 250, 2]);
		expect(history.results.map(({ message, turn, toolName }) => [message, turn, toolName])).toEqual([
			[2, 0, "read"],
			[4, 1, "look"],
			[7, undefined, undefined],
		]);
	});

	it("counts the savings of masking, and gives the reason why a result stays", () => {
		const [first, second, orphan] = history.results;
		const placeholder = String(editOf(first).replacement);
		expect(first?.saves).toBe(200 - roughCount(placeholder));
		expect(second?.saves).toBe(first?.saves);
		expect([orphan?.saves, orphan?.outcome, orphan?.digest, orphan?.staysUntil]).toEqual([0, "orphan", [], -1]);
	});

	it("reads turns, calls and the place of each result", () => {
		expect([...history.opensTurn]).toEqual([0, 1, 0, 1, 0, 0, 0, 0]);
		expect(history.calls).toEqual([1, 3, 5]);
		expect([...history.firstResult]).toEqual([0, 0, 0, 1, 1, 2, 2, 2, 3]);
		expect([...history.masked]).toEqual([]);
	});

	it("recognises results that came as placeholders", () => {
		const replacement = String(editOf(history.results[0]).replacement);
		const again = {
			...transcript,
			messages: transcript.messages.with(2, messageOf({ role: "tool", results: [resultAt(2, "a", replacement)] })),
		};
		const read = historyOf(again, policy);
		expect([...read.masked]).toEqual([0]);
		expect(read.results[0]).toMatchObject({ outcome: "already_masked", saves: 0 });
	});

	it("counts messages that a session compacted as sent, but saves nothing by them", () => {
		const unsent = transcript.messages.map((message) => ({ ...message, sent: false }) as const);
		const read = historyOf({ ...transcript, messages: unsent }, policy);
		expect(read.messageTokens).toEqual(history.messageTokens);
	});

	it("keeps errors by their words, or until they are resolved", () => {
		const failing = {
			...transcript,
			messages: transcript.messages.with(
				2,
				messageOf({ role: "tool", results: [resultAt(2, "a", `Error: no\n${long}`)] }),
			),
		};
		const outcomeOf = (mask: object) => historyOf(failing, policyOf({ mask })).results[0];
		expect(outcomeOf({ keep_errors: true, error_detection: "words" })).toMatchObject({
			outcome: "error",
			staysUntil: -1,
			usedUntil: -1,
		});
		const structural = outcomeOf({ keep_errors: true, error_detection: "structural" });
		expect(typeof structural?.outcome).toBe("object");
		expect(structural?.staysUntil).toBe(Number.POSITIVE_INFINITY);
		expect(outcomeOf({ keep_errors: false })).toMatchObject({ staysUntil: -1 });
	});

	it("lists the words of a digest that its placeholder shows", () => {
		const messages = transcript.messages.with(
			2,
			messageOf({
				role: "tool",
				results: [resultAt(2, "a", `src/a.ts totalPrice\n1 failed, 2 passed\n${long}\nExit code 1`)],
			}),
		);
		const shown = (mask: object) =>
			historyOf({ ...transcript, messages }, policyOf({ mask: { keep_errors: false, ...mask } })).results[0]?.digest;
		expect(shown({ digest_tokens: 40 })).toEqual(["1", "failed", "2", "passed", "src/a.ts", "totalPrice"]);
		expect(shown({ digest_tokens: 0 })).toEqual([]);
		expect(shown({ digest_tokens: 40, placeholder_template: "[gone {ref}]" })).toEqual([]);
	});

	it("is given uses and the lifetime of the cache", () => {
		const uses = { identifiers: [], lines: [], touches: [], fresh: [] };
		const read = readHistory({
			transcript,
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy),
			isPlaceholder: placeholdersOf(policy),
			countTokens: roughCount,
			meter: { countTokens: roughCount, messageOverhead: 4 },
			uses: () => uses,
		});
		expect(read.uses()).toBe(uses);
		expect([...read.cold]).toEqual(new Array(9).fill(0));
	});
});

describe("scaleHistory", () => {
	const scaled = scaleHistory(history, { factor: 2, messageOverhead: 4, requestOverhead: 7 });

	it("scales texts, but neither delimiters nor media", () => {
		expect(scaled.messageTokens).toEqual([8, 6, 404, 4, 454, 6, 6, 8]);
		expect(scaled.surroundingTokens).toBe(3 * 2 + 7);
		expect(scaled.results.map(({ tokens }) => tokens)).toEqual([400, 450, 4]);
		expect(scaled.results[0]?.saves).toBe(2 * (history.results[0]?.saves ?? 0));
		expect(editOf(scaled.results[0]).before).toEqual({ chars: 800, tokens: 400 });
		expect(scaled.results[2]?.outcome).toBe("orphan");
	});

	it("keeps the fixed tokens of an edit", () => {
		const before = { chars: 0, tokens: 60, fixed: 50 };
		const after = { chars: 0, tokens: 5 };
		const first = history.results[0] as ReplayResult;
		const outcome = [{ ...editOf(first), before, after }];
		const given = { ...history, results: history.results.with(0, { ...first, outcome }) };
		const [one] = scaleHistory(given, { factor: 2, messageOverhead: 4, requestOverhead: 0 }).results;
		expect(one?.saves).toBe(10 * 2 + 50 - 10);
	});

	it("changes nothing but the surroundings at a factor of 1", () => {
		const same = scaleHistory(history, { factor: 1, messageOverhead: 4, requestOverhead: 7 });
		expect(same).toEqual({ ...history, surroundingTokens: 10 });
		expect(same.results).toBe(history.results);
	});
});

describe("walk", () => {
	it("acts wherever an answer may follow, and calls where one opens", () => {
		const steps: string[] = [];
		walk(history, {
			beforeAnswer: (index) => steps.push(`before ${index}`),
			call: (index) => steps.push(`call ${index}`),
			append: (index) => steps.push(`${index}`),
		});
		expect(steps.join(", ")).toBe(
			"0, before 1, call 1, 1, 2, before 3, call 3, 3, 4, before 5, call 5, 5, 6, 7, before 8",
		);
	});
});

describe("startView", () => {
	it("caches the part that is unchanged since the last call", () => {
		const view = startView(history);
		expect([view.total(), view.prefix(), view.isCold()]).toEqual([3, 0, false]);
		view.append(0);
		expect(view.call()).toEqual({ input: 9, cached: 0 });
		view.append(1);
		view.append(2);
		expect(view.call()).toEqual({ input: 218, cached: 9 });
		expect(view.prefix()).toBe(218);
		view.mask(0);
		const saved = history.results[0]?.saves ?? 0;
		expect([view.total(), view.prefix(), view.before(2), view.before(3)]).toEqual([218 - saved, 14, 14, 218 - saved]);
		view.append(3);
		expect(view.call()).toEqual({ input: 222 - saved, cached: 14 });
		view.append(4);
		expect(view.call()).toEqual({ input: 476 - saved, cached: 222 - saved });
		view.mask(1);
		view.mask(0);
		expect(view.prefix()).toBe(14);
	});

	it("loses the cache after a pause", () => {
		const view = startView({ ...history, cold: Uint8Array.from([0, 0, 1, 0, 0, 0, 0, 0, 0]) });
		view.append(0);
		view.call();
		view.append(1);
		expect([view.isCold(), view.prefix()]).toEqual([true, 9]);
		expect(view.call()).toEqual({ input: 14, cached: 0 });
		view.append(2);
		expect(view.isCold()).toBe(false);
	});
});

describe("pricesNow", () => {
	const { prices } = policy;

	it("make a write as cheap as a read after a pause", () => {
		expect(pricesNow(transcript, prices, undefined)).toEqual(prices);
		expect(pricesNow(transcript, prices, 0)).toEqual(prices);
		expect(pricesNow(transcript, prices, 1e9)).toEqual({ ...prices, cache_write: prices.cache_read });
		expect(pricesNow(transcriptOf(), prices, 1e9)).toEqual(prices);
	});

	it("are for a cache of an hour if the first call asked for one", () => {
		const usage = { inputTokens: 1, cachedTokens: 0, cacheSeconds: 3_600 };
		const kept = transcriptOf(messageOf({ usage }), messageOf({ role: "user" }));
		expect(pricesNow(kept, prices, undefined).cache_write).toBe(2);
		expect(pricesNow(kept, prices, 3_000).cache_write).toBe(2);
		expect(pricesNow(kept, prices, 3_601).cache_write).toBe(prices.cache_read);
	});
});

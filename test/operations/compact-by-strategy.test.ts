import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { CompactionContext, CompactionStrategy } from "../../src/engine/compaction/strategy.ts";
import { PalimpsestError, SummariserError } from "../../src/errors.ts";
import { type CompactOptions, compact } from "../../src/library.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const conversation = deepFreeze(agentConversation(8));

const note = { role: "user", content: "So far: eight files were read." };

/** Keeps system, task and the last turn, with a note between. */
class DropMiddle implements CompactionStrategy {
	compact({ history }: CompactionContext) {
		return [...history.slice(0, 2), note, ...history.slice(-2)];
	}
}

const by = (change: (history: unknown[]) => unknown): CompactionStrategy => ({
	compact: ({ history }) => change([...history]) as readonly unknown[],
});

describe("a custom strategy of a program", () => {
	const expected = [...conversation.slice(0, 2), note, ...conversation.slice(-2)];

	it.each<[string, CompactionStrategy, string]>([
		["an instance of a class", new DropMiddle(), "DropMiddle"],
		["an object", { compact: ({ history }) => new DropMiddle().compact({ history } as CompactionContext) }, "own"],
		["asynchronous", { compact: async (context) => setImmediate(new DropMiddle().compact(context)) }, "own"],
	])("may be %s", async (_, strategy, name) => {
		const { signal } = new AbortController();
		const outcome = await compact(conversation, { strategy, signal });
		expect(outcome.conversation).toEqual(expected);
		expect(outcome.conversation[0]).toBe(conversation[0]);
		expect(outcome.report).toMatchObject({ strategy: name, result: "rewritten", changed: true });
		expect(outcome.report.tokens.after).toBeLessThan(outcome.report.tokens.before);
	});

	it("rewrites only the messages within a request body", async () => {
		const body = deepFreeze({ model: "gpt-4o", messages: conversation, tools: [{ type: "function" }] });
		const outcome = await compact(body, { strategy: new DropMiddle(), force: true });
		expect(outcome.conversation).toEqual({ ...body, messages: expected });
		expect(outcome.conversation.tools).toBe(body.tools);
	});

	it("may change its history object without any effect", async () => {
		const text = JSON.stringify(conversation);
		const vandal = by((history) => {
			for (const message of history as Record<string, unknown>[]) {
				message.content = "vandalised";
				delete message.tool_calls;
			}
			history.length = 1;
			return null;
		});
		const outcome = await compact(conversation, { strategy: vandal });
		expect(outcome.conversation).toBe(conversation);
		expect(JSON.stringify(conversation)).toBe(text);
	});

	it("may reuse objects of its history in its answer and change them later", async () => {
		const kept: Record<string, unknown>[] = [];
		const strategy = by((history) => {
			const mine = { ...note };
			kept.push(mine);
			return [...history.slice(0, 2), mine, ...history.slice(-2)];
		});
		const outcome = await compact(conversation, { strategy });
		for (const one of kept) one.content = "changed later";
		expect(outcome.conversation[2]).toEqual(note);
	});

	it("reports no change by `null` or by an answer equal to the history", async () => {
		for (const change of [() => null, (history: unknown[]) => structuredClone(history)]) {
			const outcome = await compact(conversation, { strategy: by(change) });
			expect(outcome.conversation).toBe(conversation);
			expect(outcome.report).toMatchObject({ changed: false, result: "unchanged" });
		}
	});

	it("gets the model of the program, if there is one", async () => {
		const asking: CompactionStrategy = {
			async compact({ history, llm }) {
				const content = llm ? await llm.complete("Sum up.") : "Nobody to ask.";
				return [...history.slice(0, 2), { role: "user", content }, ...history.slice(-2)];
			},
		};
		const summariser = standInSummariser("Eight files.");
		const asked = await compact(conversation, { strategy: asking, summariser });
		expect(asked.conversation[2]).toEqual({ role: "user", content: "Eight files." });
		expect(summariser.requests).toMatchObject([{ prompt: "Sum up.", maxTokens: 2_000 }]);
		const alone = await compact(conversation, { strategy: asking });
		expect(alone.conversation[2]).toEqual({ role: "user", content: "Nobody to ask." });
	});
});

describe("an invalid answer of a strategy is refused, and the original stays", () => {
	const refused = async (strategy: CompactionStrategy, options: CompactOptions = {}): Promise<PalimpsestError> => {
		const outcome = await compact(conversation, { strategy, ...options }).catch((error: unknown) => {
			if (!(error instanceof PalimpsestError)) throw error;
			return error;
		});
		if (outcome instanceof PalimpsestError) return outcome;
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report).toMatchObject({ changed: false, result: "unchanged" });
		expect(outcome.edits).toEqual([]);
		if (!outcome.error) throw new Error("was taken");
		return outcome.error;
	};
	const circle: Record<string, unknown> = { role: "user", content: "x" };
	circle.self = circle;

	it.each<[string, (history: unknown[]) => unknown]>([
		["undefined", () => undefined],
		["a text", () => "shorter"],
		["an object", () => ({ messages: [] })],
		["no message", () => []],
		["texts", () => ["shorter"]],
		["holes", (history) => Object.assign(new Array(3), [history[0]])],
		["a date", (history) => [...history.slice(0, 2), { role: "user", content: new Date() }]],
		["a number impossible in JSON", (history) => [...history.slice(0, 2), { ...note, n: Number.NaN }]],
		["a bigint", (history) => [...history.slice(0, 2), { ...note, n: 1n }]],
		["a function", (history) => [...history.slice(0, 2), { ...note, toJSON: () => note }]],
		["an object that contains itself", (history) => [...history.slice(0, 2), circle]],
		[
			"a key that sets a prototype",
			(history) => [...history.slice(0, 2), JSON.parse('{"role":"user","__proto__":{}}')],
		],
		[
			"a new call",
			(history) => [
				...history,
				{ role: "assistant", tool_calls: [{ id: "n", type: "function", function: { name: "rm", arguments: "{}" } }] },
			],
		],
		["a duplicate call", (history) => [...history, history[2], history[3]]],
		["a call without its result", (history) => history.toSpliced(3, 1)],
		["a result without its call", (history) => history.toSpliced(2, 1)],
		["a result under another id", (history) => history.with(3, { ...(history[3] as object), tool_call_id: "call_7" })],
		["a message between call and result", (history) => history.slice(2, 8).toSpliced(1, 0, note)],
		["another order", (history) => history.toSpliced(2, 4, ...history.slice(4, 6), ...history.slice(2, 4))],
		["no system message", (history) => history.slice(1)],
		["a changed system message", (history) => history.with(0, { role: "system", content: "Obey." })],
		["an extra system message", (history) => [...history.slice(0, 2), { role: "system", content: "Obey." }]],
		["an unknown role", (history) => [...history.slice(0, 2), { role: "boss", content: "Obey." }]],
		["a message of another format", (history) => [...history.slice(0, 2), { type: "user", message: note }]],
		[
			"an extra message that is empty except for its delimiters",
			(history) => [...history, { role: "user", content: "" }],
		],
		["more tokens than before", (history) => [...history, { role: "user", content: "more ".repeat(9) }]],
	])("%s", async (_, change) => {
		expect((await refused(by(change))).code).toBe("strategy_failed");
	});

	it("its own error: reported by kind, never with its message", async () => {
		const cause = new RangeError(`Cannot read ${secret}`);
		for (const compact of [
			() => {
				throw cause;
			},
			() => Promise.reject(cause),
		]) {
			const error = await refused({ compact });
			expect(error).toMatchObject({ code: "strategy_failed", cause });
			expect(error.message).toMatch(/failed; the conversation is unchanged\. It threw RangeError\./);
			expect(error.message).not.toContain(secret);
		}
	});

	it("a thrown value that is not an error", async () => {
		const error = await refused({ compact: () => Promise.reject(secret) });
		expect(error.message).toMatch(/It threw a string\./);
		expect(error.message).not.toContain(secret);
	});

	it("errors of the model are passed on unchanged", async () => {
		const summariser = standInSummariser(() => Promise.reject(new SummariserError("rate_limit", "Too often.", 429)));
		const strategy: CompactionStrategy = { compact: async ({ llm }) => [await llm?.complete("Sum up.")] };
		expect(await refused(strategy, { summariser })).toMatchObject({ code: "rate_limit", status_code: 429 });
	});
});

describe("a cancelled call", () => {
	it("aborts the strategy's signal and rejects with the signal's reason, with any strategy", async () => {
		const cases = ["throws", "returns", "never ends"].flatMap((after) => [
			{ after, when: "at once" },
			{ after, when: "later" },
		]);
		for (const { after, when } of cases) {
			const controller = new AbortController();
			const reason = new Error("no longer wanted");
			let told: AbortSignal | undefined;
			const strategy: CompactionStrategy = {
				async compact({ history, signal }) {
					told = signal;
					if (when === "later") await setImmediate();
					controller.abort(reason);
					if (after === "throws") throw new Error("gave up");
					if (after === "never ends") await new Promise(() => {});
					return history.slice(0, 2);
				},
			};
			await expect(compact(conversation, { strategy, signal: controller.signal })).rejects.toBe(reason);
			expect(told?.aborted).toBe(true);
		}
	});

	it("does not start when it was cancelled before", async () => {
		let calls = 0;
		const strategy = by(() => {
			calls += 1;
			return null;
		});
		await expect(compact(conversation, { strategy, signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
		expect(calls).toBe(0);
	});
});

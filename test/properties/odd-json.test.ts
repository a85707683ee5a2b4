import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { PalimpsestError } from "../../src/errors.ts";
import { compact, guard, mask, restore } from "../../src/library.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { reportContext } from "../../src/operations/report.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { rows } from "../formats/all-rows.ts";
import { allKeys, type Change, nested, oddValues, placesIn, spoil } from "../fuzz/mutations.ts";
import { isWhole } from "../support/breadth.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, results, system, toolTurn, user } from "../support/script.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const script = [
	system("Be careful."),
	user("Read it all."),
	...toolTurn("a", outputOf("alpha", 30)),
	calls({ id: "b", name: "bash" }, { id: "c", name: "grep" }),
	results({ id: "b", content: outputOf("beta", 40), isError: true }, { id: "c", content: "ok" }),
	...toolTurn("d", outputOf("gamma", 20)),
	user("Go on."),
	...toolTurn("e", outputOf("delta", 20)),
];

const archive = (await openArchive({ where: "memory" })) as Archive;
const policies = await replayedPolicies("raw,window:1,stride:2,balanced", []);
const summariser = standInSummariser();
const small = { contextWindow: 900, reserveTokens: 100 };
const aggressive = { mask: { window_turns: 1 }, archive: { retention_days: 30 } } as const;

/** Every way through the library that takes a conversation. */
const ofLibrary: Readonly<Record<string, (conversation: unknown) => Promise<unknown>>> = {
	"mask, with an archive": (conversation) => mask(conversation, { policy: aggressive as never, archive }),
	"mask by use": (conversation) => mask(conversation, { policy: { preset: "balanced", mask: { thrift: "high" } } }),
	guard: (conversation) => guard(conversation, small),
	"guard by structure": (conversation) => guard(conversation, { ...small, policy: { preset: "balanced" }, archive }),
	"guard that trims": (conversation) => guard(conversation, { ...small, policy: { preset: "context-trim" } }),
	"guard after an answer": (conversation) =>
		guard(conversation, { ...small, lastResponse: conversation, model: "gpt-4o" }),
	"guard that compacts": (conversation) =>
		guard(conversation, { ...small, summariser, policy: { guard: { max_messages: 2, auto_compact: true } } }),
	"compact by hiding": (conversation) => compact(conversation, { strategy: "tool-result-hiding", force: true }),
	"compact by a summary": (conversation) => compact(conversation, { strategy: "llm-summary", force: true, summariser }),
	"compact by a strategy": (conversation) =>
		compact(conversation, { strategy: { compact: ({ history }) => [...history] as never }, force: true }),
	restore: (conversation) => restore(conversation, archive),
};
/** Those of the command and the server, which take what was read from JSON. */
const ways: typeof ofLibrary = {
	...ofLibrary,
	report: (conversation) => reportContext({ conversation, layers: [], model: "claude-sonnet-4-5", contextWindow: 900 }),
	replay: async (conversation) => {
		const replay = await startReplay({ policy: policyOf(), policies, rates: ratesOfPrices(policyOf().prices) });
		await replay.add({ file: "one", conversation });
		return replay.report();
	},
	"mask in a server": (conversation) => maskConversation({ conversation, policy: policyOf() }),
};

/** What came of a call: the code of its typed error, or `undefined`. Any other error fails the test. */
async function codeOf(work: () => Promise<unknown>): Promise<string | undefined> {
	try {
		const { error } = ((await work()) ?? {}) as { error?: { code?: string } };
		return error?.code;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code !== "internal") return error.code;
		throw error instanceof PalimpsestError ? error.cause : error;
	}
}

/** Codes that tell of a defect of ours. */
const defects = new Set(["internal", "broken_promise"]);

const changes: fc.Arbitrary<Change[]> = fc.array(
	fc.record({
		place: fc.nat(),
		other: fc.nat(),
		kind: fc.constantFrom("replace", "replace", "replace", "remove", "insert", "swap", "rename"),
		value: fc.constantFrom(...oddValues),
	}),
	{ minLength: 1, maxLength: 5 },
);

class Part {
	type = "text";
	#text = "private";
	get text() {
		return this.#text;
	}
}

const throwing = (error: unknown) => ({
	role: "user",
	get content(): string {
		throw error;
	},
});

function ring(): unknown {
	const list: unknown[] = [];
	list.push({ type: "text", text: list });
	return list;
}

/** Values that no JSON holds, but for the deep ones, each made anew. */
const noJson: Readonly<Record<string, () => unknown>> = {
	undefined: () => undefined,
	symbol: () => Symbol("x"),
	function: () => () => "x",
	bigint: () => 5n,
	ring,
	map: () => new Map([["role", "user"]]),
	date: () => new Date(0),
	"invalid date": () => new Date(Number.NaN),
	instance: () => new Part(),
	"no prototype": () => Object.assign(Object.create(null), { role: "user", content: "x" }),
	"inherited members": () => Object.create({ role: "user", content: "x" }),
	regexp: () => /x/,
	bytes: () => new Uint8Array(5),
	sparse: () => new Array(7),
	"long sparse": () => Object.assign([], { length: 50_000 }),
	"boxed string": () => Object("x"),
	nan: () => Number.NaN,
	infinity: () => Number.POSITIVE_INFINITY,
	proxy: () => new Proxy({ role: "user", content: "x" }, {}),
	"proxy that throws": () =>
		new Proxy({} as Record<string, unknown>, {
			get() {
				throw new TypeError("no");
			},
			has() {
				throw new TypeError("no");
			},
			ownKeys() {
				throw new TypeError("no");
			},
		}),
	"revoked proxy": () => {
		const { proxy, revoke } = Proxy.revocable({}, {});
		revoke();
		return proxy;
	},
	"list proxy": () => new Proxy([{ type: "text", text: "x" }], {}),
	"getter that throws": () => throwing(new RangeError("no")),
	"getter that throws nothing": () => throwing(undefined),
	"toJSON that throws": () => ({
		toJSON() {
			throw new Error("no");
		},
	}),
	"toJSON of another kind": () => ({ toJSON: () => 5n }),
	"getter that changes": () => {
		let times = 0;
		return {
			role: "user",
			get content() {
				times += 1;
				return times % 2 === 0 ? "x" : [{ type: "text", text: "y" }];
			},
		};
	},
	promise: () => Promise.resolve("x"),
	error: () => new Error("x"),
	deep: () => nested(10_000),
};
const notJson = fc.array(
	fc.record({
		place: fc.nat(),
		other: fc.nat(),
		kind: fc.constantFrom("replace", "insert") as fc.Arbitrary<"replace" | "insert">,
		value: fc.constantFrom(...Object.keys(noJson)),
	}),
	{ minLength: 1, maxLength: 2 },
);

describe.each(rows)("values impossible in JSON, in $format.title", (row) => {
	const written = JSON.stringify(row.write(script));
	it("give a result or a typed error, at any position", async () => {
		const property = fc.asyncProperty(notJson, fc.boolean(), async (all, isBody) => {
			for (const [way, call] of Object.entries(ofLibrary)) {
				const messages: unknown = JSON.parse(written);
				// Found before anything is put in: some of it has no end.
				const places = placesIn(messages);
				for (const change of all) spoil(places, { ...change, value: noJson[change.value] }, allKeys());
				const conversation = isBody ? { model: "gpt-4o", ...row.body, [row.key]: messages } : messages;
				const code = await codeOf(() => call(conversation)).catch((error: unknown) => {
					throw new Error(`${way}: ${String((error as Error)?.stack)}`);
				});
				expect(code).not.toBe("internal");
			}
		});
		await fc.assert(property, {
			numRuns: isWhole ? 8 : 2,
			seed: 5,
			endOnFailure: true,
		});
	});
});

const seen = { done: 0, refused: 0 };

describe.each(rows)("unusual JSON as $format.title", (row) => {
	const written = JSON.stringify(row.write(script));
	it("gives a result or a typed error after any change in it", async () => {
		const property = fc.asyncProperty(changes, fc.boolean(), async (all, isBody) => {
			for (const [way, call] of Object.entries(ways)) {
				const messages: unknown = JSON.parse(written);
				for (const change of all) spoil(placesIn(messages), change, allKeys());
				const conversation = isBody ? { model: "gpt-4o", ...row.body, [row.key]: messages } : messages;
				const code = await codeOf(() => call(conversation)).catch((error: unknown) => {
					throw new Error(
						`${way}: ${String((error as Error).stack)}\n${JSON.stringify(conversation)?.slice(0, 3_000)}`,
					);
				});
				if (code !== undefined && defects.has(code)) expect.fail(`${way}: ${code} ${JSON.stringify(conversation)}`);
				if (code === undefined) seen.done += 1;
				else seen.refused += 1;
			}
		});
		await fc.assert(property, {
			numRuns: isWhole ? 8 : 2,
			seed: 5,
			endOnFailure: true,
		});
	});
});

afterAll(() => {
	// Odd enough that both happen.
	expect(seen.done).toBeGreaterThan(100);
	expect(seen.refused).toBeGreaterThan(100);
});

import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type * as Library from "../src/index.ts";
import { agentConversation, secret } from "./support/agent-conversation.ts";
import { packageFolder } from "./support/built-cli.ts";

// The built package, called as a program without types calls it.
const built = await import(resolve(packageFolder, "dist/index.js"));
const { PalimpsestError } = built as typeof Library;
const loose = built as Record<string, (...values: unknown[]) => unknown>;

const messages = agentConversation(2);
const archive = await built.openArchive({ where: "memory" });
const first: Readonly<Record<string, unknown>> = {
	mask: messages,
	guard: messages,
	compact: messages,
	truncate: secret,
	count: secret,
};
const given = (name: string, options: unknown) => () => loose[name]?.(first[name], options);

async function refusalOf(call: () => unknown): Promise<unknown> {
	try {
		await call();
	} catch (error) {
		return error;
	}
	return undefined;
}

async function expectRefused(call: () => unknown, words: string | RegExp): Promise<void> {
	const refused = await refusalOf(call);
	expect(refused).toBeInstanceOf(PalimpsestError);
	const message = typeof words === "string" ? expect.stringContaining(words) : expect.stringMatching(words);
	expect(refused).toMatchObject({ code: "invalid_argument", message });
	expect(String(refused)).not.toContain(secret);
}

describe("an unknown option is refused, with a similar name suggested", () => {
	it.each([
		["mask", { polcy: { preset: "balanced" } }, "`mask` takes no option `polcy`. Did you mean `policy`?"],
		[
			"mask",
			{ contextWindow: 9_000 },
			"takes no option `contextWindow`. Known: policy, archive, log, recallHint, idleSeconds.",
		],
		["guard", { context_window: 9_000 }, "Did you mean `contextWindow`?"],
		["guard", { reserve_tokens: 9 }, "Did you mean `reserveTokens`?"],
		["guard", { contextWindow: 9_000, summarizer: {} }, "Did you mean `summariser`?"],
		["compact", { summary_token: "x" }, "Did you mean `summaryToken`?"],
		["compact", { lastResponse: {} }, "`compact` takes no option `lastResponse`."],
		["truncate", { max_chars: 1 }, "Did you mean `maxChars`?"],
		["count", { modell: "gpt-4o" }, "Did you mean `model`?"],
		["count", { [`${secret} ${secret}`]: 1 }, "takes no option of that name"],
	])("%s %j", async (name, options, words) => {
		await expectRefused(given(name, options), words);
	});

	it("when opening an archive, preparing a model, restoring a conversation", async () => {
		await expectRefused(() => loose.openArchive?.({ where: "memory", name_space: "a" }), "Did you mean `namespace`?");
		const endpoint = { baseUrl: "http://127.0.0.1:1/v1", model: "m" };
		await expectRefused(() => loose.createOpenAiCompatible?.({ ...endpoint, apikey: secret }), "`apiKey`?");
		await expectRefused(() => loose.createOpenAiCompatible?.({ ...endpoint, retry: { retries: 1 } }), "`retries`");
		await expectRefused(() => loose.restore?.(messages, archive, { polcy: {} }), "`policy`?");
	});
});

describe("an option of a wrong type is refused, and never quoted", () => {
	it.each(["mask", "guard", "compact", "truncate", "count"])("%s requires an object as its options", async (name) => {
		for (const options of [null, 7, secret, [secret], () => secret]) {
			await expectRefused(given(name, options), `Expected the options of \`${name}\` to be an object; got `);
		}
	});

	it.each<[string, Record<string, unknown>, string]>([
		["truncate", { focus: 7 }, "`focus` of `truncate` to be a string, or left out; got 7."],
		["truncate", { maxChars: secret }, "`maxChars` of `truncate` to be a whole number"],
		["truncate", { maxTokens: 0 }, "to be a whole number of tokens, 1 or more, or left out; got 0."],
		["truncate", { maxTokens: 9, maxChars: 9 }, "either `maxChars` or `maxTokens`"],
		["truncate", { archive: {} }, "an archive, as `openArchive` opens one, or left out; got an object."],
		["mask", { recallHint: 7 }, "`recallHint` of `mask` to be a string"],
		["truncate", { log: secret }, "`log` of `truncate` to be a function"],
		["truncate", { strategy: "focs" }, "Did you mean `focus`?"],
		["count", { encoding: "o200kbase" }, "Did you mean `o200k_base`?"],
		["count", { model: 7 }, "`model` of `count` to be a string, or left out; got 7."],
		["count", { model: null }, "got null."],
		["guard", { model: 7 }, "`model` of `guard`"],
		["guard", { contextWindow: "9000" }, "whole number of tokens, 1 or more, or left out; got a string."],
		["guard", { tools: secret }, "`tools` of `guard`"],
		["guard", { archive: Promise.resolve(archive) }, "got a promise, which has to be awaited first."],
		["guard", { contextWindow: 9_000, strategy: class {} }, "an object with `compact`, or left out; got a function."],
		["guard", { contextWindow: 9_000, strategy: "llm-sumary" }, "Did you mean `llm-summary`?"],
		["guard", { signal: 7 }, "an AbortSignal"],
		["compact", { force: "yes" }, "`force` of `compact` to be true or false, or left out; got a string."],
		["compact", { summary: 7 }, "`summary` of `compact`"],
		["compact", { summary: "short", summaryToken: 7 }, "`summaryToken` of `compact`"],
		["compact", { strategy: {} }, "an object with `compact`"],
		["compact", { strategy: null }, "an object with `compact`"],
		["compact", { summariser: {} }, "as `createOpenAiCompatible` makes one"],
		["compact", { onProgress: 7 }, "`onProgress` of `compact`"],
	])("%s %o", async (name, options, words) => {
		await expectRefused(given(name, options), words);
	});

	it("when opening an archive, preparing a model, restoring a conversation", async () => {
		for (const options of ["memory", null, { where: 7 }, { namespace: 7 }, { retention: null }, { retention: 7 }]) {
			await expectRefused(() => loose.openArchive?.(options), /openArchive|retention/);
		}
		for (const options of [{ redact: secret }, { redact: [7] }, { redactCredentials: "no" }, { now: 7 }]) {
			await expectRefused(() => loose.openArchive?.({ where: "memory", ...options }), "of `openArchive`");
		}
		for (const options of [undefined, null, {}, { model: 7 }, { timeoutMs: "1" }, { apiKey: 7 }, { retry: 7 }]) {
			const endpoint = options && { baseUrl: "http://127.0.0.1:1/v1", ...options };
			await expectRefused(() => loose.createOpenAiCompatible?.(endpoint), "`createOpenAiCompatible`");
		}
		for (const none of [undefined, null, 7, {}, "memory", Promise.resolve(archive)]) {
			await expectRefused(() => loose.restore?.(messages, none), "Expected the archive of `restore` to be an archive");
		}
		await expectRefused(() => loose.restore?.(messages, archive, null), "the options of `restore`");
	});
});

it("an archive refuses invalid originals, refs and texts", async () => {
	const empty = await built.openArchive({ where: "memory" });
	const kept = { text: secret, kind: "result" };
	for (const none of [undefined, {}, [7], [null], [{ ...kept, text: 7 }], [{ ...kept, kind: "all" }]]) {
		await expectRefused(() => empty.put(none), "Expected a list of originals");
	}
	await expectRefused(() => empty.put([kept, { ...kept, toolCallId: 7 }]), "Expected a list of originals");
	for (const none of [undefined, 7, null]) {
		await expectRefused(() => empty.refOf(none), "Expected the text of `refOf` to be a string");
		await expectRefused(() => empty.has(none), "Expected `ref` to be a string");
		await expectRefused(() => empty.find(none), "Expected `toolCallId` to be a string");
	}
	await expectRefused(() => empty.read("ve798re306ji825wo179"), "Expected the consumer of `read` to be a function");
	expect(await empty.stats()).toMatchObject({ originals: 0 });
});

it("treats undefined as an omitted option, and accepts the common options in each call", async () => {
	const nothing = { policy: undefined, archive: undefined, log: undefined, recallHint: undefined };
	const model = { ...nothing, model: undefined, contextWindow: 9_000, signal: undefined, strategy: undefined };
	const taken = [
		await refusalOf(given("mask", nothing)),
		await refusalOf(given("guard", model)),
		await refusalOf(given("compact", { ...model, summary: undefined, force: undefined })),
		await refusalOf(given("truncate", { ...nothing, maxChars: undefined, focus: undefined })),
		await refusalOf(given("count", { ...nothing, archive, model: undefined })),
		await refusalOf(() => loose.restore?.(messages, archive, { ...nothing, archive })),
		await refusalOf(given("guard", Object.assign(Object.create(null), { contextWindow: 9_000 }))),
	];
	expect(taken).toEqual(taken.map(() => undefined));
});

describe("edits", () => {
	const empty = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945";

	it.each<[string, unknown[]]>([
		["nothing", []],
		["no text", [7, []]],
		["bytes", [Buffer.from("[]"), []]],
		["no list", ["[]", {}]],
		["no edits", ["[]", undefined]],
		["null as an edit", ["[]", [null]]],
		["a number as an edit", ["[]", [7]]],
	])("applyEdits refuses %s", async (_what, values) => {
		await expectRefused(() => loose.applyEdits?.(...values), "Expected ");
	});

	it.each<[string, unknown]>([
		["nothing", undefined],
		["null", null],
		["no text", { text: 7, inverse: { sha256_after: empty, splices: [] } }],
		["no inverse", { text: "[]" }],
		["no splices", { text: "[]", inverse: { sha256_after: empty } }],
		["invalid splices", { text: "[]", inverse: { sha256_after: empty, splices: [7] } }],
		["invalid places", { text: "[]", inverse: { sha256_after: empty, splices: [{ start: "x" }] } }],
		[
			"places past the end",
			{ text: "[]", inverse: { sha256_after: empty, splices: [{ start: 1, end: 9, replacement: "" }] } },
		],
	])("invertEdits refuses %s", async (_what, value) => {
		await expectRefused(() => loose.invertEdits?.(value), "Expected the result of `applyEdits`");
	});
});

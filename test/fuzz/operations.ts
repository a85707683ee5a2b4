import { get_encoding } from "tiktoken";
import { measure } from "../../src/engine/conversation/measure.ts";
import { builtInStrategies, presetNames } from "../../src/engine/policy/names.ts";
import type { Policy, PolicyLayer } from "../../src/engine/policy/schema.ts";
import { formats, locateMessages } from "../../src/formats/detect.ts";
import { compact, guard, mask, restore } from "../../src/library.ts";
import type { Outcome } from "../../src/operations/conversation.ts";
import { tokenMeter } from "../../src/operations/count.ts";
import type { EditRecord } from "../../src/operations/edit-record.ts";
import type { GuardReport } from "../../src/operations/guard.ts";
import { listPrunable, pruneConversation } from "../../src/operations/prune.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { reportContext } from "../../src/operations/report.ts";
import { rescueConversation } from "../../src/operations/rescue.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { applyRecords, brokenPromises } from "../support/promise-checker.ts";
import type { FormatName } from "../support/script.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";
import { type DrawnDocument, drawDocument } from "./documents.ts";
import { require, requireNoDefect, requireSame, settle } from "./oracles.ts";
import { between, chance, pick, type Random, type Target } from "./target.ts";

interface OperationCase extends DrawnDocument {
	readonly way: string;
	readonly layer: PolicyLayer;
	readonly contextWindow: number;
}

/** What an operation may be held to, beside a result or a typed error. */
interface Done {
	readonly outcome?: Partial<Outcome<{ readonly tokens?: unknown }>>;
	/** Whether `restore` gives back the input to the byte. */
	readonly isReversible?: boolean;
	/** Whether the report says whether the conversation fits. */
	readonly isGuard?: boolean;
}

interface Given extends OperationCase {
	readonly policy: Policy;
	readonly archive: Archive;
}

const encoder = get_encoding("o200k_base");
const counts = new Map<string, number>();

/** A second counter: OpenAI's own. */
export function countTokens(text: string): number {
	const known = counts.get(text);
	if (known !== undefined) return known;
	if (counts.size > 5_000) counts.clear();
	const count = encoder.encode_ordinary(text).length;
	counts.set(text, count);
	return count;
}

const summariser = standInSummariser();
const replayed = await replayedPolicies("raw,window:1,stride:2,balanced", []);

/** Every operation that takes a conversation. */
const ways: Readonly<Record<string, (given: Given) => Promise<Done>>> = {
	mask: async ({ document, layer, archive }) => ({
		outcome: await mask(document, { policy: layer, archive }),
		isReversible: true,
	}),
	guard: async ({ document, layer, contextWindow, archive }) => ({
		outcome: await guard(document, { policy: layer, contextWindow, reserveTokens: 0, archive }),
		// A limit without room for the marker leaves none, and with it no reference.
		isReversible: !layer.guard?.ladder?.includes("drop") && (layer.guard?.max_tool_result_chars ?? 0) >= 300,
		isGuard: true,
	}),
	"guard after an answer": async ({ document, layer, contextWindow }) => ({
		outcome: await guard(document, { policy: layer, contextWindow, reserveTokens: 0, lastResponse: document }),
	}),
	"guard that compacts": async ({ document, layer, contextWindow }) => {
		const policy: PolicyLayer = { ...layer, guard: { ...layer.guard, max_messages: 2, auto_compact: true } };
		return { outcome: await guard(document, { policy, contextWindow, reserveTokens: 0, summariser }) };
	},
	compact: async ({ document, layer, contextWindow, archive }) => {
		const strategy = builtInStrategies[contextWindow % builtInStrategies.length];
		return {
			outcome: (await compact(document, { policy: layer, strategy, force: true, summariser, archive })) as never,
		};
	},
	"compact by a strategy": async ({ document, layer }) => {
		const strategy = { compact: ({ history }: { history: readonly unknown[] }) => history.slice(-3) as never };
		return { outcome: (await compact(document, { policy: layer, strategy, force: true })) as never };
	},
	prune: async ({ document, policy, archive }) => {
		const request = { conversation: document, policy, archive };
		const places = (await listPrunable(request)).map(({ place }) => place);
		return { outcome: await pruneConversation({ ...request, places }), isReversible: true };
	},
	rescue: async ({ document, policy, contextWindow, archive }) => ({
		outcome: await rescueConversation({ conversation: document, policy, contextWindow, archive, target: 0.5 }),
	}),
	restore: async ({ document, archive }) => {
		await restore(document, archive);
		return {};
	},
	report: async ({ document, layer, contextWindow }) => {
		await reportContext({ conversation: document, layers: [layer], model: "claude-sonnet-4-5", contextWindow });
		return {};
	},
	replay: async ({ document, policy }) => {
		const replay = await startReplay({ policy, policies: replayed, rates: ratesOfPrices(policy.prices) });
		await replay.add({ file: "one", conversation: document });
		replay.report();
		return {};
	},
};

const ladders = [["truncate", "mask", "drop"], ["mask", "drop"], ["truncate"], ["mask"], ["drop", "mask"], []] as const;

function drawLayer(random: Random): PolicyLayer {
	return {
		preset: pick(random, presetNames),
		tokens: { encoding: "o200k_base" },
		mask: {
			enabled: true,
			window_turns: between(random, 0, 3),
			keep_errors: chance(random, 0.5),
			...(chance(random, 0.3) ? { keep_last_k_per_tool: between(random, 1, 2) } : {}),
			...(chance(random, 0.3) ? { placeholder: "short" } : {}),
		},
		guard: {
			ladder: [...pick(random, ladders)],
			truncate_when: pick(random, ["always", "over_budget"]),
			max_tool_result_chars: pick(random, [0, 20, 300, 2_000]),
			truncate_head_chars: pick(random, [0, 20, 300]),
			truncate_tail_chars: pick(random, [0, 20, 300]),
			keep_last_messages: between(random, 1, 4),
			pin_task: chance(random, 0.5),
		},
	};
}

/** Every operation over every format. */
export const operations: Target = {
	name: "operations",
	draw: (random): OperationCase => ({
		way: pick(random, Object.keys(ways)),
		layer: drawLayer(random),
		contextWindow: between(random, 1, chance(random, 0.5) ? 500 : 4_000),
		...drawDocument(random),
	}),
	async check(input: OperationCase) {
		const { document, way, layer } = input;
		const before = JSON.stringify(document);
		const mayNotFail = input.isWellFormed;
		const archive = (await openArchive({ where: "memory" })) as Archive;
		try {
			const work = ways[way] ?? (() => Promise.reject(new Error(`no operation ${way}`)));
			const done = await settle(() => work({ ...input, policy: policyOf(layer), archive }), mayNotFail);
			requireSame(JSON.stringify(document), before, "the input is not changed");
			if (done.is === "refused") return "refused";
			const { error } = done.value.outcome ?? {};
			if (error) {
				requireNoDefect(error, mayNotFail);
				return "refused";
			}
			await checkOutcome(input, done.value, archive);
			return "done";
		} finally {
			// The stand-in keeps every prompt, which would look like a leak of the product.
			summariser.requests.length = 0;
			await archive.close();
		}
	},
};

async function checkOutcome(input: OperationCase, done: Done, archive: Archive): Promise<void> {
	const { document, format, isWellFormed, layer } = input;
	const { conversation: after, edits = [] } = done.outcome ?? {};
	if (after === undefined) return;
	const records = edits as readonly EditRecord[];
	if (records.every(({ kind }) => kind !== "insert")) {
		requireSame(applyRecords(document, records), after, "the edits make the result");
	}
	if (done.isReversible) {
		const restored = await restore(after, archive, { policy: layer });
		requireSame(restored.conversation, document, "restore gives the input back");
	}
	if (done.isGuard) await checkFits(input, done);
	const isKnown = format === "openai-chat" || format === "anthropic-messages";
	if (!isKnown || !isWellFormed || !(done.isReversible || done.isGuard)) return;
	const keepsWords = policyOf(layer).compaction.keep_user_text === true;
	const read = { format: format as FormatName, before: document, after, edits: records };
	const broken = brokenPromises({ ...read, countTokens, keepsWords });
	if (broken.length > 0) throw new Error(`broken: ${broken.join("; ")}`);
}

/** The guard says whether the conversation fits: a second count has to agree. */
async function checkFits({ format, isWellFormed, layer, contextWindow }: OperationCase, { outcome }: Done) {
	const after = outcome?.conversation;
	const policy = policyOf(layer);
	const report = outcome?.report as unknown as GuardReport;
	const isCounted = (format === "openai-chat" || format === "anthropic-messages") && isWellFormed;
	const told = report.tokens.after;
	if (isCounted) {
		const counted = sumTokens(after, format as FormatName, policy.tokens.message_overhead, countTokens);
		requireSame(told, counted, "the tokens that the report tells are those of the result");
	} else {
		const plain = { policy: { ...layer, guard: { ladder: [] } }, contextWindow, reserveTokens: 0 };
		const again = await settle(() => guard(after, plain));
		// What is left, such as one system message, may no longer show its format.
		const isUnknown = again.is === "refused" && again.code === "not_a_conversation";
		const edits = outcome?.edits ?? [];
		require(again.is === "done" ||
			(isUnknown && edits.some(({ kind }) => kind === "remove")), "the result is read again");
		// A text among other values that was cut short is counted together with them from then on. A result that two calls of
		// one id share is counted twice, and cut once: the report may say too much of it, never too little.
		const more = again.is === "done" ? (await countAs(report.format, after, again.value.report, policy)) - told : 0;
		require(more <= 3 * edits.length, `a second reading counts no more than the report, not ${more} tokens`);
	}
	const budget = Math.floor(contextWindow * policy.guard.budget_ratio);
	requireSame([report.fits, report.budget_tokens], [told <= budget, budget], "`fits` is honest");
}

/**
 * The tokens of a second reading. Without its most damaged message a document may read as another format, which counts it
 * otherwise: then it is counted as the format that the first reading saw.
 */
async function countAs(name: string, document: unknown, again: GuardReport, policy: Policy): Promise<number> {
	const format = formats.find((one) => one.name === name);
	if (again.format === name || !format) return again.tokens.before;
	const { meter } = await tokenMeter(policy, undefined);
	return measure(format.read(locateMessages(document)), meter).total.tokens;
}

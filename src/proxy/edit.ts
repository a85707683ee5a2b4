import type { Archive } from "../archive/archive.ts";
import { refusePlaceholders } from "../archive/store.ts";
import type { Edit, Plan } from "../conversation/plan.ts";
import { writeValues } from "../json-text/edit.ts";
import { readTextDocument } from "../json-text/read.ts";
import { applyAndVerify, completePlan, openConversation } from "../operations/conversation.ts";
import { modelOfCall } from "../operations/count.ts";
import { refTaken, withFreeRefs } from "../operations/originals.ts";
import type { Policy } from "../policy/schema.ts";
import type { KnownCuts } from "./cut-on-arrival.ts";
import { conversationKey, messageKey } from "./identity.ts";
import { createMemory, type Memory, memoryFolderOf, type Remembered } from "./memory.ts";
import { type CachingRecord, createCachingRecord } from "./observed-caching.ts";
import { partsAfter, partsOf, type RequestParts } from "./parts.ts";
import { type EditedResult, planEdits } from "./plan.ts";
import { recallOffered } from "./recall-hint.ts";
import type { Route } from "./routes.ts";
import { type CacheTerms, cacheTerms } from "./terms.ts";

export interface Editing {
	readonly policy: Policy;
	readonly archive: Archive | undefined;
	readonly memory: Memory;
	readonly now: () => number;
	/** Reads an original in a shell when its reference follows. */
	readonly recallCommand: string;
	/** Share of conversations that are never edited. */
	readonly holdout: number;
	/** When this process has archived an original, by its long reference. */
	readonly archived: Map<string, number>;
	readonly cuts: KnownCuts;
	/** What the upstreams were seen to cache. */
	readonly caching: CachingRecord;
}

const day = 24 * 3_600_000;

/** Without `memoryFolder`, decisions are kept beside an archive of files, else in memory alone. */
export async function openEditing(
	what: Pick<Editing, "policy" | "archive" | "recallCommand" | "holdout" | "now"> & {
		readonly memoryFolder?: string | undefined;
	},
): Promise<Editing> {
	const { policy, archive, memoryFolder = memoryFolderOf(archive), now, ...rest } = what;
	const memory = createMemory({ folder: memoryFolder, now });
	await memory.sweep(policy.archive.max_age_days * day);
	return {
		...rest,
		policy,
		archive,
		memory,
		now,
		archived: new Map(),
		cuts: new Map(),
		caching: createCachingRecord(),
	};
}

export interface EditOutcome {
	/** The edited body; `undefined` if the request goes out as it came. */
	readonly text: string | undefined;
	readonly facts: RequestFacts | undefined;
}

/** What the ledger keeps of a request. Tokens are counted in the nearest public encoding. */
export interface RequestFacts {
	/** `undefined` before the first tool turn. */
	readonly conversation: string | undefined;
	readonly model: string | undefined;
	readonly terms: CacheTerms;
	readonly why: "edited" | "nothing_to_edit" | "left_alone" | "held_out";
	/** Whether the cache of the provider had expired. */
	readonly isCold: boolean;
	/** A name of the first user message, by which a conversation is known before its first tool turn. */
	readonly start: string;
	readonly results: readonly EditedResult[];
	/** Measured at the first call, so that a request need not wait for it. Then the conversation is let go. */
	readonly parts: () => RequestParts;
}

export const formatsOfApi = {
	anthropic: ["anthropic-messages"],
	openai: ["openai-chat", "openai-responses"],
	gemini: ["gemini"],
} as const;

/**
 * Masks and cuts the old and the large results in the body of a request. Everything else stays to the byte. Decides
 * nothing twice: results that were masked before stay masked, by the same bytes. Throws if a promise would be broken, or
 * if an original cannot be archived; then the request goes out as it came.
 */
export async function editRequest(text: string, route: Route, editing: Editing): Promise<EditOutcome> {
	const { policy, archive, recallCommand } = editing;
	const document = readTextDocument(text, "the request");
	const body = document.value;
	if (document.kind !== "json" || !holdsMessages(body)) return { text: undefined, facts: undefined };
	await othersGoOn();
	const model = modelOfCall(route.model, body, policy);
	const { written, facts } = await editConversation(
		{
			body,
			formats: formatsOfApi[route.api],
			terms: cacheTerms(body, route.api, policy.prices, { model, observed: editing.caching.of(route.api, model) }),
			model,
			recall: archive && policy.archive.recall_hint ? recallOffered(body, recallCommand) : undefined,
			// A request that counts tokens decides nothing: the provider's cache does not see it.
			decides: route.kind !== "counted",
			write: (plan) => writeValues(document, plan),
		},
		editing,
	);
	return { text: written, facts };
}

export interface ConversationEdit<Written> {
	/** Holds the messages, and what else is sent with them. */
	readonly body: unknown;
	/** Those that may be edited. */
	readonly formats: readonly string[];
	readonly terms: CacheTerms;
	readonly model?: string | undefined;
	/** How the agent reads an original. */
	readonly recall: { readonly by: string } | undefined;
	readonly decides: boolean;
	/** Makes what is sent. `document` is the edited body, which shares what did not change. */
	readonly write: (plan: Plan, document: unknown) => Written;
}

/** The same for messages in any form. `written` is `undefined` if they are sent as they came. Throws as `editRequest`. */
export function editConversation<Written>(what: ConversationEdit<Written>, editing: Editing) {
	return withFreeRefs(() => editOnce(what, editing));
}

async function editOnce<Written>(
	what: ConversationEdit<Written>,
	editing: Editing,
): Promise<{ readonly written: Written | undefined; readonly facts: RequestFacts }> {
	const { policy, archive, memory, now } = editing;
	const { body, formats, terms, recall } = what;
	const opened = await openConversation({
		conversation: body,
		formats,
		policy,
		model: what.model,
		archive,
		recall,
	});
	await othersGoOn();
	const { transcript, source, meter } = opened;
	const conversation = conversationKey(transcript);
	const remembered = conversation === undefined ? undefined : memory.recall(conversation);
	const isCold = isExpired(remembered, terms, now());
	const facts = (why: RequestFacts["why"], edits: readonly Edit[] = [], results: readonly EditedResult[] = []) => ({
		conversation,
		start: messageKey(transcript.messages.find(({ role }) => role === "user") ?? noMessage),
		model: opened.model,
		terms,
		why,
		isCold,
		results,
		parts: once(() => {
			const unedited = partsOf(transcript, meter, opened.requestOverhead(meter.countTokens));
			return { unedited, sent: partsAfter(unedited, edits) };
		}),
	});
	if (conversation === undefined || remembered === undefined)
		return { written: undefined, facts: facts("nothing_to_edit") };
	if (remembered.leftAlone !== undefined) return { written: undefined, facts: facts("left_alone") };
	if (isHeldOut(conversation, editing.holdout)) return { written: undefined, facts: facts("held_out") };
	await othersGoOn();
	const planned = await planEdits({
		...editing,
		opened,
		body,
		conversation,
		remembered,
		recall,
		isCold,
		prices: terms.prices,
	});
	await othersGoOn();
	const { plan } = completePlan({ source, policy, countTokens: meter.countTokens, ...planned });
	const keep = () => {
		if (!what.decides) return;
		const { decisions } = planned;
		if (decisions.masked || decisions.pause !== undefined) memory.remember(conversation, decisions);
		memory.called(conversation);
	};
	if (plan.length === 0) {
		keep();
		return { written: undefined, facts: facts("nothing_to_edit") };
	}
	const { document, error } = applyAndVerify({ source, plan, meter });
	if (error) throw error;
	await othersGoOn();
	const written = what.write(plan, document);
	await othersGoOn();
	await archiveOriginals(plan, opened.isPlaceholder, editing);
	keep();
	return { written, facts: facts("edited", plan, planned.results) };
}

/** Between the steps of an edit, which take some 50 ms for 1 MB: other requests and pings do not wait for all of them. */
export const othersGoOn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function holdsMessages(body: unknown): boolean {
	const { messages, contents, input } = (body ?? {}) as Record<string, unknown>;
	return [messages, contents, input].some(Array.isArray);
}

function isExpired(remembered: Remembered | undefined, { lifetime }: CacheTerms, now: number): boolean {
	const { lastCall } = remembered ?? {};
	return lastCall !== undefined && lifetime > 0 && now - lastCall > lifetime;
}

/** By the name of the conversation, so that every process holds out the same ones. */
function isHeldOut(conversation: string, share: number): boolean {
	return Number.parseInt(conversation.slice(0, 8), 16) / 2 ** 32 < share;
}

const noMessage: Parameters<typeof messageKey>[0] = { role: "other", counted: [], calls: [], results: [] };

function once<T>(make: () => T): () => T {
	let state: { readonly make: () => T } | { readonly made: T } = { make };
	return () => {
		if ("make" in state) state = { made: state.make() };
		return state.made;
	};
}

const mostArchived = 100_000;

/** Archiving an original again marks it as used, so that the retention keeps it as long as its placeholder is sent. */
const archivedForMs = 24 * 3_600_000;

async function archiveOriginals(
	plan: readonly Edit[],
	isPlaceholder: (text: string) => boolean,
	editing: Editing,
): Promise<void> {
	const { archive, archived, now } = editing;
	if (!archive) return;
	const at = now();
	const fresh = plan.flatMap(({ takenOut, result }) => {
		if (!takenOut) return [];
		// A short reference may be that of another text.
		const key = archive.longRefOf(takenOut.text);
		const isNew = at - (archived.get(key) ?? Number.NEGATIVE_INFINITY) > archivedForMs;
		return isNew ? [{ key, ...takenOut, isOwn: archive.refOf(takenOut.text) === takenOut.ref, result }] : [];
	});
	if (fresh.length === 0) return;
	const refs = await refusePlaceholders(archive, isPlaceholder).put(
		fresh.map(({ kind, text, result }) => ({ kind, text, toolCallId: result?.toolCallId, toolName: result?.toolName })),
		// The agent program sends the whole conversation again at its next request.
		{ isHeldElsewhere: true },
	);
	if (fresh.some(({ isOwn, ref }, index) => isOwn && refs[index] !== ref)) {
		editing.cuts.clear();
		throw refTaken;
	}
	if (archived.size > mostArchived) archived.clear();
	for (const { key } of fresh) archived.set(key, at);
}

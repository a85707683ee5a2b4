import type { Transcript } from "../../engine/conversation/transcript.ts";
import { askedCalls } from "../../engine/masking/asked.ts";
import { PalimpsestError } from "../../errors.ts";
import { sha256 } from "../../formats/json-text/text-bytes.ts";
import { countLargeTexts, type LargeTexts } from "../../operations/large-texts.ts";
import type { Archive } from "../../storage/archive/archive.ts";
import { refOfHash } from "../../storage/archive/reference.ts";
import { placeholdersOf } from "../../storage/restore/recognise.ts";
import { createOriginals, inTime } from "./archiving.ts";
import { repeatsOf } from "./arriving-repeats.ts";
import { lengthOf } from "./branch.ts";
import { clearingFor } from "./clearing.ts";
import { compose } from "./compose.ts";
import { composeContinued } from "./compose-continued.ts";
import type { Composed } from "./composed.ts";
import { knownStates, reasonAgainst, unsentPlaces } from "./decisions.ts";
import type { MemoryLimits } from "./entries.ts";
import { factsOf, type RequestFacts, type Sent } from "./facts.ts";
import { createHistories, type HistoryLimits } from "./histories.ts";
import type { Journal } from "./journal.ts";
import { createFilesJournal } from "./journal-files.ts";
import { cutElsewhere } from "./large-cuts.ts";
import { createMemory, memoryFolderOf } from "./memory.ts";
import { type Plan, planAsked, planNext } from "./plan.ts";
import { createPlanQueue, type PlanQueue } from "./plan-queue.ts";
import { type HostRequest, type OpenedConversation, openRequest, type Shared } from "./request.ts";
import type { Planning } from "./sent-history.ts";
import { isSummarised, type SummaryRequest, summaryDue } from "./summary.ts";

export interface Editing extends Shared {
	/** Where the states are kept; `undefined` for this process only. */
	readonly memoryFolder: string | undefined;
	/** `planNext`; tests inject others. */
	readonly planner: (planning: Planning) => Promise<Plan>;
	/** Milliseconds that this process has worked. Waiting for other programs does not count. */
	readonly worked: () => number;
	readonly plans: PlanQueue;
	/** Most milliseconds that a request waits for the plan that was made beside the one before. Absent: none. */
	readonly patienceMs?: number | undefined;
	/** Absent: large texts are cut and counted in this thread. */
	readonly largeTexts?: LargeTexts | undefined;
	readonly onFault: (fault: Fault, reason: string) => void;
}

/** Faults of ours: each costs new decisions only. */
export const faults = ["failed", "archive", "memory", "encoding"] as const;

export type Fault = (typeof faults)[number];

const day = 24 * 3_600_000;

/** What is held of conversations between their requests. */
export interface HeldLimits {
	readonly histories?: HistoryLimits;
	readonly memory?: MemoryLimits;
	/** The time that a request waits for the journal. */
	readonly patienceMs?: number;
	/** Characters of the conversations whose plans wait. */
	readonly waitingChars?: number;
}

/** Without `memoryFolder`, states are kept next to an archive of files, else in memory alone. */
export async function openEditing(
	what: Pick<Editing, "policy" | "archive" | "holdout" | "now" | "onFault"> &
		Partial<Pick<Editing, "memoryFolder" | "planner" | "worked" | "largeTexts" | "patienceMs">> & {
			/** Where the states are kept for other processes. Absent: in `memoryFolder`. */
			readonly journal?: Journal | undefined;
			/** Tests inject small ones. */
			readonly limits?: HeldLimits | undefined;
		},
): Promise<Editing> {
	const { limits = {} } = what;
	const { policy, archive, now, memoryFolder = memoryFolderOf(archive), planner = planNext, worked = workedMs } = what;
	const isStorable = (text: string) => !archive || archive.refOf(text) === refOfHash(sha256(text));
	const { journal = memoryFolder === undefined ? undefined : createFilesJournal({ folder: memoryFolder, now }) } = what;
	const memory = createMemory({ journal, now, isStorable, limits: limits.memory, patienceMs: limits.patienceMs });
	await memory.sweep(policy.archive.max_age_days * day);
	const histories = createHistories({ now, limits: limits.histories, told: journal?.branches, isStorable });
	const plans = createPlanQueue({ mostChars: limits.waitingChars });
	return withArchiveOf({ ...what, memoryFolder, planner, worked, memory, histories, plans }, archive);
}

/** The same for one of several callers, with originals of its own: its requests name their owner. */
export function withArchiveOf(editing: Omit<Editing, "originals">, archive: Archive | undefined): Editing {
	const { policy, now } = editing;
	const isPlaceholder = placeholdersOf(policy, archive ? "archived" : "not_archived");
	return { ...editing, archive, originals: createOriginals({ archive, now, isPlaceholder }) };
}

export interface Prepared<Written> {
	/** Whether only new items came, after a history that the provider keeps. */
	readonly isContinued?: boolean;
	/** Its name; `undefined` before the first tool turn. */
	readonly conversation: string | undefined;
	/** `undefined` before the first tool turn, where nothing is cut: the request is sent as the host sent it. */
	readonly composed: Composed<Written> | undefined;
	/** The record for the ledger. Counts the tokens, so it runs while the upstream works. */
	readonly facts: (sent?: Sent) => Promise<RequestFacts>;
	/** The request for a summary of the provider, if one is due after an answer to a prompt of so many tokens. */
	readonly summary?: (promptTokens: number, sent: string | undefined) => Promise<SummaryRequest | undefined>;
	/** Archives originals and plans the next edits, while the upstream works. Never rejects. */
	readonly planAhead: () => Promise<void>;
	/** Tells other processes of the request and its plan, once it is answered. Never rejects. */
	readonly tell?: () => Promise<void>;
}

/** Composes the request that is sent. Everything but the edited values stays. */
export async function prepare<Written>(given: HostRequest<Written>, editing: Editing): Promise<Prepared<Written>> {
	const opened = await openRequest(given, editing);
	// Of a conversation that has been here, the caller is known: what was sent has to stay.
	const isKnown = given.isProved !== false || (opened.conversation !== undefined && opened.remembered.messages > 0);
	const request = isKnown ? given : { ...given, decides: false, continues: false };
	const facts = async (sent?: Sent) => {
		await countLarge(opened.transcript, request.model, editing);
		return factsOf({ opened, request, sent, policy: editing.policy });
	};
	const { conversation } = opened;
	const onError = (error: unknown) => editing.onFault("failed", describe(error));
	if (conversation === undefined) {
		await cutElsewhere(opened, request, editing).catch(onError);
		const continued = composeContinued(opened, request, editing);
		const isArchived = continued?.archive().then(
			() => true,
			(error: unknown) => editing.onFault("archive", describe(error)),
		);
		const composed = (await isArchived) ? continued?.composed : undefined;
		return { conversation, isContinued: request.continues === true, composed, facts, planAhead: async () => {} };
	}
	if (opened.branch && editing.patienceMs !== undefined)
		await inTime(editing.plans.settled(opened.branch), editing.patienceMs).catch(() => {});
	if (opened.isCold && !opened.isHeldOut && !opened.branch) {
		const plan = await planInPath(opened, request, editing);
		const { transcript, paired, keys } = opened;
		const branch = plan && editing.histories.keep(opened.conversation, { transcript, paired, keys }, undefined);
		if (branch) opened.branch = Object.assign(branch, { plan });
		// Others may have sent something since.
		opened.remembered = await editing.memory.fetch(opened.conversation, opened.wait);
	}
	// A fault leaves the answer of our server, and the request still has its states.
	const asked = await answerAsked(opened, request, editing).catch(onError);
	try {
		opened.repeats = repeatsOf(opened, request, editing);
	} catch (error) {
		onError(error);
	}
	await cutElsewhere(opened, request, editing).catch(onError);
	const composed = await compose(opened, request, { ...editing, onError });
	// From the next request on, also if that comes before the plan that is made beside this one.
	if (asked && composed.branch) composed.branch.asked = asked;
	if (composed.branch) composed.branch.sentLines = opened.sentLines;
	opened.sentLines?.rest();
	return {
		conversation,
		composed,
		facts,
		summary: (promptTokens, written) => summaryDue(opened, composed, { request, editing, promptTokens, written }),
		planAhead: () => planAhead(opened, composed, { request, editing }),
		tell: async () => {
			if (!composed.branch) return;
			await editing.plans.settled(composed.branch);
			await editing.histories.tell(conversation, composed.branch, opened);
		},
	};
}

/**
 * The known states of each request of a batch, in order. One that cannot be read, such as one without messages, has none. The
 * notes of other processes are read once, and other requests go on between two of the batch.
 */
export async function prepareBatch<Written>(
	requests: readonly HostRequest<Written>[],
	editing: Editing,
): Promise<(Written | undefined)[]> {
	const { memory } = editing;
	let isRead = false;
	const findElsewhere: typeof memory.findElsewhere = (keys, wait) => {
		const found = memory.findElsewhere(keys, wait, { isRead });
		isRead = true;
		return found;
	};
	const memoryOnce = { ...memory, findElsewhere };
	const written: (Written | undefined)[] = [];
	for (const request of requests) {
		await othersGoOn();
		const prepared = await prepare(request, { ...editing, memory: memoryOnce }).catch(() => undefined);
		written.push(prepared?.composed?.written);
	}
	return written;
}

/** Between the steps of a plan, which take some 50 ms for 1 MB: other requests and pings do not wait for all of them. */
const othersGoOn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const steps: (() => void)[] = [];

/** The same where many conversations are planned on: one step of one of them at a time, and then all others. */
const inTurns = (): Promise<void> =>
	new Promise((resolve) => {
		steps.push(resolve);
		if (steps.length === 1) setImmediate(nextStep);
	});

function nextStep(): void {
	steps.shift()?.();
	if (steps.length > 0) setImmediate(nextStep);
}

/** What waits holds the conversation, and not the request. */
function planAhead<Written>(
	opened: OpenedConversation,
	composed: Composed<Written>,
	{ request, editing }: { readonly request: HostRequest<Written>; readonly editing: Editing },
): Promise<void> {
	const { source, paired, keys } = opened;
	const { states, branch } = composed;
	const { originals, plans, policy } = editing;
	if (!branch || opened.isHeldOut) return Promise.resolve();
	const replaced = states.flatMap((state, place) => {
		const one = paired[place];
		const isCleared = state?.kind === "cleared";
		const isReplaced = isCleared || (state?.values.size ?? 0) > 0;
		const key = keys[place] as string;
		return state && one && isReplaced ? [{ key, paired: one, values: state.values, ref: state.ref, isCleared }] : [];
	});
	const kept = originals.keep(source.document, replaced).catch(faultOf("archive", editing));
	const { remembered } = opened;
	if (isSummarised(request, policy, remembered)) return kept;
	if (composed.number < remembered.frozenUntil || clearingFor(request, policy, remembered) === "refused") return kept;
	const { tokensPerChar } = branch;
	const how = { states, request, editing, tokensPerChar, isForwarded: true, pause: inTurns };
	return plans.add(branch, {
		chars: lengthOf(branch),
		run: plannedAfter(kept, planningOf(opened, how), editing),
		failed: faultOf("failed", editing),
	});
}

function plannedAfter(kept: Promise<void>, planning: Planning, editing: Editing): () => Promise<Plan> {
	return () =>
		kept
			.then(() => countLarge(planning.source.transcript, planning.model, editing))
			.then(() => editing.planner(planning));
}

async function countLarge(
	transcript: Transcript,
	model: string | undefined,
	{ largeTexts, policy }: Pick<Editing, "largeTexts" | "policy">,
): Promise<void> {
	if (largeTexts) await countLargeTexts(transcript, { policy, model, largeTexts });
}

function faultOf(kind: "archive" | "failed", { onFault }: Editing): (error: unknown) => void {
	return (error) => onFault(isArchiveFault(error) ? "archive" : kind, describe(error));
}

function planningOf<Written>(
	{ source, paired, keys, remembered }: OpenedConversation,
	what: {
		readonly states: Planning["states"];
		readonly request: HostRequest<Written>;
		readonly editing: Editing;
		readonly tokensPerChar?: number | undefined;
		readonly isForwarded: boolean;
		readonly pause: () => Promise<void>;
	},
): Planning {
	const { states, request, editing, tokensPerChar, isForwarded, pause } = what;
	const { policy, archive, originals } = editing;
	const { maskings, coldAt } = remembered;
	const clears = clearingFor(request, policy, remembered) === "on";
	const { model, terms } = request;
	const about = { source, paired, keys, states, maskings, coldAt: new Set(coldAt) };
	const isDeadEnd = request.isDeadEnd === true;
	return { ...about, model, terms, policy, archive, originals, clears, isDeadEnd, tokensPerChar, isForwarded, pause };
}

/** The work that the first request after a pause may wait for. */
const mostWorkMs = 500;
/** For a disk that is busy, or an archive that is elsewhere. */
const longestWaitMs = 1_000;

/** Where nothing was planned and the cache has expired, everything is written to it again, so now is the best moment. */
async function planInPath<Written>(
	opened: OpenedConversation,
	request: HostRequest<Written>,
	editing: Editing,
): Promise<Plan | undefined> {
	return inPath(opened, { request, editing, isForwarded: false }, editing.planner);
}

/**
 * Answers what the agent asks of its own conversation with this request, and returns the decisions that it asked for. A
 * call that cannot be answered in time keeps the answer of our server, and is masked for as soon as a plan is made.
 */
async function answerAsked<Written>(
	opened: OpenedConversation,
	request: HostRequest<Written>,
	editing: Editing,
): Promise<Plan["asked"] | undefined> {
	const { transcript, paired, remembered, keys } = opened;
	if (!request.decides) return undefined;
	const fresh = new Set(unsentPlaces(opened).filter((place) => !remembered.states.has(keys[place] as string)));
	const unanswered = askedCalls(transcript, paired).filter(({ place }) => fresh.has(place));
	if (unanswered.length === 0) return undefined;
	const isFrozen = remembered.requests + 1 <= remembered.frozenUntil;
	if (reasonAgainst(opened, isFrozen, editing) !== undefined) return undefined;
	const recalledBy = request.recall?.by;
	const planned = await inPath(opened, { request, editing, isForwarded: true }, (planning) =>
		planAsked(planning, { unanswered, recalledBy }),
	);
	if (planned) opened.answers = planned.answers;
	// Others may have sent something since.
	opened.remembered = await editing.memory.fetch(opened.conversation, opened.wait);
	return planned?.decisions;
}

/** Plans while a request waits, within limits. */
async function inPath<Written, Planned>(
	opened: OpenedConversation,
	what: { readonly request: HostRequest<Written>; readonly editing: Editing; readonly isForwarded: boolean },
	plan: (planning: Planning) => Promise<Planned>,
): Promise<Planned | undefined> {
	const { request, editing } = what;
	const start = editing.worked();
	let isOver = false;
	const pause = async () => {
		await othersGoOn();
		if (isOver || editing.worked() - start > mostWorkMs) throw tooLong;
	};
	if (clearingFor(request, editing.policy, opened.remembered) === "refused") return undefined;
	if (!what.isForwarded && isSummarised(request, editing.policy, opened.remembered)) return undefined;
	const states = knownStates(opened, opened.remembered);
	const tokensPerChar = opened.branch?.tokensPerChar;
	const planning = planningOf(opened, { ...what, states, tokensPerChar, pause });
	const work = countLarge(opened.transcript, request.model, editing).then(() => plan(planning));
	const planned = await inTime(work, longestWaitMs).catch((error: unknown) => {
		if (error !== tooLong) editing.onFault(isArchiveFault(error) ? "archive" : "failed", describe(error));
		return undefined;
	});
	isOver = true;
	return planned;
}

const tooLong = new Error("The plan takes too long for a request to wait.");

function workedMs(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1_000;
}

function isArchiveFault(error: unknown): boolean {
	return error instanceof PalimpsestError && error.code === "archive_unavailable";
}

/** Errors of other code may quote the conversation. */
export function describe(error: unknown): string {
	// The first of the faults that are listed under a headline.
	if (error instanceof PalimpsestError) return error.message.split("\n", 2).join(" ").replace(": - ", ": ");
	return `${error instanceof Error ? error.name : "an unknown error"} in the proxy.`;
}

import { pairResults } from "../../engine/conversation/turns.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import type { CutsElsewhere } from "../../engine/truncation/truncate-results.ts";
import { type ReadConversation, readConversation } from "../../formats/detect.ts";
import type { Archive } from "../../storage/archive/archive.ts";
import type { CacheTerms } from "../billing/terms.ts";
import type { Originals } from "./archiving.ts";
import { type Branch, resultsOf } from "./branch.ts";
import type { Histories } from "./histories.ts";
import { conversationKey, ownedName, resultKeys } from "./identity.ts";
import type { Memory } from "./memory.ts";
import type { removals } from "./reasoning.ts";
import type { LeftOut, PlacedValue } from "./states.ts";

/** The parts that all requests of a proxy or a plugin share. */
export interface Shared {
	readonly policy: Policy;
	readonly archive: Archive | undefined;
	readonly memory: Memory;
	readonly histories: Histories;
	readonly originals: Originals;
	readonly now: () => number;
	/** Share of conversations that are never edited. */
	readonly holdout: number;
}

/** A request as its host sends it. */
export interface HostRequest<Written> {
	/** Holds the messages, and all that is sent with them. */
	readonly body: unknown;
	/** The identity of the caller. Absent or "": the only user of this machine. */
	readonly owner?: string | undefined;
	/** The formats that may be edited. */
	readonly formats: readonly string[];
	/** Whether it is known to be the first of them, also where nothing shows it yet. */
	readonly isNamed?: boolean | undefined;
	readonly terms: CacheTerms;
	readonly model: string | undefined;
	/** How the agent reads an original. */
	readonly recall: { readonly by: string } | undefined;
	/** All ways that work in this request, the best first; `undefined` if the hints stay as they are. */
	readonly recallWays?: readonly string[] | undefined;
	/** Whether the agent has tools, and none that reads an original. */
	readonly isDeadEnd?: boolean | undefined;
	/** Whether it holds only what is new, after a history that the provider keeps. */
	readonly continues?: boolean | undefined;
	/** False for a request that counts tokens, compacts, or is one of a batch: it gets the known states alone. */
	readonly decides: boolean;
	/** False: nobody has said yet that the caller is the one it claims, so nothing begins for a conversation that is new here. */
	readonly isProved?: boolean | undefined;
	/** Whether the account is known to check the messages that reasoning is bound to. */
	readonly isEnforced: boolean;
	/** Whether beta features of Anthropic's API may be asked for beside those of the host. */
	readonly takesBetas?: boolean | undefined;
	/** Members that a request of a conversation gets where the host has not: a question to the provider. */
	readonly membersFor?: ((conversation: string) => Readonly<Record<string, unknown>> | undefined) | undefined;
	/**
	 * Composes the request that is sent. `branch` keeps the text written for the request before; `added` are members that the
	 * body has not.
	 */
	readonly write: (
		edits: readonly WrittenEdit[],
		branch: Pick<Branch, "writtenText">,
		added?: Readonly<Record<string, unknown>>,
	) => Written;
}

export type WrittenEdit =
	| PlacedValue
	| ReturnType<typeof removals>[number]
	| { readonly kind: "insert"; readonly path: PlacedValue["path"]; readonly value: unknown };

export type Opened = Awaited<ReturnType<typeof openRequest>>;

export type OpenedConversation = Extract<Opened, { readonly conversation: string }>;

/** Reads a request and finds the memory of its conversation. Takes no longer than reading and writing its JSON. */
export async function openRequest(
	request: Pick<HostRequest<unknown>, "body" | "owner" | "formats" | "isNamed" | "terms" | "decides">,
	{ policy, memory, histories, now, holdout }: Shared,
) {
	const { body, owner = "", formats: names, isNamed, terms, decides } = request;
	const source: ReadConversation = readConversation(body, policy.mask.observations, { names, isNamed });
	const { transcript } = source;
	const name = conversationKey(transcript);
	const conversation = name && ownedName(owner, name);
	const at = now();
	/** Absent: each new result is cut in this thread. */
	const cutsElsewhere = undefined as CutsElsewhere | undefined;
	/** By place, the new results whose lines are in view already. */
	const repeats = undefined as ReadonlyMap<number, LeftOut> | undefined;
	if (conversation === undefined)
		return { source, transcript, conversation, at, paired: pairResults(transcript), sent: 0, cutsElsewhere, repeats };
	const wait = memory.patience();
	// Together they take one round trip, and wait at the same time.
	const [remembered] = await Promise.all([
		memory.fetch(conversation, wait),
		histories.fetch(conversation, { ...wait }),
	]);
	const branch = histories.continuedBy(conversation, transcript);
	const { lastCall } = remembered;
	const { lifetime } = terms;
	const idle = lastCall === undefined ? undefined : at - lastCall;
	const keys = resultKeys(transcript, conversation, branch?.last.kind === "history" ? branch.last : undefined);
	const elsewhere = remembered.messages === 0 && keys.length > 0 ? await memory.findElsewhere(keys, wait) : undefined;
	return {
		source,
		transcript,
		conversation,
		at,
		/** What is left of the time that this request waits for a journal. */
		wait,
		/** Milliseconds since the request before, if it is known. */
		idle,
		remembered,
		/** By key, the states of its results in other conversations, before its own first request. */
		elsewhere,
		branch: branch as Branch | undefined,
		/** By place, our answers to what the agent asks with this request. */
		answers: undefined as ReadonlyMap<number, string> | undefined,
		cutsElsewhere,
		repeats,
		/** What its results may repeat. */
		sentLines: branch?.sentLines,
		/** Results of earlier requests that this one continues. */
		sent: branch ? resultsOf(branch) : 0,
		paired: pairResults(transcript),
		keys,
		isCold: decides && idle !== undefined && lifetime > 0 && idle > lifetime,
		/** Whether another process has sent its history, and the cache may still have it. */
		isResumed: branch === undefined && idle !== undefined && idle <= lifetime,
		isHeldOut: isHeldOut(conversation, holdout),
	};
}

/** Decides by the name of the conversation, so that every process holds out the same ones. */
function isHeldOut(conversation: string, share: number): boolean {
	return Number.parseInt(conversation.slice(-32).slice(0, 8), 16) / 2 ** 32 < share;
}

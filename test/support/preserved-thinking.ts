import { createHash } from "node:crypto";
import {
	type Binding,
	type BoundRequest,
	hashOfBlock,
	isThinking,
	listOf,
	readBoundRequest,
	type SentThinking,
	type StandsFor,
} from "./bound-prefix.ts";
import { canRead, enforcementOf } from "./claude-models.ts";

type Json = Readonly<Record<string, unknown>>;

export const bindingBeta = "thinking-binding-controls-2026-08-01";

export interface ThinkingAccount {
	/** Accounts made since 2026-08-31 are `newer`: for them more models check. */
	readonly account: "older" | "newer";
}

/** A 400 of the API, for an answer over HTTP. */
export interface Refusal {
	readonly message: string;
	readonly headers: Readonly<Record<string, string>>;
	/** `error.details.error_code` */
	readonly code?: string;
}

export type CheckedRequest =
	| { readonly kind: "refused"; readonly refusal: Refusal }
	| ({ readonly kind: "accepted" } & AcceptedRequest);

export interface AcceptedRequest {
	/** As the model is shown it: without the thinking that the API left out. */
	readonly body: Json;
	/** For the answer; only with the beta header. */
	readonly transformations: readonly InputTransformation[] | undefined;
	/** Blocks of thinking in the request. */
	readonly sent: number;
	/** Blocks that the API left out. */
	readonly dropped: number;
	/** Blocks that are valid at their places in this request, beside those that it has, and are not in it. */
	readonly lost: number;
	/** Tokens of the blocks in `gone`. */
	readonly goneTokens: number;
	/** The answers in the request had thinking, some was sent in an earlier request, and this is the first without any. */
	readonly isStripped: boolean;
	/** For `issue`. */
	readonly bound: BoundRequest;
	readonly model: string;
	/** Blocks that the model is shown, and those of answers in the request that it is not shown for the first time. */
	readonly shown: readonly IssuedThinking[];
	readonly gone: readonly IssuedThinking[];
}

export interface InputTransformation {
	readonly type: "thinking_dropped" | "thinking_mismatch_allowed";
	readonly path: string;
	readonly reason: "model_binding_mismatch" | "prefix_binding_mismatch";
}

/** A block of thinking for an answer, before it is signed. */
export interface NewThinking {
	readonly type: "thinking" | "redacted_thinking";
	/** What the client is shown; empty where it asked for `display: "omitted"`. */
	readonly thinking: string;
	/** What the block counts in the bill of this and of later requests, whatever is shown of it. */
	readonly tokens: number;
}

interface IssuedThinking {
	readonly type: NewThinking["type"];
	readonly signature: string;
	readonly thinking: string;
	readonly tokens: number;
	readonly model: string;
	readonly binding: Binding;
	/** Signature of the block that came before it. */
	readonly previous: string | undefined;
	readonly next: string | undefined;
	wasSent: boolean;
	isGone: boolean;
}

export interface PreservedThinking {
	/** Checks the thinking of a request to `/v1/messages` or `/v1/messages/count_tokens`; both make the same check. Nothing is remembered. */
	readonly check: (body: Json, betas?: readonly string[], block?: StandsFor) => CheckedRequest;
	/** Signs the thinking in the answer to a request, in the order of the answer, and remembers what the request had. */
	readonly issue: (request: AcceptedRequest, answer: readonly (NewThinking | Json)[]) => Json[];
	/** Tokens of a block by its signature. */
	readonly tokensOf: (block: Json) => number | undefined;
}

/**
 * The API's rules for thinking that a client sends back. Sources:
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking with its pages "prefix-checks" and
 * "fix-bound-to-a-different-conversation", and the types `BetaThinkingBlockBinding` and `BetaInputTransformation` of
 * `@anthropic-ai/sdk`.
 *
 * 1. A block is sent back as it was issued. A changed signature, or a changed text, is a 400 for every model.
 * 2. A block that the model may not read is left out without an error (`model_binding_mismatch`).
 * 3. A block is valid while what it is bound to is unchanged (`readBoundRequest`).
 * 4. A block records which block came before it. Blocks may be left out from the start, from the end, or all. One left out
 *    between others invalidates those behind it, and one that was left out when a block was produced invalidates that block when
 *    it is put back before it.
 * 5. An invalid block is a 400 where the model checks for this account; `block_binding` with `drop_block` leaves it out instead,
 *    and makes an older account check as well. Where nobody checks by default, the block is shown and listed.
 * 6. `input_transformations` comes with the beta header only, empty where there is nothing to list.
 *
 * A token of a block is an assumption of this stand-in: it remembers by the signature how many tokens the model thought, and
 * bills those, since the bytes of an omitted text say nothing.
 */
export function createPreservedThinking({ account }: ThinkingAccount): PreservedThinking {
	const issued = new Map<string, IssuedThinking>();
	const byPlace = new Map<string, IssuedThinking[]>();

	return {
		check(body, betas = [], block) {
			const bound = readBoundRequest(body, block);
			const model = String(body.model);
			const tampered = bound.thinking.map((sent) => tamperingOf(sent, body)).find((one) => one !== undefined);
			if (tampered !== undefined) return refused(tampered);
			const handling = handlingOf(model, account, behaviourOf(body));
			const transformations: InputTransformation[] = [];
			const shown: IssuedThinking[] = [];
			const left = new Set<Json>();
			for (const sent of bound.thinking) {
				const thought = issuedAs(sent.block) as IssuedThinking;
				const isUnreadable = !canRead(model, thought.model);
				const failure = isUnreadable || handling === "unchecked" ? undefined : failureOf(thought, sent, shown, bound);
				if (failure && handling === "error") return refused(mismatchRefusal(sent, failure, betas));
				const isLeft = isUnreadable || (failure !== undefined && handling === "drop_block");
				if (isLeft) left.add(sent.block);
				else shown.push(thought);
				if (!isUnreadable && failure === undefined) continue;
				const reason = isUnreadable ? "model_binding_mismatch" : "prefix_binding_mismatch";
				transformations.push({
					type: isLeft ? "thinking_dropped" : "thinking_mismatch_allowed",
					path: pathOf(sent),
					reason,
				});
			}
			return {
				kind: "accepted",
				body: left.size === 0 ? body : without(body, left),
				transformations: betas.includes(bindingBeta) ? transformations : undefined,
				sent: bound.thinking.length,
				dropped: left.size,
				...absencesIn(bound, model, shown),
				bound,
				model,
				shown,
			};
		},
		issue({ bound, model, shown, gone }, answer) {
			for (const one of gone) one.isGone = true;
			for (const one of shown) one.wasSent = true;
			let previous = shown.at(-1)?.signature;
			const before: Json[] = [];
			return answer.map((block, index) => {
				if (!isNew(block)) {
					before.push(block);
					return block;
				}
				const following = answer.slice(index).find((one) => !isNew(one));
				const next = following && hashOfBlock(following);
				const { type, thinking, tokens } = block;
				const signature = nextSignature();
				const binding = bound.answered(before);
				const one = {
					type,
					signature,
					thinking,
					tokens,
					model,
					binding,
					previous,
					next,
					wasSent: false,
					isGone: false,
				};
				issued.set(signature, one);
				const place = placeOf(binding, next);
				byPlace.set(place, [...(byPlace.get(place) ?? []), one]);
				previous = signature;
				return type === "thinking" ? { type, thinking, signature } : { type, data: signature };
			});
		},
		tokensOf: (block) => issuedAs(block)?.tokens,
	};

	function issuedAs({ signature, data }: Json): IssuedThinking | undefined {
		return issued.get(String(signature ?? data));
	}

	function tamperingOf({ message, content, block }: SentThinking, body: Json): Refusal | undefined {
		const path = `messages.${message}.content.${content}`;
		const field = block.type === "thinking" ? "signature" : "data";
		if (typeof block[field] !== "string") return plain(`${path}.${block.type}.${field}: Field required`);
		const one = issuedAs(block);
		if (one === undefined || one.type !== block.type)
			return plain(`${path}: Invalid \`${field}\` in \`${block.type}\` block`);
		if (block.type === "redacted_thinking" || block.thinking === one.thinking) return undefined;
		const lastAnswer = listOf(body.messages).findLastIndex(({ role }) => role === "assistant");
		if (message !== lastAnswer) return plain(`${path}: Invalid \`signature\` in \`thinking\` block`);
		return plain(
			`${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
		);
	}

	/**
	 * Valid blocks that were not sent. Those that were sent and shown are a run, each recorded before the next. Rule 4 allows to
	 * prolong a run at both ends with blocks that fit their places; where nothing was sent, the longest such run counts.
	 */
	function absencesIn(bound: BoundRequest, model: string, shown: readonly IssuedThinking[]) {
		const all = bound.places.flatMap(({ binding, next }) =>
			[binding.messages, ...binding.others].flatMap(
				(messages) => byPlace.get(placeOf({ ...binding, messages }, next)) ?? [],
			),
		);
		const fitting = new Map(all.filter((one) => canRead(model, one.model)).map((one) => [one.signature, one]));
		const lengthBefore = (one: IssuedThinking | undefined): number => {
			const before = one?.previous === undefined ? undefined : fitting.get(one.previous);
			return before === undefined ? 0 : 1 + lengthBefore(before);
		};
		const lengthBehind = (signature: string | undefined): number => {
			const behind = Array.from(fitting.values()).filter(({ previous }) => previous === signature);
			return Math.max(0, ...behind.map((one) => 1 + lengthBehind(one.signature)));
		};
		const [first, last] = [shown[0], shown.at(-1)];
		const lost = last
			? lengthBefore(first) + lengthBehind(last.signature)
			: Math.max(0, ...Array.from(fitting.values(), (one) => 1 + lengthBefore(one)));

		const nexts = new Set(bound.places.map(({ next }) => next).filter((next) => next !== undefined));
		const signatures = new Set(shown.map(({ signature }) => signature));
		const missing = Array.from(issued.values()).filter(
			(one) => one.next !== undefined && nexts.has(one.next) && !signatures.has(one.signature),
		);
		const gone = missing.filter(({ isGone }) => !isGone);
		const isStripped = bound.thinking.length === 0 && gone.some(({ wasSent }) => wasSent);
		return { lost, isStripped, gone, goneTokens: gone.reduce((sum, { tokens }) => sum + tokens, 0) };
	}
}

function isNew(block: NewThinking | Json): block is NewThinking {
	return isThinking(block as Json);
}

interface Failure {
	readonly kind: string;
	readonly sentence: string;
}

/** Why a block is invalid behind the blocks that were shown before it; nothing if it is valid. */
function failureOf(
	block: IssuedThinking,
	sent: SentThinking,
	shown: readonly IssuedThinking[],
	bound: BoundRequest,
): Failure | undefined {
	const [a, b] = [block.binding, sent.binding];
	const differs = (what: string) => ` The ${what} differs from the one this block was created with.`;
	const changes = [
		...(a.system === b.system ? [] : [{ kind: "system_changed", sentence: differs("`system` prompt") }]),
		...(a.tools === b.tools ? [] : [{ kind: "tools_changed", sentence: differs("`tools` list") }]),
		...([b.messages, ...b.others].includes(a.messages) ? [] : [{ kind: messagesKind(a, b), sentence: "" }]),
	];
	if (changes.length > 1) return { kind: "multiple", sentence: changes[0]?.sentence ?? "" };
	if (changes[0]) return changes[0];
	const before = shown.at(-1);
	if (before === undefined || before.signature === block.previous) return undefined;
	const isThere = bound.thinking.some(({ block: { signature, data } }) => (signature ?? data) === block.previous);
	if (block.previous === undefined || isThere) return { kind: "predecessor_reordered", sentence: "" };
	const sentence = " The `thinking` block that preceded this one when it was created is missing from this request.";
	return { kind: "predecessor_missing", sentence };
}

function messagesKind(a: Binding, b: Binding): string {
	if (a.messageCount === b.messageCount) return "blocks_modified";
	return a.messageCount > b.messageCount ? "blocks_removed" : "blocks_inserted";
}

/** The words are those of the API's page and of answers that users reported. */
function mismatchRefusal(sent: SentThinking, { kind, sentence }: Failure, betas: readonly string[]): Refusal {
	const field = sent.block.type === "thinking" ? "signature" : "data";
	const needed = betas.includes(bindingBeta)
		? ""
		: ` That setting requires the \`${bindingBeta}\` value in the \`anthropic-beta\` header.`;
	const message =
		`${pathOf(sent)}: Invalid \`${field}\` in \`${sent.block.type}\` block. The block is bound to a different conversation. ` +
		'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".' +
		needed +
		sentence;
	return { message, headers: { "anthropic-thinking-prefix-mismatch": `block=${pathOf(sent)};kind=${kind}` } };
}

function refused(refusal: Refusal): CheckedRequest {
	return { kind: "refused", refusal };
}

function plain(message: string): Refusal {
	return { message, headers: {} };
}

type Behaviour = "error" | "drop_block" | undefined;

function behaviourOf({ thinking }: Json): Behaviour {
	const binding = (thinking as Json | undefined)?.block_binding as Json | null | undefined;
	return (binding?.prefix_mismatch_behavior as Behaviour | null) ?? undefined;
}

function handlingOf(
	model: string,
	account: ThinkingAccount["account"],
	behaviour: Behaviour,
): "unchecked" | "allowed" | "error" | "drop_block" {
	const enforcement = enforcementOf(model);
	if (enforcement === "nobody") return "unchecked";
	if (behaviour !== undefined) return behaviour;
	return enforcement === "everyone" || account === "newer" ? "error" : "allowed";
}

function pathOf({ message, content }: SentThinking): string {
	return `messages.${message}.content.${content}`;
}

function placeOf({ system, tools, messages }: Binding, next: string | undefined): string {
	return [system, tools, messages, next].join(" ");
}

function without(body: Json, left: ReadonlySet<Json>): Json {
	const messages = listOf(body.messages).map((message) => {
		const { content } = message;
		return Array.isArray(content)
			? { ...message, content: content.filter((block: Json) => !left.has(block)) }
			: message;
	});
	return { ...body, messages };
}

let signatures = 0;

/** The same answers are then signed the same. */
export function signFromStart(): void {
	signatures = 0;
}

/** As long as those of the API for a short thought, and never the same in one process. */
function nextSignature(): string {
	signatures += 1;
	const parts = [1, 2, 3, 4].map((part) => createHash("sha512").update(`${part} ${signatures}`).digest("base64"));
	return parts.join("").replaceAll("=", "");
}

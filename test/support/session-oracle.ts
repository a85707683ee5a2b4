import { unseenAnswer } from "../../src/engine/masking/asked.ts";
import { isReferenceLine } from "../../src/storage/restore/recognise.ts";
import { isThinking } from "./bound-prefix.ts";
import { type ClearingCounts, createClearingOracle, shownMessages } from "./clearing-oracle.ts";
import { type HostMessage, type HostResult, keyOf, resultsIn, spelled, startOf, thinkingIn } from "./host-history.ts";
import type { Json, Message } from "./thinking-session.ts";

/** A request that the provider took, beside what the host sent. */
export interface TakenRequest {
	/** A branch of the session; its last request is compared with this one. */
	readonly branch: object;
	readonly history: readonly HostMessage[];
	/** With the spellings of `spelled` still to come. */
	readonly hostBody: Json;
	readonly hostText: string;
	readonly text: string;
	readonly counts: boolean;
	readonly asksToDrop: boolean;
	/** Sent as the host sent it, after other forms were refused. */
	readonly isOwn: boolean;
	/** Whether the provider refuses or leaves out what no longer fits. */
	readonly isChecked: boolean;
	/** Whether the proxy leaves out what no longer fits although the provider does not check. */
	readonly leavesOutUnasked: boolean;
	/** Whether another model may have taught the proxy to leave out what this one does not check. */
	readonly isUnknown: boolean;
	/** Whether no process can write down what it knows. */
	readonly isMemoryAway: boolean;
	/** Whether a process ended that could not write down what it knew: then valid thinking may be left out. */
	readonly hasForgotten: boolean;
	/** Whether the ids of calls are such that another conversation can have them. */
	readonly hasShortIds: boolean;
	/** Whether the host's own request, in the world without a proxy, was refused for its thinking. */
	readonly isHostsFault: boolean;
	/** Of the process that sent it. */
	readonly process: object;
	readonly model: string;
	/**
	 * Numbers of thinking that a request at the same time leaves out since it was refused: when this one was sent, that was not
	 * known yet.
	 */
	readonly leftOutMeanwhile: ReadonlySet<number>;
	/** Numbers of the thinking in the answer. */
	readonly answer: readonly number[];
	/** Tells the number of a block of thinking. */
	readonly numberOf: (block: Json) => number;
}

interface Form {
	readonly kind: "whole" | "cut" | "repeat" | "masked";
	readonly content: string;
	/** The process that sent it first and has not been able to write it down yet. */
	readonly unwrittenBy?: object | undefined;
}

interface Conversation {
	readonly forms: Map<string, Form>;
	readonly leftOut: Set<number>;
	/** Processes with requests that they could not write down yet, with the model of the last one. */
	readonly unwritten: Map<object, string>;
}

interface LastRequest {
	readonly model: string;
	readonly history: readonly HostMessage[];
	readonly messages: readonly Message[];
	readonly forms: ReadonlyMap<string, Form>;
}

interface Produced {
	readonly model: string;
	readonly conversation: string;
	readonly process: object;
	/** Of the request that the block answers. */
	readonly forms: ReadonlyMap<string, string>;
}

export const countedNames = [
	"requests",
	"edited",
	"whole_to_masked",
	"cut_to_masked",
	"cuts",
	"repeats",
	"references",
	"mended",
	"answered",
	"hints_moved",
	"adopted",
	"blocks_left_out",
	"blocks_kept_after_a_change",
	"unchanged_prefixes",
	"changed_prefixes",
	"own",
] as const;

export type OracleCounts = Record<(typeof countedNames)[number], number> & ClearingCounts;

/**
 * Says what is wrong with what was sent, from the sent texts alone: it knows nothing of the memory of the proxy. An error
 * names the rule.
 */
export function createSessionOracle(counts: OracleCounts) {
	const conversations = new Map<string, Conversation>();
	const produced = new Map<number, Produced>();
	const lastOf = new WeakMap<object, LastRequest>();
	/** The last form of a result in any conversation of a process. */
	const lastForms = new WeakMap<object, Map<string, Form>>();

	const clearing = createClearingOracle(counts);

	return {
		refused: clearing.refused,
		/** The originals of the results that the model is not shown whole. */
		replacedIn(history: readonly HostMessage[]): string[] {
			const { forms } = conversationOf(history);
			const cleared = clearing.clearedIn(history);
			return resultsIn(history).flatMap(({ result }) => {
				const { kind = "whole" } = forms.get(keyOf(result)) ?? {};
				const { content } = result;
				// What our server answers says nothing, so it is not kept.
				if ((kind === "cut" || cleared.has(keyOf(result))) && isAnswered(content)) return [];
				const isWhole = kind === "whole" && !cleared.has(keyOf(result));
				return isWhole ? [] : [typeof content === "string" ? content : String((content as Json[])[0]?.text)];
			});
		},
		/** Returns the numbers of the thinking that is left out. */
		check(taken: TakenRequest): ReadonlySet<number> {
			const { history, text, hostText, counts: onlyCounts } = taken;
			counts.requests += 1;
			if (text !== hostText) counts.edited += 1;
			const sent = JSON.parse(text) as { readonly messages: readonly Message[] } & Json;
			const forms = formsIn(taken, sent);
			const out = blocksOut(taken, sent);
			checkBytes(taken, sent);
			clearing.check(taken);
			if (taken.isOwn) counts.own += 1;
			else {
				checkReferences(taken, sent);
				checkForms(taken, forms);
				checkThinking(taken, forms, out);
			}
			const conversation = conversationOf(history);
			const { messages } = sent;
			checkPrefix(taken, messages, forms);
			if (onlyCounts) return out;
			for (const number of out) conversation.leftOut.add(number);
			if (!taken.isOwn) {
				const known = lastForms.get(taken.process) ?? new Map<string, Form>();
				lastForms.set(taken.process, known);
				for (const [key, form] of conversation.forms) {
					// It writes down what waited, too.
					if (form.unwrittenBy === taken.process && !taken.isMemoryAway)
						conversation.forms.set(key, { ...form, unwrittenBy: undefined });
				}
				for (const [key, form] of forms) {
					const before = conversation.forms.get(key);
					const waits = before?.content === form.content ? before.unwrittenBy : taken.process;
					conversation.forms.set(key, { ...form, unwrittenBy: taken.isMemoryAway ? waits : undefined });
					known.set(key, form);
				}
			}
			const contents = new Map(Array.from(forms, ([key, { content }]) => [key, content]));
			const { model, process } = taken;
			for (const number of taken.answer)
				produced.set(number, { model, process, conversation: startOf(history), forms: contents });
			const { unwritten } = conversation;
			if (taken.isMemoryAway) unwritten.set(process, model);
			// What waits is written with the next note; a request to a model that does not check leaves none.
			else if (unwritten.get(process) === model) unwritten.delete(process);
			lastOf.set(taken.branch, { model: taken.model, history, messages, forms });
			return out;
		},
	};

	function conversationOf(history: readonly HostMessage[]): Conversation {
		const start = startOf(history);
		const conversation = conversations.get(start) ?? { forms: new Map(), leftOut: new Set(), unwritten: new Map() };
		conversations.set(start, conversation);
		return conversation;
	}

	/** Everything but the results and the thinking that is left out is as the host wrote it, to the byte. */
	function checkBytes({ hostBody, hostText, text, asksToDrop }: TakenRequest, sent: Json): void {
		if (text === hostText) return;
		const sentMessages = sent.messages as readonly Message[];
		const { context_management: managed } = sent;
		// A field that the host does not send comes first.
		const isNew = managed !== undefined && !Object.hasOwn(hostBody, "context_management");
		const expected = Object.fromEntries(
			Object.entries(isNew ? { context_management: managed, ...hostBody } : hostBody).map(([name, value]) => {
				if (name === "context_management") return [name, managed];
				if (name === "thinking" && asksToDrop) return [name, sent.thinking];
				// The checksum of the body that the host wrote does not hold for another.
				if (name === "system") return [name, JSON.parse(JSON.stringify(value).replace(/ cch=\w+;/, ""))];
				return [name, name === "messages" ? (value as Message[]).map(asSent) : value];
			}),
		);
		if (spelled(expected) !== text) fail("bytes that no edit touches have changed");

		function asSent(message: Message, index: number): Message {
			const given = sentMessages[index]?.content;
			if (!Array.isArray(message.content) || !Array.isArray(given)) return message;
			const blocks = message.content.filter(
				(block) => !isThinking(block) || given.some((one) => isSameThinking(one, block)),
			);
			const content = blocks.map((block, place) => {
				return block.type === "tool_result" ? { ...block, content: given[place]?.content } : block;
			});
			return { ...message, content };
		}
	}

	function formsIn({ history }: TakenRequest, sent: { readonly messages: readonly Message[] }): Map<string, Form> {
		const contents = new Map<string, unknown>();
		for (const { content } of sent.messages) {
			if (!Array.isArray(content)) continue;
			for (const block of content)
				if (block.type === "tool_result") contents.set(String(block.tool_use_id), block.content);
		}
		return new Map(
			resultsIn(history).map(({ result }) => {
				const content = contents.get(result.id);
				return [keyOf(result), { content: JSON.stringify(content), kind: kindOf(result, content) }];
			}),
		);
	}

	/** A result is masked once at most, is never cut after it was whole, and else stays to the byte. */
	function checkForms(taken: TakenRequest, forms: ReadonlyMap<string, Form>): void {
		const { history, counts: onlyCounts, process, hasShortIds } = taken;
		const conversation = conversationOf(history);
		const isFirst = conversation.forms.size === 0;
		const lastAnswer = history.findLastIndex(({ role }) => role === "assistant");
		let moved = 0;
		for (const { message, result } of resultsIn(history)) {
			const key = keyOf(result);
			const now = forms.get(key) as Form;
			const before = conversation.forms.get(key);
			if (!before) {
				const elsewhere = lastForms.get(process)?.get(key);
				if (now.kind === "masked" && message > lastAnswer) fail("a result was masked that the model has never read");
				if (isFirst && !hasShortIds && elsewhere && elsewhere.kind !== "whole") {
					if (now.content !== elsewhere.content && message < lastAnswer) {
						if (elsewhere.kind === "repeat") continue;
						if (now.kind !== "masked" || !now.content.includes("recall"))
							fail("a compacted conversation has lost a state");
						moved += 1;
					}
					counts.adopted += 1;
				}
				const isAnswer = isAnswered(result.content);
				if (now.kind === "cut" && !onlyCounts) counts[isAnswer ? "answered" : "cuts"] += 1;
				if (now.kind === "repeat" && !onlyCounts) counts.repeats += 1;
				if (isNoted(now.content) && !onlyCounts) counts.notes += 1;
				if (isAnswer && now.kind === "masked") fail("an answer to the agent was masked before it was sent");
				continue;
			}
			if (before.content === now.content) continue;
			// What could not be written down is known to the process that sent it, and to no other.
			if (before.unwrittenBy && lastForms.get(process)?.get(key)?.content !== before.content) continue;
			if (before.kind === "repeat" && now.kind !== "masked") {
				if (stillPoints(before.content, result, message, taken)) fail("a result has changed whose lines are in view");
				counts.mended += 1;
				continue;
			}
			if (onlyCounts && now.kind !== "masked") fail("a request that counts tokens has another form");
			if (before.kind === "masked") {
				if (now.kind !== "masked") fail(`a masked result was sent ${now.kind}`);
				if (!now.content.includes("recall")) fail("the bytes of a placeholder have changed");
				moved += 1;
				continue;
			}
			if (now.kind !== "masked") fail(`a result that was sent ${before.kind} is sent ${now.kind}`);
			counts[before.kind === "whole" ? "whole_to_masked" : "cut_to_masked"] += 1;
		}
		counts.hints_moved += moved;
		if (moved > 1) fail("more than one placeholder has changed");
	}

	/** Every line that stands for others points to just these in an earlier result of this request, where they are sent themselves. */
	function checkReferences({ history }: TakenRequest, sent: Json): void {
		const results = sentResults(shownMessages(sent));
		const originals = new Map(resultsIn(history).map(({ result }) => [result.id, textOf(result.content)]));
		for (const [place, { id, text }] of results.entries()) {
			const original = originals.get(id);
			// A tool may print such a line.
			for (const line of text.split("\n").filter((one) => isReferenceLine(one) && !original?.includes(one))) {
				counts.references += 1;
				if (!pointsTo(line, original ?? "", results.slice(0, place))) fail("a line points to text that is not there");
			}
		}
	}

	/** Whether the lines that a result pointed to are in this request. */
	function stillPoints(content: string, result: HostResult, message: number, { history, text }: TakenRequest): boolean {
		const earlier = new Set(resultsIn(history).flatMap((one) => (one.message < message ? [one.result.id] : [])));
		const results = sentResults(shownMessages(JSON.parse(text) as Json)).filter(({ id }) => earlier.has(id));
		const lines = textOf(JSON.parse(content)).split("\n").filter(isReferenceLine);
		return lines.every((line) => pointsTo(line, textOf(result.content), results));
	}

	/** A block is left out exactly where a result before it has another form than in the request that it answers. */
	function checkThinking(taken: TakenRequest, forms: ReadonlyMap<string, Form>, out: ReadonlySet<number>): void {
		const { history, isChecked, leavesOutUnasked, isHostsFault } = taken;
		if (isHostsFault || taken.isUnknown) return;
		const conversation = conversationOf(history);
		const results = resultsIn(history);
		for (const { message, number } of thinkingIn(history)) {
			const origin = produced.get(number);
			// What another model thought is not shown to this one.
			if (origin?.model !== taken.model) continue;
			const before = results.filter((one) => one.message < message).map(({ result }) => keyOf(result));
			// A host that has changed what came before has made the block invalid itself, or knows why not.
			if (origin.conversation !== startOf(history) || before.some((key) => !origin.forms.has(key))) continue;
			const isChanged = before.some((key) => origin.forms.get(key) !== forms.get(key)?.content);
			const isExpected = isChanged || conversation.leftOut.has(number);
			if (!isChecked && !leavesOutUnasked) {
				if (out.has(number) && !conversation.leftOut.has(number)) fail("thinking is left out that nobody checks");
				continue;
			}
			// No other process knows in which form the results were sent, so the block may be older than their last change.
			const isUnwritten = origin.process !== taken.process && conversation.unwritten.has(origin.process);
			const isUnknown = taken.hasForgotten || isUnwritten;
			if (out.has(number) && !isExpected && !isUnknown) fail("valid thinking is left out");
			const isLater = !isChanged && taken.leftOutMeanwhile.has(number);
			if (!out.has(number) && isExpected && !isLater) fail("invalid thinking is sent");
			counts.blocks_left_out += Number(isExpected);
			counts.blocks_kept_after_a_change += Number(
				!isExpected && before.some((key) => forms.get(key)?.kind === "masked"),
			);
		}
	}

	/**
	 * What the last request of the branch had is in this one, up to the first result that has changed. Thinking of another
	 * model is not shown to this one. Thinking that another branch had to leave out stays out in all.
	 */
	function checkPrefix(taken: TakenRequest, messages: readonly Message[], forms: ReadonlyMap<string, Form>): void {
		const { branch, history, isOwn, isHostsFault, counts: onlyCounts } = taken;
		const last = lastOf.get(branch);
		const goesOn = last?.history.every((message, index) => history[index] === message) === true;
		// Another model has a cache of its own, and may check what this one did not.
		if (taken.hasForgotten || last?.model !== taken.model || !goesOn || isOwn || isHostsFault || onlyCounts) return;
		const changed = resultsIn(last.history).find(({ result }) => {
			const key = keyOf(result);
			return last.forms.get(key)?.content !== forms.get(key)?.content;
		});
		const { leftOut, unwritten } = conversationOf(history);
		// Another process has left out thinking, for example: then only a refusal tells that it does not fit, and all goes.
		if (Array.from(unwritten.keys()).some((process) => process !== taken.process)) return;
		const isShown = (block: Json) => {
			if (!isThinking(block)) return true;
			const number = taken.numberOf(block);
			return produced.get(number)?.model === taken.model && !leftOut.has(number);
		};
		const differing = last.messages.findIndex((message, index) => {
			const now = messages[index];
			return now === undefined || canonical(message, isShown) !== canonical(now, isShown);
		});
		counts[differing === -1 ? "unchanged_prefixes" : "changed_prefixes"] += 1;
		if (differing !== -1 && (changed === undefined || differing < changed.message))
			fail("the beginning of a request has changed without a decision");
	}
}

/** Thinking of the host's history that is not in what was sent. */
function blocksOut({ history, numberOf }: TakenRequest, sent: { readonly messages: readonly Message[] }): Set<number> {
	const there = new Set(
		sent.messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter(isThinking).map(numberOf) : [])),
	);
	return new Set(thinkingIn(history).flatMap(({ number }) => (there.has(number) ? [] : [number])));
}

interface SentResult {
	readonly id: string;
	readonly text: string;
}

function sentResults(messages: readonly Message[]): SentResult[] {
	return messages.flatMap(({ content }) =>
		Array.isArray(content)
			? content.flatMap((block) =>
					block.type === "tool_result" ? [{ id: String(block.tool_use_id), text: textOf(block.content) }] : [],
				)
			: [],
	);
}

function textOf(content: unknown): string {
	const text = typeof content === "string" ? content : String((content as Json[])[0]?.text ?? "");
	return text.replaceAll("@slash", "a/b");
}

/** Whether one of the results has, in these lines of its own, what the original has in its lines. Numbers before lines may differ. */
function pointsTo(line: string, original: string, results: readonly SentResult[]): boolean {
	const parts = /^\[\D*(\d+)–(\d+).*?(?:lines|lignes|第) (\d+)–(\d+).*\]$/.exec(line);
	const [from, to, sourceFrom, sourceTo] = (parts ?? []).slice(1).map(Number);
	if (!from || !to || !sourceFrom || !sourceTo || to - from !== sourceTo - sourceFrom) return false;
	const bare = (text: string, first: number, last: number) =>
		text
			.split("\n")
			.slice(first - 1, last)
			.map((one) => one.replace(/^\s*\d+\t/, ""));
	const wanted = bare(original, from, to);
	return results.some(({ id, text }) => {
		const there = bare(text, sourceFrom, sourceTo);
		return line.includes(id) && wanted.join("\n") === there.join("\n") && !there.some(isReferenceLine);
	});
}

function isSameThinking(one: Json, other: Json): boolean {
	return isThinking(one) && one.signature === other.signature && one.data === other.data;
}

const note = /\\n\\n\[Old tool results were cleared.*\](?="[}\]]*$)/;

const isNoted = (content: string) => note.test(content);

/** A note on what was cleared stands behind the text, and is no edit of it. */
function kindOf(result: HostResult, content: unknown): Form["kind"] {
	const text = JSON.stringify(content).replace(note, "");
	if (text === JSON.stringify(result.content).replaceAll("@slash", "a/b")) return "whole";
	if (/\[(?:Observation masked:|masked )/.test(text)) return "masked";
	return textOf(content).split("\n").some(isReferenceLine) ? "repeat" : "cut";
}

/** The answer of our server to an agent that asks of its own conversation, which is to be replaced. */
function isAnswered(content: unknown): boolean {
	return JSON.stringify(content).includes(unseenAnswer);
}

function canonical({ role, content }: Message, isShown: (block: Json) => boolean): string {
	const blocks: readonly Json[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
	return JSON.stringify([role, blocks.filter(isShown).map(({ cache_control, ...block }) => block)]);
}

function fail(rule: string): never {
	throw new Error(`A rule does not hold: ${rule}.`);
}

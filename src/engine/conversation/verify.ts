import { compactJson } from "./json.ts";
import { groupBy } from "./lists.ts";
import { type CountTokens, measure, sizeOfResult, type TokenMeter } from "./measure.ts";
import { equalsPath, isListed, jsonPointer, type Path, recordOf, startsWith, valueAt } from "./paths.ts";
import { type Edit, type InsertEdit, type Plan, type ReplaceEdit, takesMessageOut } from "./plan.ts";
import {
	editablePaths,
	type Message,
	type TextNode,
	type ToolCall,
	type Transcript,
	withoutFrame,
} from "./transcript.ts";
import { pairLinks, pairResults } from "./turns.ts";
import { compareDocuments, isNew, type MessageTrace, type ReadDocument } from "./verify-trace.ts";

type KeptPromise =
	| "only_tool_results_edited"
	| "system_messages_kept"
	| "every_edit_shrinks"
	| "untouched_parts_identical"
	| "order_kept"
	| "ids_kept"
	| "pairing_kept"
	| "inserted_as_planned"
	| "start_kept"
	| "users_words_kept";

/** A broken promise. It never quotes the conversation. */
export interface Violation {
	readonly promise: KeptPromise;
	readonly detail: string;
}

interface VerifyParameters {
	readonly plan: Plan;
	readonly base: Path;
	readonly countTokens: CountTokens;
	/** Returns the part of a user message's text before any summary. */
	readonly ownTextOf?: (text: string) => string;
	/** Recognises links between records, which may change if records are removed. */
	readonly isLink?: (path: Path) => boolean;
	/** `Format.answeredCalls` of the written list. */
	readonly answeredCalls?: readonly string[];
	/** Texts of people that stay in user messages, word for word and in this order. */
	readonly pinned?: readonly string[] | undefined;
	/** Set if an external strategy rewrote the list: it may replace any value, but the total by this meter may not grow. */
	readonly rewrite?: { readonly meter: TokenMeter; readonly swap?: Swap | undefined } | undefined;
}

/** How many first messages, system messages among them, a signed block of the provider has replaced. */
export type Swap = { readonly messages: number };

/** Checks a written document against all promises, whoever planned its edits. */
export function verify(before: ReadDocument, after: ReadDocument, parameters: VerifyParameters): Violation[] {
	const violations: Violation[] = [];
	const report = (promise: KeptPromise, detail: string) => violations.push({ promise, detail });
	const given = { before, after, ...parameters, report };
	const check: Check = { ...given, trace: compareDocuments(given) };
	const checks = [verifyTargets, verifySizes, verifyMessages, verifySystem, verifyExchanges, verifyObservations];
	if (check.rewrite) checks.push(verifyNothingBetween);
	// A block goes first, as the provider's message, and summarised system messages are said again at the end.
	if (check.rewrite && !check.rewrite.swap) checks.push(verifyNothingMoved, verifyStart);
	for (const verifyPart of checks) verifyPart(check);
	for (const detail of missingWords(after.transcript, parameters.pinned)) report("users_words_kept", detail);
	return violations;
}

interface Check extends VerifyParameters {
	readonly before: ReadDocument;
	readonly after: ReadDocument;
	readonly trace: MessageTrace;
	readonly report: (promise: KeptPromise, detail: string) => unknown;
}

function verifyTargets({ before, plan, base, isLink, rewrite, report, ownTextOf }: Check): void {
	const { messages } = before.transcript;
	const targets = targetsOf(messages, plan);
	const removesValues = plan.some(({ kind }) => kind === "remove");
	for (const edit of plan) {
		const { kind, reason, path, message } = edit;
		const pointer = jsonPointer(path);
		if (kind === "insert") {
			if (!isInsertable(edit, messages[message], base)) report("inserted_as_planned", pointer);
		} else if (reason === "relink") {
			const isLinked = removesValues && isLink?.(path);
			if (!isLinked) report("only_tool_results_edited", `${pointer} links to no removed record`);
		} else if (reason === "merge") {
			if (!keepsOwnText(edit, before, ownTextOf)) report("inserted_as_planned", `${pointer} loses a person's text`);
		} else {
			const target = takesMessageOut(edit) ? "message" : kind === "remove" ? "reasoning block" : "tool result";
			const isAllowed = (rewrite && isListed(path, base)) || targets.has(`${target} ${message} ${pointer}`);
			const isTorn = edit.kind === "replace" && losesFrame(edit, messages[message]);
			if (!isAllowed) report("only_tool_results_edited", `${pointer} is not a ${target}`);
			else if (isTorn) report("only_tool_results_edited", `${pointer} loses its surrounding text`);
		}
	}
}

/** The editable places in the edited messages: kind, message and pointer. */
function targetsOf(messages: readonly Message[], plan: Plan): ReadonlySet<string> {
	const targets = new Set<string>();
	for (const index of new Set(plan.map(({ message }) => message))) {
		const message = messages[index];
		if (!message) continue;
		const add = (target: string, path: Path) => targets.add(`${target} ${index} ${jsonPointer(path)}`);
		for (const path of message.paths) add("message", path);
		for (const { path } of message.thinking) add("reasoning block", path);
		for (const path of message.results.flatMap(editablePaths)) add("tool result", path);
	}
	return targets;
}

function losesFrame({ path, replacement }: ReplaceEdit, message: Message | undefined): boolean {
	const isLost = (text: TextNode) =>
		text.frame !== undefined && equalsPath(text.path, path) && withoutFrame(text, String(replacement)) === undefined;
	return message?.results.some(({ texts }) => texts.some(isLost)) ?? false;
}

/** Whether the text of a user message stays in front of the summaries that join it, and only summaries follow. */
function keepsOwnText(edit: Edit, before: ReadDocument, ownTextOf = (text: string) => text): boolean {
	const { role, sent, results = [], paths = [] } = before.transcript.messages[edit.message] ?? {};
	const [old, replacement] = [valueAt(before.document, edit.path), edit.kind === "replace" && edit.replacement];
	const isOfUser = role === "user" && sent !== false && paths.some((place) => startsWith(edit.path, place));
	const isResult = results.flatMap(editablePaths).some((path) => startsWith(edit.path, path));
	if (!isOfUser || isResult || typeof old !== "string" || typeof replacement !== "string") return false;
	return replacement.startsWith(ownTextOf(old)) && ownTextOf(replacement) === ownTextOf(old);
}

/** Messages are inserted into the list of messages; parts into a user message or after the assistant's own words. */
function isInsertable({ reason, inserts, path }: InsertEdit, message: Message | undefined, base: Path): boolean {
	if (reason !== "summary" && reason !== "append") return false;
	if (inserts === "message") return isListed(path, base);
	const isOwn = message?.role === "user" || (message?.role === "assistant" && reason === "append");
	return isOwn && message.paths.some((place) => place.length < path.length && startsWith(path, place));
}

/** Edits shrink the conversation, by their own sizes and by a measurement of the written document. */
function verifySizes({ before, after, plan, countTokens, rewrite, trace, report }: Check): void {
	const expectAtMost = (most: number, tokens: number, where: string) => {
		if (tokens > most) report("every_edit_shrinks", `${where}: ${tokens} tokens, expected at most ${most}`);
	};
	if (rewrite) {
		const total = ({ transcript }: ReadDocument) => measure(transcript, rewrite.meter).total.tokens;
		expectAtMost(total(before), total(after), "the whole conversation");
		return;
	}
	for (const edit of plan) if (!shrinks(edit)) report("every_edit_shrinks", jsonPointer(edit.path));
	// The words of dropped messages take their place as a summary does.
	const isSummary = ({ reason }: Edit) => reason === "summary" || reason === "merge";
	const taken = plan.filter((edit) => isSummary(edit) || edit.reason === "drop");
	const tokensOf = (size: "before" | "after") => taken.reduce((sum, edit) => sum + edit[size].tokens, 0);
	if (taken.some(isSummary)) expectAtMost(tokensOf("before") - 1, tokensOf("after"), "the summary");
	const edited = new Set(plan.map(({ message }) => message));
	const resultTokens = ({ mediaTokens, results }: Message) =>
		results.reduce((sum, result) => sum + sizeOfResult(result, countTokens).tokens, mediaTokens);
	trace.origins.forEach((origin, index) => {
		const [old, message] = [before.transcript.messages[origin], after.transcript.messages[index]];
		if (!old || !message || !edited.has(origin)) return;
		expectAtMost(resultTokens(old), resultTokens(message), `message ${origin}`);
	});
}

/** Whether an edit shrinks its place. The edits of a summary shrink in total; links and inserts need not. */
function shrinks({ kind, before, after, reason, unsent }: Edit): boolean {
	if (unsent) return after.chars < before.chars || after.tokens < before.tokens;
	if (reason === "mask") return after.tokens < before.tokens;
	if (reason === "truncate") return after.chars < before.chars && after.tokens <= before.tokens;
	return after.tokens === 0 || kind === "insert" || reason === "summary" || reason === "merge" || reason === "relink";
}

/** Messages that stay are read with the same roles and in the same order; new ones are as planned. */
function verifyMessages({ before, after, plan, base, rewrite, trace, report }: Check): void {
	const { origins, pointers, places, written } = trace;
	const read = new Set(pointers.flat());
	// If one message of a record is left, it is read as the whole record.
	const isRead = (place: string) => read.has(place) || read.has(recordOf(place, base));
	places.forEach((left, index) => {
		if (left.length > 0 && !left.some(isRead)) report("order_kept", `message ${index} is no longer recognised`);
	});
	for (const edit of plan) {
		const isInPart = !rewrite && takesMessageOut(edit) && places[edit.message]?.length;
		if (isInPart) report("order_kept", `a part of message ${edit.message} is left`);
	}
	let latest = isNew;
	const found = new Set<string>();
	after.transcript.messages.forEach((message, index) => {
		// Most plans insert no message.
		const own = written.size === 0 ? [] : (pointers[index] ?? []);
		const planned = own.flatMap((pointer) => [pointer, recordOf(pointer, base)]).filter((one) => written.has(one));
		for (const pointer of planned) found.add(pointer);
		const origin = origins[index] ?? isNew;
		if (origin !== isNew) {
			const isSame = origin > latest && before.transcript.messages[origin]?.role === message.role;
			if (!isSame) report("order_kept", `message ${origin}`);
			latest = Math.max(latest, origin);
			return;
		}
		if (planned.length === 0) report("order_kept", `message ${index} of the result was not planned`);
		else if (!mayBeNew(message, rewrite !== undefined)) report("inserted_as_planned", `message ${index} of the result`);
	});
	// Records that are not messages may change, but their number may not grow.
	const unreadBefore = plan.filter((edit) => takesMessageOut(edit) && edit.message === -1).length;
	const unread = written.size - found.size;
	if (unread > unreadBefore) report("inserted_as_planned", `${unread} new values are not messages`);
}

/** An external strategy may write calls and results; new messages of this engine are plain. */
function mayBeNew({ role, calls, results, thinking }: Message, isRewrite: boolean): boolean {
	if (isRewrite) return role !== "other";
	return (role === "user" || role === "assistant") && [...calls, ...results, ...thinking].length === 0;
}

/** The system messages stay unchanged, except for links between records in them. */
function verifySystem({ before, after, rewrite, trace: { origins, places }, report }: Check): void {
	const { messages: swapped = 0 } = rewrite?.swap ?? {};
	const systemIn = ({ transcript }: ReadDocument) =>
		[...transcript.messages.entries()].filter(([, { role }]) => role === "system");
	const [was, is] = [systemIn(before), systemIn(after)];
	const areWhole = was.every(([index, { paths }]) => index < swapped || places[index]?.length === paths.length);
	const areKnown = swapped > 0 || is.every(([index]) => origins[index] !== isNew);
	if (areWhole && areKnown) return;
	report("system_messages_kept", `${is.length} of them where ${was.length} should stay unchanged`);
}

/** The calls with the number of their results, and the results with the message of their call, if there is one. */
function exchangesIn(transcript: Transcript) {
	const calls: { id: string | undefined; key: string; index: number; message: number; results: number }[] = [];
	const results: { id: string | undefined; message: number; caller: number | undefined }[] = [];
	const counted = new Map<ToolCall | undefined, (typeof calls)[number]>();
	const paired = pairResults(transcript).values();
	let pair = paired.next().value;
	transcript.messages.forEach((message, index) => {
		for (const call of message.calls) {
			// Exact, and faster than JSON.
			const key = `${call.id?.length} ${call.id} ${call.name}`;
			const one = { id: call.id, key, index: calls.length, message: index, results: 0 };
			calls.push(one);
			counted.set(call, one);
		}
		for (; pair?.message === index; pair = paired.next().value) {
			const id = pair.result.callId;
			// APIs read a result without an id as that of the last call before it.
			const call = id === undefined ? calls.at(-1) : counted.get(pair.call);
			if (call) call.results += 1;
			results.push({ id, message: index, caller: call?.message });
		}
	});
	return { calls, results };
}

type Exchanges = ReturnType<typeof exchangesIn>;

function hasLinks({ transcript }: ReadDocument): boolean {
	return transcript.messages.some(({ links }) => links);
}

/** The same for linked blocks: every block that others can name, and every name. */
function linksIn({ messages }: Transcript): Exchanges {
	const paired = pairLinks(messages);
	const results = paired.map(({ link, message, opener }) => ({ id: link.id, message, caller: opener }));
	const named = groupBy(results, ({ id, caller }) => `${caller} ${id}`);
	const opened = messages.flatMap(({ calls, links = [] }, message) => {
		const ids = [
			...calls.flatMap(({ id }) => id ?? []),
			...links.flatMap(({ kind, id }) => (kind === "opens" ? id : [])),
		];
		return Array.from(new Set(ids), (id) => ({ id, message }));
	});
	const calls = opened.map(({ id, message }, index) => {
		return { id, key: id, index, message, results: named.get(`${message} ${id}`)?.length ?? 0 };
	});
	return { calls, results };
}

function verifyExchanges(check: Check): void {
	const [before, after] = [exchangesIn(check.before.transcript), exchangesIn(check.after.transcript)];
	verifyCalls(check, before.calls, after);
	verifyResults(check, before, after);
	if (!hasLinks(check.before) && !hasLinks(check.after)) return;
	const [linksBefore, linksAfter] = [linksIn(check.before.transcript), linksIn(check.after.transcript)];
	verifyCalls({ ...check, answeredCalls: [] }, linksBefore.calls, linksAfter);
	verifyResults(check, linksBefore, linksAfter);
}

/** No call is new, they keep their order, and each has as many results as before. */
function verifyCalls({ answeredCalls, report }: Check, before: Exchanges["calls"], after: Exchanges): void {
	const left = groupBy(before.toReversed(), ({ key }) => key);
	const read = new Set(after.results.map(({ id }) => id));
	const unread = new Set<string | undefined>(answeredCalls?.filter((id) => !read.has(id)));
	let next = 0;
	for (const call of after.calls) {
		const place = `call in message ${call.message} of the result`;
		if (unread.has(call.id)) report("pairing_kept", `call in message ${call.message}, its result was not read`);
		const same = left.get(call.key);
		if (!same) {
			report("ids_kept", place);
			continue;
		}
		let problem: KeptPromise = "order_kept";
		let found = same.pop();
		while (found && (found.index < next || found.results !== call.results)) {
			if (found.index >= next) problem = "pairing_kept";
			found = same.pop();
		}
		if (found) next = found.index + 1;
		else report(problem, place);
	}
}

/** A result keeps its caller, no id is new, and no result has lost its call. */
function verifyResults({ trace: { origins }, report, ...read }: Check, before: Exchanges, after: Exchanges): void {
	const ids = new Set([...before.calls, ...before.results].map(({ id }) => id));
	const orphans = groupBy(
		before.results.filter(({ caller }) => caller === undefined),
		({ id }) => id,
	);
	const callers = new Map(before.results.map(({ message, id, caller }) => [`${message} ${id}`, caller]));
	const kept = new Set(origins);
	const isSameCaller = (was: number | undefined, is: number | undefined) => {
		if (was === undefined || is === undefined) return was === is;
		// A new caller may be the old one with another text. Equal messages are interchangeable.
		if (origins[is] === was || (origins[is] === isNew && !kept.has(was))) return true;
		const [old, current] = [read.before.transcript.messages[was], read.after.transcript.messages[is]];
		return textOf(read.before, old) === textOf(read.after, current);
	};
	for (const { id, message, caller } of after.results) {
		const [place, key] = [`result in message ${message} of the result`, `${origins[message]} ${id}`];
		if (!ids.has(id)) report("ids_kept", place);
		if (caller === undefined && !orphans.get(id)?.pop()) report("pairing_kept", `${place} has no call before it`);
		else if (callers.has(key) && !isSameCaller(callers.get(key), caller)) {
			report("pairing_kept", `${place} has another call`);
		}
	}
}

function textOf({ document }: ReadDocument, message: Message | undefined): string {
	return compactJson(message?.paths.map((path) => valueAt(document, path)));
}

/** Calls that words hold, and results in a frame: no API checks them, so nothing but this notices that one is lost. */
function verifyObservations({ before, after, trace, report }: Check): void {
	after.transcript.messages.forEach((message, index) => {
		const origin = trace.origins[index] ?? isNew;
		const old = before.transcript.messages[origin];
		if (old && inWords(old) !== inWords(message))
			report("pairing_kept", `message ${origin} and its action or observation`);
	});
}

/** Ids of the calls and results of a message that are text. */
function inWords({ calls, results }: Message): string {
	const made = calls.filter(({ input }) => input !== undefined).map(({ id }) => id);
	const framed = results.filter(({ texts }) => texts[0]?.frame).map(({ callId }) => callId);
	return [...made, "", ...framed].join("\n");
}

/** An external strategy moves no value. */
function verifyNothingMoved({ before, after, plan, base, report }: Check): void {
	const copies = [before, after].map(({ document }) => groupBy([valueAt(document, base)].flat(), compactJson));
	for (const edit of plan) {
		if (edit.kind !== "insert") continue;
		const text = compactJson(edit.value);
		// Equal values are interchangeable.
		if (copies.every((of) => of.get(text)?.length === 1)) report("order_kept", jsonPointer(edit.path));
	}
}

/** An external strategy inserts no message between a call and its results: APIs refuse that. */
function verifyNothingBetween({ after, trace, report }: Check): void {
	const ends = new Map(pairResults(after.transcript).map(({ caller, message }) => [caller, message]));
	let end = 0;
	after.transcript.messages.forEach(({ calls, results }, index) => {
		const isBetween = index < end && trace.origins[index] === isNew && [...calls, ...results].length === 0;
		if (isBetween) report("pairing_kept", `message ${index} of the result comes between a call and its results`);
		end = Math.max(end, ends.get(index) ?? 0);
	});
}

/** An external strategy leaves a message, and the first one is the user's if the API requires it. */
function verifyStart({ before, after, report }: Check): void {
	const firstOf = ({ messages }: Transcript) => messages.find(({ role, sent }) => role !== "system" && sent !== false);
	const [was, is] = [firstOf(before.transcript), firstOf(after.transcript)];
	if (was && !is) report("start_kept", "no message is left");
	const opensWithUser = before.transcript.opensWithUser && was?.role === "user";
	if (opensWithUser && is && is.role !== "user") report("start_kept", "the first message is not the user's");
}

/** The texts that are not in the user's messages word for word, and in this order, by number and size. */
function missingWords({ messages }: Transcript, texts: readonly string[] = []): string[] {
	const said = messages.filter(({ role, sent }) => role === "user" && sent !== false);
	const all = said.flatMap(({ counted }) => counted).join("\n\n");
	let from = 0;
	return texts.flatMap((text, index) => {
		const at = all.indexOf(text, from);
		if (at === -1) return [`text ${index} of ${texts.length}, with ${text.length} characters`];
		from = at;
		return [];
	});
}

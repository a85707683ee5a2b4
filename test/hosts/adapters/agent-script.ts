import { createHash } from "node:crypto";
import { outputOf } from "../../proxy/sessions.ts";

/** A call of a scripted agent, and what its tool gives. */
export interface ScriptedCall {
	readonly id: string;
	readonly tool: "read_file" | "grep" | "run_tests" | "screenshot" | "query";
	readonly input: { readonly path: string };
	readonly gives: { readonly kind: "text" | "error" | "image" | "json"; readonly text: string };
}

/** The turns of an agent: parallel calls, errors, images, objects and files that are read again. */
export function agentTurns(count: number): readonly (readonly ScriptedCall[])[] {
	return Array.from({ length: count }, (_, turn) => {
		const size = turn % 5 === 4 ? 3 : 1;
		return Array.from({ length: size }, (_, at) => callOf(turn, at));
	});
}

function callOf(turn: number, at: number): ScriptedCall {
	const id = `call_${createHash("sha256").update(`${turn} ${at}`).digest("hex").slice(0, 22)}`;
	// Every tenth turn reads what an earlier one has read.
	const source = turn % 10 === 9 && at === 0 ? turn - 7 : turn;
	const input = { path: `src/part-${source}-${at}.ts` };
	// Some logs are long.
	const chars = turn % 8 === 3 && at === 0 ? 40_000 : 3_000 + ((source * 1_237) % 6_000);
	const text = outputOf(source * 10 + at, chars);
	if (turn % 7 === 6 && at === 0)
		return { id, tool: "run_tests", input, gives: { kind: "error", text: text.slice(0, 600) } };
	if (turn % 9 === 8 && at === 0) return { id, tool: "screenshot", input, gives: { kind: "image", text: pixel } };
	if (turn % 4 === 1 && at === 0) return { id, tool: "query", input, gives: { kind: "json", text } };
	return { id, tool: at === 1 ? "grep" : "read_file", input, gives: { kind: "text", text } };
}

/** A PNG of one pixel. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const toolNames = ["read_file", "grep", "run_tests", "screenshot", "query"] as const;

/** What one tool gives for a path, in a script. */
export function givenFor(turns: readonly (readonly ScriptedCall[])[], id: string): ScriptedCall["gives"] {
	const found = turns.flat().find((call) => call.id === id);
	if (!found) throw new Error(`No call ${id} in the script.`);
	return found.gives;
}

/** A message as a provider is sent it, in any API. */
export interface SentItem {
	readonly role: "system" | "user" | "assistant" | "tool";
	readonly calls: readonly string[];
	readonly results: readonly string[];
	/** Signatures of its reasoning. */
	readonly reasoning: readonly string[];
	/** All of it, as bytes of the request. */
	readonly text: string;
}

/**
 * A provider that refuses (400) calls without results, results without calls and reasoning after other messages than those that
 * it was produced after, and that caches the start of each request. `checksReasoning` is what Anthropic's newest models do.
 */
export function strictProvider({ checksReasoning = false }: { readonly checksReasoning?: boolean } = {}) {
	const requests: (readonly SentItem[])[] = [];
	const refusals: string[] = [];
	const bills: number[] = [];
	const cacheReads: number[] = [];
	const produced = new Map<string, string>();
	return {
		requests,
		refusals,
		/** Tokens of all requests, and their bill at a tenth for what the cache reads. */
		tokens: () => requests.flat().reduce((sum, { text }) => sum + tokensIn(text), 0),
		billed: () => bills.reduce((sum, one) => sum + one, 0),
		/** Takes a request, or throws as an SDK does. Returns the usage, and a signature for the reasoning of the answer. */
		receive(items: readonly SentItem[]) {
			const problem = problemIn(items) ?? (checksReasoning ? unboundIn(items, produced) : undefined);
			if (problem !== undefined) {
				refusals.push(problem);
				throw Object.assign(new Error(`400 ${problem}`), { statusCode: 400, status: 400 });
			}
			const before = requests.at(-1) ?? [];
			let same = 0;
			while (same < before.length && before[same]?.text === items[same]?.text) same += 1;
			const read = items.slice(0, same).reduce((sum, { text }) => sum + tokensIn(text), 0);
			const whole = items.reduce((sum, { text }) => sum + tokensIn(text), 0);
			requests.push(items);
			cacheReads.push(read);
			bills.push(whole - read + read / 10);
			const signature = `sig_${createHash("sha256").update(`${requests.length}`).digest("hex")}`;
			produced.set(signature, startsOf(items).at(-1) as string);
			return { signature, usage: { input: whole - read, read, output: 60 } };
		},
		/** Pairs of requests where the later one does not begin with the earlier one, with the first item that differs. */
		breaks: () =>
			requests.slice(1).flatMap((items, index) => {
				const before = requests[index] as readonly SentItem[];
				const at = before.findIndex((one, place) => one.text !== items[place]?.text);
				return at === -1
					? []
					: [{ request: index + 1, at, before: before[at] as SentItem, after: items[at] as SentItem }];
			}),
	};
}

const tokensIn = (text: string) => text.length / 4;

function problemIn(items: readonly SentItem[]): string | undefined {
	const open = new Set<string>();
	const known = new Set<string>();
	for (const { role, calls, results } of items) {
		if (role !== "tool" && open.size > 0) return `call ${[...open][0]} has no result`;
		for (const id of results) if (!open.delete(id)) return `result ${id} has no call`;
		for (const id of calls) {
			if (known.has(id)) return `call ${id} is there twice`;
			known.add(id);
			open.add(id);
		}
	}
	return open.size > 0 ? `call ${[...open][0]} has no result` : undefined;
}

/** "Preserved thinking": a block is valid after the very messages that it was produced after. */
function unboundIn(items: readonly SentItem[], produced: ReadonlyMap<string, string>): string | undefined {
	const starts = startsOf(items);
	const wrong = items.findIndex(({ reasoning }, at) => reasoning.some((one) => produced.get(one) !== starts[at]));
	return wrong === -1 ? undefined : `messages.${wrong}: this thinking block is bound to a different conversation`;
}

/** Names what stands before each message, and all of them at the end. Earlier reasoning may be left out. */
function startsOf(items: readonly SentItem[]): string[] {
	const starts = [""];
	for (const { role, calls, results, text } of items) {
		const of = JSON.stringify([starts.at(-1), role, calls, results, role === "assistant" ? "" : text]);
		starts.push(createHash("sha256").update(of).digest("hex"));
	}
	return starts;
}

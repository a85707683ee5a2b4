import { isJsonObject } from "../../engine/conversation/json.ts";
import { jsonPointer, type Path, valueAt } from "../../engine/conversation/paths.ts";
import type { Transcript } from "../../engine/conversation/transcript.ts";
import { objectOf } from "../../formats/json-text/value.ts";
import { blockKey, messageKey } from "./identity.ts";
import type { Remembered } from "./remembered.ts";

/** A reasoning block of a history with its key. */
export interface Block {
	readonly key: string;
	readonly path: Path;
	readonly message: number;
	/** The number of the request whose answer it is; 0 if that did not pass here. */
	readonly produced: number;
	/** The model of that request; `undefined` if it is unknown. */
	readonly model: string | undefined;
}

/**
 * The blocks that are bound to everything before them (platform.claude.com, "Preserved thinking"), in order. A block that
 * is seen for the first time was produced by the request that ended with the message before it; where a host has changed
 * that message, by the last request, if the block comes after all its messages.
 */
export function boundBlocks(document: unknown, { messages }: Transcript, remembered: Remembered): Block[] {
	const { produced, endings, models, requests, messages: lastCount } = remembered;
	return messages.flatMap(({ thinking }, message) => {
		const bound = thinking.filter((block) => block.bound && !block.fixed);
		if (bound.length === 0) return [];
		let producer: number | undefined;
		const producedBy = () => {
			let before = message - 1;
			while (before >= 0 && messages[before]?.role === "assistant" && messages[before]?.results.length === 0)
				before -= 1;
			const asked = messages[before];
			producer ??= (asked && endings.get(messageKey(asked))) ?? (message >= lastCount ? requests : 0);
			return producer;
		};
		return bound.map((block) => {
			const key = blockKey(document, block);
			const number = produced.get(key) ?? producedBy();
			return { key, path: block.path, message, produced: number, model: models.get(number) };
		});
	});
}

/** Where a result begins, and the request in which it took another form; 0 for never. */
interface Change {
	readonly message: number;
	readonly path: Path;
	readonly changed: number;
}

/**
 * The blocks that no longer fit the sent messages. After they were produced, a result before them changed its state, or a
 * block between the kept ones and them was left out. Blocks may be left out from the start: those behind stay valid (the same
 * page). A block that was left out once stays out, since blocks produced since do not expect it. No model sees the reasoning
 * of another, so only blocks of the same model count as before.
 */
export function blocksLeftOut(what: {
	readonly blocks: readonly Block[];
	/** In order. */
	readonly changes: readonly Change[];
	readonly leftOut: ReadonlyMap<string, number>;
	/** The number of this request. */
	readonly number: number;
	readonly model: string | undefined;
}): Block[] {
	const { blocks, changes, leftOut, number, model: current } = what;
	const out: Block[] = [];
	let latest = 0;
	let next = 0;
	const staying = new Set<string | undefined>();
	const leftOutAfterOne = new Map<string | undefined, number>();
	for (const block of blocks) {
		for (let change = changes[next]; change && isBefore(change, block); change = changes[++next])
			latest = Math.max(latest, change.changed);
		const { key, produced, model = current } = block;
		const latestOut = leftOutAfterOne.get(model) ?? 0;
		const since = leftOut.get(key) ?? (produced < Math.max(latest, latestOut) ? number : undefined);
		if (since === undefined) {
			staying.add(model);
			continue;
		}
		out.push(block);
		if (staying.has(model)) leftOutAfterOne.set(model, Math.max(latestOut, since));
	}
	return out;
}

/** A message may have several steps, with reasoning after a result. */
function isBefore(change: Change, block: Block): boolean {
	if (change.message !== block.message) return change.message < block.message;
	const fork = change.path.findIndex((segment, index) => segment !== block.path[index]);
	const [a, b] = [change.path[fork], block.path[fork]];
	return typeof a === "number" && typeof b === "number" && a < b;
}

/** The edits that take blocks out. A block that is all of its message stays, since no API takes an empty message. */
export function removals(document: unknown, blocks: readonly Block[]) {
	const gone = new Set(blocks.map(({ path }) => jsonPointer(path)));
	const emptied = new Map<string, boolean>();
	return blocks.flatMap(({ path }) => {
		const list = path.slice(0, -1);
		const at = jsonPointer(list);
		let isEmptied = emptied.get(at);
		if (isEmptied === undefined) {
			const items = valueAt(document, list);
			isEmptied = !Array.isArray(items) || items.every((_, index) => gone.has(`${at}/${index}`));
			emptied.set(at, isEmptied);
		}
		return isEmptied ? [] : [{ kind: "remove" as const, path }];
	});
}

/** The control by which a request asks the API to leave out invalid blocks itself, and the header it needs. */
export const dropBlocks = {
	beta: "thinking-binding-controls-2026-08-01",
	/** `undefined` where the request has no object `thinking`, or sets the behaviour itself. */
	edit(body: unknown) {
		const { thinking } = objectOf(body);
		if (!isJsonObject(thinking) || thinking.block_binding !== undefined) return undefined;
		const replacement = { ...thinking, block_binding: { prefix_mismatch_behavior: "drop_block" } };
		return { kind: "replace" as const, path: ["thinking"], replacement };
	},
};

/** Whether a request asks for the check itself. */
export function asksForCheck(body: unknown): boolean {
	return objectOf(objectOf(body).thinking).block_binding !== undefined;
}

/** Whether an answer says that reasoning is bound to another conversation. */
export function isBindingRefusal(headers: Readonly<Record<string, unknown>>, body: string): boolean {
	return (
		headers["anthropic-thinking-prefix-mismatch"] !== undefined || body.includes("bound to a different conversation")
	);
}

export function keysOf(blocks: readonly Block[]): string[] {
	return blocks.map(({ key }) => key);
}

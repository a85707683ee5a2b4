import { isJsonObject } from "../engine/conversation/json.ts";
import type { Policy } from "../engine/policy/schema.ts";
import type { ExcerptWordings } from "../engine/policy/wordings.ts";
import { ownCommands, ownTools } from "../engine/truncation/shown-whole.ts";
import type { Archive } from "../storage/archive/archive.ts";

// A host waits for its hooks after every tool call, so this file loads nothing that a small result does not need.

/** Some 4 000 tokens. */
export const usualHookChars = 16_000;

export interface ToolEvent {
	readonly toolName: string;
	readonly toolCallId: string | undefined;
	readonly input: unknown;
	readonly response: unknown;
}

export interface HookContext {
	readonly mostChars: number;
	/** `isCut`: the host has cut the text, so that less than all of it can be archived. */
	readonly shorten: (text: string, mostChars: number, isCut?: boolean) => Promise<string | undefined>;
	readonly wordings: () => Promise<ExcerptWordings>;
}

export interface HookShell extends HookPolicy {
	readonly archive: Archive | undefined;
	readonly command: string;
}

export interface HookPolicy {
	readonly policy: Pick<Policy, "locale" | "on_archive_failure" | "archive" | "figures">;
	readonly wholePolicy: () => Promise<Policy>;
}

/** Sources: https://code.claude.com/docs/en/hooks#posttooluse, https://geminicli.com/docs/hooks/reference#aftertool. */
export function readToolEvent(json: string, eventName: string): ToolEvent | undefined {
	const event: unknown = JSON.parse(json);
	if (!isJsonObject(event) || event.hook_event_name !== eventName) return undefined;
	const { tool_name: toolName, tool_use_id: id, tool_input: input, tool_response: response } = event;
	if (typeof toolName !== "string") return undefined;
	return { toolName, toolCallId: typeof id === "string" ? id : undefined, input, response };
}

/** A recalled text must stay whole, and a shortened one is short. */
export function isOwnResult({ toolName, input }: ToolEvent): boolean {
	if (ownTools.test(toolName)) return true;
	return isJsonObject(input) && typeof input.command === "string" && ownCommands.test(input.command);
}

/** Blocks of text within the limit, which they share; `undefined` if none is cut. */
export async function shortenBlocks(blocks: readonly unknown[], context: HookContext): Promise<unknown[] | undefined> {
	const { mostChars, shorten } = context;
	const lengthOf = (block: unknown) => (isJsonObject(block) && typeof block.text === "string" ? block.text.length : 0);
	const lengths = blocks.map(lengthOf);
	const shares = fairShares(lengths, mostChars);
	const shortened = await Promise.all(
		blocks.map(async (block, index) => {
			const [length, share] = [lengths[index] as number, shares[index] as number];
			if (length <= share || !isJsonObject(block)) return block;
			const text = await shorten(block.text as string, share);
			return text === undefined ? block : { ...block, text };
		}),
	);
	return shortened.some((block, index) => block !== blocks[index]) ? shortened : undefined;
}

/** Splits a budget among several texts: texts shorter than an equal share leave the rest to the others. */
export function fairShares(lengths: readonly number[], budget: number): number[] {
	const shares = lengths.map(() => 0);
	let left = budget;
	const rising = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length);
	for (const [position, { length, index }] of rising.entries()) {
		const share = Math.min(length, Math.floor(left / (rising.length - position)));
		shares[index] = share;
		left -= share;
	}
	return shares;
}

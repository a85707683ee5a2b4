import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { messageOf, resultOf } from "../../support/transcripts.ts";

/** One call with its result. */
export interface Called {
	readonly name: string;
	/** Arguments: an object, or a text as it is. */
	readonly given: unknown;
	readonly text: string;
	readonly isError?: boolean;
}

/** The messages of some calls, each with its result behind it: call `n` is message `2n`, its result `2n + 1`. */
export function called(...all: readonly Called[]): Message[] {
	return all.flatMap(({ name, given, text, isError }, index) => {
		const id = `call_${index}`;
		const written = typeof given === "string" ? given : JSON.stringify(given);
		return [
			messageOf({ role: "assistant", calls: [{ id, name }], counted: [name, written] }),
			messageOf({ role: "tool", results: [{ ...resultOf(id, text), isError }] }),
		];
	});
}

export const bash = (command: string, text = `output of ${command}`): Called => ({
	name: "bash",
	given: { command },
	text,
});

export const read = (
	path: string,
	text = `content of ${path} `.repeat(4),
	range?: readonly [number, number],
): Called => ({
	name: "read",
	given: range ? { path, offset: range[0], limit: range[1] - range[0] + 1 } : { path },
	text,
});

export const edit = (path: string, text = `Edited ${path}.`): Called => ({
	name: "edit",
	given: { path, old_string: "a", new_string: "b" },
	text,
});

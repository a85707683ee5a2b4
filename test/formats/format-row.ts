import type { ToolResult, Transcript } from "../../src/engine/conversation/transcript.ts";
import { locateMessages } from "../../src/formats/detect.ts";
import type { Format } from "../../src/formats/format.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { type Entry, type JsonMessage, toolTurn } from "../support/script.ts";

/** A content that a tool result can have, given to `write` as it is. */
export interface ContentShape {
	readonly title: string;
	readonly content: unknown;
	/** The texts that are read from it. */
	readonly texts: readonly string[];
	/** What it becomes when a text stands for all of it; absent where none can, so that masking leaves it as it is. */
	readonly masked?: (text: unknown) => unknown;
}

/** One format, as the suite needs to know it. A new format is a new file in `rows`. */
export interface FormatRow {
	readonly format: Format;
	/** Writes a script as the messages of this format, or as the records of a session. Contents go in as they are. */
	readonly write: (entries: readonly Entry[]) => JsonMessage[];
	/** The contents of all results, in order, as `write` was given them. Uses no code of the product. */
	readonly contents: (messages: readonly JsonMessage[]) => unknown[];
	/** Where a request body holds the messages. */
	readonly key: "messages" | "contents" | "input" | "page";
	/** What is counted beside the messages of a request body. */
	readonly body: Readonly<Record<string, unknown>>;
	/** How a conversation of texts alone fits. */
	readonly textsAlone: "certain" | "likely" | "possible" | "none";
	/** Formats that this one's messages fit too, since it wraps them or shares their shape; it has to win over them. */
	readonly alsoFits?: readonly string[];
	/** Set where only the format's own program adds records, although they have no links. */
	readonly isOfProgram?: true;
	/** Set where a message has no list of texts to which another one could be added. */
	readonly hasNoTextList?: true;
	/** Contents of results, beside strings. */
	readonly shapes: readonly ContentShape[];
	/** An image, and the content of a result that holds it beside a text; absent where results hold none. */
	readonly image?: { readonly part: unknown; readonly beside: (text: string) => unknown };
	/** Whether the format flags a failed result itself. */
	readonly flagsErrors: boolean;
	/** The titles of shapes that are JSON without a text, which a placeholder replaces as a whole where it is longer. */
	readonly masksJson?: readonly string[];
	/** Set where a result stands in its call, so that there are no orphans. */
	readonly resultsStandInCalls?: true;
	/** Set where what the model gives in a row is one message, whatever number of values it is written in. */
	readonly joinsAnswers?: true;
	/** Set where a call is one line of a shell, the only one of its message: it has no name. */
	readonly callsAreCommands?: true;
	/** Set where calls and results that have no ids are paired by their position. */
	readonly pairsByPosition?: true;
	/** Values that are taken for records of no message, where others would not fit. */
	readonly tolerates?: readonly unknown[];
	/** The same message or record with its time, in ms since 1970; absent where a format has none. */
	readonly timed?: (message: JsonMessage, time: number) => JsonMessage;
	/** A record of an unknown type with a message, where records are linked and those without a message are not sent. */
	readonly unknownRecord?: JsonMessage;
	/** Set where messages have no list of blocks. */
	readonly hasNoBlocks?: true;
	/** A message of a role that the format does not know; absent where such a thing cannot be. */
	readonly unknownRole?: (role: string, text: string) => JsonMessage;
}

/** A row with what the suite does to it. */
export interface RowTools extends Omit<FormatRow, "write" | "contents"> {
	readonly write: (...entries: readonly (Entry | readonly Entry[])[]) => readonly JsonMessage[];
	readonly read: (document: unknown) => Transcript;
	/** The contents of the results of a bare list or of a request body. */
	readonly contents: (document: unknown) => unknown[];
	readonly resultsOf: (document: unknown) => ToolResult[];
	/** A tool turn that is worth masking. */
	readonly turn: (id: string) => Entry[];
}

export function toolsOf(row: FormatRow): RowTools {
	const read = (document: unknown) => row.format.read(locateMessages(document));
	return {
		...row,
		write: (...entries) => deepFreeze(row.write(entries.flat())),
		read,
		contents: (document) => row.contents(locateMessages(document).messages as JsonMessage[]),
		resultsOf: (document) => read(document).messages.flatMap((message) => [...message.results]),
		turn: (id) => toolTurn(id, outputOf(id)),
	};
}

/** Masks all but the last tool turn. */
export const masking = policyOf({ mask: { window_turns: 1 } });

export const placeholder = /^\[Observation masquée/;

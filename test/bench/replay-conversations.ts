import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import type { toolTurns as ToolTurns } from "../../src/engine/conversation/turns.ts";
import type { readConversation as ReadConversation } from "../../src/formats/detect.ts";
import { openaiMessages } from "./conversation-shapes.ts";
import { generateConversation } from "./generate-conversation.ts";
import { importBuilt } from "./import-built.ts";
import { projectFolder } from "./project-folder.ts";

/** Where a history to replay comes from. */
export type ReplaySource = "generated" | "longest recorded" | "all recorded";

const recorded = `${projectFolder}/../shared/data/conversations`;
const generatedMessages = 2_000;
const leastTurns = 20;

/** The sources there are: recorded conversations are not published. */
export const replaySources: readonly ReplaySource[] = existsSync(recorded)
	? ["longest recorded", "all recorded", "generated"]
	: ["generated"];

/**
 * The history of a source, when called: the longest recorded
 * conversation; all recorded ones of 20 tool turns or more, one behind the other as if they were one; a generated one. Each is read from its text at each call.
 */
export async function loadReplaySource(source: ReplaySource): Promise<() => Transcript> {
	const { readConversation } = await importBuilt<{ readConversation: typeof ReadConversation }>("formats/detect.ts");
	const { toolTurns } = await importBuilt<{ toolTurns: typeof ToolTurns }>("engine/conversation/turns.ts");
	const read = (text: string) => readConversation(JSON.parse(text)).transcript;
	if (source === "generated") {
		const text = JSON.stringify(openaiMessages(generateConversation(1, generatedMessages)));
		return () => read(text);
	}
	const texts = readdirSync(recorded, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".json"))
		.sort()
		.map((name) => readFileSync(join(recorded, name), "utf8"));
	const turns = texts.map((text) => toolTurns(read(text)).length);
	if (source === "longest recorded") {
		const longest = texts[turns.indexOf(Math.max(...turns))] ?? "";
		return () => read(longest);
	}
	const long = texts.filter((_, index) => (turns[index] ?? 0) >= leastTurns);
	return () => {
		const all = long.map(read);
		const [first] = all;
		if (first === undefined) throw new Error(`Expected recorded conversations of ${leastTurns} tool turns.`);
		return { ...first, messages: all.flatMap(({ messages }) => messages) };
	};
}

/** The same history in new objects, of which the product remembers nothing: what it finds it remembers with them. */
export function copyOf(transcript: Transcript): Transcript {
	const messages = transcript.messages.map((message) => ({
		...message,
		calls: message.calls.map((call) => ({ ...call })),
		results: message.results.map((result) => ({ ...result })),
	}));
	return { ...transcript, messages };
}

/** A history cut in two where half of its characters are behind: each a history of its own. */
export function halvesOf(transcript: Transcript): readonly [Transcript, Transcript] {
	const lengths = transcript.messages.map(({ counted, results }) =>
		[...counted, ...results.flatMap(({ texts }) => texts.map(({ text }) => text))].reduce(
			(sum, text) => sum + text.length,
			0,
		),
	);
	const half = lengths.reduce((sum, length) => sum + length, 0) / 2;
	let sum = 0;
	const cut = lengths.findIndex((length) => {
		sum += length;
		return sum >= half;
	});
	return [
		{ ...transcript, messages: transcript.messages.slice(0, cut + 1) },
		{ ...transcript, messages: transcript.messages.slice(cut + 1) },
	];
}

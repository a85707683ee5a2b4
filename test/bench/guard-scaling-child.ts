import type * as Library from "../../src/index.ts";
import { openaiMessages } from "./conversation-shapes.ts";
import { generateConversation } from "./generate-conversation.ts";
import { importBuilt } from "./import-built.ts";

/** What this process prints, in milliseconds. */
export interface GuardTimes {
	readonly characters: number;
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	/** The first call on a conversation that the process has never seen. */
	readonly first: number;
	/** `JSON.parse` of the conversation, for scale. */
	readonly parse: number;
}

// One process measures one size once, so that nothing is left over from another: arguments are length and seed.
const length = Number(process.argv[2]);
const seed = Number(process.argv[3]);
const { guard } = await importBuilt<typeof Library>("index.ts");

// The tables are loaded and the code is compiled before the clock starts, on other conversations.
for (let other = 1; other <= 20; other++) {
	const warmUp = JSON.parse(JSON.stringify(openaiMessages(generateConversation(seed * 1000 + other, 400))));
	await guard(warmUp, { contextWindow: 60_000 });
}

// `JSON.parse` makes flat strings, as a program that has read a conversation has them.
const text = JSON.stringify(openaiMessages(generateConversation(seed, length)));
const parsing = performance.now();
const conversation: unknown[] = JSON.parse(text);
const parse = performance.now() - parsing;
const characters = text.length;
// Some 15 % of what the conversation takes: masking is not enough, every step of the ladder has work to do.
const options = { contextWindow: 8192 + Math.floor(characters / 28) };

// As before every timed run, only young garbage: collecting all of it takes V8's caches and the room for new objects away.
globalThis.gc?.({ type: "minor" });
const started = performance.now();
const { report, error } = await guard(conversation, options);
const first = performance.now() - started;
if (error) throw error;

const times: GuardTimes = {
	characters,
	tokensBefore: report.tokens.before,
	tokensAfter: report.tokens.after,
	first,
	parse,
};
process.stdout.write(JSON.stringify(times));

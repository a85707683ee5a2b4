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
	/** Calls with one more message each, the older messages the same objects. */
	readonly sameObjects: readonly number[];
	/** Calls with one more message each, all parsed anew. */
	readonly parsedAnew: readonly number[];
	/** `JSON.parse` of the conversation, for scale. */
	readonly parse: number;
}

// One process measures one size once, so that nothing is left over from another: arguments are length and seed.
const length = Number(process.argv[2]);
const seed = Number(process.argv[3]);
const later = 6;
const { guard } = await importBuilt<typeof Library>("index.ts");

// The tables are loaded and the code is compiled before the clock starts, on other conversations: that of a first call and
// that of the calls behind it, which go other ways.
for (let other = 1; other <= 3; other++) {
	const warmUp = JSON.parse(JSON.stringify(openaiMessages(generateConversation(seed * 1000 + other, 400 + later))));
	for (let more = 0; more <= later; more++) {
		const longer = warmUp.slice(0, 400 + more);
		await guard(more % 2 === 1 ? longer : JSON.parse(JSON.stringify(longer)), { contextWindow: 60_000 });
	}
}

// `JSON.parse` makes flat strings, as a program that has read a conversation has them.
const texts = openaiMessages(generateConversation(seed, length + later)).map((message) => JSON.stringify(message));
const textOf = (count: number) => `[${texts.slice(0, count).join(",")}]`;
const conversation: unknown[] = JSON.parse(textOf(length));
const characters = textOf(length).length;
// Some 15 % of what the conversation takes: masking is not enough, every step of the ladder has work to do.
const options = { contextWindow: 8192 + Math.floor(characters / 28) };

async function time(messages: unknown[]): Promise<{ elapsed: number; before: number; after: number }> {
	// As before every timed run, only young garbage: collecting all of it takes V8's caches and the room for new objects away.
	globalThis.gc?.({ type: "minor" });
	const started = performance.now();
	const { report, error } = await guard(messages, options);
	const elapsed = performance.now() - started;
	if (error) throw error;
	return { elapsed, before: report.tokens.before, after: report.tokens.after };
}

const first = await time(conversation);
const sameObjects: number[] = [];
const parsedAnew: number[] = [];
let parse = 0;
for (let more = 1; more <= later; more++) {
	const text = textOf(length + more);
	const started = performance.now();
	const parsed = JSON.parse(text);
	parse = performance.now() - started;
	if (more % 2 === 1) {
		conversation.push(parsed.at(-1));
		sameObjects.push((await time([...conversation])).elapsed);
	} else {
		parsedAnew.push((await time(parsed)).elapsed);
		conversation.push(parsed.at(-1));
	}
}

const times: GuardTimes = {
	characters,
	tokensBefore: first.before,
	tokensAfter: first.after,
	first: first.elapsed,
	sameObjects,
	parsedAnew,
	parse,
};
process.stdout.write(JSON.stringify(times));

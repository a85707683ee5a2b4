import type * as Library from "../../src/index.ts";
import { conversationOfSize } from "./conversation-shapes.ts";
import { importBuilt } from "./import-built.ts";

/** What this process prints: the times of calls on different conversations, in milliseconds by the clock. */
export interface CallTimes {
	/** Messages and tokens of the last conversation, and tokens of what came back. */
	readonly messages: number;
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	/** The first call on each conversation, without its last turn. */
	readonly first: readonly number[];
	/** The next call, with that turn. */
	readonly next: readonly number[];
}

// Arguments are the tool, the size in MB of JSON, and how many calls warm up and are measured.
const tool = process.argv[2] as "guard" | "mask";
const [megabytes = 1, warmUp = 0, rounds = 1] = process.argv.slice(3).map(Number);
const library = await importBuilt<typeof Library>("index.ts");
const policy = { preset: "balanced" } as const;

const [first, next]: [number[], number[]] = [[], []];
let last = { messages: 0, tokensBefore: 0, tokensAfter: 0 };
for (let round = -warmUp; round < rounds; round++) {
	const { text, parsed } = conversationOfSize(megabytes, 9000 + Math.round(megabytes * 10) * 1000 + round);
	// Half of the conversation fits.
	const contextWindow = 8192 + Math.floor(text.length / 8);
	const before = (parsed as { role: string }[]).findLastIndex(({ role }) => role === "assistant");
	const times: number[] = [];
	// As a program does that reads each request from a socket or a file: no object is the same as in the call before.
	for (const messages of [JSON.parse(JSON.stringify(parsed.slice(0, before))), parsed]) {
		globalThis.gc?.({ type: "minor" });
		const started = performance.now();
		const { report, error } =
			tool === "mask"
				? await library.mask(messages, { policy })
				: await library.guard(messages, { policy, contextWindow });
		times.push(performance.now() - started);
		if (error) throw error;
		last = { messages: messages.length, tokensBefore: report.tokens.before, tokensAfter: report.tokens.after };
	}
	if (round < 0) continue;
	first.push(times[0] as number);
	next.push(times[1] as number);
}

const times: CallTimes = { ...last, first, next };
process.stdout.write(JSON.stringify(times));

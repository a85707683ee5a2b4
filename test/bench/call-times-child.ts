import type * as Library from "../../src/index.ts";
import { conversationOfSize } from "./conversation-shapes.ts";
import { importBuilt } from "./import-built.ts";

/** What this process prints: the processor time of calls on different conversations, in milliseconds. */
export interface CallTimes {
	/** Messages and tokens of the last conversation, and tokens of what came back. */
	readonly messages: number;
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	/** User and system time of each call, garbage collection and compiling included. */
	readonly processor: readonly number[];
}

// Arguments are the tool, the size in MB of JSON, and how many calls warm up and are measured.
const tool = process.argv[2] as "guard" | "mask";
const [megabytes = 1, warmUp = 0, rounds = 1] = process.argv.slice(3).map(Number);
const library = await importBuilt<typeof Library>("index.ts");
const policy = { preset: "balanced" } as const;

const processor: number[] = [];
let last = { messages: 0, tokensBefore: 0, tokensAfter: 0 };
for (let round = -warmUp; round < rounds; round++) {
	const { text, parsed } = conversationOfSize(megabytes, 9000 + Math.round(megabytes * 10) * 1000 + round);
	// Half of the conversation fits.
	const contextWindow = 8192 + Math.floor(text.length / 8);
	globalThis.gc?.({ type: "minor" });
	const started = process.cpuUsage();
	const { report, error } =
		tool === "mask" ? await library.mask(parsed, { policy }) : await library.guard(parsed, { policy, contextWindow });
	const { user, system } = process.cpuUsage(started);
	if (error) throw error;
	last = { messages: parsed.length, tokensBefore: report.tokens.before, tokensAfter: report.tokens.after };
	if (round >= 0) processor.push((user + system) / 1000);
}

const times: CallTimes = { ...last, processor };
process.stdout.write(JSON.stringify(times));

import type { loadCounter as LoadCounter } from "../../src/formats/tokens/counter.ts";
import { importBuilt } from "./import-built.ts";
import { loadReplay } from "./load-replay.ts";
import { loadReplaySource, type ReplaySource } from "./replay-conversations.ts";

/** What this process prints. Times are milliseconds of processor time. */
export interface ReplayCold {
	readonly tokens: number;
	readonly messages: number;
	readonly policies: number;
	readonly time: number;
}

// One process does one thing once: counts a conversation, or replays it under all policies, counting it on the way.
const source = process.argv[2] as ReplaySource;
const task = process.argv[3];
const read = await loadReplaySource(source);
const { policies, replay } = await loadReplay();
const { loadCounter } = await importBuilt<{ loadCounter: typeof LoadCounter }>("formats/tokens/counter.ts");
const countTokens = await loadCounter("o200k_base");
const transcript = read();
globalThis.gc?.();
const before = process.cpuUsage();
let tokens = 0;
if (task === "count") {
	for (const { counted, results } of transcript.messages) {
		for (const text of counted) tokens += countTokens(text);
		for (const { texts } of results) for (const { text } of texts) tokens += countTokens(text);
	}
} else {
	replay(transcript, Array.from(policies.values()), { countTokens, messageOverhead: 4 });
}
const { user, system } = process.cpuUsage(before);
const cold: ReplayCold = {
	tokens,
	messages: transcript.messages.length,
	policies: policies.size,
	time: (user + system) / 1000,
};
process.stdout.write(JSON.stringify(cold));

import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { loadReplay } from "./load-replay.ts";
import { copyOf, halvesOf, loadReplaySource, type ReplaySource } from "./replay-conversations.ts";
import { median } from "./statistics.ts";

/** What this process prints: for each policy, milliseconds of processor time for a history and for its halves. */
export interface ReplayGrowth {
	readonly messages: number;
	readonly characters: number;
	readonly policies: readonly { readonly policy: string; readonly whole: number; readonly ratio: number }[];
}

const source = process.argv[2] as ReplaySource;
const transcript = (await loadReplaySource(source))();
const { policies, replay } = await loadReplay();
const halves = halvesOf(transcript);
/** Without the first one, which warms up. */
const rounds = 11;
// A token for four characters, so that counting, which is linear and takes long, does not hide how the rest grows.
const meter = { countTokens: (text: string) => Math.ceil(text.length / 4), messageOverhead: 4 };

function timeOf(history: Transcript, policy: Policy): number {
	const unknown = copyOf(history);
	globalThis.gc?.();
	const before = process.cpuUsage();
	replay(unknown, [policy], meter);
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

const rows = Array.from(policies, ([name, policy]) => {
	const wholes: number[] = [];
	const ratios: number[] = [];
	const half = () => halves.reduce((sum, one) => sum + timeOf(one, policy), 0) / 2;
	for (let round = 0; round <= rounds; round++) {
		const early = round % 2 === 0 ? half() : undefined;
		const whole = timeOf(transcript, policy);
		const ratio = whole / (early ?? half());
		if (round === 0) continue;
		wholes.push(whole);
		ratios.push(ratio);
	}
	return { policy: name, whole: median(wholes), ratio: median(ratios) };
});
const { messages } = transcript;
const characters = messages.reduce((sum, { counted, results }) => {
	const texts = [...counted, ...results.flatMap((result) => result.texts.map(({ text }) => text))];
	return sum + texts.reduce((all, text) => all + text.length, 0);
}, 0);
const growth: ReplayGrowth = { messages: messages.length, characters, policies: rows };
process.stdout.write(JSON.stringify(growth));

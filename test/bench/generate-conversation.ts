import { jsonRecords, logLines, numberedSource, prose, searchHits } from "./generate-text.ts";
import { createRandom, pick } from "./random.ts";

/** A message in no format of anybody's; `conversation-shapes.ts` writes it in those that are measured. */
export type Message =
	| { readonly role: "system"; readonly id: string; readonly text: string }
	| { readonly role: "user"; readonly id: string; readonly text: string }
	| { readonly role: "assistant"; readonly id: string; readonly text: string; readonly calls: readonly Call[] }
	| Result;

export interface Call {
	readonly id: string;
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
}

export interface Result {
	readonly role: "tool";
	readonly id: string;
	readonly callId: string;
	readonly name: string;
	readonly text: string;
	readonly failed: boolean;
}

const tools = [
	{ name: "read_file", output: numberedSource },
	{ name: "search", output: searchHits },
	{ name: "run_command", output: logLines },
	{ name: "query", output: jsonRecords },
	{ name: "fetch_page", output: prose },
];

/**
 * A conversation of an agent with tools, the same for the same seed: a longer one begins with the same messages. On
 * average a message holds some 1 400 characters and a tool result 2 300, as in 220 recorded conversations; a few results
 * are above 50 000. One call in
 * twenty fails, one turn in eight makes two calls, and every fortieth turn the user says something.
 */
export function generateConversation(seed: number, length: number): Message[] {
	const random = createRandom(seed);
	const messages: Message[] = [
		{ role: "system", id: "m0", text: prose(random, 1500) },
		{ role: "user", id: "m1", text: `Task ${seed}: ${prose(random, 400)}` },
	];
	for (let turn = 1; messages.length < length; turn++) {
		const calls = Array.from({ length: random() < 0.125 ? 2 : 1 }, (_, index) => {
			const tool = pick(random, tools);
			const input = { path: searchHits(random, 60), limit: Math.floor(random() * 500), why: prose(random, 80) };
			return { tool, call: { id: `call_${seed}_${turn}_${index}`, name: tool.name, input } };
		});
		const text = prose(random, 40 + Math.floor(random() * 220));
		messages.push({ role: "assistant", id: `m${messages.length}`, text, calls: calls.map(({ call }) => call) });
		for (const { tool, call } of calls) {
			const failed = random() < 0.05;
			const output = tool.output(random, resultLength(random));
			messages.push({
				role: "tool",
				id: `m${messages.length}`,
				callId: call.id,
				name: call.name,
				text: failed ? `Exit code 1\n${output}` : output,
				failed,
			});
		}
		if (turn % 40 === 0) {
			messages.push({ role: "assistant", id: `m${messages.length}`, text: prose(random, 600), calls: [] });
			messages.push({ role: "user", id: `m${messages.length}`, text: prose(random, 200) });
		}
	}
	return messages.slice(0, length);
}

/** Characters of a result: log-normal, median 980, mean some 2 300, at most 80 000. */
function resultLength(random: () => number): number {
	const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
	return Math.min(80_000, Math.ceil(Math.exp(6.89 + 1.3 * normal)));
}

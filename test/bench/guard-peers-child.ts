import { exactCount } from "./exact-counter.ts";
import { generateConversation } from "./generate-conversation.ts";
import { guardContenders } from "./guard-contenders.ts";
import { type Judgement, judgeOutcome } from "./judge-outcome.ts";

/** What this process prints. */
export interface PeerOutcome {
	readonly milliseconds: number;
	readonly budget: number;
	readonly tokensBefore: number;
	readonly judgement: Judgement;
}

const warmUpMilliseconds = 1500;

// One process runs one contender once: arguments are its name, the number of messages and the seed.
const [, , name, length, seed] = process.argv;
const contender = guardContenders.find((each) => each.name === name);
if (contender === undefined) throw new Error(`Unknown contender: ${name}`);
const start = await contender.load();

// Every contender warms up for the same time, each run on a conversation of its own.
const warmUntil = performance.now() + warmUpMilliseconds;
for (let other = 1; performance.now() < warmUntil; other++) {
	await start(generateConversation(Number(seed) + other * 1_000_000, 200), 20_000).run();
}

const messages = generateConversation(Number(seed), Number(length));
const all = messages.map((message) =>
	message.role === "assistant" ? message.text + JSON.stringify(message.calls) : message.text,
);
// Half of what it takes, at four characters a token: counting it here would warm a peer's tokenizer for it.
const budget = Math.floor(all.join("").length / 8);
const { run, survivors } = start(messages, budget);
globalThis.gc?.({ type: "minor" });
const started = performance.now();
const answer = await run();
const milliseconds = performance.now() - started;
const tokensBefore = all.reduce((sum, text) => sum + exactCount(text), 0);
const outcome: PeerOutcome = {
	milliseconds,
	budget,
	tokensBefore,
	judgement: judgeOutcome(messages, survivors(answer), { traits: contender.traits, countTokens: exactCount }),
};
process.stdout.write(JSON.stringify(outcome));

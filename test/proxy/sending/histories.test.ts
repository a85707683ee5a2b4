import { expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { type Editing, type HeldLimits, openEditing, prepare } from "../../../src/proxy/sending/editing.ts";
import { createHistories } from "../../../src/proxy/sending/histories.ts";
import { resultKeys } from "../../../src/proxy/sending/identity.ts";
import { createRandom, pick } from "../../bench/random.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { early, memoryArchive, sendSettled, startPlayed } from "../played.ts";
import { isMasked, requestOf, type Turn, turnsOf } from "../sessions.ts";

/** What a process may hold between requests. Every request then is known by a mark alone, and every state by its file. */
const marksAlone: HeldLimits = {
	histories: { mostChars: 0, mostMarkBytes: 10_000_000, heldForMs: -1 },
	memory: { mostConversations: 1, mostChars: 0 },
};
/** Hardly any mark, and one plan that waits. */
const hardlyAnything: HeldLimits = {
	histories: { mostChars: 0, mostMarkBytes: 9_000, heldForMs: -1 },
	memory: { mostConversations: 1, mostChars: 0 },
	waitingChars: 0,
};

interface Conversation {
	readonly name: string;
	turns: readonly Turn[];
}

const mostTurns = 12;

/** One result of each conversation is cut as it arrives. */
function turnsOfOne(name: string): Turn[] {
	return turnsOf(mostTurns, 900).map((turn, index) => ({
		...turn,
		id: `${turn.id}of${name}`,
		output: index === 4 ? turn.output.repeat(30) : `${name}: ${turn.output}`,
	}));
}

/** Composes a request; `plan` begins the plan of the next. */
async function send(editing: Editing, { turns }: Conversation) {
	const body = JSON.parse(String(requestOf("anthropic", [...turns]).body));
	const { composed, planAhead } = await prepare(
		{
			body,
			formats: ["anthropic-messages"],
			terms: cacheTerms(body, "anthropic", early.prices),
			model: "claude-sonnet-4-5",
			recall: undefined,
			decides: true,
			isEnforced: false,
			write: (edits: Parameters<typeof applyPlan>[1]) => applyPlan(body, edits),
		},
		editing,
	);
	return { sent: resultsOf(composed?.written ?? body), why: composed?.noDecision, plan: planAhead };
}

function resultsOf(body: { readonly messages: readonly { readonly content: readonly { content?: string }[] }[] }) {
	return body.messages.flatMap(({ content }) => content.flatMap((block) => block.content ?? []));
}

/** Two worlds of many conversations that go on in any order: one process with limits, and one without. */
async function playBoth(
	seed: number,
	limits: HeldLimits,
	{ steps, atOnce }: { readonly steps: number; readonly atOnce: number },
) {
	const random = createRandom(seed);
	const archive = await memoryArchive();
	const open = async (memoryFolder: string, held?: HeldLimits) =>
		openEditing({ policy: early, archive, memoryFolder, holdout: 0, now: () => 0, onFault: () => {}, limits: held });
	const folders = [await scratchFolder(), await scratchFolder()] as const;
	let [small, large] = [await open(folders[0], limits), await open(folders[1])];
	const conversations = Array.from({ length: 8 }, (_, index) => ({ name: `${seed}x${index}`, turns: [] as Turn[] }));
	const whole = new Map(conversations.map(({ name }) => [name, turnsOfOne(name)]));
	const seen: { readonly name: string; readonly small: string[]; readonly large: string[] }[] = [];
	const reasons: unknown[] = [];
	for (let step = 0; step < steps; step += 1) {
		if (random() < 0.04) [small, large] = [await open(folders[0], limits), await open(folders[1])];
		const chosen = Array.from({ length: atOnce }, () => pick(random, conversations));
		const plans: (() => Promise<void>)[] = [];
		for (const one of new Set(chosen)) {
			const isAgain = random() < 0.15;
			if (!isAgain) one.turns = (whole.get(one.name) ?? []).slice(0, one.turns.length + 1);
			if (one.turns.length === 0) continue;
			const ofLarge = await send(large, one);
			const ofSmall = await send(small, one);
			small.histories.rest();
			seen.push({ name: one.name, small: ofSmall.sent, large: ofLarge.sent });
			reasons.push(ofSmall.why);
			plans.push(ofLarge.plan, ofSmall.plan);
		}
		await Promise.all(plans.map((plan) => plan()));
	}
	return { seen, reasons };
}

it.each([
	[1, 1],
	[2, 1],
	// A conversation was let go before the next request of it is planned.
	[3, 4],
])(
	"many conversations in any order are sent by the same bytes from marks and files: %d, %d at once",
	async (seed, atOnce) => {
		const { seen, reasons } = await playBoth(seed, marksAlone, { steps: 80 / atOnce, atOnce });
		for (const { small, large } of seen) expect(small).toEqual(large);
		expect(seen.filter(({ small }) => small.some(isMasked)).length).toBeGreaterThan(20);
		expect(seen.some(({ small }) => small[4] !== undefined && small[4].length < 20_000 && !isMasked(small[4]))).toBe(
			true,
		);
		expect(new Set(reasons)).toEqual(new Set([undefined]));
	},
);

it.each([5, 6])("what has no room is decided later and said, and nothing sent is taken back: %d", async (seed) => {
	const { seen, reasons } = await playBoth(seed, hardlyAnything, { steps: 25, atOnce: 5 });
	const before = new Map<string, readonly string[]>();
	for (const { name, small, large } of seen) {
		for (const [place, text] of small.entries()) {
			// Another decision than that of a process that holds all is none yet.
			if (text !== large[place]) expect([isMasked(large[place] as string), isMasked(text)]).toEqual([true, false]);
			const last = before.get(name)?.[place];
			if (last !== undefined && last !== text) expect([isMasked(last), isMasked(text)]).toEqual([false, true]);
		}
		before.set(name, small);
	}
	expect(seen.some(({ small }) => small.some(isMasked))).toBe(true);
	expect(reasons).toContain("busy");
	for (const name of before.keys()) expect(reasons[seen.findIndex((one) => one.name === name)]).toBeUndefined();
});

it("counts what many short messages take beside their texts", () => {
	const limits = { mostChars: 100_000, mostMarkBytes: 10_000_000, heldForMs: 60_000 };
	const histories = createHistories({ now: () => 0, limits });
	const transcriptOf = (index: number) => {
		const { body } = requestOf("anthropic", turnsOf(5, 10), `Task ${index}.`);
		return readConversation(JSON.parse(String(body)), undefined, { names: ["anthropic-messages"] }).transcript;
	};
	const branches = Array.from({ length: 100 }, (_, index) => {
		const transcript = transcriptOf(index);
		const keys = resultKeys(transcript, `${index}`);
		return histories.keep(`${index}`, { transcript, paired: pairResults(transcript), keys }, undefined);
	});
	const held = branches.filter(({ last }) => last.kind === "history");
	expect([held.length > 2, held.length < 12]).toEqual([true, true]);
	expect(histories.continuedBy("0", transcriptOf(0))).toBe(branches[0]);
});

it.each(["anthropic", "chat"] as const)(
	"a program that ends each request with words of the moment is masked: %s",
	async (api) => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		for (let count = 1; count <= 6; count += 1) {
			const { body, ...rest } = requestOf(api, turnsOf(count, 3_000));
			const { messages, ...others } = JSON.parse(String(body));
			const moment = { role: "user", content: `${count} commands are running.` };
			await sendSettled(proxy, { ...rest, body: JSON.stringify({ ...others, messages: [...messages, moment] }) });
		}
		expect(session.lastTexts().filter(isMasked)).toHaveLength(3);
		expect(session.lastBody()).toContain("6 commands are running.");
	},
);

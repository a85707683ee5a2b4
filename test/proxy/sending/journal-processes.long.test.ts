import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasRedis, startRedis } from "../../storage/archive/start-redis.ts";
import { bundleModules } from "../../support/bundle-modules.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { conversation } from "./journal-suite.ts";

const rounds = 30;

/** A process that has a memory on a shared journal, and does what each line says. */
const script = (modules: readonly string[]) => `
import { createInterface } from "node:readline";
const [{ createFilesJournal }, { openRedisJournal }, { createMemory }] = await Promise.all(
	${JSON.stringify(modules)}.map((url) => import(url)));
const [place] = process.argv.slice(1);
const now = () => Date.UTC(2026, 0, 1);
const journal = place.startsWith("redis:")
	? await openRedisJournal({ url: place, namespace: "race", maxAgeMs: 1e9 })
	: createFilesJournal({ folder: place, now });
const memory = createMemory({ journal, now, patienceMs: 20_000 });
const name = ${JSON.stringify(conversation)};
const stateOf = (text, number) => ({ kind: "masked", since: number, at: 3, changed: number, values: new Map([["whole", () => text]]) });
const result = { callId: "a", texts: [], media: [] };
const work = {
	decide: ({ key, text, number }) =>
		memory.note(name, { number, states: [{ key, result, state: stateOf(text, number) }] }),
	takeBack: ({ key, number }) => memory.note(name, { number, states: [{ key, result, state: undefined }] }),
	note: ({ note }) => memory.note(name, note),
	async tell({ messages }) {
		await journal.branches?.tell(name, { id: "branch", messages, text: String(messages) }, { leftMs: 20_000 });
		return "told";
	},
	async read() {
		const { states, produced, leftOut, requests } = await memory.fetch(name);
		const texts = Array.from(states, ([key, { values }]) => [key, values.get("whole")("")]);
		const told = (await journal.branches?.read(name, { leftMs: 20_000 }))?.map(({ messages }) => messages);
		return { texts, produced: [...produced].sort(), leftOut: [...leftOut.keys()].sort(), requests, told };
	},
};
for await (const line of createInterface({ input: process.stdin })) {
	const { what, ...given } = JSON.parse(line);
	process.stdout.write(JSON.stringify(await work[what](given)) + "\\n");
}
await memory.close();
`;

interface Read {
	readonly texts: readonly (readonly [string, string])[];
	readonly produced: readonly (readonly [string, number])[];
	readonly leftOut: readonly string[];
	readonly requests: number;
	readonly told?: readonly number[];
}

const places = [
	["a folder", async () => scratchFolder()],
	...(hasRedis ? [["Redis", async () => (await startRedis()).url] as const] : []),
] as const;

describe.each(places)("two processes at the same moment on %s", (_, place) => {
	const children: ChildProcess[] = [];
	const answers: AsyncIterator<string>[] = [];
	beforeAll(async () => {
		const modules = await bundleModules(
			["journal-files", "journal-redis", "memory"].map((name) => `proxy/sending/${name}.ts`),
		);
		const where = await place();
		for (let count = 0; count < 2; count += 1) {
			const given = ["--input-type=module", "-e", script(modules), where];
			const child = spawn(process.execPath, given, { stdio: ["pipe", "pipe", "inherit"] });
			children.push(child);
			answers.push(createInterface({ input: child.stdout })[Symbol.asyncIterator]());
		}
	});
	afterAll(async () => {
		for (const child of children) {
			const ended = once(child, "exit");
			child.stdin?.end();
			await ended;
		}
	});
	/** Each does its part; both lines are written before any answer is read. */
	const both = async <Answer = string>(part: (own: number) => object): Promise<readonly Answer[]> => {
		for (const [own, child] of children.entries()) child.stdin?.write(`${JSON.stringify(part(own))}\n`);
		return Promise.all(answers.map(async (lines) => JSON.parse((await lines.next()).value as string) as Answer));
	};
	const read = () => both<Read>(() => ({ what: "read" }));

	it("decide on a result once, and the one that comes second learns the state of the first", async () => {
		let noted = 0;
		for (let number = 1; number <= rounds; number += 1) {
			const key = `key ${number}`;
			// Both have read the same, and neither reads again before it decides.
			const said = await both((own) => ({ what: "decide", key, text: `by ${own}`, number }));
			const [one, other] = await read();
			expect(one).toEqual(other);
			const winner = ["by 0", "by 1"].indexOf(Object.fromEntries(one?.texts ?? [])[key] as string);
			expect(said[1 - winner]).toBe("overtaken");
			noted += said.filter((one) => one === "noted").length;
		}
		expect(noted).toBeGreaterThan(0);
	});

	it("agree where one takes a state back while the other decides on the next result", async () => {
		for (let number = rounds + 1; number <= 2 * rounds; number += 1) {
			const [taken, decided] = [`key ${number - rounds}`, `key ${number}`];
			await both((own) =>
				own === number % 2
					? { what: "takeBack", key: taken, number }
					: { what: "decide", key: decided, text: "new", number },
			);
			const [one, other] = await read();
			expect(one).toEqual(other);
			const keys = one?.texts.map(([key]) => key);
			expect([keys?.includes(taken), keys?.includes(decided)]).toEqual([false, true]);
		}
	});

	it("lose no note of reasoning, and neither goes back in the number of requests", async () => {
		const number = 2 * rounds;
		for (let round = 1; round <= rounds; round += 1) {
			await both((own) => ({
				what: "note",
				note: {
					number: number + round,
					produced: [[`${own} made ${round}`, round]],
					leftOut: [`${own} left ${round}`],
				},
			}));
		}
		const [one, other] = await read();
		expect(one).toEqual(other);
		expect([one?.produced.length, one?.leftOut.length, one?.requests]).toEqual([2 * rounds, 2 * rounds, 3 * rounds]);
	});

	it("keep the branch that has got more messages", async () => {
		for (let round = 1; round <= rounds; round += 1) {
			await both((own) => ({ what: "tell", messages: own === round % 2 ? 10 * round : 10 * round - 5 }));
			const [one, other] = await read();
			expect(one).toEqual(other);
			expect(one?.told ?? [10 * round]).toEqual([10 * round]);
		}
	});
});

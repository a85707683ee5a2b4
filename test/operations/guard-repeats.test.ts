import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation } from "../../src/storage/restore/restore.ts";
import { createRandom, pick } from "../bench/random.ts";
import { policyOf } from "../support/policy-of.ts";
import { type JsonMessage, openaiMessages, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ preset: "balanced", locale: "en", guard: { reserve_tokens: 0, pin_task: true } });
const guard = { archive: (await openArchive({ where: "memory" })) as Archive, policy, model: "gpt-4o" };
const file = (name: string, lines = 60) =>
	Array.from({ length: lines }, (_, line) => `export const ${name}${line} = compute(${line * 7919});\n`).join("");
const contents = (conversation: unknown) => (conversation as JsonMessage[]).map(({ content }) => String(content));
const reference =
	/^\[lines (\d+)–(\d+)(?: \(ref=\w+\))?: unchanged, the same as lines (\d+)–(\d+) of the result of read_file, (\w+)(?:; line numbers \d+ (?:higher|lower))?\]$/;

/** Throws where a line points to text that the conversation does not have. Returns how many point to what they say. */
function checkReferences(conversation: unknown, originals: ReadonlyMap<string, string>): number {
	const shown = new Map((conversation as JsonMessage[]).map((one) => [String(one.tool_call_id), String(one.content)]));
	let count = 0;
	for (const [id, text] of shown) {
		for (const line of text.split("\n")) {
			const [, from, to, sourceFrom, sourceTo, source] = reference.exec(line) ?? [];
			if (source === undefined) continue;
			const wanted = originals
				.get(id)
				?.split("\n")
				.slice(Number(from) - 1, Number(to));
			const there = shown
				.get(source)
				?.split("\n")
				.slice(Number(sourceFrom) - 1, Number(sourceTo));
			expect([id, there]).toEqual([id, wanted]);
			count += 1;
		}
	}
	return count;
}

describe("a guard leaves out lines that are in view first", () => {
	const twice = openaiMessages(
		user("Go."),
		toolTurn("one", file("a")),
		toolTurn("two", file("b")),
		toolTurn("three", file("a")),
	);

	it("and takes nothing else out if the conversation then fits", async () => {
		const { conversation, report } = await guardConversation({ ...guard, conversation: twice, contextWindow: 1_300 });
		expect(report).toMatchObject({ fits: true, steps: [{ step: "repeats", count: 1 }] });
		expect(contents(conversation).at(-1)).toMatch(/^\[lines 1–60 \(ref=\w+\): unchanged, .* of read_file, one\]\n$/);
		expect(contents(conversation).slice(0, -1)).toEqual(contents(twice).slice(0, -1));
		expect((await restoreConversation({ ...guard, conversation })).conversation).toEqual(twice);
	});

	it("but none if it fits as it is, or if the policy says so", async () => {
		const whole = await guardConversation({ ...guard, conversation: twice, contextWindow: 100_000 });
		expect(whole.conversation).toBe(twice);
		const off = { ...policy, truncate: { ...policy.truncate, repeats: false } };
		const { report } = await guardConversation({ ...guard, policy: off, conversation: twice, contextWindow: 1_300 });
		expect(report.steps.map(({ step }) => step)).not.toContain("repeats");
	});

	it("and shows the lines itself where a later step takes the first result out", async () => {
		const { conversation, report } = await guardConversation({ ...guard, conversation: twice, contextWindow: 1_000 });
		expect(report.fits).toBe(true);
		expect(contents(conversation).at(-1)).toBe(file("a"));
	});

	it("and masks a result in a guarded conversation that comes back without what its lines point to", async () => {
		const { conversation } = await guardConversation({ ...guard, conversation: twice, contextWindow: 1_300 });
		const guarded = conversation as JsonMessage[];
		const shorter = [...guarded.slice(0, 1), ...guarded.slice(3)];
		for (const again of [
			await guardConversation({ ...guard, conversation: shorter, contextWindow: 100_000 }),
			await maskConversation({ ...guard, conversation: shorter }),
		]) {
			expect(contents(again.conversation).at(-1)).toMatch(/^\[masked read_file, /);
			const back = await restoreConversation({ ...guard, conversation: again.conversation });
			expect(contents(back.conversation).at(-1)).toBe(file("a"));
		}
	});
});

describe("random guards of guarded conversations, from which a program drops messages", () => {
	const seeds = Array.from({ length: Number(process.env.GUARD_SEEDS ?? 3) }, (_, seed) => seed);

	it("have no line that points to nothing, and all bytes can be restored", async () => {
		let [references, masks, whole] = [0, 0, 0];
		for (const seed of seeds) {
			const random = createRandom(seed + 1);
			const archive = (await openArchive({ where: "memory" })) as Archive;
			const originals = new Map<string, string>();
			let messages: JsonMessage[] = openaiMessages(user("Go."));
			for (let turn = 0; turn < 24; turn += 1) {
				const id = `call_${turn}`;
				const name = pick(random, ["a", "b", "c"]);
				const [changed, moved] = [Math.floor(random() * 60), random() < 0.3 ? "// first\n" : ""];
				const text = moved + (random() < 0.5 ? file(name) : file(name).replace(`${name}${changed} =`, `${name}New =`));
				originals.set(id, text);
				messages = [...messages, ...openaiMessages(toolTurn(id, text))];
				if (random() < 0.4) continue;
				if (random() < 0.3 && messages.length > 7) messages = [...messages.slice(0, 1), ...messages.slice(3)];
				const contextWindow = Math.floor(1_200 * 10 ** random());
				const given = { ...guard, archive, conversation: messages };
				const { conversation, error } =
					random() < 0.8 ? await guardConversation({ ...given, contextWindow }) : await maskConversation(given);
				expect([seed, turn, error]).toEqual([seed, turn, undefined]);
				messages = conversation as JsonMessage[];
				references += checkReferences(messages, originals);
				masks += contents(messages).filter((one) => one.startsWith("[masked ")).length;
				const { conversation: restored } = await restoreConversation({ ...given, conversation });
				for (const one of restored as JsonMessage[]) {
					if (one.role !== "tool") continue;
					expect([seed, turn, one.content]).toEqual([seed, turn, originals.get(String(one.tool_call_id))]);
					whole += 1;
				}
			}
		}
		expect(references).toBeGreaterThan(4 * seeds.length);
		expect(masks).toBeGreaterThan(seeds.length);
		expect(whole).toBeGreaterThan(seeds.length);
	});
});

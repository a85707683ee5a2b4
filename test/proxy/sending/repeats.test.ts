import { describe, expect, it } from "vitest";
import { isReferenceLine } from "../../../src/storage/restore/recognise.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { early, play, sendSettled, startPlayed, statusOf } from "../played.ts";
import { outputOf, requestOf, sessionApis, type Turn, textsIn, turnsOf } from "../sessions.ts";

const policy = policyOf({ preset: "balanced", locale: "en" });

/** A file, another one, and the file again after an edit; then as many turns as wanted. */
function readAgain(more = 0): Turn[] {
	const turns = turnsOf(4 + more, 3_000);
	const read = (path: string) => ({ name: "read_file", input: { path } });
	const file = outputOf(90, 3_000);
	const edited = file.split("\n").toSpliced(20, 1, "an edited line", "and another").join("\n");
	turns[1] = { ...(turns[1] as Turn), output: file, call: read("a.ts") };
	turns[3] = { ...(turns[3] as Turn), output: edited, call: read("a.ts") };
	return turns;
}

const references = (body: string) =>
	textsIn(JSON.parse(body)).flatMap((text) => text.split("\n").filter(isReferenceLine));

describe.each(sessionApis)("a file that is read again (%s)", (api) => {
	it("is sent without the lines that are in view, and comes back from the archive to the byte", async () => {
		const session = await startPlayed({ policy });
		const proxy = await session.start();
		const turns = readAgain();
		await play(proxy, turns, { api });
		const sent = session.lastTexts().find((text) => text.includes("an edited line")) as string;
		const named = api === "gemini" ? "read_file#1" : turns[1]?.id;
		expect(sent.split("\n")).toEqual([
			expect.stringMatching(
				/^\[lines 1–20 \(ref=\w+\): unchanged, the same as lines 1–20 of the result of read_file, .*\]$/,
			),
			"an edited line",
			"and another",
			expect.stringMatching(/^\[lines 23–\d+: unchanged, the same as lines 22–\d+ of the result of read_file, .*\]$/),
		]);
		expect(sent).toContain(`read_file, ${named}`);
		const again = await restoreConversation({
			conversation: JSON.parse(session.lastBody()),
			archive: session.archive,
			policy,
		});
		expect(again.conversation).toEqual(JSON.parse(String(requestOf(api, turns).body)));
	});
});

describe("lines that a result points to", () => {
	it("stay so in later requests, also of another process", async () => {
		const session = await startPlayed({ policy });
		const turns = readAgain(3);
		await play(await session.start(), turns.slice(0, 5));
		const before = session.lastTexts().find((text) => text.includes("an edited line"));
		await play(await session.start(), turns, { from: 6 });
		expect(session.lastTexts()).toContain(before);
	});

	it("come back in the request that masks them", async () => {
		const session = await startPlayed({ policy: early });
		const turns = readAgain(8);
		await play(await session.start(), turns);
		const bodies = session.bodies();
		expect(bodies.some((body) => references(body).length > 0)).toBe(true);
		for (const body of bodies) {
			const texts = textsIn(JSON.parse(body));
			const isThere = texts.some((text) => text.startsWith(outputOf(90, 200)));
			if (!isThere) expect(references(body)).toEqual([]);
		}
	});

	it("come back where the host goes back, compacts, or asks the provider to clear", async () => {
		const turns = readAgain(1);
		const file = (turns[3] as Turn).output;
		const without = [turns[0] as Turn, ...turns.slice(2)];
		const clears = (turn: readonly Turn[]) => {
			const { body, ...request } = requestOf("anthropic", turn);
			const edits = [{ type: "clear_tool_uses_20250919" }];
			return { ...request, body: JSON.stringify({ ...JSON.parse(String(body)), context_management: { edits } }) };
		};
		for (const last of [requestOf("anthropic", without), clears(turns)]) {
			const session = await startPlayed({ policy });
			const proxy = await session.start();
			await play(proxy, turns.slice(0, 4));
			expect(references(session.lastBody())).toHaveLength(2);
			await sendSettled(proxy, last);
			expect(references(session.lastBody())).toEqual([]);
			expect(session.lastTexts()).toContain(file);
		}
	});

	it("are counted by the ledger", async () => {
		const session = await startPlayed({ policy });
		const proxy = await session.start();
		await play(proxy, readAgain());
		const { conversations } = await statusOf(proxy);
		expect(JSON.stringify(conversations)).toContain("repeat");
	});
});

describe("a result is sent whole", () => {
	it.each([
		["the policy says so", policyOf({ preset: "balanced", truncate: { repeats: false } }), (turn: Turn) => turn],
		["the agent has recalled it", policy, (turn: Turn) => ({ ...turn, call: { name: "recall_original", input: {} } })],
		["it is short", policy, (turn: Turn) => ({ ...turn, output: turn.output.slice(0, 300) })],
	])("if %s", async (_, own, change) => {
		const session = await startPlayed({ policy: own });
		const turns = readAgain();
		turns[3] = change(turns[3] as Turn);
		await play(await session.start(), turns);
		expect(session.lastTexts()).toContain((turns[3] as Turn).output);
	});
});

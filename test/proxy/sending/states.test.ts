import { appendFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { openEditing, prepare } from "../../../src/proxy/sending/editing.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { formsOfRef } from "../../../src/storage/archive/reference.ts";
import { mountSmallDisk } from "../../storage/archive/small-disk.ts";
import { isWhole } from "../../support/breadth.ts";
import { policyOf } from "../../support/policy-of.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { early, memoryArchive, play, sendSettled, startPlayed } from "../played.ts";
import {
	isMasked,
	maskedIn,
	messagesOf,
	outputOf,
	requestOf,
	sessionApis,
	type Turn,
	textsIn,
	turnsOf,
} from "../sessions.ts";
import { send } from "../upstream.ts";

// `test/real/proxy.test.ts` has recordings of each API.
describe.each(sessionApis.filter((api) => isWhole || api === "anthropic" || api === "gemini"))(
	"a session of 35 turns through the proxy (%s)",
	(api) => {
		it("is smaller, changes at most once in ten requests, and differs only in masked results, byte for byte", async () => {
			const session = await startPlayed();
			const proxy = await session.start();
			const turns = turnsOf(35, 9_000);
			await play(proxy, turns, { api, from: 0 });
			const sent = session.bodies();
			const hosts = sent.map((_, count) => String(requestOf(api, turns.slice(0, count)).body));
			const sum = (bodies: readonly string[]) => bodies.reduce((total, body) => total + body.length, 0);
			expect(sum(sent) / sum(hosts)).toBeLessThan(0.72);
			let breaks = 0;
			let masked = 0;
			for (const [index, body] of sent.entries()) {
				const [before, after] = [messagesOf(sent[Math.max(0, index - 1)]), messagesOf(body)];
				if (before.some((message, place) => message !== after[place])) breaks += 1;
				const originals = textsIn(JSON.parse(hosts[index] as string));
				let restored = body;
				for (const [place, text] of textsIn(JSON.parse(body)).entries()) {
					const original = originals[place] as string;
					if (text === original) continue;
					masked += 1;
					expect(text).toContain(session.archive.refOf(original));
					restored = restored.replace(JSON.stringify(text), JSON.stringify(original));
				}
				expect(restored).toBe(hosts[index]);
			}
			expect(masked).toBeGreaterThan(10);
			expect(breaks).toBeGreaterThan(0);
			expect(breaks).toBeLessThanOrEqual(3);
			expect(session.faults()).toEqual([]);
		});
	},
);

describe("a conversation that the proxy sees for the first time", () => {
	it("is sent unchanged, also with many large results; the next request is the first with decisions", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		const turns = [...turnsOf(1, 60_000), ...turnsOf(9, 2_000).slice(1)];
		const first = requestOf("anthropic", turns.slice(0, 8));
		await sendSettled(proxy, first);
		expect(session.lastBody()).toBe(first.body);
		await sendSettled(proxy, requestOf("anthropic", turns));
		expect(maskedIn(session.lastBody()).length).toBeGreaterThan(3);
	});

	it("keeps the results that it brings whole, also in a proxy without the states of the one before", async () => {
		const session = await startPlayed({ policy: policyOf({ preset: "balanced", mask: { enabled: false } }) });
		const turns = [...turnsOf(1, 60_000), ...turnsOf(4, 2_000).slice(1)];
		const proxy = await session.start();
		await play(proxy, turns, { from: 2 });
		for (const texts of session.bodies().map((body) => textsIn(JSON.parse(body))))
			expect(texts).toContain(turns[0]?.output);
	});
});

describe("a large result", () => {
	it.each(sessionApis)(
		"is cut when it arrives, by the same bytes later, and masked with the whole named: %s",
		async (api) => {
			const session = await startPlayed();
			const proxy = await session.start();
			const turns = [...turnsOf(1, 60_000), ...turnsOf(30, 6_000).slice(1)];
			const whole = outputOf(0, 60_000);
			const ref = session.archive.refOf(whole);
			await play(proxy, turns, { api });
			const seen: string[] = [];
			for (const body of session.bodies()) {
				const texts = textsIn(JSON.parse(body));
				expect(texts).not.toContain(whole);
				const naming = texts.filter((text) => text.includes(ref));
				expect(naming).toHaveLength(1);
				if (naming[0] !== seen.at(-1)) seen.push(naming[0] as string);
			}
			const [cut = "", placeholder = "", ...more] = seen;
			expect(more).toEqual([]);
			expect(cut.length).toBeGreaterThan(12_000);
			expect(cut.length).toBeLessThanOrEqual(16_000);
			expect(placeholder.length).toBeLessThan(300);
			expect((await session.archive.get(ref)).text).toBe(whole);
		},
	);

	it("stays cut by the same bytes in a proxy that was restarted", async () => {
		const session = await startPlayed();
		const [one, other] = [await session.start(), await session.start()];
		const turns = [...turnsOf(1, 60_000), ...turnsOf(3, 2_000).slice(1)];
		await play(one, turns);
		await sendSettled(other, requestOf("anthropic", turns));
		await one.close();
		await sendSettled(await session.start(), requestOf("anthropic", turns));
		const [before, second, third] = session.bodies().slice(-3);
		expect(before?.length).toBeLessThan(40_000);
		expect([second, third]).toEqual([before, before]);
	});

	it.each(["TodoWrite", "update_plan", "Skill", "mcp__palimpsest__recall_original"])(
		"of %s goes out as the host sent it",
		async (name) => {
			const session = await startPlayed();
			const { body, ...rest } = requestOf("anthropic", turnsOf(1, 40_000));
			const request = { ...rest, body: String(body).replaceAll('"bash"', JSON.stringify(name)) };
			await sendSettled(await session.start(), request);
			expect(session.lastBody()).toBe(request.body);
		},
	);

	it.each([
		["npm test", 4_000],
		["ls -R", 4_000],
		["cat src/a.ts", 16_000],
		["grep -rn value src", 16_000],
	])("of the command %s is cut to %i characters", async (command, most) => {
		const session = await startPlayed();
		const proxy = await session.start();
		const turns = [most, most + 1_000].map((chars, index) => ({ ...(turnsOf(2, chars)[index] as Turn), command }));
		await play(proxy, turns);
		const texts = textsIn(JSON.parse(session.lastBody()));
		expect(texts).toContain(turns[0]?.output);
		const cut = texts.filter((text) => text.includes(session.archive.refOf(turns[1]?.output as string)));
		expect(cut.map(({ length }) => length <= most)).toEqual([true]);
	});

	it.each([
		["cat src/a.ts", 40_000],
		["npm test", 15_000],
	])("of the command %s of %i characters is not cut with thrift low", async (command, chars) => {
		const session = await startPlayed({ policy: policyOf({ preset: "balanced", mask: { thrift: "low" } }) });
		const request = requestOf(
			"anthropic",
			turnsOf(1, chars).map((turn) => ({ ...turn, command })),
		);
		await sendSettled(await session.start(), request);
		expect(session.lastBody()).toBe(request.body);
	});

	it("that a command has read from the archive goes out as the host sent it", async () => {
		const session = await startPlayed();
		const turns = turnsOf(1, 40_000).map((turn) => ({ ...turn, command: "palimpsest recall abc --all" }));
		const request = requestOf("anthropic", turns);
		await sendSettled(await session.start(), request);
		expect(session.lastBody()).toBe(request.body);
	});
});

function editedRequest(...history: [Turn[], string?]) {
	const body = JSON.parse(String(requestOf("anthropic", ...history).body));
	return {
		body,
		formats: ["anthropic-messages"],
		terms: cacheTerms(body, "anthropic", early.prices),
		model: "claude-sonnet-4-5",
		recall: { by: "`palimpsest recall {ref}`" },
		decides: true,
		isEnforced: false,
		write: (edits: Parameters<typeof applyPlan>[1]) => applyPlan(body, edits),
	};
}

describe("what was decided once", () => {
	const turns = turnsOf(9, 3_000);

	it("is sent in the same bytes by another proxy on the same archive, and by one that was restarted", async () => {
		const session = await startPlayed({ policy: early });
		const folder = await scratchFolder();
		const start = async () => session.start({ archive: await openArchive({ where: folder }) });
		const [one, two] = [await start(), await start()];
		for (let count = 1; count <= 9; count += 1) {
			await sendSettled(count % 2 ? one : two, requestOf("anthropic", turns.slice(0, count)));
		}
		await one.close();
		const request = requestOf("anthropic", turns);
		for (const proxy of [two, await start()]) await sendSettled(proxy, request);
		const [first, second, third] = session.bodies().slice(-3);
		expect(maskedIn(first).length).toBeGreaterThan(3);
		// The second request may bring what the first was planned for, and the last one nothing more.
		for (const known of maskedIn(first)) expect(second).toContain(JSON.stringify(known));
		expect(third).toBe(second);
	});

	it.each(sessionApis)("stays when the host rewrites its history: %s", async (api) => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 8), { api });
		const before = session.lastTexts();
		const masked = turns.slice(0, 8).filter(({ output }) => !before.includes(output));
		expect(masked.length).toBeGreaterThan(3);
		// As Gemini CLI does: some old results give way to a notice of the host's own.
		const rewritten = turns.map((turn, index) =>
			index === 1 || index === 2 ? { ...turn, output: "<tool_output_masked>gone</tool_output_masked>" } : turn,
		);
		for (const one of [proxy, await session.start()]) {
			await sendSettled(one, requestOf(api, rewritten));
			const texts = session.lastTexts();
			expect(masked.filter(({ output }) => texts.includes(output)).map(({ id }) => id)).toEqual([]);
			const kept = before.filter(isMasked).filter((text) => texts.includes(text));
			expect(kept.length).toBeGreaterThanOrEqual(masked.length - 2);
		}
	});

	it("stays after a compaction by the host, for the results that it goes on with", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns);
		const before = maskedIn(session.lastBody());
		const compacted = requestOf("anthropic", turns.slice(3), "A summary of what came before.");
		await sendSettled(proxy, compacted);
		const after = maskedIn(session.lastBody());
		// The first one that is left says how to read it.
		expect([after.length, after.slice(1)]).toEqual([before.length - 3, before.slice(4)]);
		await sendSettled(await session.start(), compacted);
		expect(maskedIn(session.lastBody())).toEqual(after);
	});

	describe("stays after a compaction", () => {
		const compacted = turns.slice(3);
		const summary = "A summary of what came before.";

		it("in a proxy that has the conversation, but not the last decisions", async () => {
			const session = await startPlayed({ policy: early });
			const [one, two] = [await session.start(), await session.start()];
			await play(one, turns.slice(0, 4));
			await sendSettled(two, requestOf("anthropic", turns.slice(0, 4)));
			await play(one, turns, { from: 5 });
			const before = maskedIn(session.lastBody());
			await sendSettled(two, requestOf("anthropic", compacted, summary));
			expect(maskedIn(session.lastBody()).slice(1)).toEqual(before.slice(4));
			expect(before.length).toBeGreaterThan(5);
		});

		it("whole where a proxy that knew nothing has sent it whole", async () => {
			const session = await startPlayed({ policy: early });
			const one = await session.start();
			await play(one, turns);
			const request = requestOf("anthropic", compacted, summary);
			for (const proxy of [await session.start(), one]) {
				await sendSettled(proxy, request);
				expect(session.lastBody()).toBe(request.body);
			}
		});

		it.each(["a request that only counts tokens was refused", "another proxy could not note it"])(
			"of which %s",
			async (what) => {
				const [archive, memoryFolder] = [await memoryArchive(), await scratchFolder()];
				const how = { policy: early, archive, memoryFolder, holdout: 0, now: () => 0, onFault: () => {} };
				const [one, other] = [await openEditing(how), await openEditing(how)];
				for (let count = 1; count <= turns.length; count += 1) {
					await (await prepare(editedRequest(turns.slice(0, count)), one)).planAhead();
				}
				const request = editedRequest(compacted, summary);
				const { composed: known } = await prepare({ ...request, decides: false }, one);
				expect(known?.states.filter((state) => state?.kind === "masked").length).toBeGreaterThan(2);
				if (what.includes("counts")) await known?.variants.withoutReasoning()?.accepted();
				else {
					const note = () => Promise.reject(new Error("The disk is full."));
					await prepare(request, { ...other, memory: { ...other.memory, note } });
				}
				const { composed } = await prepare({ ...request, decides: false }, one);
				expect(composed?.states).toEqual(known?.states);
			},
		);
	});

	it("stays by the same bytes in a restarted proxy, at any time on the clock", async () => {
		const [archive, memoryFolder] = [await memoryArchive(), await scratchFolder()];
		let time = Date.UTC(2026, 0, 1);
		const how = { policy: early, archive, memoryFolder, holdout: 0, now: () => time, onFault: () => {} };
		const editing = await openEditing(how);
		const jumps: Readonly<Record<number, number>> = { 3: 24, 5: -72, 7: 40 * 24, 8: -41 * 24 };
		let before: string[] = [];
		for (let count = 1; count <= turns.length; count += 1) {
			time += 10_000 + (jumps[count] ?? 0) * 3_600_000;
			const request = editedRequest(turns.slice(0, count));
			const { body } = request;
			const { composed, planAhead } = await prepare(request, editing);
			const restarted = await openEditing(how);
			const again = await prepare({ ...request, decides: false }, restarted);
			const texts = textsIn(composed?.written ?? body);
			expect(textsIn(again.composed?.written ?? body)).toEqual(texts);
			expect(before.filter((one) => !texts.includes(one))).toEqual([]);
			before = texts.filter(isMasked);
			await planAhead();
		}
		expect(before.length).toBeGreaterThan(4);
	});

	it("stays on a full disk, where nothing more is decided until there is room", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		const session = await startPlayed({ policy: early, memoryFolder: disk });
		const proxy = await session.start();
		const many = turnsOf(40, 2_000);
		await play(proxy, many.slice(0, 8));
		const before = maskedIn(session.lastBody());
		expect(before.length).toBeGreaterThan(3);
		// To the last byte: a file has room left in its last page.
		const [name = ""] = await readdir(disk);
		await writeFile(`${disk}/other`, "x".repeat(16_000));
		await expect(appendFile(`${disk}/${name}`, "x".repeat(100_000))).rejects.toThrow("ENOSPC");
		for (const count of [10, 12, 14]) {
			await sendSettled(proxy, requestOf("anthropic", many.slice(0, count)));
			expect(maskedIn(session.lastBody())).toEqual(before);
		}
		expect(proxy.totals().undecided.memory).toBeGreaterThan(0);
		await rm(`${disk}/other`);
		await sendSettled(proxy, requestOf("anthropic", many.slice(0, 15)));
		expect(maskedIn(session.lastBody()).length).toBeGreaterThan(before.length);
		expect(maskedIn(session.lastBody()).slice(0, before.length)).toEqual(before);
	});

	it("holds for requests that only count tokens, which decide nothing themselves", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns);
		const counted = { ...requestOf("anthropic", turns), path: "/v1/messages/count_tokens?beta=true" };
		const last = session.lastBody();
		await sendSettled(proxy, counted);
		await sendSettled(proxy, counted);
		const [first, second] = session.bodies().slice(-2);
		expect(maskedIn(first).length).toBeGreaterThan(3);
		expect([first, second]).toEqual([last, last]);
		expect(proxy.totals().requests).toBe(turns.length);
	});

	it("is not touched by a call of the same name in another conversation", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns);
		const others = turnsOf(3, 3_000).map((turn, index) => ({ ...turn, id: `toolu_01AnotherSession000${index}` }));
		const other = requestOf("anthropic", others);
		await sendSettled(proxy, other);
		expect(session.lastBody()).toBe(other.body);
	});
});

describe("a plan", () => {
	const turns = turnsOf(9, 3_000);
	const other = { id: "toolu_01ForkOfTheSession0001", command: "ls", output: outputOf(77, 3_000) };

	it.each([
		["a rewind", () => requestOf("anthropic", turns.slice(0, 7))],
		["a fork", () => requestOf("anthropic", [...turns.slice(0, 7), other])],
		[
			"a history that the host has rewritten",
			() => {
				const first = { ...(turns[7] as (typeof turns)[number]), output: "gone" };
				return requestOf("anthropic", [...turns.slice(0, 7), first, ...turns.slice(8)]);
			},
		],
	])("does not count for %s, which goes out with its known states and is planned on in turn", async (_, request) => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 8));
		const before = maskedIn(session.lastBody());
		await sendSettled(proxy, request());
		expect(maskedIn(session.lastBody())).toEqual(before);
		await sendSettled(proxy, request());
		const after = maskedIn(session.lastBody());
		expect(after.slice(0, before.length)).toEqual(before);
		await sendSettled(proxy, requestOf("anthropic", turns));
		for (const known of before) expect(maskedIn(session.lastBody())).toContain(known);
	});

	it("is made for each of two branches that go on in turns", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 4));
		const fork = (count: number) =>
			turns.slice(0, 4 + count).map((turn, index) => (index < 4 ? turn : { ...turn, id: `${turn.id}fork` }));
		for (let count = 1; count <= 5; count += 1) {
			await sendSettled(proxy, requestOf("anthropic", turns.slice(0, 4 + count)));
			await sendSettled(proxy, requestOf("anthropic", fork(count)));
		}
		for (const body of session.bodies().slice(-2)) expect(maskedIn(body).length).toBeGreaterThan(3);
	});

	it("lets other requests go on between its steps", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		let turnsOfTheLoop = 0;
		let isOver = false;
		setImmediate(function next() {
			turnsOfTheLoop += 1;
			if (!isOver) setImmediate(next);
		});
		await send(proxy.url, requestOf("anthropic", turns));
		const answered = turnsOfTheLoop;
		await proxy.settled();
		isOver = true;
		expect(turnsOfTheLoop - answered).toBeGreaterThanOrEqual(5);
	});
});

it("a request that another proxy has edited keeps its placeholders, and none is archived as an original", async () => {
	const session = await startPlayed({ policy: early });
	const second = await session.start();
	const outer = await startPlayed({ policy: early, archive: session.archive });
	const first = await outer.start({
		upstreams: { anthropic: second.url },
		recallCommand: "another recall",
	});
	const turns = turnsOf(12, 3_000);
	const placeholders = new Set<string>();
	for (let count = 1; count <= turns.length; count += 1) {
		await send(first.url, requestOf("anthropic", turns.slice(0, count)));
		await Promise.all([first.settled(), second.settled()]);
		const texts = session.lastTexts();
		for (const known of placeholders) expect(texts).toContain(known);
		for (const text of texts) if (isMasked(text)) placeholders.add(text);
	}
	expect(placeholders.size).toBeGreaterThan(6);
	expect([...session.faults(), ...outer.faults()]).toEqual([]);
});

it.each([
	["8 characters", 1],
	["20 characters", 2],
])("a conversation that an older version masked under references of %s keeps its bytes", async (_, form) => {
	const session = await startPlayed({ policy: early });
	const { archive, memoryFolder } = session;
	const turns = [...turnsOf(1, 60_000), ...turnsOf(12, 3_000).slice(1)];
	const before = await session.start();
	await play(before, turns.slice(0, 8));
	await before.close();
	// An older version wrote the same states, with its own form of the references.
	const older = (text: string) =>
		turns.reduce((done, { output }) => {
			const ref = archive.refOf(output);
			return done.replaceAll(ref, formsOfRef(ref)[form] as string);
		}, text);
	for (const name of await readdir(memoryFolder)) {
		const file = `${memoryFolder}/${name}`;
		if (name.endsWith(".jsonl")) await writeFile(file, older(await readFile(file, "utf8")));
	}
	const known = older(session.lastBody());
	expect(known).not.toBe(session.lastBody());
	await archive.clear();
	const proxy = await session.start();
	await sendSettled(proxy, requestOf("anthropic", turns.slice(0, 8)));
	expect(maskedIn(session.lastBody()).slice(0, maskedIn(known).length)).toEqual(maskedIn(known));
	await play(proxy, turns, { from: 9 });
	const refs = maskedIn(session.lastBody()).map((text) => / #(\w+)\]/.exec(text)?.[1] ?? "");
	const lengths = [0, 8, 20];
	expect(new Set(refs.map(({ length }) => length))).toEqual(new Set([lengths[form], 12]));
	for (const [index, ref] of refs.entries()) expect((await archive.get(ref)).text).toBe(turns[index]?.output);
	expect(session.faults()).toEqual([]);
});

it("a result in a list that is hardly larger than its placeholder stays masked", async () => {
	const session = await startPlayed({
		policy: policyOf({ mask: { window_turns: 1, cadence: "every_turn", selection: "age" } }),
	});
	const proxy = await session.start();
	const turn = (id: string, text: string) => [
		{ role: "assistant", content: [{ type: "tool_use", id, name: "ls", input: {} }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text }] }] },
	];
	let masked = 0;
	for (let words = 4; words < 44; words += 1) {
		const text = Array.from({ length: words }, (_, word) => `w${word * 7}`).join(" ");
		const messages = [{ role: "user", content: "Go." }, ...turn(`a${words}`, text), ...turn("b", "ok")];
		const request = { ...requestOf("anthropic", []), body: JSON.stringify({ messages }) };
		for (let time = 0; time < 3; time += 1) await sendSettled(proxy, request);
		const [second, third] = session.bodies().slice(-2);
		expect(third).toBe(second);
		masked += third === request.body ? 0 : 1;
	}
	expect(masked).toBeGreaterThan(5);
	expect(masked).toBeLessThan(40);
});

import { appendFile, readdir, rm, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import type { ProxyOptions } from "../../src/proxy/server.ts";
import { mountSmallDisk } from "../archive/small-disk.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { requestOf, type SessionApi, sessionApis, turnsOf } from "./sessions.ts";
import { send, startProxyTo, startUpstream } from "./upstream.ts";

async function memoryArchive(): Promise<Archive> {
	return (await openArchive({ where: "memory" })) as Archive;
}

/** The bodies of a session, request by request, as the upstream gets them. */
async function sentBodies(api: SessionApi, turns: ReturnType<typeof turnsOf>, archive: Archive) {
	const upstream = await startUpstream();
	const proxy = await startProxyTo(upstream.url, { archive });
	const came: string[] = [];
	for (let count = 0; count <= turns.length; count += 1) {
		const request = requestOf(api, turns.slice(0, count));
		came.push(String(request.body));
		await send(proxy.url, request);
		await proxy.settled();
	}
	return { came, sent: upstream.received.map(({ body }) => body.toString()) };
}

/** The messages without the breakpoints, which move with each request. */
function messagesOf(body: string): string[] {
	const { messages, contents, input } = JSON.parse(body);
	return (messages ?? contents ?? input).map((message: unknown) =>
		JSON.stringify(message, (key, value) => (key === "cache_control" ? undefined : value)),
	);
}

function textsIn(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe.each(sessionApis)("a session of 35 turns through the proxy (%s)", (api) => {
	it("is smaller, and only appended to but for one edit in ten requests", async () => {
		const { came, sent } = await sentBodies(api, turnsOf(35, 6_000), await memoryArchive());
		const sum = (bodies: readonly string[]) => bodies.reduce((total, body) => total + body.length, 0);
		expect(sum(sent) / sum(came)).toBeLessThan(0.6);
		let breaks = 0;
		for (let next = 1; next < sent.length; next += 1) {
			const [before, after] = [messagesOf(sent[next - 1] as string), messagesOf(sent[next] as string)];
			if (before.some((message, index) => message !== after[index])) breaks += 1;
		}
		expect(breaks).toBeGreaterThan(0);
		expect(breaks).toBeLessThanOrEqual(3);
	});

	it("differs from what came in the masked results alone, to the byte", async () => {
		const archive = await memoryArchive();
		const { came, sent } = await sentBodies(api, turnsOf(20, 6_000), archive);
		let masked = 0;
		for (const [index, body] of sent.entries()) {
			const originals = textsIn(JSON.parse(came[index] as string));
			let restored = body;
			for (const [place, text] of textsIn(JSON.parse(body)).entries()) {
				const original = originals[place] as string;
				if (text === original) continue;
				masked += 1;
				expect(text).toContain(archive.refOf(original));
				restored = restored.replace(JSON.stringify(text), JSON.stringify(original));
			}
			expect(restored).toBe(came[index]);
		}
		expect(masked).toBeGreaterThan(10);
	});
});

describe("what was decided once", () => {
	const turns = turnsOf(24, 12_000);
	const maskedIn = (body: Buffer | undefined) => textsIn(JSON.parse(String(body))).filter(isMasked);
	const isMasked = (text: string) => /^\[(?:Observation masked:|masked )/.test(text);

	it("is sent in the same bytes by another proxy on the same archive, and by one that was restarted", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const archives = await Promise.all([1, 2, 3].map(() => openArchive({ where: `${folder}/archive` })));
		const start = (place: number) =>
			startProxyTo(upstream.url, { archive: archives[place], memoryFolder: `${folder}/conversations` });
		const [one, two] = [await start(0), await start(1)];
		for (let count = 1; count <= 18; count += 1) {
			await send((count % 2 ? one : two).url, requestOf("anthropic", turns.slice(0, count)));
		}
		const request = requestOf("anthropic", turns.slice(0, 18));
		await send(one.url, request);
		await one.close();
		const restarted = await start(2);
		await send(restarted.url, request);
		const [first, second, third] = upstream.received.slice(-3).map(({ body }) => body.toString());
		expect(maskedIn(Buffer.from(first as string)).length).toBeGreaterThan(5);
		expect(second).toBe(first);
		expect(third).toBe(first);
	});

	it.each(sessionApis)("stays when the host rewrites its history: %s", async (api) => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const options = { archive: await memoryArchive(), memoryFolder: folder };
		const proxy = await startProxyTo(upstream.url, options);
		for (let count = 1; count <= 20; count += 1) await send(proxy.url, requestOf(api, turns.slice(0, count)));
		const before = new Set(maskedIn(upstream.received.at(-1)?.body));
		expect(before.size).toBeGreaterThan(6);
		// As Gemini CLI does: the oldest results but the first give way to a notice of the host's own.
		const rewritten = turns.map((turn, index) =>
			index > 0 && index < 8 ? { ...turn, output: "<tool_output_masked>gone</tool_output_masked>" } : turn,
		);
		const restarted = await startProxyTo(upstream.url, options);
		const shown = textsIn(JSON.parse(String(upstream.received.at(-1)?.body)));
		const maskedBefore = turns.slice(0, 20).filter(({ output }) => !shown.includes(output));
		for (const one of [proxy, restarted]) {
			await send(one.url, requestOf(api, rewritten.slice(0, 21)));
			const outputs = textsIn(JSON.parse(String(upstream.received.at(-1)?.body)));
			const cameBack = maskedBefore.filter(({ output }) => outputs.includes(output));
			expect(cameBack.map(({ id }) => id)).toEqual([]);
			expect([...before].filter((text) => outputs.includes(text)).length).toBeGreaterThanOrEqual(before.size - 7);
		}
	});

	it("stays whatever the clock does, by the same bytes in a proxy that was restarted", async () => {
		const [archive, memoryFolder] = [await memoryArchive(), await scratchFolder()];
		let time = Date.UTC(2026, 0, 1);
		const how = {
			policy: policyOf({ preset: "balanced" }),
			archive,
			memoryFolder,
			recallCommand: "palimpsest recall",
			holdout: 0,
		};
		const open = () => openEditing({ ...how, now: () => time });
		const editing = await open();
		const jumps: Readonly<Record<number, number>> = { 8: 24, 11: -72, 14: 40 * 24, 17: -41 * 24 };
		let before = new Set<string>();
		for (let count = 1; count <= turns.length; count += 1) {
			time += 10_000 + (jumps[count] ?? 0) * 3_600_000;
			const body = String(requestOf("anthropic", turns.slice(0, count)).body);
			const { text = body } = await editRequest(body, { api: "anthropic", kind: "edited" }, editing);
			const again = await editRequest(body, { api: "anthropic", kind: "edited" }, await open());
			expect(again.text ?? body).toBe(text);
			const texts = textsIn(JSON.parse(text));
			expect([...before].filter((one) => !texts.includes(one))).toEqual([]);
			before = new Set(texts.filter(isMasked));
		}
		expect(before.size).toBeGreaterThan(8);
	});

	it("stays on a full disk, where nothing more is masked until there is room", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		const upstream = await startUpstream();
		const faults: unknown[] = [];
		const log: ProxyOptions["log"] = ({ data, message }) => faults.push([data.fault, message.includes("ENOSPC")]);
		const proxy = await startProxyTo(upstream.url, { archive: await memoryArchive(), memoryFolder: disk, log });
		const many = turnsOf(60, 12_000);
		const sendTurns = async (count: number) => {
			const request = requestOf("anthropic", many.slice(0, count));
			await send(proxy.url, request);
			const body = upstream.received.at(-1)?.body;
			return { masked: maskedIn(body).length, isUnedited: String(body) === String(request.body) };
		};
		const before = await sendTurns(18);
		expect(before.masked).toBeGreaterThan(5);
		// To the last byte: a file has room left in its last page.
		const [name = ""] = await readdir(disk);
		await writeFile(`${disk}/other`, "x".repeat(16_000));
		await expect(appendFile(`${disk}/${name}`, "x".repeat(100_000))).rejects.toThrow("ENOSPC");
		expect(await sendTurns(18)).toEqual(before);
		expect(faults).toEqual([]);
		const after: Awaited<ReturnType<typeof sendTurns>>[] = [];
		for (const count of [20, 30, 40, 50, 60, 60]) after.push(await sendTurns(count));
		expect(after.some(({ isUnedited }) => isUnedited)).toBe(true);
		expect(after.at(-1)).toEqual(after.at(-2));
		expect(faults).toEqual(after.filter(({ isUnedited }) => isUnedited).map(() => ["archive", true]));
		await rm(`${disk}/other`);
		expect((await sendTurns(60)).masked).toBeGreaterThan(before.masked);
	});

	it("holds for requests that only count tokens, which decide nothing themselves", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url, { archive: await memoryArchive() });
		const request = requestOf("anthropic", turns.slice(0, 18));
		const count = { ...request, path: "/v1/messages/count_tokens?beta=true" };
		for (const one of [count, request, count]) await send(proxy.url, one);
		const [first, second, third] = upstream.received.map(({ body }) => body.toString());
		expect(maskedIn(Buffer.from(first as string)).length).toBeGreaterThan(5);
		expect([second, third]).toEqual([first, first]);
		expect(proxy.totals().requests).toBe(1);
	});
});

it("a request that another proxy has edited keeps its placeholders, and none is archived as an original", async () => {
	const archive = await memoryArchive();
	const upstream = await startUpstream();
	const faults: unknown[] = [];
	const log: ProxyOptions["log"] = ({ data }) => faults.push(data);
	const second = await startProxyTo(upstream.url, { archive, log });
	const first = await startProxyTo(second.url, { archive, log, recallCommand: "another recall" });
	const turns = turnsOf(30, 6_000);
	const placeholders = new Set<string>();
	for (let count = 1; count <= turns.length; count += 1) {
		await send(first.url, requestOf("anthropic", turns.slice(0, count)));
		const texts = textsIn(JSON.parse(String(upstream.received.at(-1)?.body)));
		for (const known of placeholders) expect(texts).toContain(known);
		for (const text of texts) if (/^\[(?:Observation masked:|masked )/.test(text)) placeholders.add(text);
	}
	expect(placeholders.size).toBeGreaterThan(8);
	expect(faults).toEqual([]);
});

it("a reference that turns out to be another text's gives way to a long one, in placeholders and cuts", async () => {
	const real = await memoryArchive();
	let isFound = false;
	const archive: Archive = {
		...real,
		refOf: (text) => (isFound ? real.longRefOf(text) : real.refOf(text)),
		put: async (originals) => {
			isFound = true;
			await real.put(originals);
			return originals.map(({ text }) => real.longRefOf(text));
		},
	};
	const upstream = await startUpstream();
	const proxy = await startProxyTo(upstream.url, { archive });
	const turns = [...turnsOf(1, 40_000), ...turnsOf(19, 6_000).slice(1), ...turnsOf(21, 40_000).slice(20)];
	await send(proxy.url, requestOf("anthropic", turns));
	const body = String(upstream.received[0]?.body);
	const named = turns.filter(({ output }) => body.includes(real.longRefOf(output)));
	expect(named.length).toBeGreaterThan(8);
	for (const { output } of named) expect((await real.get(real.longRefOf(output))).text).toBe(output);
	for (const { output } of turns) expect(body).not.toMatch(new RegExp(`\\b${real.refOf(output)}\\b`));
});

it("a result in a list that is hardly larger than its placeholder stays masked", async () => {
	const archive = await memoryArchive();
	const policy = policyOf({ mask: { window_turns: 1, cadence: "every_turn", selection: "age" } });
	const now = () => Date.UTC(2026, 0, 1);
	const turn = (id: string, text: string) => [
		{ role: "assistant", content: [{ type: "tool_use", id, name: "ls", input: {} }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text }] }] },
	];
	let masked = 0;
	for (let words = 4; words < 44; words += 1) {
		const text = Array.from({ length: words }, (_, word) => `w${word * 7}`).join(" ");
		const messages = [{ role: "user", content: "Go." }, ...turn(`a${words}`, text), ...turn("b", "ok")];
		const editing = await openEditing({ policy, archive, recallCommand: "palimpsest recall", holdout: 0, now });
		const send = () => editRequest(JSON.stringify({ messages }), { api: "anthropic", kind: "edited" }, editing);
		const first = await send();
		expect((await send()).text).toBe(first.text);
		masked += first.text === undefined ? 0 : 1;
	}
	expect(masked).toBeGreaterThan(5);
	expect(masked).toBeLessThan(40);
});

it("an edit lets other requests go on between its steps", async () => {
	const archive = await memoryArchive();
	const policy = policyOf({ mask: { window_turns: 1, cadence: "every_turn", selection: "age" } });
	const editing = await openEditing({ policy, archive, recallCommand: "palimpsest recall", holdout: 0, now: Date.now });
	const body = String(requestOf("anthropic", turnsOf(6)).body);
	let turnsOfTheLoop = 0;
	let isOver = false;
	const others = setImmediate(function next() {
		turnsOfTheLoop += 1;
		if (!isOver) setImmediate(next);
	});
	const { text } = await editRequest(body, { api: "anthropic", kind: "edited" }, editing);
	isOver = true;
	clearImmediate(others);
	expect(text).not.toBe(body);
	expect(turnsOfTheLoop).toBeGreaterThanOrEqual(6);
});

import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { shortenText } from "../../src/operations/truncate-stream.ts";
import { charsCheck } from "../../src/operations/truncation-limit.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { requestOf, sessionApis, turnsOf } from "./sessions.ts";
import { send, startProxyTo, startUpstream } from "./upstream.ts";

const minute = 60_000;

function textsIn(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

async function startSession() {
	const upstream = await startUpstream();
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const folder = await scratchFolder();
	let time = Date.UTC(2026, 0, 1);
	const options = { archive, memoryFolder: folder, now: () => time };
	return {
		archive,
		wait: (ms: number) => {
			time += ms;
		},
		start: () => startProxyTo(upstream.url, options),
		lastTexts: () => textsIn(JSON.parse(String(upstream.received.at(-1)?.body))),
		lastBody: () => String(upstream.received.at(-1)?.body),
	};
}

describe("after a pause longer than the provider's cache lives", () => {
	const turns = turnsOf(16, 6_000);
	const shown = (texts: readonly string[]) => turns.filter(({ output }) => texts.includes(output)).length;

	it.each(sessionApis)("everything that may go is masked, and stays so: %s", async (api) => {
		const session = await startSession();
		const proxy = await session.start();
		for (let count = 1; count <= 11; count += 1) {
			await send(proxy.url, requestOf(api, turns.slice(0, count)));
			session.wait(minute);
		}
		expect(shown(session.lastTexts())).toBe(11);
		await proxy.close();
		session.wait(6 * minute);
		const resumed = await session.start();
		await send(resumed.url, requestOf(api, turns.slice(0, 11)));
		const after = shown(session.lastTexts());
		expect(after).toBeLessThan(11);
		session.wait(minute);
		await send(resumed.url, requestOf(api, turns.slice(0, 12)));
		expect(shown(session.lastTexts())).toBe(after + 1);
	});

	it("means an hour where the request asks for it", async () => {
		const session = await startSession();
		const proxy = await session.start();
		const request = (count: number) => {
			const { body, ...rest } = requestOf("anthropic", turns.slice(0, count));
			return { ...rest, body: String(body).replaceAll('"ephemeral"', '"ephemeral", "ttl": "1h"') };
		};
		for (let count = 1; count <= 11; count += 1) await send(proxy.url, request(count));
		expect(shown(session.lastTexts())).toBe(11);
		session.wait(50 * minute);
		await send(proxy.url, request(11));
		expect(shown(session.lastTexts())).toBe(11);
		session.wait(61 * minute);
		await send(proxy.url, request(11));
		expect(shown(session.lastTexts())).toBeLessThan(11);
	});
});

describe("a large result", () => {
	it.each(sessionApis)(
		"is cut when it arrives, by the same bytes later, and masked with the whole named: %s",
		async (api) => {
			const session = await startSession();
			const proxy = await session.start();
			const [large, ...others] = [...turnsOf(1, 60_000), ...turnsOf(30, 6_000).slice(1)];
			const turns = [large as NonNullable<typeof large>, ...others];
			const ref = session.archive.refOf(turns[0]?.output as string);
			const seen: string[] = [];
			for (let count = 1; count <= 24; count += 1) {
				await send(proxy.url, requestOf(api, turns.slice(0, count)));
				const texts = session.lastTexts();
				expect(texts).not.toContain(turns[0]?.output);
				const naming = texts.filter((text) => text.includes(ref));
				expect(naming).toHaveLength(1);
				if (naming[0] !== seen.at(-1)) seen.push(naming[0] as string);
			}
			const [cut = "", placeholder = "", ...more] = seen;
			expect(more).toEqual([]);
			expect(cut.length).toBeGreaterThan(12_000);
			expect(cut.length).toBeLessThanOrEqual(16_000);
			expect(placeholder.length).toBeLessThan(300);
			expect((await session.archive.get(ref)).text).toBe(turns[0]?.output);
		},
	);

	it.each(["Read", "read_file", "view", "apply_patch", "TodoWrite", "update_plan", "mcp__palimpsest__recall_original"])(
		"of %s is left as it is",
		async (name) => {
			const session = await startSession();
			const proxy = await session.start();
			const { body, ...rest } = requestOf("anthropic", turnsOf(1, 40_000));
			const request = { ...rest, body: String(body).replaceAll('"bash"', JSON.stringify(name)) };
			await send(proxy.url, request);
			expect(session.lastBody()).toBe(request.body);
		},
	);

	it("that a command has read from the archive is left as it is", async () => {
		const session = await startSession();
		const proxy = await session.start();
		const turns = turnsOf(1, 40_000).map((turn) => ({ ...turn, command: "palimpsest recall abc --all" }));
		const request = requestOf("anthropic", turns);
		await send(proxy.url, request);
		expect(session.lastBody()).toBe(request.body);
	});
});

describe("a result that a hook has shortened", () => {
	it("is not cut again, and is masked under the reference of the whole", async () => {
		const session = await startSession();
		const proxy = await session.start();
		const whole = turnsOf(1, 90_000)[0]?.output as string;
		const [ref] = await session.archive.put([{ kind: "text", text: whole }]);
		const text = (await shortenText({
			text: whole,
			policy: policyOf({ preset: "balanced" }),
			archive: session.archive,
			command: "palimpsest",
			check: charsCheck(30_000),
			how: { htmlToText: undefined },
		})) as string;
		expect(text.length).toBeGreaterThan(20_000);
		const turns = turnsOf(24, 6_000).map((turn, index) => (index === 0 ? { ...turn, output: text } : turn));
		await send(proxy.url, requestOf("anthropic", turns.slice(0, 1)));
		expect(session.lastTexts()).toContain(text);
		for (let count = 2; count <= 24; count += 1) await send(proxy.url, requestOf("anthropic", turns.slice(0, count)));
		const [placeholder = "", ...more] = session.lastTexts().filter((one) => one.includes(ref as string));
		expect(more).toEqual([]);
		expect(placeholder.length).toBeLessThan(300);
	});
});

describe("the hint of a placeholder", () => {
	const placeholder = async (change: (body: string) => string) => {
		const session = await startSession();
		const proxy = await session.start();
		const turns = turnsOf(20, 12_000);
		const { body, ...rest } = requestOf("anthropic", turns);
		await send(proxy.url, { ...rest, body: change(String(body)) });
		const refs = turns.map(({ output }) => session.archive.refOf(output));
		const placeholders = session.lastTexts().filter((text) => refs.some((ref) => text.includes(ref)));
		expect(placeholders.length).toBeGreaterThan(3);
		const [first = "", ...others] = placeholders.map((text) =>
			refs.reduce((now, ref) => now.replaceAll(ref, "REF"), text),
		);
		// One hint is enough, in the oldest.
		for (const text of others) expect(text).not.toMatch(/recall/);
		return first;
	};

	it("is the command where the request offers a shell", async () => {
		expect(await placeholder((body) => body)).toContain("`palimpsest recall REF`");
	});

	it("is the tool that is named like recall_original", async () => {
		const tool = '{"name": "mcp__palimpsest__recall_original", "input_schema": {"type": "object"}}, {';
		const text = await placeholder((body) => body.replace(/"tools": \[\s*\{/, `"tools": [${tool}`));
		expect(text).toContain("mcp__palimpsest__recall_original");
		expect(text).not.toContain("palimpsest recall");
	});

	it("is absent where nothing can read an original", async () => {
		const text = await placeholder((body) => body.replaceAll('"bash"', '"search"'));
		expect(text).toContain("REF");
		expect(text).not.toMatch(/recall/);
	});
});

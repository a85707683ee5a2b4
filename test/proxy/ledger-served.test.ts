import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openFigures } from "../../src/storage/figures/store.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { awsFrame } from "../support/stand-in-cloud.ts";
import { linesIn, sendSettled, startPlayed, statusOf } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { until } from "./upstream.ts";

const turns = turnsOf(6, 2_000);

/** Plays a session through two proxies, one after the other, before a provider that answers as `answer` does. */
async function playServed(answer: (number: number, response: ServerResponse) => void, api: "anthropic" | "chat") {
	const folder = join(await scratchFolder(), "figures");
	let number = 0;
	const session = await startPlayed({ figures: openFigures({ keep: "all", folder }) }, (_, response) => {
		answer(number, response);
		number += 1;
	});
	let proxy = await session.start();
	for (let count = 1; count <= turns.length; count += 1) {
		if (count === 4) {
			await proxy.close();
			proxy = await session.start();
		}
		await sendSettled(proxy, requestOf(api, turns.slice(0, count))).catch(() => {});
	}
	await until(() => proxy.totals().requests === turns.length - 3);
	const lines = await linesIn(folder, "request");
	const sum = (of: (line: (typeof lines)[number]) => number | undefined) =>
		lines.reduce((all, line) => all + (of(line) ?? 0), 0);
	return { lines, sum, status: await statusOf(proxy), events: session.events };
}

const json = (response: ServerResponse, value: unknown) =>
	void response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
const counts = (input: number, output: number, read = 0) => ({
	input_tokens: input,
	output_tokens: output,
	cache_read_input_tokens: read,
	cache_creation_input_tokens: 0,
});

describe("the figures across a resume", () => {
	it("have all passes of an answer, and an advisor at its own price", async () => {
		const iterations = [
			{ type: "compaction", ...counts(50_000, 900) },
			{ type: "message", ...counts(4_000, 100) },
			{ type: "advisor_message", model: "claude-haiku-4-5", ...counts(9_000, 70) },
		];
		const usage = { ...counts(4_000, 100), iterations };
		const { sum, lines } = await playServed((_, to) => json(to, { model: "claude-opus-4-8", usage }), "anthropic");
		expect(lines).toHaveLength(6);
		expect(sum(({ billed }) => billed)).toBe(6 * 54_000);
		expect(sum(({ output }) => output)).toBe(6 * 1_000);
		const dollars = (54_000 * 5 + 1_000 * 25 + 9_000 * 1 + 70 * 5) / 1e6;
		expect(sum(({ usd }) => usd) / (6 * dollars)).toBeCloseTo(1, 4);
	});

	it("have the tier of each answer, and no dollars for one without a known price", async () => {
		const tiers = ["default", "flex", "priority", "scale", "flex", "default"];
		const usage = { prompt_tokens: 10_000, completion_tokens: 100, total_tokens: 10_100 };
		const { sum, lines, status } = await playServed(
			(number, to) => json(to, { model: "gpt-5.4", service_tier: tiers[number], usage }),
			"chat",
		);
		const one = (10_000 * 2.5 + 100 * 15) / 1e6;
		expect(sum(({ usd }) => usd) / ((1 + 0.5 + 2 + 0.5 + 1) * one)).toBeCloseTo(1, 4);
		expect(lines.map(({ usd }) => usd === undefined)).toEqual([false, false, false, true, false, false]);
		expect(status.edited.unpriced_requests).toBe(1);
	});

	it("have packed answers, and estimates without a saving for those that cannot be unpacked or tell zeros", async () => {
		const text = (input: number) => Buffer.from(JSON.stringify({ usage: counts(input, 20) }));
		const { lines, status } = await playServed((number, to) => {
			const [encoding, body] = (
				[
					["gzip", gzipSync(text(3_000))],
					["zstd", Buffer.from("no zstd")],
					["identity", text(0)],
				] as const
			)[number % 3] as readonly [string, Buffer];
			to.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": encoding }).end(body);
		}, "anthropic");
		expect(lines.map(({ estimated }) => estimated === true)).toEqual([false, true, true, false, true, true]);
		expect(lines.filter((line) => !line.estimated).map(({ input }) => input)).toEqual([3_000, 3_000]);
		for (const line of lines)
			if (line.estimated) expect([line.unedited, line.usd_unedited]).toEqual([undefined, undefined]);
		expect(status.edited).toMatchObject({ estimated_requests: 2, untold_requests: 2 });
	});

	it("have the input of answers that are cut, and say that their output is unknown", async () => {
		const start = { type: "message_start", message: { usage: counts(3_000, 1) } };
		const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 40 } };
		const { lines, sum, status } = await playServed((number, to) => {
			to.writeHead(200, { "Content-Type": "text/event-stream" });
			to.write(`data: ${JSON.stringify(start)}\n\n`);
			if (number % 2 === 0) to.end(`data: ${JSON.stringify(end)}\n\n`);
			else to.end();
		}, "anthropic");
		expect(sum(({ billed }) => billed)).toBe(6 * 3_000);
		expect(lines.map(({ cut }) => cut === true)).toEqual([false, true, false, true, false, true]);
		expect(status.edited.cut_requests).toBe(2);
	});

	it("name a field with tokens that nobody knows once, in the log and the status", async () => {
		const usage = { ...counts(3_000, 20), speculative_tokens: 70 };
		const { status, events } = await playServed((_, to) => json(to, { usage }), "anthropic");
		expect(status.unknown_usage_fields).toEqual(["speculative_tokens"]);
		const named = events.filter(({ data }) => data.event === "unknown_usage_field");
		// Once for each process.
		expect(named.map(({ data }) => data.field)).toEqual(["speculative_tokens", "speculative_tokens"]);
	});
});

it("a usage behind an output of more than a megabyte is not lost", async () => {
	const output = [{ type: "message", content: [{ type: "output_text", text: "x".repeat(1_500_000) }] }];
	const usage = { input_tokens: 3_000, output_tokens: 20, total_tokens: 3_020 };
	const event = { type: "response.completed", response: { output, usage, service_tier: "default" } };
	const folder = join(await scratchFolder(), "figures");
	const session = await startPlayed({ figures: openFigures({ keep: "all", folder }) }, (_, response) => {
		response.writeHead(200, { "Content-Type": "text/event-stream" }).end(`data: ${JSON.stringify(event)}\n\n`);
	});
	const proxy = await session.start();
	await sendSettled(proxy, requestOf("responses", turns.slice(0, 3)));
	expect((await linesIn(folder, "request"))[0]).toMatchObject({ input: 3_000, output: 20 });
});

it("a request that passes unread, and whose answer tells no usage, is said to be unknown", async () => {
	const folder = join(await scratchFolder(), "figures");
	const session = await startPlayed({ figures: openFigures({ keep: "all", folder }) }, (_, response) => {
		response.writeHead(200, { "Content-Type": "application/vnd.amazon.eventstream" });
		response.end(awsFrame(JSON.stringify({ metrics: {} }), "plain"));
	});
	const proxy = await session.start({ upstreams: { bedrock: session.upstream.url } });
	await sendSettled(proxy, { method: "POST", path: "/model/m/converse-stream", body: "{}" });
	expect((await linesIn(folder, "request"))[0]).toMatchObject({ unknown: true, billed: 0 });
	expect((await statusOf(proxy)).unknown_usage).toBe(1);
});

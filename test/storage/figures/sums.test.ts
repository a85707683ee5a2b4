import { describe, expect, it } from "vitest";
import type { RequestLine } from "../../../src/storage/figures/line.ts";
import { startSums } from "../../../src/storage/figures/sums.ts";

const at = new Date(2026, 10, 28, 12).getTime();
const request: RequestLine = {
	kind: "request",
	at,
	program: "claude",
	project: "3f2a9c1e55/palimpsest",
	model: "claude-opus-5-5",
	input: 100,
	read: 1_000,
	write: 200,
	output: 50,
	left_out: 400,
	billed: 450,
	unedited: 900,
	usd: 2,
	usd_unedited: 5,
};

describe("sums", () => {
	it("have as savings the extra cost of the unedited requests, less the pings", () => {
		const sums = startSums("day");
		sums.add(request);
		sums.add({ ...request, unedited: undefined, usd_unedited: undefined });
		sums.add({ kind: "ping", at, billed: 90, usd: 0.5 });
		const { all } = sums.end();
		expect(all).toMatchObject({ requests: 2, tokens: 2_600, tokens_left_out: 800, billed: 900, untold_requests: 1 });
		// The request whose unedited bill is unknown is in the bill, and in no comparison.
		expect(all.ratio).toBeCloseTo((450 + 90) / 900);
		expect(all.usd).toBe(4);
		expect(all.usd_saved).toBe(5 - 2 - 0.5);
	});

	it("claim nothing where nothing can be compared", () => {
		const sums = startSums("day");
		sums.add({ ...request, unedited: undefined, usd: undefined, usd_unedited: undefined });
		expect(sums.end().all).toMatchObject({ ratio: null, usd_saved: null, unpriced_requests: 1 });
	});

	it.each([
		["day", ["2026-11-28", "2026-11-29"]],
		["program", ["claude", "opencode"]],
		["project", ["3f2a9c1e55/palimpsest", "unknown"]],
		["model", ["claude-opus-5-5", "gpt-5.6"]],
		["agent", ["main agent", "subagent a76cb6e974cab09d2"]],
	] as const)("are grouped by %s", (by, names) => {
		const sums = startSums(by);
		sums.add(request);
		const other = { program: "opencode", project: undefined, model: "gpt-5.6", at: at + 24 * 3_600_000, usd: 1 };
		sums.add({ ...request, ...other, agent: "a76cb6e974cab09d2" });
		const { by: rows, all } = sums.end();
		expect([all.subagent_requests, all.subagent_usd]).toEqual([1, 1]);
		expect(rows.map(({ name }) => name)).toEqual(names);
		for (const key of ["requests", "tokens", "billed", "usd"] as const) {
			expect(rows.reduce((sum, row) => sum + row[key], 0)).toBe(all[key]);
		}
	});

	it("show held-out requests apart, and count results that were cut", () => {
		const sums = startSums("program");
		sums.add(request);
		expect(sums.end().held_out).toBeUndefined();
		sums.add({ ...request, held_out: true, billed: 900 });
		sums.add({ kind: "result", by: "hook", at, program: "claude", chars_before: 90_000, chars_after: 16_000 });
		sums.add({ kind: "refusal", at });
		expect(sums.end()).toMatchObject({
			held_out: { requests: 1, billed: 900 },
			all: { results: 1, result_chars_before: 90_000, result_chars_after: 16_000, refusals: 1 },
		});
	});
});

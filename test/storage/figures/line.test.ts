import { describe, expect, it } from "vitest";
import {
	modelName,
	programName,
	projectName,
	type RequestLine,
	readLine,
	writeLine,
} from "../../../src/storage/figures/line.ts";

const request: RequestLine = {
	kind: "request",
	at: 1_764_000_000_000,
	program: "claude",
	project: "3f2a9c1e55/palimpsest",
	model: "claude-opus-5-5",
	input: 12,
	read: 150_000,
	write: 1_200,
	output: 300,
	left_out: 0,
	billed: 16_512.25,
	unedited: 31_000.75,
	usd: 0.0800001234,
};

describe("a line", () => {
	it("is read as it was written, in whole tokens and five digits of dollars, without zeros", () => {
		const written = writeLine(request);
		expect(written).not.toContain("left_out");
		expect(readLine(written)).toEqual({ ...request, billed: 16_512, unedited: 31_001, usd: 0.08 });
	});

	it("of a cache break is read as it was written", () => {
		const line = { kind: "break", at: 1, cause: "tools", tokens: 41_000, usd: 0.125, servers: ["db"] } as const;
		expect(readLine(writeLine(line))).toEqual(line);
	});

	it("has room for 500 requests a day in 400 days and 50 MB", () => {
		expect(readLine(writeLine({ ...request, usd: 0.0000213456 }))).toMatchObject({ usd: 0.000021346 });
		expect(writeLine({ ...request, usd_unedited: 0.123456, decisions: 3 }).length * 500 * 400).toBeLessThan(50_000_000);
	});

	it("has what is optional only in its own form", () => {
		const damaged = { ...request, model: 5, project: ["a"], usd: "0.5", unedited: null, usd_unedited: -1 };
		const { model, project, usd, unedited, ...sound } = request;
		expect(readLine(JSON.stringify(damaged))).toEqual(sound);
		const broken = { kind: "break", at: 1, cause: "tools", tokens: 1 };
		expect(readLine(JSON.stringify({ ...broken, servers: [1], usd: {} }))).toEqual(broken);
	});

	it.each([
		["cut off", '{"at":1,"kind":"req'],
		["of an unknown kind", '{"at":1,"kind":"other"}'],
		["without a time", '{"kind":"ping"}'],
		["with a number that is a text", '{"at":1,"kind":"ping","billed":"a lot"}'],
		["with a number below 0", '{"at":1,"kind":"ping","billed":-1}'],
		["of a time that no calendar has", '{"at":1e300,"kind":"ping"}'],
		["of a break without a cause", '{"at":1,"kind":"break","tokens":1}'],
		["that is no object", "[1]"],
	])("that is %s is left out", (_, text) => {
		expect(readLine(text)).toBeUndefined();
	});
});

describe("names", () => {
	it("of models stay, and anything else is hashed", () => {
		expect(modelName("us.anthropic.claude-opus-5-5-v1:0")).toBe("us.anthropic.claude-opus-5-5-v1:0");
		expect(modelName("ignore the above\n{}")).toMatch(/^unnamed [0-9a-f]{8}$/);
	});

	it("of projects have the last name of the folder unless figures are private", () => {
		const name = projectName("/home/me/secret-client", { isPrivate: false });
		expect(name).toMatch(/^[0-9a-f]{10}\/secret-client$/);
		expect(projectName("/home/me/secret-client", { isPrivate: true })).toBe(name.slice(0, 10));
		expect(projectName("/home/you/secret-client", { isPrivate: false })).not.toBe(name);
	});

	it("of programs are the same from a header, a hook and `launch`", () => {
		for (const one of ["claude-cli/2.1.332 (external, cli)", "claude-code", "claude"]) {
			expect(programName(one)).toBe("claude");
		}
		expect(programName("opencode/1.18.33")).toBe("opencode");
		expect(programName("(a header) of some kind")).toBeUndefined();
	});
});

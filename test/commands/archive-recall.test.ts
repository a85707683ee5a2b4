import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const messages = agentConversation(10);
const original = String(messages[3]?.content);

let folder: string;
let environment: Record<string, string>;
const run = (parameters: string[], input = "") => runHere(parameters, { folder, input, environment });

/** Masks the conversation and answers with the first ref in it. */
async function mask(): Promise<string> {
	const { text } = await run(["mask", "-"], JSON.stringify(messages));
	return /réf=(\w+)/.exec(text)?.[1] ?? "none";
}

beforeEach(async () => {
	folder = await scratchFolder();
	environment = { PALIMPSEST_ARCHIVE: join(folder, "archive") };
});

describe("recall", () => {
	it("prints the original unchanged, and describes it on standard error", async () => {
		const ref = await mask();
		const { code, text, lines } = await run(["recall", ref]);
		expect({ code, text }).toEqual({ code: 0, text: original });
		expect(lines).toEqual(["palimpsest: result of read_file; lines 1-40 of 40"]);
		expect(await run(["recall", "--tool-call-id", "call_0"])).toMatchObject({ code: 0, text: original });
	});

	it("prints a part, and how to request the rest", async () => {
		const ref = await mask();
		const { text, lines } = await run(["recall", ref, "--grep", "line 3[0-9]", "--context", "0", "--max-tokens", "60"]);
		expect(text).toMatch(/^31:.*\n32:.*\n/);
		const next = /more: .+ (recall \w+ --lines \d+- --grep 'line 3\[0-9\]' --context 0 --max-tokens 60)$/;
		expect(lines).toEqual([expect.stringMatching(next)]);
		expect(await run(["recall", ref, "--tail", "1"])).toMatchObject({ text: original.split("\n").at(-1) });
		const json = JSON.parse((await run(["recall", ref, "--lines", "2-3", "--json"])).text);
		expect(json).toMatchObject({ ref, shown: { lines: { first: 2, last: 3 } }, next: null, tool_call_id: "call_0" });
	});

	it("finds originals by words or a pattern", async () => {
		await mask();
		const { code, text } = await run(["recall", "--search", "FILE line 37"]);
		expect(code).toBe(0);
		const ref = /^(\w{12}) Original result of "read_file", 0 min old, \d+ characters, \d+ matching lines:$/m.exec(
			text,
		)?.[1];
		expect((await run(["recall", ref ?? ""])).text).toContain("line 37");
		expect(text).toMatch(/^ {2}\d+: .*line 37/m);
		expect(text).toMatch(/\n(?:Searched all of \d+ originals|There are more).*\n$/);
		const json = JSON.parse((await run(["recall", "--search", "line 3[78]", "--regex", "--json"])).text);
		expect(json.originals.length).toBeGreaterThan(0);
		expect(await run(["recall", "--search", "nowhere to be found"])).toMatchObject({
			code: 0,
			text: expect.stringMatching(/^No original was found\.\n/),
		});
		expect((await run(["recall", "--search", "a", "--tool-call-id", "call_0"])).code).toBe(2);
	});

	it("prints an original of any size in full", async () => {
		const text = "all of it, line by line\n".repeat(100_000);
		await writeFile(join(folder, "log.txt"), text);
		const cut = await run(["truncate", "log.txt"]);
		const ref = /réf=(\w+)/.exec(cut.text)?.[1] ?? "none";
		expect((await run(["recall", ref])).text.length).toBeLessThan(20_000);
		expect((await run(["recall", ref, "--all"])).text).toBe(text);
	});

	it("lists several originals of one call", async () => {
		await mask();
		const other = JSON.stringify(messages).replaceAll("file 0", "another 0");
		await run(["mask", "-"], other);
		const { text, lines } = await run(["recall", "--tool-call-id", "call_0"]);
		expect(text.split("\n").filter((line) => /^\w{12}\tresult\tread_file\t\d+ chars\t/.test(line))).toHaveLength(2);
		expect(lines).toEqual(["palimpsest: 2 originals have this tool call id; recall one by its ref"]);
		expect(JSON.parse((await run(["recall", "--tool-call-id", "call_0", "--json"])).text).originals).toHaveLength(2);
	});

	it.each([
		["a missing original", ["recall", "altered"], /^palimpsest: \[original_not_found\]/],
		["no archive", ["recall", "x", "--archive", "none"], /\[invalid_argument\] Expected an archive to read/],
		["an invalid archive", ["recall", "x", "--archive", "nowhere"], /\[invalid_argument\] Expected the archive/],
		["an invalid namespace", ["mask", "-", "--namespace", "../up"], /\[invalid_argument\] .*namespace/],
		["a bad namespace to serve", ["serve", "--namespace", "../up"], /\[invalid_argument\] .*namespace/],
		["a bad archive to serve", ["serve", "--archive", "nowhere"], /\[invalid_argument\] Expected the archive/],
	])("refuses %s", async (_what, parameters, words) => {
		const { code, text, lines } = await run(parameters, "[]");
		expect({ code, text }).toEqual({ code: 1, text: "" });
		expect(lines[0]).toMatch(words);
	});
});

it("stores originals under the user's state folder by default", async () => {
	environment = { PALIMPSEST_ARCHIVE: "", XDG_STATE_HOME: join(folder, "state"), LOCALAPPDATA: join(folder, "state") };
	const ref = await mask();
	const { location } = JSON.parse((await run(["archive", "stats"])).text);
	expect(location.startsWith(folder)).toBe(true);
	expect((await run(["recall", ref])).text).toBe(original);
	environment = { PALIMPSEST_ARCHIVE: location };
	expect((await run(["recall", ref])).text).toBe(original);
});

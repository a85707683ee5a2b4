import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** The second call reads what the first one read. */
const session = claudeCodeSession(5).replaceAll("part-1.ts", "part-0.ts").replaceAll("part 1 ", "part 0 ");

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "session.jsonl"), session);
});

const prune = (...parameters: string[]) => runHere(["prune", "session.jsonl", ...parameters], { folder });
const maskedIn = async (command: string) => {
	const id = /--resume (\S+)/.exec(command)?.[1];
	const text = await readFile(join(folder, `${id}.jsonl`), "utf8");
	return Array.from(text.matchAll(/"tool_use_id":"toolu_(\d)","content":"\[masked/g), ([, turn]) => Number(turn));
};

describe("palimpsest prune", () => {
	it("removes the chosen results, and prints only the command that resumes the session", async () => {
		const stale = await prune("--stale");
		expect([stale.code, await maskedIn(stale.text)]).toEqual([0, [0]]);
		expect(stale.lines.at(-1)).toMatch(
			/^palimpsest: results taken out: 1; \d+ → \d+ tokens \(estimated for the model: 1\.2 × the count in o200k_base\); the next call writes [\d ]+ tokens/,
		);
		const biggest = await prune("--biggest", "2", "--stale");
		expect(await maskedIn(biggest.text)).toHaveLength(2);
		const tool = await prune("--tool", "Other", "--tool", "Read");
		expect(await maskedIn(tool.text)).toEqual([0, 1, 2, 3, 4]);
		expect(await readFile(join(folder, "session.jsonl"), "utf8")).toBe(session);
	});

	it("lists them for a dry run, and writes nothing", async () => {
		const { code, text } = await prune("--stale", "--dry-run");
		expect(code).toBe(0);
		expect(text).toMatch(
			/^frees [\d ]+ · rewrites [\d ]+ · 4 turns ago · \w+ · Read \/home\/me\/project\/src\/part-0\.ts\n$/,
		);
		const none = await prune("--tool", "Other");
		expect([none.code, none.text, none.lines.at(-1)]).toEqual([0, "", expect.stringContaining("nothing was chosen")]);
		expect((await readdir(folder)).filter((name) => name.endsWith(".jsonl"))).toEqual(["session.jsonl"]);
	});

	it("asks in a terminal only", async () => {
		const { code, lines } = await prune();
		expect([code, lines[0]]).toEqual([
			2,
			"error: expected --biggest, --stale or --tool, since there is no terminal to ask in",
		]);
	});
});

/** A terminal as far as the program sees: keys come over a pipe, and the list goes to standard error. */
const terminal = `for (const stream of [process.stdin, process.stderr]) stream.isTTY = true;
process.stdin.setRawMode = () => process.stdin;
process.stderr.columns = 200;`;
const asTerminal = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(terminal)}` };

const [down, space, enter, interrupt] = ["\x1b[B", " ", "\r", "\x03"];

describe("palimpsest prune in a terminal", () => {
	const pruneBy = (...keys: readonly string[]) =>
		runCli(["prune", "session.jsonl"], { folder, input: keys.join(""), environment: asTerminal });
	const written = async () =>
		(await readdir(folder)).filter((name) => name.endsWith(".jsonl") && name !== "session.jsonl");

	it("lists the results with checkboxes, savings and costs, and removes the marked ones", async () => {
		const listed = (await prune("--tool", "Read", "--dry-run")).text.split("\n").slice(0, 5);
		const { code, text, lines } = await pruneBy(down, space, down, down, space, enter);
		expect(code).toBe(0);
		const shown = lines.join("\n");
		for (const line of listed) expect(shown).toContain(line);
		expect(shown).toContain("Which results should be removed?");
		expect(lines.at(-1)).toMatch(/^palimpsest: results taken out: 2; /);
		const turns = [listed[1], listed[3]].map((line) => 4 - Number(/(\d+) turns? ago/.exec(line ?? "")?.[1]));
		expect(await maskedIn(text)).toEqual(turns.sort());
	});

	it.each([
		["nothing is marked", [enter]],
		["a mark is taken back", [space, space, enter]],
		["it is interrupted", [space, interrupt]],
	])("writes nothing if %s", async (_, keys) => {
		const { code, text, lines } = await pruneBy(...keys);
		expect([code, text, lines.at(-1)]).toEqual([0, "", expect.stringContaining("nothing was chosen")]);
		expect(await written()).toEqual([]);
	});
});

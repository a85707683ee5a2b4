import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { row as claudeCode } from "../formats/rows/claude-code.ts";
import { runHere } from "../support/run-here.ts";
import { outputOf } from "../support/sample-text.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { assistant, type Entry, toolTurn, user } from "../support/script.ts";
import { handover } from "../support/stand-in-summariser.ts";

let folder: string;
beforeAll(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "summary.md"), handover);
});

async function run(command: string, file: string, ...parameters: readonly string[]) {
	const { code, stdout, lines } = await runHere([command, file, "--archive", join(folder, "kept"), ...parameters], {
		folder,
	});
	expect([code, lines.filter((line) => line.includes("["))]).toEqual([0, []]);
	return stdout.toString("utf8");
}

/** A chat as nobody's program writes it: odd white space, escapes, numbers and order of keys, all of which have to stay. */
const turns = 9;
const head = '\uFEFF{ "temperature" : 1.0e0,\r\n "model":"m\\u006fdel" ,"seed":12345678901234567890,\t"messages":[';
const task =
	'\n{"content" : "Tu es \\u00e9l\\u00e9gant \\/ s\u00fbr.", "role":"system"} ,\r\n\r\n {"role":"user","content":"Lis tout."\t}';
const callOf = (turn: number) =>
	`, {"role":"assistant" ,"content":null,"tool_calls":[{"id":"c${turn}","type":"function","function":{"arguments":"{ \\"n\\": 1.50 }","name":"read"}}]}`;
const resultOf = (turn: number, content: string) =>
	`\n\t,{"tool_call_id":"c${turn}",  "content":${content},"role":"tool" , "more":[ 0.10 ,null ]}`;
const written = (turn: number) => JSON.stringify(outputOf(`caf\u00e9 ${turn}`)).replaceAll("\u00e9", "\\u00E9");
const tail = '\r\n] , "stop" : [ ]}\r\n\r\n';
const turnsFrom = (first: number, content: (turn: number) => string) =>
	Array.from(
		{ length: turns - first },
		(_, index) => callOf(first + index) + resultOf(first + index, content(first + index)),
	);
const chat = `${head}${task}${turnsFrom(0, written).join("")}${tail}`;

/** A recorded session, one record a line, its lines ended in two ways. */
const entries: readonly Entry[] = [
	user("Read it all."),
	...Array.from({ length: turns }, (_, turn) => toolTurn(`c${turn}`, outputOf(`file ${turn}`))).flat(),
	assistant("All read."),
];
const session = claudeCode
	.write(entries)
	.map((record, index) => JSON.stringify(record) + (index % 2 === 0 ? "\n" : "  \r\n"))
	.join("");

const hide = ["--strategy", "tool-result-hiding"];

describe("compaction keeps every other byte", () => {
	it("of JSON with hidden results, and restoring returns every byte", async () => {
		await writeFile(join(folder, "chat.json"), chat);
		const hidden = await run("compact", "chat.json", ...hide);
		const placeholders = [...hidden.matchAll(/"(\[Observation masquée[^"]*\])"/g)].map(([all]) => all);
		expect(placeholders).toHaveLength(turns - 5);
		const expected = turnsFrom(0, (turn) => placeholders[turn] ?? written(turn));
		expect(hidden).toBe(`${head}${task}${expected.join("")}${tail}`);
		await writeFile(join(folder, "hidden.json"), hidden);
		expect(await run("restore", "hidden.json")).toBe(chat);
	});

	it("of JSON with a summary", async () => {
		await writeFile(join(folder, "chat.json"), chat);
		const summarised = await run("compact", "chat.json", "--summary", "summary.md");
		const closing = '"\t}';
		const start = `${head}${task.slice(0, -closing.length)}`;
		const end = `${closing}${turnsFrom(turns - 1, written).join("")}${tail}`;
		expect(summarised.startsWith(start)).toBe(true);
		expect(summarised.endsWith(end)).toBe(true);
		const joined = JSON.parse(`"${summarised.slice(start.length, -end.length)}"`);
		expect(joined).toMatch(/^\n\n.*réf=\w+ .*\n## Task\nMend the parser\./);
	});

	it("of a recorded session, and restoring returns every byte", async () => {
		await writeFile(join(folder, "session.jsonl"), session);
		const hidden = await run("compact", "session.jsonl", ...hide);
		const [before, after] = [session.split("\n"), hidden.split("\n")];
		expect(after).toHaveLength(before.length);
		const changed = before.flatMap((line, index) => (line === after[index] ? [] : [index]));
		expect(changed).toHaveLength(turns - 5);
		for (const index of changed) expect(after[index]).toContain("Observation masquée");
		await writeFile(join(folder, "hidden.jsonl"), hidden);
		expect(await run("restore", "hidden.jsonl")).toBe(session);
	});

	it("of a recorded session with a summary", async () => {
		await writeFile(join(folder, "session.jsonl"), session);
		const summarised = await run("compact", "session.jsonl", "--summary", "summary.md");
		const [before, after] = [session.split("\n"), summarised.split("\n")];
		const [fresh, ...more] = after.filter((line) => !before.includes(line));
		expect(fresh).toContain("Mend the parser.");
		// Records that stay are tied to one that stays too; nothing else of them changes.
		const untied = (line: string) => line.replace(/"parentUuid":"[^"]*"/, "");
		for (const line of more) expect(before.map(untied)).toContain(untied(line));
		expect(after.filter((line) => line !== fresh).map(untied)).toEqual(
			before.map(untied).filter((line) => after.map(untied).includes(line)),
		);
		expect(after.length).toBeLessThan(before.length / 1.5);
		for (const line of after.filter((one) => one.trim() !== "")) expect(JSON.parse(line)).toBeTypeOf("object");
	});
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	const records = claudeCodeSession(20).trimEnd().split("\n");
	const last = JSON.parse(records.at(-2) as string);
	last.message.usage = { input_tokens: 30_000, output_tokens: 9 };
	await writeFile(join(folder, "session.jsonl"), `${records.with(-2, JSON.stringify(last)).join("\n")}\n`);
});

/** The tokens that a command shows for the session, and how it says that it counted them. */
async function shownBy(...parameters: string[]) {
	const options = ["--archive", join(folder, "archive"), "--set", "log_level=error"];
	const [command = "", ...rest] = parameters;
	const { text, lines } = await runHere([command, "session.jsonl", ...rest, ...(command === "report" ? [] : options)], {
		folder,
	});
	const shown = command === "report" ? text : lines.join("\n");
	const words = /counted in \w+|(?:estimated for the model|as the provider counts): [\d.]+ × the count in \w+/;
	return { tokens: /[\d ]+(?= (?:→|tokens))/.exec(shown)?.[0].replaceAll(" ", ""), how: words.exec(shown)?.[0] };
}

describe("each command says which tokens it counts", () => {
	it("for one session: in the encoding, estimated for the model, and as the provider counts", async () => {
		const masked = await shownBy("mask", "--respond-with", "report");
		const guarded = await shownBy("guard", "--respond-with", "report", "--context-window", "200000");
		const reported = await shownBy("report");
		const rescued = await shownBy("rescue", "--context-window", "16000", "--dry-run");
		expect([masked.how, guarded.how, reported.how]).toEqual([
			"counted in o200k_base",
			"counted in o200k_base",
			"estimated for the model: 1.2 × the count in o200k_base",
		]);
		expect(rescued.how).toMatch(/^as the provider counts: [\d.]+ × the count in o200k_base$/);
		expect(Number(reported.tokens) / Number(masked.tokens)).toBeGreaterThan(1.15);
		expect(Number(rescued.tokens)).toBeGreaterThan(Number(reported.tokens));
	});

	it("the JSON of a report has encoding, method and factor", async () => {
		const { text } = await runHere(["report", "session.jsonl", "--json"], { folder });
		expect(JSON.parse(text)).toMatchObject({ encoding: "o200k_base", method: "estimated", factor: 1.2 });
	});
});

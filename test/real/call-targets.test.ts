import { afterAll, describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { resultArguments } from "../../src/engine/masking/call-targets.ts";
import { resultTargets } from "../../src/engine/masking/judge-results.ts";
import { findStale } from "../../src/engine/masking/staleness.ts";
import type { CallTarget, TargetKind } from "../../src/engine/masking/targets.ts";
import { hasRealData } from "../support/real-conversations.ts";
import { realTranscripts } from "./real-transcripts.ts";

const kinds: readonly TargetKind[] = ["read", "write", "list", "search", "run", "other"];
/** Tools that run commands or work on files, as these conversations name them. */
const shells = new Set(["bash", "Bash", "exec_command", "run_shell_command", "run_commands"]);
const readers = new Set(["read", "Read", "ReadFile", "read_file", "read_files", "view", "ViewCode"]);
const writers = new Set(
	"edit Edit editor replace write Write WriteFile write_file create StrReplaceFile apply_patch".split(" "),
);

/** The arguments of SWE-agent's editor, which works on the file that is open and names none. */
const editsOfOpenFile = /^\{\s*"(?:search|replacement_text)":(?!.*"(?:path|filename)":)/s;

type Row = Record<TargetKind | "calls" | "withPath" | "withCommand", number>;
const rows = new Map<string, Row>();
const seen = { results: 0, withoutArguments: 0 };
const stale = { results: 0, chars: 0 };

function add(name: string, target: CallTarget): void {
	const row = rows.get(name) ?? {
		calls: 0,
		read: 0,
		write: 0,
		list: 0,
		search: 0,
		run: 0,
		other: 0,
		withPath: 0,
		withCommand: 0,
	};
	rows.set(name, row);
	row.calls += 1;
	row[target.kind] += 1;
	if (target.paths.length > 0) row.withPath += 1;
	if (target.command !== undefined) row.withCommand += 1;
}

const sum = (names: ReadonlySet<string>, of: (row: Row) => number) =>
	[...rows].reduce((total, [name, row]) => total + (names.has(name) ? of(row) : 0), 0);

describe.skipIf(!hasRealData)("targets of real calls, by their arguments", () => {
	for (const { transcript } of realTranscripts()) {
		const targets = resultTargets(transcript);
		const argumentsOf = resultArguments(transcript);
		const outdated = findStale(transcript);
		for (const [place, { call, caller, result }] of pairResults(transcript).entries()) {
			const message = caller === undefined ? undefined : transcript.messages[caller];
			if (!call || !message) continue;
			seen.results += 1;
			const given = argumentsOf[place];
			if (given === undefined) seen.withoutArguments += 1;
			const isOfOpenFile = call.name === "edit" && editsOfOpenFile.test(given ?? "");
			add(isOfOpenFile ? "(open file)" : (call.name ?? "?"), targets[place] as CallTarget);
			if (outdated[place] === undefined) continue;
			stale.results += 1;
			stale.chars += result.texts.reduce((total, { text }) => total + text.length, 0);
		}
	}

	it("finds the arguments of each call, in every format", () => {
		expect(seen.results).toBeGreaterThan(4_000);
		expect(seen.withoutArguments).toBe(0);
	});

	it("finds a target for every call of a file tool, and for 99 of 100 calls of a shell", () => {
		const calls = ({ calls: count }: Row) => count;
		expect(sum(shells, calls)).toBeGreaterThan(2_500);
		expect(sum(shells, ({ other }) => other)).toBeLessThan(sum(shells, calls) / 100);
		expect(sum(readers, calls)).toBeGreaterThan(500);
		expect(sum(readers, ({ read, withPath }) => Math.min(read, withPath))).toBe(sum(readers, calls));
		expect(sum(writers, calls)).toBeGreaterThan(400);
		expect(sum(writers, ({ write, withPath }) => Math.min(write, withPath))).toBe(sum(writers, calls));
	});

	it("names the command of 8 in 10 calls of a shell", () => {
		expect(sum(shells, ({ withCommand }) => withCommand)).toBeGreaterThan(0.8 * sum(shells, ({ calls }) => calls));
	});

	it("finds results with a repeated text or call", () => {
		expect(stale.results).toBeGreaterThan(300);
	});

	afterAll(() => {
		const shown = [...rows].filter(([, row]) => row.other < row.calls).sort(([, a], [, b]) => b.calls - a.calls);
		const columns = ["calls", ...kinds, "withPath", "withCommand"] as const;
		const line = (name: string, cells: readonly unknown[]) =>
			`${name.padEnd(26)}${cells.map((cell) => `${cell}`.padStart(10)).join("")}\n`;
		process.stdout.write(line("tool", columns));
		for (const [name, row] of shown)
			process.stdout.write(
				line(
					name,
					columns.map((column) => row[column]),
				),
			);
		process.stdout.write(line("stale", [stale.results, stale.chars]));
	});
});

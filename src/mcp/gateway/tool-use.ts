import { appendFileSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { isJsonObject } from "../../engine/conversation/json.ts";
import { stringAt } from "../../formats/json-text/value.ts";
import { putFile, undefinedIfAbsent } from "../../storage/files/disk.ts";
import type { Deferral } from "./tool-list.ts";

/** Sessions with a call. */
const sessionsRead = 30;
/** Calls by the tool that lists the others, after which a tool has its definition in the list. */
const passedCalls = 2;
const mostLines = 5_000;

interface UseLine {
	readonly session: string;
	readonly tool: string;
	readonly passed: boolean;
}

/**
 * Remembers the tools of a server that are called, by their names alone, and says which keep their definitions: those that
 * were called in the last 30 sessions with a call, and those that `kept` names. Before the first one all are kept.
 */
export async function openToolUse({
	file,
	session,
	kept,
}: {
	readonly file: string;
	readonly session: string;
	readonly kept: readonly string[];
}): Promise<Deferral> {
	const text = await readFile(file, "utf8")
		.catch(undefinedIfAbsent)
		.catch(() => undefined);
	const lines = (text ?? "").split("\n").flatMap(readLine);
	const sessions = new Set([...new Set(lines.map((line) => line.session))].slice(-sessionsRead));
	const read = lines.filter((line) => sessions.has(line.session));
	if (lines.length > mostLines)
		await putFile({ file, pieces: [writtenLines(read)], at: Date.now(), sync: false }).catch(() => {});
	const count = (tool: string, passed: boolean) =>
		read.filter((line) => line.tool === tool && line.passed === passed).length;
	const used = new Set(
		read.map(({ tool }) => tool).filter((tool) => count(tool, false) > 0 || count(tool, true) >= passedCalls),
	);
	const written = new Map<string, number>();
	return {
		keeps: (name) => sessions.size === 0 || used.has(name) || kept.includes(name),
		called(tool, { passed }) {
			const key = `${passed} ${tool}`;
			const times = (written.get(key) ?? 0) + 1;
			if (times > (passed ? passedCalls : 1)) return;
			written.set(key, times);
			try {
				mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
				appendFileSync(file, writtenLines([{ session, tool, passed }]), { mode: 0o600 });
			} catch {
				// A tool whose use cannot be saved is listed in one line next time.
			}
		},
	};
}

const writtenLines = (lines: readonly UseLine[]) =>
	Buffer.from(lines.map((line) => `\n${JSON.stringify(line)}`).join(""));

function readLine(text: string): readonly UseLine[] {
	try {
		const value: unknown = JSON.parse(text);
		if (!isJsonObject(value)) return [];
		const [session, tool] = [stringAt(value, "session"), stringAt(value, "tool")];
		return session === undefined || tool === undefined ? [] : [{ session, tool, passed: value.passed === true }];
	} catch {
		return [];
	}
}

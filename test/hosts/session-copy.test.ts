import { describe, expect, it } from "vitest";
import { isJsonObject } from "../../src/engine/conversation/json.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { copySession } from "../../src/hosts/session-copy.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";

const old = "11111111-1111-4111-8111-111111111111";
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;
const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");
const now = new Date("2026-11-22T10:20:30.456Z");

function copyOf(text: string, file = "/home/me/sessions/session.jsonl") {
	const document = readTextDocument(text, "the session");
	const { format } = readConversation(document.value);
	const copy = copySession({ format, document, file, tokens: 500, now });
	return { ...copy, value: readTextDocument(copy.text, "the copy").value as never };
}

describe("copySession", () => {
	it("gives a session of Claude Code a new id, and its last answer the new usage", () => {
		const usage = {
			input_tokens: 9,
			cache_read_input_tokens: 90_000,
			cache_creation_input_tokens: 5,
			output_tokens: 7,
		};
		const records = claudeCodeSession(3)
			.replaceAll('"s1"', `"${old}"`)
			.replaceAll('"isSidechain"', '"cwd":"/home/me/it is","isSidechain"')
			.replaceAll('"role":"assistant"', `"role":"assistant","usage":${JSON.stringify(usage)}`);
		const { text, file, command, folder } = copyOf(records, `/home/me/sessions/${old}.jsonl`);
		const id = uuid.exec(file)?.[0] as string;
		expect(id).not.toBe(old);
		expect([file, command, folder]).toEqual([
			`/home/me/sessions/${id}.jsonl`,
			`claude --resume ${id}`,
			"/home/me/it is",
		]);
		expect(text).not.toContain(old);
		const used = text.match(/"input_tokens":\d+,"cache_read_input_tokens":\d+/g);
		expect(used?.slice(0, -1)).toEqual(Array(2).fill('"input_tokens":9,"cache_read_input_tokens":90000'));
		expect(used?.at(-1)).toBe('"input_tokens":500,"cache_read_input_tokens":0');
		expect(text.replaceAll(id, old).length).toBe(records.length + "500".length - "9".length - "9000".length);
	});

	it("leaves an id that a text quotes", () => {
		const quoting = claudeCodeSession(1).replace("Read them all.", 'Continue \\"s1\\".');
		expect(copyOf(quoting).text).toContain('Continue \\"s1\\".');
	});

	it("gives a rollout of Codex a name by which it is found", () => {
		const last_token_usage = { input_tokens: 90, cached_input_tokens: 80, output_tokens: 4, total_tokens: 94 };
		const total_token_usage = { input_tokens: 900, total_tokens: 940 };
		const { text, file, command, folder } = copyOf(
			lines(
				{ type: "session_meta", payload: { id: old, cwd: "/home/me/code" } },
				{ type: "response_item", payload: { type: "message", role: "user", content: [] } },
				{ type: "event_msg", payload: { type: "token_count", info: { total_token_usage, last_token_usage } } },
			),
		);
		const id = uuid.exec(text)?.[0];
		expect(file).toBe(`/home/me/sessions/rollout-2026-11-22T10-20-30-${id}.jsonl`);
		expect([command, folder]).toEqual([`codex resume ${id}`, "/home/me/code"]);
		expect(text).toContain('{"input_tokens":500,"cached_input_tokens":0,"output_tokens":4,"total_tokens":504}');
		expect(text).toContain(JSON.stringify(total_token_usage));
	});

	it("names the file of a session of pi", () => {
		const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 };
		const { text, file, command } = copyOf(
			lines(
				{ type: "session", version: 3, id: old, cwd: "/home/me/code" },
				{ type: "message", id: "a", parentId: null, message: { role: "user", content: "Go on." } },
				{ type: "message", id: "b", parentId: "a", message: { role: "assistant", content: [], usage } },
			),
		);
		expect(command).toBe(`pi --session ${file}`);
		expect(file).toMatch(new RegExp(`^/home/me/sessions/2026-11-22T10-20-30-456Z_${uuid.source}\\.jsonl$`));
		expect(text).toContain('{"input":500,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":502}');
	});

	it("keeps the form of a chat of Gemini CLI, and counts in rewritten messages too", () => {
		const header = { sessionId: old, projectHash: "h", kind: "main" };
		const tokens = { input: 90, output: 2, cached: 80, thoughts: 0, total: 92 };
		const messages = [
			{ id: "u", type: "user", content: "Go on." },
			{ id: "g", type: "gemini", content: "Done.", tokens },
		];
		const records = copyOf(lines(header, ...messages, { $set: { messages } }));
		const id = uuid.exec(records.text)?.[0];
		expect(records.file).toBe(`/home/me/sessions/session-2026-11-22T10-20-${id?.slice(0, 8)}.jsonl`);
		expect(records.command).toBe(`gemini --resume ${id}`);
		const changed = '{"input":500,"output":2,"cached":0,"thoughts":0,"total":502}';
		expect(records.text.split(changed)).toHaveLength(3);
		const chat = copyOf(JSON.stringify({ ...header, messages }), "/home/me/sessions/session.json");
		expect(chat.file).toMatch(/\.json$/);
		expect(chat.text).toContain(changed);
	});

	it("renames the ids that opencode imports, in the same order", () => {
		const ses = `ses_${"0123456789ab"}${"c".repeat(14)}`;
		const message = (number: number, role: string) => {
			const end = `0123456789a${number}${"z".repeat(14)}`;
			const id = `msg_${end}`;
			const tokens = { input: 1, output: 2, reasoning: 0, cache: { read: 3, write: 4 } };
			return {
				info: { id, sessionID: ses, role, ...(role === "assistant" ? { tokens } : {}) },
				parts: [{ id: `prt_${end}`, sessionID: ses, messageID: id, type: "text", text: "Go on." }],
			};
		};
		const session = {
			info: { id: ses, directory: "/home/me/code" },
			messages: [message(1, "user"), message(2, "assistant")],
		};
		const { text, file, command, value } = copyOf(JSON.stringify(session), "/home/me/my session.json");
		const { info, messages } = value as typeof session;
		expect(file).toBe("/home/me/my session-rescued.json");
		expect(command).toBe(`opencode import '${file}' && opencode --session ${info.id}`);
		expect(text).not.toContain(ses);
		expect(text).not.toContain("zzz");
		const ids = messages.map((one) => one.info.id);
		expect(ids).toEqual(ids.toSorted());
		for (const [index, one] of messages.entries()) {
			expect(one.info.sessionID).toBe(info.id);
			expect(one.parts[0]).toMatchObject({ messageID: ids[index], sessionID: info.id });
		}
		expect(isJsonObject(messages[1]?.info) && messages[1].info).toMatchObject({
			tokens: { input: 500, output: 2, reasoning: 0, cache: { read: 0, write: 0 } },
		});
	});

	it("refuses files that no program resumes", () => {
		const expected = /Expected a session file of Claude Code, Gemini CLI, Codex or pi.*palimpsest guard/;
		expect(() => copyOf(JSON.stringify([{ role: "user", content: "Hello." }]))).toThrow(expected);
		expect(() => copyOf(claudeCodeSession(1).replaceAll('"sessionId":"s1",', ""))).toThrow(expected);
		const ofLetta = { role: "user", content: "Hello.", metadata: { conversation_id: "local-conv-1" } };
		const session = [
			{ type: "session", id: "local-conv-1" },
			{ type: "message", id: "a", message: ofLetta },
		];
		expect(() => copyOf(lines(...session))).toThrow(expected);
	});
});

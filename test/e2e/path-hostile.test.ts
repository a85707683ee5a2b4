import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { firstText, type PathSession, pathSession } from "./path-session.ts";

const messages = agentConversation(10);
const text = JSON.stringify(messages);
const lines = messages.map((message) => JSON.stringify(message));
const levels = 10_000;
const deep = "[".repeat(levels) + "]".repeat(levels);
/** The conversation with a value put in somewhere, as no `JSON.stringify` could write it. */
const withDeep = (change: (message: Record<string, unknown>, index: number) => void) => {
	const copy = JSON.parse(text) as Record<string, unknown>[];
	copy.forEach(change);
	return JSON.stringify(copy).replaceAll('"DEEP"', deep);
};

/** What is read, with its ten tool results. */
const read: Record<string, string> = {
	"a repeated key": `{"messages": 7, "messages": ${text}, "__proto__": {"a": 1}}`,
	"a byte order mark": `\uFEFF${text}`,
	"a byte order mark before records": `\uFEFF${lines.join("\n")}`,
	CRLF: `${lines.join("\r\n")}\r\n`,
	"two objects on one line": `${lines.slice(0, -2).join("\n")}\n${lines.slice(-2).join("")}\n`,
	"hostile keys": text.replaceAll('{"role"', '{"__proto__":{"role":"system"},"constructor":{"prototype":1},"role"'),
	"10 000 levels as a user's content": withDeep((message) => {
		if (message.role === "user")
			message.content = [
				{ type: "text", text: "Read." },
				{ type: "unknown", value: "DEEP" },
			];
	}),
	"10 000 levels inside a tool result": withDeep((message, index) => {
		if (message.role === "tool" && index < 8) message.content = [{ type: "text", text: message.content, more: "DEEP" }];
	}),
	"10 000 levels as a tool result": withDeep((message, index) => {
		if (message.role === "tool" && index < 8) message.content = { value: "DEEP" };
	}),
	"10 000 levels as arguments": withDeep((message) => {
		const [call] = (message.tool_calls ?? []) as { function: { arguments: unknown } }[];
		if (call) call.function.arguments = "DEEP";
	}),
	"10 000 levels beside the messages": `{"messages": ${text}, "tools": ${deep}}`,
};

/** What is refused. */
const refused: Record<string, { readonly content: string | Buffer; readonly words: RegExp }> = {
	"a truncated last line": {
		content: `${lines.join("\n")}\n{"role": "user", "content": "${secret}`,
		words: new RegExp(`\\[invalid_json\\] .* line ${lines.length + 1}, column \\d+: it ends too early`),
	},
	"a truncated file": {
		content: text.slice(0, -100),
		words: /\[invalid_json\] .* line 1, column \d+: it ends too early/,
	},
	"invalid UTF-8": {
		content: Buffer.from(text.replace("Read", "R\xffad"), "latin1"),
		words: /\[invalid_json\] Expected UTF-8/,
	},
	"UTF-16": { content: Buffer.from(`\uFEFF${text}`, "utf16le"), words: /\[invalid_json\] Expected UTF-8/ },
	"10 000 levels as the document": { content: deep, words: /\[not_a_conversation\]/ },
	"10 000 levels cut off": { content: deep.slice(0, -1), words: /\[invalid_json\] .*it ends too early/ },
	"a million levels": { content: "[".repeat(1_000_000), words: /\[invalid_json\] .*it ends too early/ },
	nothing: { content: "", words: /\[invalid_json\] .*is empty/ },
	"a file over the limit": { content: " ".repeat(2_000_001), words: /\[payload_too_large\] .*limits\.max_file_bytes/ },
};

const limit = "limits.max_file_bytes=2000000";

describe("the command", () => {
	let folder: string;
	beforeEach(async () => {
		folder = await scratchFolder();
	});

	// The cases alternate between a file and standard input, which one function reads.
	it.each(Object.entries(read))("reads %s", async (what, content) => {
		await writeFile(join(folder, "chat"), content);
		if (Object.keys(read).indexOf(what) % 2 === 1) {
			const parameters = ["guard", "-", "--context-window", "60000", "--respond-with", "edits"];
			const guarded = await runHere(parameters, { folder, input: content });
			expect(guarded.code).toBe(0);
			expect(JSON.parse(guarded.text).report.tool_results).toBe(10);
			return;
		}
		const masked = await runHere(["mask", "chat", "--set", "mask.window_turns=3", "--set", limit], { folder });
		expect(masked.lines).toEqual([expect.stringMatching(/^palimpsest: masked \d+ of 10 tool results/)]);
		expect(masked.code).toBe(0);
		expect(masked.text.slice(0, 9)).toBe(content.slice(0, 9));
	});

	it.each(Object.entries(refused))("refuses %s", async (what, { content, words }) => {
		await writeFile(join(folder, "chat"), content);
		const isPiped = Object.keys(refused).indexOf(what) % 2 === 1;
		const parameters = isPiped ? ["guard", "-", "--context-window", "60000"] : ["mask", "chat"];
		const given = [...parameters, "--set", limit];
		const run = await runHere(given, { folder, ...(isPiped && { input: content }) });
		expect(run.lines).toEqual([expect.stringMatching(words)]);
		expect([run.code, run.text]).toEqual([1, ""]);
		expect(run.lines.join()).not.toContain(secret);
	});

	it.skipIf(process.platform === "win32")("refuses paths that are not regular files, without waiting", async () => {
		await promisify(execFile)("mkfifo", [join(folder, "pipe")]);
		await writeFile(join(folder, "sparse"), "");
		await truncate(join(folder, "sparse"), 1024 ** 3);
		for (const [file, words] of [
			["pipe", /\[unreadable_file\]/],
			["/dev/zero", /\[unreadable_file\]/],
			[".", /\[unreadable_file\]/],
			["sparse", /\[payload_too_large\] .*1073741824 bytes/],
		] as const) {
			const { code, text: output, lines: told } = await runHere(["mask", file], { folder });
			expect(told).toEqual([expect.stringMatching(words)]);
			expect([code, output]).toEqual([1, ""]);
		}
	});
});

describe("the server with a path", () => {
	let session: PathSession;
	beforeAll(async () => {
		session = await pathSession({ parameters: () => ["--set", limit], lasts: "file" });
	});
	beforeEach(async () => {
		for (const name of ["out", "chat"]) await rm(join(session.working, name), { recursive: true, force: true });
		await mkdir(join(session.working, "out"));
	});
	const policy = { mask: { window_turns: 3 } };
	const call = (path: string) =>
		session.call("mask_conversation", { path, policy, output_path: "out/chat", overwrite: true });

	it.each(Object.entries(read))("reads %s", async (_what, content) => {
		await writeFile(join(session.working, "chat"), content);
		const { structuredContent, isError } = await call("chat");
		expect(isError).toBeUndefined();
		expect(structuredContent).toMatchObject({ report: { tool_results: 10 } });
		expect((await readFile(join(session.working, "out/chat"), "utf8")).slice(0, 9)).toBe(content.slice(0, 9));
		for (const respond_with of ["messages", "edits", "report"]) {
			const answered = await session.call("mask_conversation", { path: "chat", policy, respond_with });
			expect(answered.isError).toBeUndefined();
			expect(answered.structuredContent).toMatchObject({ report: { tool_results: 10 } });
		}
	});

	it.each(Object.entries(refused))("refuses %s and writes nothing", async (_what, { content, words }) => {
		await writeFile(join(session.working, "chat"), content);
		const result = await call("chat");
		expect(result.isError).toBe(true);
		expect(firstText(result)).toMatch(words);
		expect(firstText(result)).not.toContain(secret);
		expect(await readdir(join(session.working, "out"))).toEqual([]);
	});

	it.skipIf(process.platform === "win32")(
		"refuses paths that are not regular files, without waiting, and writes nothing",
		async () => {
			await promisify(execFile)("mkfifo", [join(session.working, "pipe")]);
			await writeFile(join(session.working, "sparse"), "");
			await truncate(join(session.working, "sparse"), 1024 ** 3);
			for (const [path, words] of [
				["pipe", /\[unreadable_file\]/],
				["/dev/zero", /\[path_not_allowed\]/],
				[".", /\[unreadable_file\]/],
				["sparse", /\[payload_too_large\] .*1073741824 bytes/],
			] as const) {
				expect(firstText(await call(path))).toMatch(words);
			}
			expect(await readdir(join(session.working, "out"))).toEqual([]);
		},
	);
});

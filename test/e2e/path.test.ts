import { readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { applyEdits } from "../../src/index.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { firstText, type PathSession, pathSession, uriOf } from "./path-session.ts";

// What a parser and a writer would not keep.
const text = `\uFEFF${JSON.stringify(agentConversation(10), null, " ").replace('"role"', '"id": 9007199254740993, "role"')}\r\n`;
const lines = agentConversation(10)
	.map((message) => JSON.stringify(message))
	.join("\n\n");
const policy = { mask: { window_turns: 3 } };
const mask = (session: PathSession, parameters: Record<string, unknown>) =>
	session.call("mask_conversation", { policy, ...parameters });

describe("a conversation given by path", () => {
	it("is masked like one given inline", async () => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.json"), text);
		const byPath = await mask(session, { path: "chat.json", respond_with: "messages" });
		const inline = await mask(session, { messages: JSON.parse(text.slice(1)) });
		expect(byPath.structuredContent).toEqual(inline.structuredContent);
		expect(byPath.structuredContent).toMatchObject({ report: { masked_tool_results: 7, unsafe_integers: ["/0/id"] } });
	});

	it("is guarded, with its large output truncated", async () => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.jsonl"), lines);
		const parameters = { context_window: 4_000, reserve_tokens: 300, respond_with: "report" };
		const guarded = await session.call("guard_context", { path: "chat.jsonl", ...parameters });
		expect(guarded.structuredContent).toMatchObject({ report: { fits: true } });
		const cut = await session.call("truncate_output", { path: "chat.jsonl", max_chars: 100 });
		expect(cut.structuredContent).toMatchObject({ truncated: true });
	});

	it.each([
		["one JSON value", "chat.json", text],
		["JSON Lines", "chat.jsonl", lines],
	])("returns edits that fit the file: %s", async (_what, name, source) => {
		const session = await pathSession();
		await writeFile(join(session.working, name), source);
		const { structuredContent } = await mask(session, { path: name, respond_with: "edits" });
		const { edits, report } = structuredContent as { edits: []; report: object };
		expect(edits).toHaveLength(7);
		// Edits are exact, so there is no number to warn of.
		expect(report).not.toHaveProperty("unsafe_integers");
		await mask(session, { path: name, output_path: "out" });
		expect(applyEdits(source, edits).text).toBe(await readFile(join(session.working, "out"), "utf8"));
	});
});

describe("allowed files", () => {
	it("are those under the working directory and under --allow-path only", async () => {
		const session = await pathSession({ parameters: (beside) => ["--allow-path", beside] });
		const files = [session.working, session.beside, session.parent].map((folder) => join(folder, "chat.json"));
		await Promise.all(files.map((file) => writeFile(file, text)));
		const [own, beside, outside] = await Promise.all(files.map((path) => mask(session, { path })));
		expect([own?.isError, beside?.isError, outside?.isError]).toEqual([undefined, undefined, true]);
		expect(firstText(outside as never)).toMatch(/^\[path_not_allowed\] .*--allow-path DIR adds a folder/);
		const truncated = await session.call("truncate_output", { path: files[2] });
		expect(firstText(truncated)).toMatch(/^\[path_not_allowed\]/);
		expect(firstText(truncated)).not.toContain(secret);
	});

	it("are those under the current roots of the client", async () => {
		const session = await pathSession({ roots: [] });
		const path = join(session.beside, "chat.json");
		await writeFile(path, text);
		const isAllowed = async () => (await mask(session, { path })).isError === undefined;
		expect(await isAllowed()).toBe(false);
		await session.offer([uriOf(session.beside)]);
		expect(await isAllowed()).toBe(true);
		expect(await isAllowed()).toBe(true);
		await session.offer([uriOf(join(session.parent, "else"))]);
		expect(await isAllowed()).toBe(false);
		expect(session.asked()).toBe(3);
	});

	it("stay allowed when another root is not a folder of this machine", async () => {
		const roots = ["https://example.com/", "file://elsewhere/share", "file:///a%2Fb", "file:///absent", "nonsense"];
		const session = await pathSession({ roots });
		const path = join(session.beside, "chat é.json");
		await writeFile(path, text);
		expect((await mask(session, { path })).isError).toBe(true);
		await session.offer([...roots, uriOf(session.beside)]);
		expect((await mask(session, { path })).isError).toBeUndefined();
	});

	it("exclude those reached only through a link in an allowed folder", async () => {
		const session = await pathSession({ roots: [] });
		await writeFile(join(session.beside, "chat.json"), text);
		await symlink(session.beside, join(session.working, "link"));
		expect(firstText(await mask(session, { path: "link/chat.json" }))).toMatch(/^\[path_not_allowed\]/);
		const written = await mask(session, { path: "link/chat.json", output_path: "link/out.json" });
		expect(written.isError).toBe(true);
		expect(await readdir(session.beside)).toEqual(["chat.json"]);
	});
});

describe("output_path", () => {
	it.each([
		["one JSON value", text],
		["JSON Lines", lines],
	])("receives the result, which differs only inside the edits: %s", async (_what, source) => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat"), source);
		const result = await mask(session, { path: "chat", output_path: "out" });
		const written = join(session.working, "out");
		expect(result.structuredContent).toEqual({ report: expect.anything(), output_path: written });
		expect(firstText(result)).not.toContain(secret);
		expect((await stat(written)).mode & 0o777).toBe(0o600);
		const output = await readFile(written, "utf8");
		expect(output.split(secret).length).toBeLessThan(source.split(secret).length);
		const pieces = output.split(/"\[Observation masquée: [^"]*"/);
		expect(pieces).toHaveLength(8);
		let position = 0;
		for (const piece of pieces) {
			const at = source.indexOf(piece, position);
			expect(at).toBeGreaterThanOrEqual(position);
			position = at + piece.length;
		}
		expect(position).toBe(source.length);
	});

	it("must not exist, unless the call allows overwriting", async () => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.json"), text);
		const refused = await mask(session, { path: "chat.json", output_path: "chat.json" });
		expect(firstText(refused)).toMatch(/^\[file_exists\] .*overwrite/);
		expect(await readFile(join(session.working, "chat.json"), "utf8")).toBe(text);
		await mask(session, { path: "chat.json", output_path: "chat.json", overwrite: true });
		expect(await readFile(join(session.working, "chat.json"), "utf8")).not.toBe(text);
		expect(await readdir(session.working)).toEqual(["chat.json"]);
	});

	it.each<[string, Record<string, unknown>, RegExp]>([
		["both", { messages: [], path: "chat.json" }, /and not both/],
		["messages and output_path", { messages: [], output_path: "out" }, /`output_path` only with `path`/],
		["edits and output_path", { path: "chat.json", output_path: "out", respond_with: "edits" }, /respond_with/],
		["only overwrite", { path: "chat.json", overwrite: true }, /`overwrite` only with `output_path`/],
		["a path that is not a text", { path: 7 }, /path/],
	])("arguments that contradict each other are refused: %s", async (_what, parameters, words) => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.json"), text);
		const told = firstText(await mask(session, parameters));
		expect(told).toMatch(/^\[invalid_argument\]/);
		expect(told).toMatch(words);
		expect(await readdir(session.working)).toEqual(["chat.json"]);
	});
});

describe("by default, the result for a file", () => {
	it("goes into a new file next to it, and the answer holds its path and the report", async () => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.jsonl"), lines);
		const result = await mask(session, { path: "chat.jsonl" });
		const written = join(session.working, "chat.masked.jsonl");
		expect(result.structuredContent).toEqual({ report: expect.anything(), output_path: written });
		expect(result.structuredContent).toMatchObject({ report: { masked_tool_results: 7 } });
		expect(firstText(result)).toMatch(/^\{"output_path":/);
		expect(firstText(result)).not.toContain(secret);
		await mask(session, { path: "chat.jsonl", output_path: "named.jsonl" });
		expect(await readFile(written, "utf8")).toBe(await readFile(join(session.working, "named.jsonl"), "utf8"));
		expect((await stat(written)).mode & 0o777).toBe(0o600);
		expect(await readFile(join(session.working, "chat.jsonl"), "utf8")).toBe(lines);
	});

	it("never overwrites an existing file", async () => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.json"), text);
		await writeFile(join(session.working, "chat.masked.json"), "mine");
		const writtenBy = async (path: string) => (await mask(session, { path })).structuredContent?.output_path;
		expect(await writtenBy("chat.json")).toBe(join(session.working, "chat.masked-2.json"));
		expect(await writtenBy("chat.json")).toBe(join(session.working, "chat.masked-3.json"));
		expect(await writtenBy("chat.masked-2.json")).toBe(join(session.working, "chat.masked-4.json"));
		expect(await readFile(join(session.working, "chat.masked.json"), "utf8")).toBe("mine");
	});

	it.each([
		["guard_context", "chat.guarded.json", { context_window: 4_000, reserve_tokens: 300 }],
		["compact_conversation", "chat.compacted.json", { force: true, strategy: "tool-result-hiding" }],
	])("of %s is called %s", async (tool, name, parameters) => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.json"), text);
		const { structuredContent } = await session.call(tool, { path: "chat.json", ...parameters });
		const written = join(session.working, name);
		expect(structuredContent).toEqual({ report: expect.anything(), output_path: written });
		const whole = await session.call(tool, { path: "chat.json", ...parameters, respond_with: "messages" });
		const parsed = JSON.parse((await readFile(written, "utf8")).slice(1));
		expect(parsed).toEqual(whole.structuredContent?.messages);
	});

	it("is not written when only the report or the edits are requested", async () => {
		const session = await pathSession();
		await writeFile(join(session.working, "chat.json"), text);
		for (const respond_with of ["report", "edits", "messages"]) {
			const { structuredContent } = await mask(session, { path: "chat.json", respond_with });
			expect(Object.keys(structuredContent ?? {})).not.toContain("output_path");
		}
		expect(await readdir(session.working)).toEqual(["chat.json"]);
	});

	it("is refused outside the allowed folders, with advice", async () => {
		const session = await pathSession({ roots: [] });
		await writeFile(join(session.working, "chat.json"), text);
		await symlink(join(session.working, "chat.json"), join(session.beside, "link.json"));
		const refused = await mask(session, { path: join(session.beside, "link.json") });
		expect(firstText(refused)).toMatch(/^\[path_not_allowed\] .*by `output_path`, or ask for respond_with "edits"/);
		expect(await readdir(session.beside)).toEqual(["link.json"]);
	});
});

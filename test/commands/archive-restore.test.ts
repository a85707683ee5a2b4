import { rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const messages = agentConversation(10);

let folder: string;
const run = (parameters: string[], input: string) =>
	runHere(parameters, { folder, input, environment: { PALIMPSEST_ARCHIVE: join(folder, "archive") } });

beforeEach(async () => {
	folder = await scratchFolder();
});

describe("restore", () => {
	const odd = JSON.stringify(messages, null, "\t").replaceAll("brown", "br\\u006fwn").replace(/$/, "\n\n");

	it.each([
		["a list", JSON.stringify(messages)],
		["a request body, indented", JSON.stringify({ model: "gpt-4o", messages, seed: 2 ** 40 }, null, 2)],
		["odd spellings and white space", odd],
		["a byte order mark", `\uFEFF${odd}`],
	])("restores %s byte for byte after masking", async (_what, source) => {
		const masked = await run(["mask", "-"], source);
		expect(masked.text.split(secret).length).toBeLessThan(source.split(secret).length);
		const { code, text, lines } = await run(["restore", "-"], masked.text);
		expect(text).toBe(source);
		expect({ code, lines }).toEqual({ code: 0, lines: ["palimpsest: restored 2"] });
	});

	it("restores a result that was truncated first and masked later", async () => {
		const source = JSON.stringify(messages);
		const cut = ["--set", "guard.max_tool_result_chars=1200", "--set", "guard.truncate_head_chars=500"];
		const window = ["--context-window", "100000", "--set", "guard.truncate_tail_chars=500"];
		const guarded = await run(["guard", "-", ...cut, ...window], source);
		expect(guarded.text.match(/caractères omis, réf=/g)?.length).toBe(10);
		const masked = await run(["mask", "-", "--set", "mask.window_turns=4"], guarded.text);
		expect(masked.text.match(/Observation masquée/g)?.length).toBe(6);
		const { code, text, lines } = await run(["restore", "-"], masked.text);
		expect(text).toBe(source);
		expect({ code, lines }).toEqual({ code: 0, lines: ["palimpsest: restored 16"] });
	});

	it("restores all available originals, names the missing ones, and exits with 1", async () => {
		const source = JSON.stringify(messages);
		const masked = await run(["mask", "-"], source);
		const refs = Array.from(masked.text.matchAll(/réf=(\w+)/g), ([, ref]) => ref);
		const altered = masked.text.replace(String(refs[0]), "gone1");
		const { code, text, lines } = await run(["restore", "-"], altered);
		expect(code).toBe(1);
		expect(lines).toEqual(["palimpsest: restored 1", "palimpsest: not in the archive: gone1"]);
		expect(text.split(secret).length).toBe(masked.text.split(secret).length + 40);
		await rm(join(folder, "archive"), { recursive: true });
		const nothing = await run(["restore", "-"], masked.text);
		expect(nothing).toMatchObject({ code: 1, text: masked.text });
		expect(nothing.lines[1]).toBe(`palimpsest: not in the archive: ${refs.join(", ")}`);
	});

	it("reports redacted originals, and leaves a conversation without placeholders unchanged", async () => {
		const source = JSON.stringify(messages);
		const redact = ["--set", 'archive.redact=["TOPSECRET-[0-9]+"]'];
		const masked = await run(["mask", "-", ...redact], source);
		const { code, text, lines } = await run(["restore", "-"], masked.text);
		expect(code).toBe(0);
		expect(text).toContain("[redacted before archiving]");
		expect(lines[1]).toMatch(/^palimpsest: redacted before they were kept, so not restored exactly: \w+, \w+$/);
		expect(await run(["restore", "-"], source)).toMatchObject({ code: 0, text: source });
	});

	it("restores the cuts of the guard of context-trim without being given the preset", async () => {
		const large = messages.map((one) => (one.role === "tool" ? { ...one, content: `${one.content}`.repeat(20) } : one));
		const source = JSON.stringify(large);
		const trim = ["guard", "-", "--set", "preset=context-trim", "--context-window", "40000"];
		const guarded = await run(trim, source);
		expect(guarded.text.match(/contenu tronqué, réf=\w{12} \.\.\.\]/g)).toHaveLength(10);
		expect(await run(["restore", "-"], guarded.text)).toMatchObject({
			code: 0,
			text: source,
			lines: ["palimpsest: restored 10"],
		});
	});

	it("reports results that stay cut or masked, and exits with 1; restores by call id on request", async () => {
		const source = JSON.stringify(messages);
		const trim = [
			"--set",
			"preset=context-trim",
			"--set",
			"guard.max_tool_result_chars=1200",
			"--context-window",
			"5000",
		];
		const guarded = await run(["guard", "-", "--archive", "none", ...trim], source);
		expect(guarded.text).toContain("contenu tronqué ...]");
		const left = await run(["restore", "-"], guarded.text);
		expect(left).toMatchObject({ code: 1, text: guarded.text });
		expect(left.lines).toEqual([
			"palimpsest: restored 0",
			expect.stringMatching(/^palimpsest: cut or masked without a reference, left unchanged: \w+, /),
		]);
		const masked = await run(["mask", "-", "--archive", "none"], source);
		await run(["mask", "-"], source);
		expect(await run(["restore", "-"], masked.text)).toMatchObject({ code: 1, text: masked.text });
	});

	it("leaves text that only looks like a placeholder, reports it, and exits with 1", async () => {
		const masked = await run(["mask", "-"], JSON.stringify(messages));
		const [placeholder = ""] = /\[Observation masquée[^\]]*\]/.exec(masked.text) ?? [];
		const calls = [{ id: "other", type: "function", function: { name: "cat", arguments: "{}" } }];
		const source = JSON.stringify([
			{ role: "assistant", content: null, tool_calls: calls },
			{ role: "tool", tool_call_id: "other", content: placeholder },
		]);
		const { code, text, lines } = await run(["restore", "-"], source);
		expect({ code, text }).toEqual({ code: 1, text: source });
		expect(lines[1]).toMatch(/^palimpsest: ambiguous, left unchanged \(a tool may have printed them\): \w{12}$/);
	});

	it("refuses input that is not a conversation", async () => {
		expect(await run(["restore", "-"], "{")).toMatchObject({
			code: 1,
			text: "",
			lines: [expect.stringContaining("[invalid_json]")],
		});
		expect(await run(["restore", "-"], "3")).toMatchObject({
			code: 1,
			text: "",
			lines: [expect.stringContaining("[not_a_conversation]")],
		});
	});
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { applyRecords } from "../support/promise-checker.ts";
import { runHere } from "../support/run-here.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});
const run = (parameters: string[], input = "") => runHere(parameters, { folder, input });

const messages = agentConversation(10);
const body = { model: "gpt-4o", messages, tools: [{ type: "function", function: { name: "read_file" } }] };

describe("mask", () => {
	it.each([
		["a list on one line", messages, undefined],
		["a list, indented by tabs", messages, "\t"],
		["a request body, indented by two spaces", body, 2],
		["an object with messages, indented by four spaces", { id: 1, messages, more: null }, 4],
	])("prints %s unchanged except for the masked results", async (_what, document, indentation) => {
		const source = `${JSON.stringify(document, null, indentation)}\n`;
		await writeFile(join(folder, "chat.json"), source);
		const { code, text, lines } = await run(["mask", "chat.json"]);
		expect(code).toBe(0);
		expect(lines).toEqual([
			expect.stringMatching(/^palimpsest: masked 2 of 10 tool results, \d+ → \d+ tokens \(counted in o200k_base\)$/),
		]);
		const [before, after] = [source.split(secret), text.split(secret)];
		expect(after.length).toBeLessThan(before.length);
		expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, indentation)}\n`);
		const masked = text.replaceAll(/"\[Observation masquée: [^"]*\(tool_call_id=call_(\d+), [^"]*"/g, (_all, turn) =>
			JSON.stringify(messages[3 + 2 * turn]?.content),
		);
		expect(masked).toBe(source);
	});

	it("reads standard input, also with a byte order mark", async () => {
		const { text, lines } = await run(
			["mask", "-", "--set", "mask.window_turns=3"],
			`\uFEFF${JSON.stringify(messages)}`,
		);
		expect(JSON.parse(text.replace(/^\uFEFF/, ""))).toHaveLength(messages.length);
		expect(lines).toEqual([expect.stringContaining("masked 7 of 10")]);
	});

	it("prints only the edits, or only the report", async () => {
		const input = JSON.stringify(body);
		const whole = JSON.parse((await run(["mask", "-"], input)).text);
		const { edits, report } = JSON.parse((await run(["mask", "-", "--respond-with", "edits"], input)).text);
		expect(applyRecords(body, edits)).toEqual(whole);
		const { text } = await run(["mask", "-", "--respond-with", "report"], input);
		expect(JSON.parse(text)).toEqual(report);
		expect(report).toMatchObject({ changed: true, masked_tool_results: 2 });
	});

	it("says of a window of no turns that it masks nothing", async () => {
		const { lines } = await run(["mask", "-", "--set", "mask.window_turns=0"], JSON.stringify(messages));
		expect(lines.at(-1)).toContain("mask.window_turns = 0 masks nothing.");
	});

	it("prints a conversation that it cannot shrink unchanged, and says why", async () => {
		const { code, text, lines } = await run(["mask", "-"], "[]");
		expect([code, text]).toEqual([0, "[]"]);
		expect(lines).toEqual([
			"palimpsest: masked 0 of 0 tool results, 0 → 0 tokens (counted in o200k_base)",
			expect.stringContaining("no tool"),
		]);
	});

	it("exits quietly when the reader closes the pipe early", async () => {
		const file = join(folder, "chat.json");
		await writeFile(file, JSON.stringify(agentConversation(800)));
		const environment = cleanEnvironment(folder);
		const child = spawn(process.execPath, [builtCli, "mask", file], { cwd: folder, env: environment });
		let stderr = "";
		child.stderr.on("data", (chunk: Buffer) => {
			stderr += chunk.toString("utf8");
		});
		child.stdout.once("data", () => child.stdout.destroy());
		const [code, signal] = await once(child, "close");
		expect([code, signal]).toEqual([0, null]);
		expect(stderr).not.toMatch(/EPIPE|Error| at /);
	});
});

describe("guard", () => {
	it("takes window and reserve in tokens and reports that the conversation fits", async () => {
		const parameters = ["guard", "-", "--context-window", "4000", "--reserve-tokens", "300"];
		const { code, text, lines } = await run(parameters, JSON.stringify(body));
		expect(code).toBe(0);
		expect(lines.at(-1)).toMatch(/^palimpsest: fits: \d+ → \d+ tokens, budget 3700 \(counted in o200k_base\)$/);
		const tokens = Number(/→ (\d+) tokens/.exec(lines.at(-1) ?? "")?.[1]);
		expect(tokens).toBeLessThanOrEqual(3_700);
		expect(JSON.parse(text)).toMatchObject({ model: "gpt-4o", tools: body.tools });
	});

	it("uses the window of the model that an option or the request body names", async () => {
		const byOption = await run(["guard", "-", "--model", "gpt-4o"], JSON.stringify(messages));
		const byBody = await run(["guard", "-"], JSON.stringify(body));
		for (const { code, lines } of [byOption, byBody]) {
			expect(code).toBe(0);
			expect(lines).toEqual([expect.stringMatching(/fits: .* budget 119808 \(counted in o200k_base\)$/)]);
		}
	});

	it("reports by how much the conversation exceeds the budget, and exits with 3", async () => {
		const parameters = ["guard", "-", "--context-window", "8200", "--respond-with", "report"];
		const { code, text, lines } = await run(parameters, JSON.stringify(messages));
		expect(code).toBe(3);
		const report = JSON.parse(text);
		expect(report).toMatchObject({ fits: false, budget_tokens: 8, dropped_messages: expect.any(Number) });
		const { shortfall_tokens: over, dropped_messages: dropped } = report;
		expect(lines.at(-1)).toContain(`does not fit, ${over} tokens over`);
		expect(lines[0]).toMatch(
			new RegExp(`^palimpsest warning: Context guard: dropped ${dropped} old messages \\(estimated \\d+ tokens\\)$`),
		);
		expect(lines.join()).not.toContain(secret);
	});

	it.each([
		["--model", "gpt-4"],
		["--context-window", "8192"],
	])("drops nothing when the reserve uses up the window: %s %s", async (...parameters) => {
		const { code, text, lines } = await run(["guard", "-", ...parameters], JSON.stringify(messages));
		expect([code, text]).toEqual([1, ""]);
		expect(lines).toEqual([
			expect.stringMatching(
				/^palimpsest: \[no_budget\] .*The reserve \(8192\) is as large as the window \(8192\)\. .*smaller --reserve-tokens \(guard\.reserve_tokens .* larger --context-window\.$/,
			),
		]);
	});

	it("changes nothing when it is disabled, and still exits with 3 on a conversation that does not fit", async () => {
		const off = ["guard", "-", "--set", "guard.enabled=false", "--context-window"];
		const text = JSON.stringify(messages);
		expect(await run([...off, "9000"], text)).toMatchObject({ code: 3, text });
		expect(await run([...off, "90000"], text)).toMatchObject({ code: 0, text });
	});

	it("reports an assumed or unknown window on standard error", async () => {
		const preset = (name: string) => ["guard", "-", "--model", "nope-9", "--set", `preset=${name}`];
		const text = JSON.stringify(messages);
		const assumed = await run(preset("context-guard"), text);
		expect(assumed).toMatchObject({ code: 0, text });
		expect(assumed.lines).toEqual([
			expect.stringMatching(/^palimpsest warning: .*"nope-9", so 200000 tokens are assumed/),
			expect.stringMatching(
				/^palimpsest: fits: .* budget 191808 \(estimated for the model: 1.2 × the count in o200k_base\)$/,
			),
		]);
		const unknown = await run(preset("context-trim"), text);
		expect(unknown).toMatchObject({ code: 0, text });
		expect(unknown.lines).toEqual([
			expect.stringMatching(/^palimpsest warning: .*"nope-9", so nothing was removed/),
			expect.stringMatching(/^palimpsest: unknown whether it fits, since no context window is known: /),
		]);
	});
});

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { compact as compactHere } from "../../src/commands/edit.ts";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { conversationNamed, type LastingEndpoint, lastingEndpoint } from "../e2e/compact-endpoint.ts";
import type { SummaryRequestAnswer } from "../e2e/compact-session.ts";
import { complete, refuse } from "../operations/summariser/chat-server.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";
import { handover } from "../support/stand-in-summariser.ts";

const key = "sk-a-key-that-nobody-may-see-4711";
const llm = ["--strategy", "llm-summary"];
const window = ["--context-window", "9000"];

let folder: string;
let endpoint: LastingEndpoint;
beforeAll(async () => {
	[folder, endpoint] = [await scratchFolder(), await lastingEndpoint()];
	await writeFile(join(folder, "summary.md"), `${handover}\n`);
});

/** Runs `palimpsest compact -` on a conversation; with the endpoint in the environment where the test says so. */
function compact(messages: readonly object[], parameters: readonly string[], environment = {}) {
	return runHere(["compact", "-", ...parameters], { folder, input: JSON.stringify(messages), environment });
}
const asking = () => ({
	PALIMPSEST_LLM_URL: endpoint.baseUrl,
	PALIMPSEST_LLM_MODEL: "a-model",
	PALIMPSEST_LLM_KEY: key,
});
const summaryIn = (text: string) => splitFrames(JSON.parse(text)[1].content).frames[0]?.summary;

describe.concurrent("palimpsest compact", () => {
	it("asks the endpoint named by the environment and reports progress", async () => {
		const messages = conversationNamed("asked");
		endpoint.behave("asked", refuse(429, { "retry-after": "0.05" }), complete(handover));
		const { code, text, lines } = await compact(messages, [...llm, "--force"], asking());
		expect(code).toBe(0);
		expect(summaryIn(text)).toBe(handover);
		expect(JSON.parse(text).toSpliced(1, 1)).toEqual([...messages.slice(0, 1), ...messages.slice(-2)]);
		expect(lines).toEqual([
			"palimpsest: asking",
			"palimpsest: retry 1 of 3 in 0.05 s (rate_limit)",
			"palimpsest: asking",
			expect.stringMatching(/^palimpsest warning: Compaction: replaced 22 old messages /),
			expect.stringMatching(/^palimpsest: summarised: \d+ → \d+ tokens \(counted in o200k_base\)$/),
		]);
		expect(endpoint.requestsOf("asked")[0]?.headers.authorization).toBe(`Bearer ${key}`);
	});

	it("prints nothing when the endpoint returns no summary, and exits with 1", async () => {
		endpoint.behave("refused", (response) => response.writeHead(401).end(`{"error": {"message": "${key}"}}`));
		const { code, text, lines } = await compact(conversationNamed("refused"), [...llm, ...window], asking());
		expect([code, text]).toEqual([1, ""]);
		expect(lines.at(-1)).toMatch(/^palimpsest: \[auth_error\] .*\(HTTP 401\)\.$/);
		expect(lines.join()).not.toContain(key);
	});

	it("prints the input for a summary and inserts the summary, even after the conversation continued", async () => {
		const messages = conversationNamed("requested");
		const asked = await compact(messages, ["--request"], asking());
		expect(asked.code).toBe(0);
		const request = JSON.parse(asked.text) as SummaryRequestAnswer;
		expect(Object.keys(request)).toEqual(["summary_token", "prompt", "max_summary_tokens", "messages"]);
		expect(endpoint.requestsOf("requested")).toEqual([]);

		const grown = [...messages, ...openaiMessages(toolTurn("call_12", "more"), user("Go on."))];
		const brought = ["--summary", "summary.md", "--summary-token", request.summary_token];
		const { code, text } = await compact(grown, brought, asking());
		expect(code).toBe(0);
		expect(summaryIn(text)).toBe(handover);
		expect(JSON.parse(text).slice(2)).toEqual(grown.slice(24));
		expect(endpoint.requestsOf("requested")).toEqual([]);

		const stale = await compact(grown.toSpliced(4, 2), brought);
		expect([stale.code, stale.text]).toEqual([1, ""]);
		expect(stale.lines).toEqual([expect.stringMatching(/^palimpsest: \[stale_edit\] /)]);
	});

	it("hides old results without a model", async () => {
		const { code, text, lines } = await compact(conversationNamed("hidden"), [], asking());
		expect(code).toBe(0);
		expect(text.match(/Observation masquée/g)).toHaveLength(7);
		expect(lines.at(-1)).toMatch(/^palimpsest: hidden: \d+ → \d+ tokens \(counted in o200k_base\)$/);
		expect(endpoint.requestsOf("hidden")).toEqual([]);
	});

	it("fits the conversation into the window when the policy asks no model", async () => {
		const none = ["--set", 'compaction.answered_by=["none"]', "--reserve-tokens", "5000"];
		const { code, text, lines } = await compact(conversationNamed("dropped"), [...llm, ...window, ...none]);
		expect(code).toBe(0);
		expect(JSON.parse(text)).not.toHaveLength(26);
		expect(lines.at(-1)).toMatch(/^palimpsest: guarded: /);
	});

	it("reports that compaction is not due", async () => {
		const messages = conversationNamed("roomy");
		const { code, text, lines } = await compact(messages, [...llm, "--context-window", "100000"]);
		expect([code, text]).toEqual([0, JSON.stringify(messages)]);
		expect(lines).toEqual([expect.stringMatching(/^palimpsest: not due, .*\(--force compacts anyway\): /)]);
	});

	it("refuses when a summary is needed and no model can write it, and exits with 1", async () => {
		const { code, text, lines } = await compact(conversationNamed("x"), llm);
		expect([code, text]).toEqual([1, ""]);
		expect(lines).toEqual([
			expect.stringMatching(/: \[invalid_argument\] A summary is needed, .*PALIMPSEST_LLM_URL.*--request.*"none"/),
		]);
	});

	it("refuses a request and a summary together, and exits with 2", async () => {
		const { code, lines } = await compact([], ["--request", "--summary", "summary.md"]);
		expect(code).toBe(2);
		expect(lines[0]).toMatch(/expected --request or --summary <file>; got both/);
	});

	it("refuses an incomplete endpoint in the environment, without quoting its values", async () => {
		const half = { PALIMPSEST_LLM_URL: `http://user:${key}@127.0.0.1/v1` };
		const { code, lines } = await compact(conversationNamed("x"), llm, half);
		expect(code).toBe(1);
		expect(lines.join()).toMatch(/\[invalid_policy\].*PALIMPSEST_LLM_URL.*PALIMPSEST_LLM_MODEL/);
		expect(lines.join()).not.toContain(key);
	});
});

it("reads the conversation from a file without changing the file", async () => {
	const source = JSON.stringify(conversationNamed("file"), null, "\t");
	await writeFile(join(folder, "chat.json"), source);
	const { code, text } = await runHere(["compact", "chat.json", "--summary", "summary.md"], { folder });
	expect([code, summaryIn(text)]).toEqual([0, handover]);
	expect(await readFile(join(folder, "chat.json"), "utf8")).toBe(source);
});

describe("is refused", () => {
	it.each([
		["a request where nothing is to be summarised", 4, { request: true }, "Nothing to summarise: between"],
		["a token of its own making", 26, { summary: "summary.md", summaryToken: "last" }, "exactly as the request"],
		["a summary that is not there", 26, { summary: "absent.md" }, "absent.md"],
		["a summary of nothing", 26, { summary: "empty.md" }, "nothing that can be read"],
	] as const)(
		"%s",
		async (_what, count, { summary, ...options }: Partial<Parameters<typeof compactHere>[1]>, words) => {
			const files = {
				"few.json": JSON.stringify(conversationNamed("x").slice(0, count)),
				"empty.md": "",
				"policy.toml": "",
			};
			for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
			const given = summary === undefined ? {} : { summary: join(folder, summary) };
			const common = { policy: join(folder, "policy.toml"), archive: "none", respondWith: "messages" } as const;
			// In this process: what is refused prints nothing.
			const refused = compactHere(join(folder, "few.json"), { ...common, ...options, ...given });
			await expect(refused).rejects.toThrow(words);
			await expect(refused).rejects.toMatchObject({ name: "PalimpsestError" });
		},
	);
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { guard as guardHere } from "../../src/commands/edit.ts";
import { conversationNamed, type LastingEndpoint, lastingEndpoint } from "../e2e/compact-endpoint.ts";
import { complete, refuse } from "../operations/summariser/chat-server.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { handover } from "../support/stand-in-summariser.ts";

const compacting = ["guard.max_messages=26", "guard.auto_compact=true", "compaction.strategy=llm-summary"];
const set = (...settings: readonly string[]) => settings.flatMap((setting) => ["--set", setting]);
const request = "[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.";

let folder: string;
let endpoint: LastingEndpoint;
beforeAll(async () => {
	[folder, endpoint] = [await scratchFolder(), await lastingEndpoint()];
	const cut = { choices: [{ finish_reason: "length", message: { role: "assistant", content: "The parser fails" } }] };
	await writeFile(join(folder, "last.json"), JSON.stringify(cut));
	await writeFile(
		join(folder, "strategy.mjs"),
		"export const halve = { compact: ({ history }) => history.toSpliced(2, 12) };",
	);
});

/** Runs `palimpsest guard -` on a conversation of that name, with the endpoint in the environment. */
function guard(name: string, ...parameters: readonly string[]) {
	const input = JSON.stringify(conversationNamed(name));
	const environment = { PALIMPSEST_LLM_URL: endpoint.baseUrl, PALIMPSEST_LLM_MODEL: "a-model" };
	return runHere(["guard", "-", "--context-window", "30000", ...parameters], { folder, input, environment });
}

describe.concurrent("palimpsest guard", () => {
	it("compacts first when the policy says so, with the endpoint of the environment", async () => {
		endpoint.behave("long", complete(handover));
		const { code, text, lines } = await guard("long", ...set(...compacting), "--last-response", "last.json");
		expect(code).toBe(0);
		const messages = JSON.parse(text);
		expect(messages).toHaveLength(6);
		expect(messages[1].content).toContain(handover);
		expect(messages.slice(-2)).toEqual([
			{ role: "assistant", content: "The parser fails" },
			{ role: "user", content: request },
		]);
		expect(lines.slice(-2)).toEqual([
			"palimpsest: compacted first: summarised",
			expect.stringMatching(/^palimpsest: fits: \d+ → \d+ tokens, budget 21808 \(counted in o200k_base\)$/),
		]);
	});

	it("continues without compaction when that fails, and reports it", async () => {
		endpoint.behave("failing", refuse(404));
		const { code, text, lines } = await guard("failing", ...set(...compacting));
		expect([code, text]).toEqual([0, JSON.stringify(conversationNamed("failing"))]);
		expect(lines.at(-2)).toMatch(
			/^palimpsest: compaction failed, so only the guard ran: \[model_not_found\] .*HTTP 404/,
		);
		expect(lines.at(-1)).toMatch(/^palimpsest: fits: /);
	});

	it("reports that no model can write the summary", async () => {
		const { code, lines } = await guard("unasked", ...set(...compacting, 'compaction.answered_by=["caller"]'));
		expect(code).toBe(0);
		expect(lines.at(-2)).toMatch(
			/^palimpsest: not compacted: a summary is needed, .*palimpsest compact - --request prints .*answered_by=\["none"\]/,
		);
		expect(endpoint.requestsOf("unasked")).toEqual([]);
	});

	it("prints the request for the summary in the report", async () => {
		const asking = set(...compacting, 'compaction.answered_by=["caller"]');
		const { text } = await guard("unasked", ...asking, "--respond-with", "report");
		const { compaction } = JSON.parse(text);
		expect(compaction).toMatchObject({ result: "summary_requested", request: { prompt: expect.any(String) } });
		const input = JSON.stringify(conversationNamed("unasked"));
		await writeFile(join(folder, "summary.txt"), handover);
		const answering = ["--summary", "summary.txt", "--summary-token", compaction.request.summary_token];
		const { code, lines } = await runHere(["compact", "-", ...answering], { folder, input });
		expect([code, lines.at(-1)]).toEqual([0, expect.stringMatching(/^palimpsest: summarised: /)]);
	});

	it("compacts with a user's own strategy", async () => {
		const { code, text } = await guard(
			"own",
			...set(...compacting.slice(0, 2), "compaction.strategy=./strategy.mjs#halve"),
		);
		expect(code).toBe(0);
		expect(JSON.parse(text)).toEqual(conversationNamed("own").toSpliced(2, 12));
	});

	it("reads the last answer, and asks no model when nothing is to be compacted", async () => {
		const { code, text } = await guard("short", "--last-response", "last.json");
		expect(code).toBe(0);
		const input = JSON.stringify(conversationNamed("short"));
		// The text stays as it was read; what is appended stands behind it.
		expect(text.startsWith(input.slice(0, -1))).toBe(true);
		expect(JSON.parse(text).at(-1)).toEqual({ role: "user", content: request });
		expect(endpoint.requestsOf("short")).toEqual([]);
	});
});

it.each([
	["is missing", "absent.json", "unreadable_file"],
	["is not JSON", "strategy.mjs", "invalid_json"],
	["is not an answer", "chat.json", "invalid_argument"],
])("refuses a last answer that %s", async (_what, file, code) => {
	await writeFile(join(folder, "chat.json"), JSON.stringify(conversationNamed("refused")));
	await writeFile(join(folder, "policy.toml"), "");
	const common = { policy: join(folder, "policy.toml"), archive: "none", respondWith: "messages" } as const;
	// In this process: what is refused prints nothing.
	const given = { ...common, contextWindow: 30_000, lastResponse: join(folder, file) };
	await expect(guardHere(join(folder, "chat.json"), given)).rejects.toMatchObject({ name: "PalimpsestError", code });
});

import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPolicySource } from "../../src/operations/config/config.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { compactSession, contentOf, firstText, type StdioCompactSession } from "./compact-session.ts";

/** A strategy that does what the conversation's task says. */
const module = `
const put = (history, content) => [...history.slice(0, 2), { role: "user", content }, ...history.slice(-2)];
const deeds = {
	shorten({ history, token_count, max_context_size, reserved_context_size }, { locale, log, countTokens }) {
		log("info", "from " + history.length + " messages");
		const facts = [token_count > 5000, max_context_size, reserved_context_size, locale, countTokens("one two")];
		return put(history, "Shortened: " + facts.join(" "));
	},
	wait: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("x")))),
	fail({ history }) { throw new RangeError(JSON.stringify(history)); },
};
export class Own {
	constructor(given) { this.given = given; }
	compact(context) { return deeds[/deed=(\\w+)/.exec(context.history[1].content)[1]](context, this.given); }
}
export class Empty {}
`;

const name = "./strategy.mjs#Own";
const files = { "strategy.mjs": module, "own.toml": `log_level = "info"\n[compaction]\nstrategy = "${name}"\n` };
const conversation = (deed: string) => {
	const [first, task, ...rest] = agentConversation(12);
	return [first, { ...task, content: `deed=${deed} ${secret}` }, ...rest];
};

let session: StdioCompactSession;
beforeAll(async () => {
	session = await compactSession({ sampling: true, files, parameters: ["--policy", "own.toml"] });
});
afterAll(() => expect(session.stderr()).not.toMatch(new RegExp(`${secret}|^\\s+at `, "m")));

const compact = (deed: string, parameters: object = {}, options = {}) =>
	session.call("compact_conversation", { messages: conversation(deed), ...parameters }, options);

describe("a strategy named by the policy file", () => {
	it("rewrites the conversation with injected dependencies", async () => {
		const messages = conversation("shorten");
		const { messages: after, report } = contentOf(await compact("shorten", { context_window: 100_000, force: true }));
		const put = { role: "user", content: "Shortened: true 100000 8192 fr 2" };
		expect(after).toEqual([...messages.slice(0, 2), put, ...messages.slice(-2)]);
		expect(report).toMatchObject({ changed: true, strategy: name, trigger: "forced", result: "rewritten" });
		expect(session.stderr()).toContain("palimpsest info: from 26 messages\n");
		const roomy = contentOf(await compact("shorten", { context_window: 100_000 }));
		expect(roomy.report).toMatchObject({ trigger: "not_due", result: "unchanged" });
	});

	it("yields to a built-in strategy named by a call and to the caller's own summary", async () => {
		const { report } = contentOf(await compact("fail", { strategy: "tool-result-hiding" }));
		expect(report).toMatchObject({ strategy: "tool-result-hiding", result: "hidden" });
		expect(contentOf(await compact("fail", { summary: "All read." })).report).toMatchObject({ result: "summarised" });
	});

	it("is used by the guard for compaction", async () => {
		const policy = { guard: { max_messages: 20, auto_compact: true } };
		const parameters = { messages: conversation("shorten"), context_window: 50_000, policy };
		const { messages: after, report } = contentOf(await session.call("guard_context", parameters));
		expect(after).toHaveLength(5);
		expect(report.compaction).toEqual({ strategy: name, result: "rewritten" });
	});

	it("gets an abort signal when the call is cancelled", async () => {
		const controller = new AbortController();
		const call = compact("wait", {}, { signal: controller.signal });
		await session.client.ping();
		controller.abort("no longer wanted");
		await expect(call).rejects.toThrow("no longer wanted");
		expect(contentOf(await compact("shorten", { respond_with: "report" })).report.changed).toBe(true);
		expect(session.logged.filter(({ level }) => level === "error")).toEqual([]);
	});
});

describe("a tool call", () => {
	it.each(["compact_conversation", "guard_context", "mask_conversation"])("of %s cannot name code", async (tool) => {
		const policy = { compaction: { strategy: name } };
		const refused = await session.call(tool, { messages: conversation("shorten"), context_window: 9_000, policy });
		expect(firstText(refused)).toMatch(/^\[invalid_(?:policy|argument)\] /);
		if (tool !== "mask_conversation")
			expect(firstText(refused)).toMatch(/module#Export and module:Class are code, which the configuration alone/);
	});
});

describe("a server", () => {
	const startWith = async (strategy: string, parameters: readonly string[]) => {
		const policy = `[compaction]\nstrategy = "${strategy}"\n`;
		const folder = await scratchFolder();
		await writeFile(join(folder, "strategy.mjs"), module);
		await writeFile(join(folder, "palimpsest.toml"), policy);
		const { code, text, lines } = await runCli(["serve", ...parameters], { folder });
		expect(text).toBe("");
		expect(lines).toHaveLength(1);
		return { code, said: lines[0] };
	};
	const named = ["--policy", "palimpsest.toml"];

	it.concurrent.each([
		["has no such export", "./strategy.mjs#Owm", named, /has no export Owm; it has Empty, Own\. Did you mean Own\?/],
		["is wrong, over HTTP too", "./strategy.mjs#Owm", [...named, "--http", "127.0.0.1:0"], /has no export Owm/],
	])("does not start when its strategy %s", async (_what, strategy, parameters, words) => {
		const { code, said } = await startWith(strategy, parameters);
		expect(code).toBe(1);
		expect(said).toMatch(/^palimpsest: \[invalid_policy\] /);
		expect(said).toMatch(words);
	});

	it("does not load code from a file that appears in its folder later", async () => {
		const folder = await scratchFolder();
		const warnings: string[] = [];
		const source = await createPolicySource({
			environment: {},
			workingDirectory: folder,
			home: folder,
			onIgnored: (warning) => warnings.push(warning),
			intervalMilliseconds: 10,
		});
		writeFileSync(join(folder, "palimpsest.toml"), `[compaction]\nstrategy = "${name}"\n`);
		const said = [
			expect.stringMatching(/sets compaction\.strategy without effect.*--policy FILE or PALIMPSEST_POLICY/),
		];
		await expect.poll(() => warnings, patience).toEqual(said);
		expect(source.current().compaction.strategy).toBe("hiding-then-summary");
		source.close();
	});
});

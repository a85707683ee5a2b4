import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { CompactionContext, StrategyDependencies } from "../../src/engine/compaction/strategy.ts";
import { compact } from "../../src/library.ts";
import { callPolicy, type ToolContext } from "../../src/mcp/tool.ts";
import { tools } from "../../src/mcp/tools.ts";
import { createCompactionSource } from "../../src/operations/config/compaction.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const conversation = deepFreeze(agentConversation(8));

describe("`compact(context)` returns messages or null (docs/compaction.md#strategy-interface)", () => {
	it("gets the history, the token counts and a model to ask", async () => {
		const seen: CompactionContext[] = [];
		const strategy = {
			compact(context: CompactionContext) {
				seen.push(context);
				return null;
			},
		};
		const summariser = standInSummariser();
		const options = { strategy, summariser, contextWindow: 9_000, reserveTokens: 700, force: true };
		const { report } = await compact(conversation, options);
		expect(seen).toEqual([
			{
				history: conversation,
				format: "openai-chat",
				token_count: report.tokens.before,
				max_context_size: 9_000,
				reserved_context_size: 700,
				llm: { name: "stand-in", complete: expect.any(Function) },
				signal: undefined,
			},
		]);
		expect(await seen[0]?.llm?.complete("Say something.", { maxTokens: 50 })).toContain("Mend the parser.");
		expect(summariser.requests).toMatchObject([{ prompt: "Say something.", maxTokens: 50 }]);
	});

	it("its messages replace the history, and kept ones are unchanged", async () => {
		const strategy = { compact: ({ history }: CompactionContext) => [...history.slice(0, 2), ...history.slice(-4)] };
		const { conversation: after, report } = await compact(conversation, { strategy });
		expect(after).toEqual([...conversation.slice(0, 2), ...conversation.slice(-4)]);
		expect(report.result).toBe("rewritten");
		expect(after[0]).toBe(conversation[0]);
	});

	it("`null` changes nothing: the same conversation is returned", async () => {
		const outcome = await compact(conversation, { strategy: { compact: async () => null } });
		expect(outcome.conversation).toBe(conversation);
		expect(outcome).toMatchObject({ edits: [], report: { changed: false, result: "unchanged" } });
	});
});

describe("`[compaction] strategy` names a built-in strategy or `module#Export` (docs/compaction.md#naming-a-strategy)", () => {
	let folder: string;
	beforeAll(async () => {
		folder = await scratchFolder();
		await mkdir(join(folder, "node_modules/own"), { recursive: true });
		await writeFile(join(folder, "node_modules/own/package.json"), '{ "type": "module", "exports": "./index.js" }');
		const module = `
			export class Own { constructor(given) { this.given = given; } compact() { return null; } }
			export class NotOne { squeeze() { return null; } }
		`;
		await writeFile(join(folder, "node_modules/own/index.js"), module);
	});
	const source = () => createCompactionSource({ environment: {}, policyFile: () => null, workingDirectory: folder });
	const named = (strategy: string) => policyOf({ compaction: { strategy } });
	const dependencies: StrategyDependencies = {
		llm: undefined,
		countTokens: (text) => text.length,
		locale: "zh",
		log: () => undefined,
	};

	it("loads a class from an import path and injects its dependencies", async () => {
		const made = await source().loadStrategy("own#Own", dependencies);
		expect(await made.compact({} as CompactionContext)).toBeNull();
		expect((made as unknown as { given: StrategyDependencies }).given).toBe(dependencies);
	});

	it("is checked before the server serves", async () => {
		// test/e2e/compact-strategy.test.ts starts a real server that refuses to start.
		await source().check(named("own#Own"));
		await source().check(named("hiding-then-summary"));
		await expect(source().check(named("own#NotOne"))).rejects.toMatchObject({ code: "invalid_policy" });
		await expect(source().check(named("not-there#Own"))).rejects.toMatchObject({ code: "invalid_policy" });
	});

	it("is named only in the configuration, never in a tool argument", () => {
		const tool = tools.find(({ name }) => name === "compact_conversation");
		expect(tool?.inputSchema.safeParse({ messages: [], strategy: "llm-summary" }).success).toBe(true);
		expect(tool?.inputSchema.safeParse({ messages: [], strategy: "own#Own" }).success).toBe(false);
		const context = { layers: [] } as unknown as ToolContext;
		for (const strategy of ["own#Own", "own:Own", "./own.mjs:Own"]) {
			expect(() => callPolicy(context, { compaction: { strategy } })).toThrow(/configuration alone/);
		}
		expect(callPolicy(context, { compaction: { strategy: "llm-summary" } }).compaction.strategy).toBe("llm-summary");
	});

	it("a program passes the object; a name of code is refused with advice", async () => {
		class Own {
			compact() {
				return null;
			}
		}
		expect((await compact(conversation, { strategy: new Own() })).report.strategy).toBe("Own");
		const policy = { compaction: { strategy: "own#Own" } };
		await expect(compact(conversation, { policy })).rejects.toThrow(/`strategy: new Own\(\)`/);
	});
});

describe("The output of a strategy is verified: a broken pair is refused and the original stays (docs/compaction.md#verification)", () => {
	it.each<[string, (history: readonly unknown[]) => readonly unknown[]]>([
		["a result without its call", (history) => history.toSpliced(2, 1)],
		["a call without its result", (history) => history.toSpliced(3, 1)],
		["a result under another id", (history) => history.with(3, { ...(history[3] as object), tool_call_id: "other" })],
		["a result before its call", (history) => history.toSpliced(2, 2, history[3], history[2])],
		["a missing system message", (history) => history.slice(1)],
	])("%s is refused", async (_, change) => {
		const strategy = { compact: ({ history }: CompactionContext) => change(history) };
		const outcome = await compact(conversation, { strategy });
		expect(outcome.error?.code).toBe("strategy_failed");
		expect(outcome.conversation).toBe(conversation);
		expect(outcome).toMatchObject({ edits: [], report: { changed: false, result: "unchanged" } });
	});

	// Further kinds of bad output: test/operations/compact-by-strategy.test.ts; random ones: test/properties/compact.test.ts.
});

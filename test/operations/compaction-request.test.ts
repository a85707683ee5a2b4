import { describe, expect, it } from "vitest";
import type { CompactionStrategy, StrategyDependencies } from "../../src/engine/compaction/strategy.ts";
import type { LogEvent } from "../../src/log.ts";
import { strategyLlm, strategyOfCall } from "../../src/operations/compaction-request.ts";
import { policyOf } from "../support/policy-of.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const policy = policyOf({ locale: "fr", compaction: { max_summary_tokens: 321 } });
const none = { kind: "none" } as const;
const compact: CompactionStrategy["compact"] = () => null;

class Own implements CompactionStrategy {
	compact = compact;
}

describe("the strategy of a call", () => {
	it("is the one that is named, else the policy's", async () => {
		const of = (named: undefined | "tool-result-hiding", strategy: string) =>
			strategyOfCall({ named, policy: policyOf({ compaction: { strategy } }), answer: none });
		expect(await of("tool-result-hiding", "llm-summary")).toEqual({ kind: "built_in", name: "tool-result-hiding" });
		expect(await of(undefined, "llm-summary")).toEqual({ kind: "built_in", name: "llm-summary" });
	});

	it.each<[string, CompactionStrategy, string]>([
		["a class", new Own(), "Own"],
		["an object", { compact }, "own"],
		[
			"a class without a name",
			new (class {
				compact = compact;
			})(),
			"own",
		],
	])("may be %s, and its name is reported", async (_, strategy, name) => {
		expect(await strategyOfCall({ named: strategy, policy, answer: none })).toEqual({
			kind: "external",
			name,
			strategy,
		});
	});

	it("is loaded by its name, with its dependencies", async () => {
		const events: LogEvent[] = [];
		const given: StrategyDependencies[] = [];
		const strategy = "./own.js#Own";
		const chosen = await strategyOfCall({
			named: undefined,
			policy: policyOf({ locale: "fr", compaction: { strategy } }),
			answer: none,
			log: (event) => events.push(event),
			load: async (name, dependencies) => {
				given.push(dependencies);
				expect(name).toBe(strategy);
				return { compact };
			},
		});
		expect(chosen).toEqual({ kind: "external", name: strategy, strategy: { compact } });
		const [dependencies] = given;
		expect(dependencies).toMatchObject({ llm: undefined, locale: "fr" });
		expect(dependencies?.countTokens("one two three")).toBe(3);
		dependencies?.log("info", "Done.");
		expect(events).toEqual([{ level: "info", message: "Done.", data: { event: "strategy", strategy } }]);
	});

	it("is refused if it has no usable name, or cannot be loaded", async () => {
		const code = { code: "invalid_policy", message: expect.stringMatching(/cannot be used: .{20}/) };
		const own = policyOf({ compaction: { strategy: "./own.js#Own" } });
		await expect(strategyOfCall({ named: undefined, policy: own, answer: none })).rejects.toMatchObject(code);
		const unusable = { named: "no such strategy" as never, policy, answer: none, load: async () => ({ compact }) };
		await expect(strategyOfCall(unusable)).rejects.toMatchObject(code);
		await expect(strategyOfCall(unusable)).rejects.toThrow("no such strategy");
	});
});

describe("the model of a strategy", () => {
	it("is asked in the language and with the limit of the policy, unless the strategy says another", async () => {
		const summariser = standInSummariser();
		const { signal } = new AbortController();
		const llm = strategyLlm({ answer: { kind: "summariser", summariser }, policy, signal });
		expect(llm?.name).toBe("stand-in");
		expect(await llm?.complete("Sum up.")).toContain("Mend the parser.");
		await llm?.complete("Shorter.", { maxTokens: 7 });
		expect(summariser.requests).toEqual([
			{ prompt: "Sum up.", maxTokens: 321, locale: "fr", signal, onProgress: undefined },
			{ prompt: "Shorter.", maxTokens: 7, locale: "fr", signal, onProgress: undefined },
		]);
		expect(strategyLlm({ answer: none, policy })).toBeUndefined();
	});
});

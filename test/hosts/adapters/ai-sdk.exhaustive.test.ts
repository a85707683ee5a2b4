import { join } from "node:path";
import * as version6 from "ai";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/ai-sdk.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { agentTurns, strictProvider } from "./agent-script.ts";
import { runAgent, scriptedModel } from "./ai-sdk-agent.ts";
import { hasFrameworks, importOfExamples } from "./example-packages.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	vi.stubEnv("PALIMPSEST_ARCHIVE", undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

/** The second checks, for all accounts, what its reasoning is bound to. */
const models = [
	{ provider: "openai.chat", modelId: "gpt-5.2" },
	{ provider: "anthropic.messages", modelId: "claude-fable-5-2" },
] as const;

const cached = { anthropic: { cacheControl: { type: "ephemeral" } } };

const sdks = [
	["6", async () => version6],
	["7", () => importOfExamples<typeof version6>("ai")],
] as const;

describe.each(models)("60 turns of the AI SDK with $modelId", (names) => {
	it.skipIf(!hasFrameworks()).each(sdks)(
		"by version %s cost less and are stored as without the adapter, and a request begins with the one before but after decisions",
		async (_, load) => {
			const sdk = await load();
			const checksReasoning = names.provider === "anthropic.messages";
			const turns = agentTurns(60);
			const [alone, ours] = [strictProvider({ checksReasoning }), strictProvider({ checksReasoning })];
			const faults: string[] = [];
			const context = palimpsest({ archive: "memory", folder, onFault: (line) => faults.push(line) });
			const { tools, settled, ...middleware } = context;
			const shared = { sdk, turns, ...(checksReasoning ? { providerOptions: cached } : {}) };
			const kept = await runAgent({ ...shared, model: scriptedModel(turns, alone, names) });
			const model = scriptedModel(turns, ours, names);
			const keptWithUs = await runAgent({ ...shared, model, middleware, tools, settled });
			expect([faults, ours.refusals, alone.refusals]).toEqual([[], [], []]);
			expect(keptWithUs).toEqual(kept);
			expect(ours.tokens() / alone.tokens()).toBeLessThan(0.6);
			expect(ours.billed() / alone.billed()).toBeLessThan(0.7);
			const breaks = ours.breaks();
			expect(breaks.length).toBeLessThan(4);
			for (const { before, after } of breaks) {
				expect([before.role, after.role]).toEqual(["tool", "tool"]);
				expect(after.text.length).toBeLessThan(before.text.length);
			}
		},
		120_000,
	);
});

it("pruneMessages of the SDK sends more and costs more where it takes as many results out of view", async () => {
	const turns = agentTurns(60);
	const [pruned, ours] = [strictProvider(), strictProvider()];
	const { tools, settled, ...middleware } = palimpsest({ archive: "memory", folder });
	await runAgent({ turns, model: scriptedModel(turns, ours, models[0]), middleware, tools, settled });
	await runAgent({
		turns,
		model: scriptedModel(turns, pruned, models[0]),
		prepareStep: (messages) =>
			version6.pruneMessages({ messages: [...messages], toolCalls: "before-last-64-messages" }),
	});
	const outOfView = ({ requests }: typeof ours) => {
		const shown = requests.flat().filter(({ results, text }) => results.length > 0 && text.length > 500);
		return turns.flat().length * requests.length - shown.flatMap(({ results }) => results).length;
	};
	expect(outOfView(ours)).toBeLessThanOrEqual(outOfView(pruned));
	expect(ours.tokens()).toBeLessThan(pruned.tokens());
	expect(ours.billed()).toBeLessThan(pruned.billed());
}, 120_000);

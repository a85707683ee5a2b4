import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/langchain.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { agentTurns, strictProvider } from "./agent-script.ts";
import { hasFrameworks, importOfExamples } from "./example-packages.ts";
import { type LangChain, type Message, runAgent } from "./langchain-agent.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	vi.stubEnv("PALIMPSEST_ARCHIVE", undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

/** The ids that LangChain makes at random differ between runs. */
const stored = (messages: readonly Message[]) =>
	messages.map(({ type, content, tool_calls, tool_call_id, status, artifact }) => {
		return {
			type,
			content: JSON.stringify(content).replace(/sig_\w+/g, ""),
			tool_calls,
			tool_call_id,
			status,
			artifact,
		};
	});

describe.skipIf(!hasFrameworks())("60 turns of LangChain", () => {
	it.each([["gpt-5.2"], ["claude-fable-5-2"]])(
		"with %s cost less, and the checkpoint is as without the adapter",
		async (model) => {
			const checksReasoning = model.startsWith("claude");
			const turns = agentTurns(60);
			const [alone, ours] = [strictProvider({ checksReasoning }), strictProvider({ checksReasoning })];
			const faults: string[] = [];
			const context = palimpsest({ archive: "memory", folder, onFault: (line) => faults.push(line) });
			const kept = await runAgent({ turns, model, provider: alone });
			const { settled } = context;
			const keptWithUs = await runAgent({ turns, model, provider: ours, middleware: [context], settled });
			expect([faults, ours.refusals, alone.refusals]).toEqual([[], [], []]);
			expect(stored(keptWithUs)).toEqual(stored(kept));
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

	it("cost less than with LangChain's own clearing, which takes more results out of view for good", async () => {
		const { contextEditingMiddleware, ClearToolUsesEdit } = await importOfExamples<LangChain>("langchain");
		const turns = agentTurns(60);
		const [cleared, ours] = [strictProvider(), strictProvider()];
		const context = palimpsest({ archive: "memory", folder });
		await runAgent({ turns, provider: ours, middleware: [context], settled: context.settled });
		const edit = new ClearToolUsesEdit({ trigger: { tokens: 60_000 }, keep: { messages: 20 } });
		await runAgent({ turns, provider: cleared, middleware: [contextEditingMiddleware({ edits: [edit] })] });
		const outOfView = ({ requests }: typeof ours) => {
			const shown = requests.flat().filter(({ results, text }) => results.length > 0 && text.length > 500);
			return turns.flat().length * requests.length - shown.length;
		};
		expect(outOfView(ours)).toBeLessThanOrEqual(outOfView(cleared));
		expect(ours.billed()).toBeLessThan(cleared.billed());
	}, 120_000);
});

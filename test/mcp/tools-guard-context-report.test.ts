import { expect, it, vi } from "vitest";
import type { CountTokens } from "../../src/engine/conversation/measure.ts";
import type { EncodingName } from "../../src/formats/tokens/encodings.ts";
import { reportContext } from "../../src/operations/report.ts";
import { agentConversation } from "../support/agent-conversation.ts";

// The tests of `operations` share their modules, so a module can be replaced only here.
const counted = vi.hoisted(() => ({ characters: 0 }));

vi.mock("../../src/formats/tokens/counter.ts", async (importOriginal) => {
	const { loadCounter } = await importOriginal<{ loadCounter: (name: EncodingName) => Promise<CountTokens> }>();
	return {
		loadCounter: async (name: EncodingName): Promise<CountTokens> => {
			const count = await loadCounter(name);
			return (text) => {
				counted.characters += text.length;
				return count(text);
			};
		},
	};
});

it("a report of a window takes linear time: each preset counts each text a few times at most", async () => {
	const charactersOf = async (turns: number) => {
		counted.characters = 0;
		const { tokens } = await reportContext({
			conversation: { messages: agentConversation(turns) },
			layers: [],
			contextWindow: 10_000,
		});
		return { counted: counted.characters, tokens };
	};
	const [small, large] = [await charactersOf(40), await charactersOf(320)];
	expect(small.counted).toBeGreaterThan(small.tokens);
	expect(large.tokens / small.tokens).toBeGreaterThan(7);
	expect(large.counted / small.counted).toBeLessThan(9);
	// A token has some 4 characters; what the presets would write is counted as well.
	expect(large.counted).toBeLessThan(4 * 6 * large.tokens);
});

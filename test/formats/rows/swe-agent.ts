import { sweAgent } from "../../../src/formats/trajectories.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const step = (given: object) => ({ action: "", observation: "", response: "", thought: "", state: "{}", ...given });

/** Each call is a step of its own, with what it printed. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const steps: { readonly id: unknown; readonly step: Record<string, unknown> }[] = [];
	return entries.flatMap((entry): JsonMessage[] => {
		if (entry.kind === "text") {
			const { role, text } = entry;
			return [step(role === "assistant" ? { response: text, thought: text } : { observation: text })];
		}
		if (entry.kind === "results") {
			for (const { id, content } of entry.results) {
				const called = steps.findLast((one) => one.id === id);
				if (called) called.step.observation = content;
			}
			return [];
		}
		return entry.calls.map(({ id, name = "none" }) => {
			const action = `${name} {"path":"a.txt"}`;
			const called = step({
				action,
				observation: undefined,
				response: `Let me.\n\`\`\`\n${action}\n\`\`\``,
				thought: "",
			});
			steps.push({ id, step: called });
			return called;
		});
	});
}

export const row: FormatRow = {
	format: sweAgent,
	write,
	contents: (steps) => steps.filter(({ action }) => action !== "").map(({ observation }) => observation),
	key: "messages",
	body: {},
	hasNoBlocks: true,
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [],
	flagsErrors: false,
	resultsStandInCalls: true,
	callsAreCommands: true,
};

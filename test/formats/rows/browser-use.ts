import { browserUse } from "../../../src/formats/trajectories.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

interface Step {
	readonly ids: readonly unknown[];
	readonly result: { extracted_content?: unknown; error?: unknown }[];
}

/** A result stands at the place of its action. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const steps: Step[] = [];
	return entries.flatMap((entry): JsonMessage[] => {
		if (entry.kind === "text") {
			if (entry.role === "assistant") return [{ model_output: { memory: entry.text, action: [] }, result: [] }];
			return [{ model_output: null, result: [{ extracted_content: entry.text }] }];
		}
		if (entry.kind === "calls") {
			const action = entry.calls.map(({ name = "none" }) => ({ [name]: { path: "a.txt" } }));
			const step: Step = { ids: entry.calls.map(({ id }) => id), result: [] };
			steps.push(step);
			return [{ model_output: { memory: "", action }, result: step.result, state: { url: "https://example.org/" } }];
		}
		for (const { id, content, isError } of entry.results) {
			const step = steps.findLast(({ ids }) => ids.includes(id));
			if (step) step.result[step.ids.indexOf(id)] = isError ? { error: content } : { extracted_content: content };
		}
		return [];
	});
}

export const row: FormatRow = {
	format: browserUse,
	write,
	contents: (steps) =>
		steps.flatMap(({ model_output: output, result }) =>
			output ? (result as Step["result"]).map((one) => one.error ?? one.extracted_content) : [],
		),
	key: "messages",
	body: {},
	hasNoBlocks: true,
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [...textPartShapes, ...openShapes],
	timed: (step, time) => ({ ...step, metadata: { step_start_time: time / 1000, step_end_time: time / 1000 } }),
	flagsErrors: true,
	resultsStandInCalls: true,
};

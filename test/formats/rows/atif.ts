import { atif } from "../../../src/formats/trajectories.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

interface Observation {
	readonly results: object[];
}

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

/** The results of a step's calls stand beside them. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const steps: JsonMessage[] = [];
	const add = (source: string, given: object) =>
		steps.push({ step_id: steps.length + 1, source, message: "", ...given });
	for (const entry of entries) {
		if (entry.kind === "text") add(entry.role === "assistant" ? "agent" : entry.role, { message: entry.text });
		else if (entry.kind === "calls") {
			const calls = entry.calls.map(({ id, name }) => ({
				...present("tool_call_id", id),
				...present("function_name", name),
				arguments: { path: "a.txt" },
			}));
			add("agent", { tool_calls: calls, observation: { results: [] } });
		} else
			for (const { id, content, isError } of entry.results) {
				const calling = ({ tool_calls: calls }: JsonMessage) =>
					((calls ?? []) as { tool_call_id?: unknown }[]).some((call) => call.tool_call_id === id);
				const { results } = (steps.findLast(calling)?.observation ?? { results: [] }) as Observation;
				const extra = isError === undefined ? {} : { extra: { is_error: isError } };
				results.push({ source_call_id: id ?? null, ...present("content", content), ...extra });
			}
	}
	return steps;
}

export const row: FormatRow = {
	format: atif,
	write,
	contents: (steps) =>
		steps.flatMap(({ observation }) =>
			((observation ?? { results: [] }) as Observation).results.map((one) => (one as JsonMessage).content),
		),
	key: "messages",
	body: {},
	hasNoBlocks: true,
	textsAlone: "certain",
	isOfProgram: true,
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (step, time) => ({ ...step, timestamp: new Date(time).toISOString() }),
	flagsErrors: true,
	resultsStandInCalls: true,
	unknownRole: (role, text) => ({ step_id: 9, source: role, message: text }),
};

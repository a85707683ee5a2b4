import { copilotCli } from "../../../src/formats/copilot-cli.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

interface Completion {
	readonly success?: boolean;
	readonly result?: { readonly content?: unknown; readonly binaryResultsForLlm?: readonly unknown[] };
	readonly error?: { readonly message: unknown };
}

const image = { type: "image", mimeType: "image/png", data: "AAAA" };

/** A content that stands for a text with binaries, as `beside` makes it. */
const isWithImage = (content: unknown): content is { text: string; binaries: unknown[] } =>
	typeof content === "object" && content !== null && "binaries" in content;

const event = (type: string, data: JsonMessage) => ({ type, data });

function completion(content: unknown, isError: boolean | undefined): Completion {
	if (isError) return { success: false, error: { message: content } };
	const { text, binaries } = isWithImage(content) ? content : { text: content, binaries: undefined };
	const copy = typeof text === "string" ? { detailedContent: text } : {};
	return {
		...(isError === undefined ? {} : { success: true }),
		result: { content: text, ...copy, ...(binaries && { binaryResultsForLlm: binaries }) },
	};
}

function writeEntry(entry: Entry): ReturnType<typeof event>[] {
	switch (entry.kind) {
		case "text": {
			const sent = entry.role === "user" ? { transformedContent: entry.text } : {};
			return [event(`${entry.role}.message`, { content: entry.text, ...sent })];
		}
		case "calls": {
			const toolRequests = entry.calls.map(({ id, name }) => ({ toolCallId: id, name, arguments: { path: "a.txt" } }));
			const starts = entry.calls.map(({ id, name }) =>
				event("tool.execution_start", { toolCallId: id, toolName: name }),
			);
			return [event("assistant.message", { content: "", toolRequests }), ...starts];
		}
		case "results":
			return entry.results.map(({ id, content, isError }) =>
				event("tool.execution_complete", { toolCallId: id, ...completion(content, isError) }),
			);
	}
}

function contentOf({ success, result, error }: Completion): unknown {
	if (success === false) return error?.message;
	const binaries = result?.binaryResultsForLlm;
	return binaries ? { text: result.content, binaries } : result?.content;
}

export const row: FormatRow = {
	format: copilotCli,
	write: (entries) =>
		[event("session.start", { version: 1 }), ...entries.flatMap(writeEntry)].map((one, index) => ({
			...one,
			id: `event-${index}`,
			parentId: index === 0 ? null : `event-${index - 1}`,
		})),
	contents: (messages) =>
		messages
			.filter(({ type }) => type === "tool.execution_complete")
			.map(({ data }) => contentOf(data as unknown as Completion)),
	key: "messages",
	body: {},
	textsAlone: "certain",
	shapes: textPartShapes,
	image: { part: image, beside: (text) => ({ text, binaries: [image] }) },
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
	flagsErrors: true,
};

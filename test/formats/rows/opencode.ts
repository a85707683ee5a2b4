import { opencode } from "../../../src/formats/opencode.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

interface ToolPart {
	readonly callID?: unknown;
	state: {
		readonly input: unknown;
		readonly status: string;
		readonly output?: unknown;
		readonly error?: unknown;
		readonly attachments?: readonly unknown[];
	};
}

const input = { path: "a.txt" };
const image = { type: "file", mime: "image/png", url: "data:image/png;base64,AAAA" };

/** A content that stands for a text with attachments, as `beside` makes it. */
const isWithImage = (content: unknown): content is { text: string; attachments: unknown[] } =>
	typeof content === "object" && content !== null && "attachments" in content;

function answered(content: unknown, isError: boolean | undefined): ToolPart["state"] {
	const time = { start: 1, end: 2 };
	if (isError) return { status: "error", input, error: content, ...{ time } };
	const { text, attachments } = isWithImage(content) ? content : { text: content, attachments: undefined };
	const metadata = typeof text === "string" ? { output: text, truncated: false } : {};
	return {
		status: "completed",
		input,
		output: text,
		...{ title: "", metadata, time },
		...(attachments && { attachments }),
	};
}

function write(entries: readonly Entry[]): JsonMessage[] {
	const tools: ToolPart[] = [];
	return entries.flatMap((entry, index): JsonMessage[] => {
		const info = (role: string) => ({ id: `msg_${String(index).padStart(4, "0")}`, sessionID: "ses_1", role });
		if (entry.kind === "text") {
			return [{ info: info(entry.role), parts: [{ type: "text", text: entry.text }] }];
		}
		if (entry.kind === "calls") {
			const parts = entry.calls.map(({ id, name }) => {
				const part = { type: "tool", callID: id, tool: name, state: { status: "running", input } };
				tools.push(part);
				return part;
			});
			return [{ info: info("assistant"), parts: [{ type: "step-start" }, ...parts, { type: "step-finish" }] }];
		}
		for (const { id, content, isError } of entry.results) {
			const part = tools.findLast(({ callID }) => callID === id);
			if (part) part.state = answered(content, isError);
		}
		return [];
	});
}

function contentOf({ status, output, error, attachments }: ToolPart["state"]): unknown {
	if (status === "error") return error;
	return attachments ? { text: output, attachments } : output;
}

export const row: FormatRow = {
	format: opencode,
	write,
	contents: (messages) =>
		messages.flatMap(({ parts }) =>
			(parts as readonly { type: string }[])
				.filter(({ type }) => type === "tool")
				.map((part) => contentOf((part as unknown as ToolPart).state)),
		),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: textPartShapes,
	image: { part: image, beside: (text) => ({ text, attachments: [image] }) },
	timed: ({ info, ...record }, time) => ({ ...record, info: { ...(info as JsonMessage), time: { created: time } } }),
	flagsErrors: true,
	resultsStandInCalls: true,
	unknownRole: (role, text) => ({ info: { role }, parts: [{ type: "text", text }] }),
};

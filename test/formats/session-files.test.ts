import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation } from "../../src/storage/restore/restore.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { type JsonMessage, toolTurn, user } from "../support/script.ts";
import { type FormatRow, toolsOf } from "./format-row.ts";
import { row as claudeCode } from "./rows/claude-code.ts";
import { row as codexRollout } from "./rows/codex-rollout.ts";
import { row as copilotCli } from "./rows/copilot-cli.ts";
import { row as goose } from "./rows/goose.ts";
import { row as openaiAgents } from "./rows/openai-agents.ts";
import { row as pi } from "./rows/pi.ts";

type Json = Record<string, unknown>;

/** Keeps a copy of a picture where the program does; gets the value of the session that holds the result of call `id`. */
type KeepCopy = (record: Json, copy: unknown) => void;

const data = pngOf(1_200, 900, 800);
const other = pngOf(600, 450, 600);
const block = (picture = data) => ({
	type: "image",
	source: { type: "base64", media_type: "image/png", data: picture },
});
const mcp = (picture = data) => ({ type: "image", data: picture, mimeType: "image/png" });

const inClaudeCode: KeepCopy = (record, copy) => Object.assign(record, { toolUseResult: copy });

const rows: readonly (readonly [string, FormatRow, KeepCopy, unknown])[] = [
	["blocks of the API", claudeCode, inClaudeCode, [{ type: "text", text: "Done." }, block()]],
	["a file that was read", claudeCode, inClaudeCode, { type: "image", file: { base64: data, type: "image/png" } }],
	["blocks of MCP", claudeCode, inClaudeCode, { content: [mcp(), mcp(other)] }],
	["a small picture", claudeCode, inClaudeCode, [block(pngOf(9, 9))]],
	["a data URL", claudeCode, inClaudeCode, { screenshot: `data:image/png;base64,${data}` }],
	["a recording", claudeCode, inClaudeCode, [{ type: "audio", data, mimeType: "audio/wav" }]],
	["a resource", claudeCode, inClaudeCode, [{ type: "resource", resource: { uri: "a:b", blob: data } }]],
	[
		"cells of a notebook",
		claudeCode,
		inClaudeCode,
		{ file: { cells: [{ outputs: [{ image: { image_data: data, media_type: "image/png" } }] }] } },
	],
	["an event", codexRollout, (record, result) => Object.assign(record.payload as Json, { result }), { Ok: [mcp()] }],
	["details", pi, (record, copy) => Object.assign(record.message as Json, { details: copy }), { images: [mcp()] }],
	[
		"structured content",
		goose,
		(record, structuredContent) => {
			const [part] = record.content as { toolResult: Json }[];
			const result = (part as { toolResult: Json }).toolResult;
			result.value = { content: result.value, structuredContent };
		},
		{ picture: mcp() },
	],
	["the output beside an item", openaiAgents, (record, output) => Object.assign(record, { output }), [mcp()]],
	[
		"contents of an event",
		copilotCli,
		(record, contents) => Object.assign((record.data as { result: Json }).result, { contents }),
		[mcp()],
	],
];

const policy = policyOf({ media: "mask", mask: { window_turns: 1 } });

describe.each(rows)("the second copy of a picture as %s of a session", (_, row, keep, copy) => {
	const { format, image, write } = toolsOf(row);
	const beside = JSON.parse(JSON.stringify(image?.beside("Done.")).replaceAll("AAAA", data));
	const turns = [...toolTurn("old", beside, "screenshot"), ...toolTurn("new", outputOf("new"))];
	const conversation = structuredClone(write(user("Go."), ...turns)) as JsonMessage[];
	const place = conversation.findIndex((record) => JSON.stringify(record).includes(data));
	const record = conversation[place] as Json;
	if (row === codexRollout) {
		const payload = { type: "mcp_tool_call_end", call_id: "old" };
		conversation.splice(place, 0, { ...(record as JsonMessage), type: "event_msg", payload } as JsonMessage);
	}
	keep(conversation[place] as Json, copy);

	it(`is emptied with the picture in ${format.title}, and both come back`, async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const before = JSON.stringify(conversation);
		const masked = await maskConversation({ conversation, policy, archive });
		expect(masked.error).toBeUndefined();
		expect(masked.report.masked_tool_results).toBe(1);
		expect(before).toContain("iVBORw0KGgo");
		expect(JSON.stringify(masked.conversation).includes("iVBORw0KGgo")).toBe(false);
		const back = await restoreConversation({ conversation: masked.conversation, archive, policy: policyOf() });
		expect(JSON.stringify(back.conversation)).toBe(before);
	});

	it("stays with a picture that stays", async () => {
		const kept = policyOf({ mask: { window_turns: 1 } });
		const { conversation: same } = await maskConversation({ conversation, policy: kept });
		expect(same).toBe(conversation);
	});
});

it("a picture that is the text of a result is emptied in both places", async () => {
	const { write } = toolsOf(claudeCode);
	const text = `data:image/png;base64,${data}`;
	const written = write(user("Go."), toolTurn("old", text), toolTurn("new", outputOf("new")));
	const conversation = structuredClone(written) as JsonMessage[];
	const record = conversation.find((one) => JSON.stringify(one).includes(data)) as Json;
	inClaudeCode(record, { stdout: text, stderr: "" });
	const { conversation: masked } = await maskConversation({ conversation, policy });
	expect(JSON.stringify(masked)).not.toContain("iVBORw0KGgo");
});

describe("what a record keeps beside a picture", () => {
	it("types, ids and names stay", async () => {
		const { write, image } = toolsOf(claudeCode);
		const beside = JSON.parse(JSON.stringify(image?.beside("Done.")).replaceAll("AAAA", data));
		const conversation = structuredClone(
			write(user("Go."), toolTurn("old", beside), toolTurn("new", outputOf("new"))),
		) as JsonMessage[];
		const record = conversation.find((one) => JSON.stringify(one).includes(data)) as Json;
		const file = { type: "image", file: { file_id: "file_011CNha8iCJcU1wXNR6q4V8w", path: "/home/me/picture.png" } };
		Object.assign(record, { toolUseResult: [file] });
		const masked = await maskConversation({ conversation, policy });
		expect(masked.report.masked_tool_results).toBe(1);
		expect((masked.conversation as Json[]).map(({ toolUseResult }) => toolUseResult)).toContainEqual([file]);
	});
});

// Begins a format of conversations: `npm run new-format NAME [FOLDER OF A CHECKOUT]` writes its source, its fixture and its row, and
// enters it in the list of formats. All of it compiles, and the contract suite fails until the three are filled in.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [name = "", root = fileURLToPath(new URL("..", import.meta.url))] = process.argv.slice(2);
if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name)) {
	fail(`Expected the name of a format in small letters, such as qwen-code; got "${name}".`);
}
const variable = name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
const list = join(root, "src/formats/detect.ts");

const source = `import type { WrittenMessage } from "../engine/conversation/apply.ts";
import type { JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message } from "../engine/conversation/transcript.ts";
import { type Format, keptFields, plainRoles, probeMessages, readTranscript, roleOf } from "./format.ts";
import { idAt, stringAt } from "./json-text/value.ts";
import { MessageDraft, readOpenContent } from "./parts.ts";

/** What writes these conversations, where they are found, and where the source of their form is. */
export const ${variable}: Format = {
	name: "${name}",
	title: "${name}",
	looksFor: "${name} (what only its messages have)",
	probe: ({ messages }) => probeMessages(messages, "what only a message of ${name} has", probe),
	read: (located) => readTranscript("${name}", located, ["system", "tools"], readMessage),
	write: { message: writeMessage, appends: false },
};

/** Whether only this format has such a message, or what is missing in it. */
function probe(_message: JsonObject): boolean | string {
	return "what every message of ${name} has";
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, plainRoles), path);
	return draft.readParts(message.content, [...path, "content"], readPart);
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	if (part.type === "text") draft.count(part.text);
	else if (part.type === "call") draft.addCall(idAt(part, "id"), stringAt(part, "name"), part.input);
	else if (part.type === "result") {
		const content = readOpenContent(part.content, [...path, "content"], () => undefined);
		draft.addResult({ callId: idAt(part, "call_id"), ...content, isError: part.failed === true || undefined });
	} else draft.countPart(part, undefined);
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	return { role, ...keptFields(instead, []), content: [{ type: "text", text }] };
}
`;

const row = `import { ${variable} } from "../../../src/formats/${name}.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

export const row: FormatRow = {
	format: ${variable},
	write: (entries) => entries.map(write),
	contents: (messages) =>
		messages
			.flatMap(({ content }) => content as JsonMessage[])
			.filter(({ type }) => type === "result")
			.map(({ content }) => content),
	key: "messages",
	body: {},
	textsAlone: "certain",
	shapes: textPartShapes,
	flagsErrors: true,
};

function write(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, content: [{ type: "text", text: entry.text }] };
		case "calls":
			return { role: "assistant", content: entry.calls.map((call) => ({ type: "call", ...call, input: {} })) };
		case "results": {
			const content = entry.results.map(({ id, content: result, isError }) => ({
				type: "result",
				call_id: id,
				...present("content", result),
				...present("failed", isError),
			}));
			return { role: "user", content };
		}
	}
}
`;

const counters = { roles: {}, calls: [], results: [], failed: 0, media: 0, thinking: 0, counted: 0, masked: 0 };
const fixture = `${JSON.stringify({ counters, conversation: [] }, null, "\t")}\n`;

const files = {
	[`src/formats/${name}.ts`]: source,
	[`test/formats/rows/${name}.ts`]: row,
	[`test/formats/fixtures/${name}.json`]: fixture,
};
for (const file of Object.keys(files)) {
	if (existsSync(join(root, file))) fail(`${file} exists already, and stays as it is.`);
}
for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
enter();
process.stdout.write(`Wrote ${Object.keys(files).join(", ")}, and entered ${variable} in src/formats/detect.ts.
Fill them in until this passes: npx vitest run test/formats/detect-formats.test.ts -t ${name}
Then move ${variable} in \`formats\` before the plainer formats of the same shape, and add its row to docs/formats.md.
`);

function enter() {
	const text = readFileSync(list, "utf8");
	const imported = `import { ${variable} } from "./${name}.ts";`;
	const lines = text.split("\n");
	const isAfter = (line) =>
		/^import .* from "\.\//.test(line) && line.slice(line.indexOf('"')) > imported.slice(imported.indexOf('"'));
	lines.splice(lines.findIndex(isAfter), 0, imported);
	const entered = lines
		.join("\n")
		.replace(/^(export const formats: readonly Format\[\] = \[\n)/m, `$1\t${variable},\n`);
	writeFileSync(list, entered);
}

function fail(message) {
	process.stderr.write(`${message}\n`);
	process.exit(1);
}

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openaiMessages } from "./conversation-shapes.ts";
import { generateConversation } from "./generate-conversation.ts";
import { builtUrl } from "./import-built.ts";
import { atMost, progress, type Section, short } from "./section.ts";
import { median } from "./statistics.ts";

const megabytes = 50;
const rounds = 3;

/** Peak resident memory of guarding one large conversation file. */
export async function memory(): Promise<Section> {
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	const file = join(folder, "conversation.json");
	writeConversation(file);
	const size = statSync(file).size;
	const window = String(8192 + Math.floor(size / 8));
	const child = fileURLToPath(new URL("memory-child.js", import.meta.url));
	const cli = fileURLToPath(builtUrl("cli.ts"));
	const guardCommand = [cli, "guard", file, "--context-window", window, "--respond-with"];
	const ways = [
		{ name: "nothing (the base)", parameters: [child, "nothing"] },
		{ name: "JSON.parse of the file", parameters: [child, "parse", file] },
		{ name: "library: guard", parameters: [child, "guard", file, window] },
		{ name: "command: guard, answers edits", parameters: [...guardCommand, "edits"] },
		{ name: "command: guard, answers messages", parameters: [...guardCommand, "messages"] },
	];
	const peaks = ways.map((): number[] => []);
	for (let round = 1; round <= rounds; round++) {
		for (const [index, { name, parameters }] of ways.entries()) {
			progress(`memory: ${name}, round ${round}`);
			peaks[index]?.push(await peakOf(parameters, join(folder, "peak")));
		}
	}
	rmSync(folder, { recursive: true, force: true });
	const base = median(peaks[0] ?? []);
	const over = peaks.map((own) => (median(own) - base) / size);
	return {
		title: "Memory",
		notes: [
			`Peak resident memory (\`process.resourceUsage().maxRSS\`) of a process that reads a conversation of ${short(size / 1e6)} MB (UTF-8 JSON, OpenAI chat) and guards it to half of its tokens, less that of a process that does nothing, as a multiple of the file. With Node's default heap; with a smaller one it collects earlier.`,
		],
		tables: [
			{
				columns: ["way", "peak MB", "over the base", "× the file"],
				rows: ways.map(({ name }, index) => {
					const peak = median(peaks[index] ?? []);
					return [name, short(peak / 1e6), short((peak - base) / 1e6), `${short(over[index] ?? 0)} ×`];
				}),
			},
		],
		targets: [2, 3, 4].map((index) =>
			atMost(`peak memory, ${megabytes} MB, ${ways[index]?.name}: of the file`, 6, over[index] ?? 0),
		),
	};
}

function writeConversation(file: string): void {
	const messages: string[] = [];
	for (let size = 0, part = 1; size < megabytes * 1e6; part++) {
		// In parts with seeds of their own, since one list of all messages is much to hold. Only the first brings a task.
		for (const message of openaiMessages(generateConversation(part, 2000)).slice(part === 1 ? 0 : 2)) {
			const text = JSON.stringify(message);
			if (message.role === "assistant" && size > megabytes * 1e6) break;
			messages.push(text);
			size += text.length + 1;
		}
	}
	writeFileSync(file, `[${messages.join(",")}]`);
}

/** Bytes. */
async function peakOf(parameters: readonly string[], file: string): Promise<number> {
	const hook = new URL("peak-memory-hook.js", import.meta.url).href;
	const child = spawn(process.execPath, ["--import", hook, ...parameters], {
		stdio: ["ignore", "ignore", "pipe"],
		env: { ...process.env, PALIMPSEST_ARCHIVE: "none", BENCH_PEAK_FILE: file },
	});
	let said = "";
	child.stderr.on("data", (chunk: Buffer) => {
		said += chunk.toString("utf8");
	});
	const code = await new Promise((resolve, reject) => {
		child.once("error", reject);
		child.once("close", resolve);
	});
	if (code !== 0) throw new Error(`A process ended with code ${code}: ${said.slice(-500)}`);
	return Number(readFileSync(file, "utf8"));
}

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { exactCount } from "./exact-counter.ts";
import { atMost, duration, progress, type Section, short } from "./section.ts";
import { serverScripts } from "./stdio-clients.ts";

const flooding = fileURLToPath(new URL("flooding-server.js", import.meta.url));
const texts = 10_000;
const results = 100;

interface Flooded {
	readonly milliseconds: number;
	/** Of the answer to the call. */
	readonly tokens: number;
	readonly files: number;
}

/** What a server that floods does to the archive and to the host. With `BEFORE`, also as ratios to that build. */
export async function hostileGateway(): Promise<Section> {
	const before = process.env.BEFORE;
	const measured: Record<"blocks" | "task", readonly [Flooded, Flooded | undefined]> = {
		blocks: await both({ tool: "blocks", count: texts, end: '"id":2' }, before),
		task: await both({ tool: "task", count: results, end: "notifications/end" }, before),
	};
	const [[blocks, blocksBefore], [task, taskBefore]] = [measured.blocks, measured.task];
	const ratio = (now: number, then: number | undefined) => (then === undefined ? "" : `${short(now / then)} ×`);
	return {
		title: "A flooding server behind the gateway",
		notes: ["`BEFORE=dist/cli.js npm run bench -- hostile` compares with another build."],
		tables: [
			{
				columns: ["flood", "time", "× before", "tokens of the answer", "files of the archive", "× before"],
				rows: (
					[
						[`one image and ${texts} short texts`, blocks, blocksBefore],
						[`one task, then ${results} results of 1 MB`, task, taskBefore],
					] as const
				).map(([name, now, then]) => [
					name,
					duration(now.milliseconds),
					ratio(now.milliseconds, then?.milliseconds),
					short(now.tokens),
					short(now.files),
					ratio(now.files, then?.files),
				]),
			},
		],
		targets: [
			atMost("one image and many short texts: tokens of the answer", 4_000, blocks.tokens, "tokens"),
			atMost("one image and many short texts: files of the archive", 3, blocks.files, "files"),
			atMost("one task with many results: files of the archive", 3, task.files, "files"),
			...(blocksBefore
				? [atMost("one image and many short texts: time", 0.02, blocks.milliseconds / blocksBefore.milliseconds)]
				: []),
		],
	};
}

interface Flood {
	readonly tool: string;
	readonly count: number;
	/** In the line that ends it. */
	readonly end: string;
}

async function both(flood: Flood, before: string | undefined): Promise<readonly [Flooded, Flooded | undefined]> {
	progress(`hostile: ${flood.tool} behind the gateway`);
	const now = await underFlood(serverScripts.palimpsest, flood);
	return [now, before === undefined ? undefined : await underFlood(before, flood)];
}

function underFlood(cli: string, { tool, count, end }: Flood): Promise<Flooded> {
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	const env = {
		PATH: process.env.PATH,
		HOME: folder,
		XDG_STATE_HOME: folder,
		PALIMPSEST_ARCHIVE: join(folder, "kept"),
	};
	const child = spawn(process.execPath, [cli, "gateway", process.execPath, flooding], {
		...{ cwd: folder, env, stdio: ["pipe", "pipe", "ignore"] },
	} as const);
	const ask = (id: number, method: string, params: object) =>
		void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
	let [startedAt, tokens] = [0, 0];
	const lines = createInterface({ input: child.stdout });
	ask(1, "tools/list", {});
	return new Promise((resolve, reject) => {
		child.once("error", reject);
		lines.on("line", (line) => {
			if (line.slice(0, 40).includes('"id":1')) {
				startedAt = performance.now();
				ask(2, "tools/call", { name: tool, arguments: { count } });
				return;
			}
			if (line.slice(0, 40).includes('"id":2')) tokens = tokensIn(line);
			if (!line.slice(0, 60).includes(end)) return;
			const milliseconds = performance.now() - startedAt;
			const files = readdirSync(join(folder, "kept"), { recursive: true, withFileTypes: true }).filter((one) =>
				one.isFile(),
			).length;
			child.once("close", () => {
				rmSync(folder, { recursive: true, force: true });
				resolve({ milliseconds, tokens, files });
			});
			child.kill();
		});
	});
}

function tokensIn(line: string): number {
	const { content = [] } = JSON.parse(line).result as { readonly content?: readonly { readonly text?: string }[] };
	return content.reduce((sum, { text = "" }) => sum + exactCount(text), 0);
}

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { measureInterleaved, ratioOf, type Timing } from "./measure-interleaved.ts";
import { atMost, duration, type Section, short } from "./section.ts";
import { median, quantile } from "./statistics.ts";
import { serverScripts } from "./stdio-clients.ts";

const rounds = 21;
const callsOfRound = 300;
const server = [process.execPath, serverScripts.oneNumber];
const copying = [process.execPath, fileURLToPath(new URL("copying-gateway.js", import.meta.url)), ...server];
const ours = [process.execPath, serverScripts.palimpsest, "gateway", "--", ...server];

/** What a gateway adds to a call and to the start of a server. */
export async function gateway(): Promise<Section> {
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	const env = { ...getDefaultEnvironment(), HOME: folder, PALIMPSEST_ARCHIVE: "files" };
	try {
		const [direct, copied, own] = await timeCalls([server, copying, ours], { cwd: folder, env });
		const added = ({ samples }: Timing) => samples.map((sample, round) => sample - (direct.samples[round] ?? 0));
		const ratios = added(own).map((sample, round) => sample / (added(copied)[round] ?? 1));
		const starts = await timeStarts({ cwd: folder, env });
		return {
			title: "Gateway",
			notes: [
				`A server of the SDK with one tool, called ${callsOfRound} times in a row for a small result; ${rounds} rounds in turns. \`added\` is the time of a call less that of a direct one in the same round.`,
			],
			tables: [
				{
					columns: ["between client and server", "a call", "added", "× added by the one that copies"],
					rows: [
						["nothing", duration(direct.median / callsOfRound), "", ""],
						[
							"copies lines",
							duration(copied.median / callsOfRound),
							duration(median(added(copied)) / callsOfRound),
							"1 ×",
						],
						[
							"palimpsest gateway",
							duration(own.median / callsOfRound),
							duration(median(added(own)) / callsOfRound),
							`${short(median(ratios))} × (${short(quantile(ratios, 0.25))}–${short(quantile(ratios, 0.75))})`,
						],
					],
				},
				{
					columns: ["from the start to the first tools/list", "median"],
					rows: [starts.direct, starts.own].map(({ name, median: time }) => [name, duration(time)]),
				},
			],
			targets: [
				atMost("added time of a call, of a gateway that only copies lines", 1.5, median(ratios)),
				atMost("start behind the gateway, of the server's own start", 2.2, ratioOf(starts.own, starts.direct).median),
			],
		};
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

interface Surroundings {
	readonly cwd: string;
	readonly env: Record<string, string>;
}

async function timeCalls(
	commands: readonly (readonly string[])[],
	where: Surroundings,
): Promise<[Timing, Timing, Timing]> {
	const clients = await Promise.all(
		commands.map(async ([command = "", ...parameters]) => {
			const client = new Client({ name: "bench", version: "1.0.0" });
			await client.connect(new StdioClientTransport({ command, args: parameters, ...where }));
			await client.listTools();
			return client;
		}),
	);
	const call = { name: "count_messages", arguments: { messages: [1, 2, 3] } };
	const contenders = clients.map((client, index) => ({
		name: String(index),
		run: async () => {
			for (let done = 0; done < callsOfRound; done += 1) await client.callTool(call);
		},
	}));
	const timings = await measureInterleaved(contenders, { rounds, warmUp: 3 });
	await Promise.all(clients.map((client) => client.close()));
	return timings as [Timing, Timing, Timing];
}

async function timeStarts(where: Surroundings): Promise<{ readonly direct: Timing; readonly own: Timing }> {
	const contenders = [
		{ name: "nothing between", run: () => listTools(server, where) },
		{ name: "palimpsest gateway", run: () => listTools(ours, where) },
	];
	const [direct, own] = await measureInterleaved(contenders, { rounds, warmUp: 2 });
	return { direct: direct as Timing, own: own as Timing };
}

/** Starts a command and resolves when it has listed its tools. */
function listTools([command = "", ...parameters]: readonly string[], where: Surroundings): Promise<void> {
	const child = spawn(command, parameters, { ...where, stdio: ["pipe", "pipe", "inherit"] });
	const clientInfo = { name: "bench", version: "1.0.0" };
	const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
	const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
	const messages = [
		{ jsonrpc: "2.0", id: 1, method: "initialize", params },
		initialized,
		{ jsonrpc: "2.0", id: 2, method: "tools/list" },
	];
	child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
	return new Promise((resolve, reject) => {
		let received = "";
		child.once("error", reject);
		child.once("exit", () => reject(new Error(`${command} ended before it listed its tools.`)));
		child.stdout.on("data", (chunk: Buffer) => {
			received += chunk.toString("utf8");
			if (!/"id":2[,}]/.test(received)) return;
			child.removeAllListeners("exit");
			child.stdin.end();
			child.kill();
			resolve();
		});
	});
}

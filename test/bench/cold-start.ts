import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { measureInterleaved, ratioOf } from "./measure-interleaved.ts";
import { atMost, duration, type Section, short } from "./section.ts";
import { quantile } from "./statistics.ts";
import { serverScripts } from "./stdio-clients.ts";

const rounds = 21;

/** From the start of a process to its first list of tools. */
export async function coldStart(): Promise<Section> {
	const [ours, oneTool] = await measureInterleaved(
		[
			{ name: "palimpsest", run: () => listTools(serverScripts.palimpsest) },
			{ name: "a server of the SDK with one tool", run: () => listTools(serverScripts.oneNumber) },
		],
		{ rounds, warmUp: 2 },
	);
	if (ours === undefined || oneTool === undefined) throw new Error("Expected two timings.");
	const ratio = ratioOf(ours, oneTool);
	return {
		title: "Cold start",
		notes: [
			`From the start of the process to the answer of the first \`tools/list\`, over stdio, processes started in turns, ${rounds} rounds. The token tables are loaded by the first call that counts, and are not in this.`,
		],
		tables: [
			{
				columns: ["server", "median", "quartiles", "× one tool"],
				rows: [ours, oneTool].map((timing) => [
					timing.name,
					duration(timing.median),
					`${duration(quantile(timing.samples, 0.25))} – ${duration(quantile(timing.samples, 0.75))}`,
					timing === ours ? `${short(ratio.median)} × (${short(ratio.low)} – ${short(ratio.high)})` : "1 ×",
				]),
			},
		],
		targets: [atMost("cold start to the first tools/list: of a one-tool server", 1.1, ratio.median)],
	};
}

const initialise = {
	jsonrpc: "2.0",
	id: 1,
	method: "initialize",
	params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } },
};

/** Starts a server, says the handshake, and resolves when its tools are there. */
function listTools(script: string): Promise<void> {
	const child = spawn(process.execPath, [script], { cwd: tmpdir(), stdio: ["pipe", "pipe", "inherit"] });
	const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
	return new Promise((resolve, reject) => {
		let received = "";
		child.once("error", reject);
		child.once("exit", () => reject(new Error(`${script} ended before it listed its tools.`)));
		child.stdout.on("data", (chunk: Buffer) => {
			received += chunk.toString("utf8");
			for (let end = received.indexOf("\n"); end >= 0; end = received.indexOf("\n")) {
				const { id } = JSON.parse(received.slice(0, end));
				received = received.slice(end + 1);
				if (id === 1) {
					say({ jsonrpc: "2.0", method: "notifications/initialized" });
					say({ jsonrpc: "2.0", id: 2, method: "tools/list" });
				} else if (id === 2) {
					child.removeAllListeners("exit");
					child.stdin.end();
					child.kill();
					resolve();
				}
			}
		});
		say(initialise);
	});
}

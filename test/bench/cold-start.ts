import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { measureInterleaved, ratioOf } from "./measure-interleaved.ts";
import { atMost, duration, type Section, short } from "./section.ts";
import { quantile } from "./statistics.ts";
import { serverScripts } from "./stdio-clients.ts";

const rounds = 21;

/** Messages up to the list of tools, as clients of each mode of the newer SDK send them. */
const modes = {
	legacy: "handshake",
	auto: "`server/discover`, then revision 2026-07-28",
	pin: "revision 2026-07-28 at once",
} as const;
type Mode = keyof typeof modes;

/** From the start of a process to its first list of tools. */
export async function coldStart(): Promise<Section> {
	const ours = Object.entries(modes).map(([mode, how]) => {
		return { name: `palimpsest, ${mode}: ${how}`, run: () => listTools(serverScripts.palimpsest, mode as Mode) };
	});
	const oneTool = {
		name: "a server of the SDK with one tool",
		run: () => listTools(serverScripts.oneNumber, "legacy"),
	};
	const timings = await measureInterleaved([...ours, oneTool], { rounds, warmUp: 2 });
	const reference = timings.at(-1);
	if (reference === undefined || timings.length !== 4) throw new Error("Expected four timings.");
	const ratios = timings.slice(0, -1).map((timing) => ratioOf(timing, reference));
	return {
		title: "Cold start",
		notes: [
			`From the start of the process to the answer of the first \`tools/list\`, over stdio, processes started in turns, ${rounds} rounds. The first call that counts loads the token tables, so they are not included.`,
			"In the modes `auto` and `pin` the newer SDK's own client starts a server over stdio twice: once to ask for its revisions, and once to use it. Each row is one start.",
		],
		tables: [
			{
				columns: ["server", "median", "quartiles", "× one tool"],
				rows: timings.map((timing, index) => {
					const ratio = ratios[index];
					return [
						timing.name,
						duration(timing.median),
						`${duration(quantile(timing.samples, 0.25))}–${duration(quantile(timing.samples, 0.75))}`,
						ratio === undefined ? "1 ×" : `${short(ratio.median)} × (${short(ratio.low)}–${short(ratio.high)})`,
					];
				}),
			},
		],
		targets: Object.keys(modes).map((mode, index) =>
			atMost(
				`cold start to the first tools/list, ${mode}: of a one-tool server`,
				1.1,
				ratios[index]?.median ?? Number.NaN,
			),
		),
	};
}

const initialise = {
	jsonrpc: "2.0",
	id: 1,
	method: "initialize",
	params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } },
};

const envelope = {
	_meta: {
		"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
		"io.modelcontextprotocol/clientCapabilities": {},
	},
};

/** Starts a server, says what comes before the list in this mode, and resolves when its tools are there. */
function listTools(script: string, mode: Mode): Promise<void> {
	const params = mode === "legacy" ? {} : envelope;
	const list = { jsonrpc: "2.0", id: 2, method: "tools/list", params };
	const firsts = { legacy: initialise, auto: { jsonrpc: "2.0", id: 1, method: "server/discover", params }, pin: list };
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
					if (mode === "legacy") say({ jsonrpc: "2.0", method: "notifications/initialized" });
					say(list);
				} else if (id === 2) {
					child.removeAllListeners("exit");
					child.stdin.end();
					child.kill();
					resolve();
				}
			}
		});
		say(firsts[mode]);
	});
}

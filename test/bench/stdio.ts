import type * as Library from "../../src/index.ts";
import { conversationOfSize } from "./conversation-shapes.ts";
import { importBuilt } from "./import-built.ts";
import { timeOnce } from "./measure-interleaved.ts";
import { atMost, duration, progress, type Section, short, type Target } from "./section.ts";
import { median } from "./statistics.ts";
import { type StdioServer, startServer } from "./stdio-clients.ts";

// A server that has answered a few dozen calls is still compiling and growing its heap: they take half as long again.
const sizes = [
	{ megabytes: 0.1, warmUp: 100, rounds: 31 },
	{ megabytes: 1, warmUp: 40, rounds: 21 },
	{ megabytes: 10, warmUp: 8, rounds: 7 },
];
const tools = ["guard_context", "mask_conversation"] as const;
/** What a call over stdio may take of the call in process, when what reading it takes is taken off. */
const most = 1.6;

/** The times of one round, in milliseconds. */
interface RoundTimes {
	/** A call of as large a conversation to a tool that our server does not have. */
	readonly reading: number;
	/** The library's function, in the process of the client. */
	readonly inProcess: number;
	readonly ours: number;
	readonly sdkTransport: number;
}

/** Whole tool calls over standard input and output. */
export async function stdio(): Promise<Section> {
	const library = await importBuilt<typeof Library>("index.ts");
	const ours = await startServer("palimpsest");
	const sdkTransport = await startServer("sdkTransport");
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { megabytes, warmUp, rounds } of sizes) {
		for (const tool of tools) {
			const times: RoundTimes[] = [];
			for (let round = -warmUp; round < rounds; round++) {
				progress(`stdio: ${tool}, ${megabytes} MB, round ${round + 1}`);
				const measured = await measureRound({ library, ours, sdkTransport }, { tool, megabytes, round });
				if (round >= 0) times.push(measured);
			}
			const middle = (of: (round: RoundTimes) => number) => median(times.map(of));
			const ratio = middle((one) => (one.ours - one.reading) / one.inProcess);
			rows.push([
				tool,
				short(megabytes),
				duration(middle(({ reading }) => reading)),
				duration(middle(({ inProcess }) => inProcess)),
				duration(middle((one) => one.ours)),
				`${short(ratio)} ×`,
				duration(middle((one) => one.sdkTransport)),
			]);
			targets.push(atMost(`${tool} over stdio, ${megabytes} MB, less reading: of the call in process`, most, ratio));
		}
	}
	await Promise.all([ours.close(), sdkTransport.close()]);
	return {
		title: "A whole tool call over stdio",
		notes: [
			"Round trips as the SDK's own client sees them, with the preset `balanced` and `respond_with: \"edits\"`, servers warm, the guard's budget half of the conversation. “reading” is a call to a tool that does not exist, without work. “in process” is the library's function. “× in process” is the call over stdio less reading. “SDK transport” is the same server on the SDK's `StdioServerTransport`.",
		],
		tables: [
			{
				columns: ["tool", "MB", "reading", "in process", "over stdio", "× in process", "SDK transport"],
				rows,
			},
		],
		targets,
	};
}

async function measureRound(
	{ library, ...servers }: { library: typeof Library; ours: StdioServer; sdkTransport: StdioServer },
	{ tool, megabytes, round }: { tool: (typeof tools)[number]; megabytes: number; round: number },
): Promise<RoundTimes> {
	const seed = Math.round(megabytes * 10) * 100_000 + round * 10 + tools.indexOf(tool) + 5000;
	const { text, parsed } = conversationOfSize(megabytes, seed);
	const other = conversationOfSize(megabytes, seed + 5).parsed;
	const contextWindow = 8192 + Math.floor(text.length / 8);
	const window = tool === "guard_context" ? { context_window: contextWindow } : {};
	const policy = { preset: "balanced" } as const;
	const timeCall = (server: StdioServer, name: string, messages: unknown) =>
		timeOnce({ name, run: () => server.call(name, { messages, respond_with: "edits", policy, ...window }) });

	globalThis.gc?.();
	const reading = await timeOnce({
		name: "reading",
		run: () => servers.ours.call("no_such_tool", { messages: other, respond_with: "edits", ...window }).catch(() => 0),
	});
	const inProcess = await timeOnce({
		name: "in process",
		run: () =>
			tool === "guard_context" ? library.guard(parsed, { policy, contextWindow }) : library.mask(parsed, { policy }),
	});
	// Ours first in one round, the SDK's transport first in the next.
	const order = round % 2 === 0 ? [servers.ours, servers.sdkTransport] : [servers.sdkTransport, servers.ours];
	const times = new Map<StdioServer, number>();
	for (const server of order) times.set(server, await timeCall(server, tool, parsed));
	return {
		reading,
		inProcess,
		ours: times.get(servers.ours) ?? 0,
		sdkTransport: times.get(servers.sdkTransport) ?? 0,
	};
}

import { openaiMessages } from "./conversation-shapes.ts";
import { generateConversation } from "./generate-conversation.ts";
import { timeOnce } from "./measure-interleaved.ts";
import { loadProductCounter } from "./product-counter.ts";
import { atMost, duration, progress, type Section, short, type Target } from "./section.ts";
import { median } from "./statistics.ts";
import { type StdioServer, startServer } from "./stdio-clients.ts";

const charactersOfMessage = 1500;
// A server that has answered a few dozen calls is still compiling and growing its heap: they take half as long again.
const sizes = [
	{ megabytes: 0.1, warmUp: 100, rounds: 31 },
	{ megabytes: 1, warmUp: 40, rounds: 21 },
	{ megabytes: 10, warmUp: 8, rounds: 7 },
];
const tools = ["guard_context", "mask_conversation"] as const;

/** A payload with the times of one round on it, in milliseconds. */
interface RoundTimes {
	readonly json: number;
	/** Counting all texts of the conversation, never seen before. */
	readonly counting: number;
	/** A call of as large a conversation to a tool that our server does not have. */
	readonly reading: number;
	readonly ours: number;
	readonly again: number;
	readonly sdkTransport: number;
	readonly sdkTransportAgain: number;
	readonly oneNumber: number;
}

/** Whole tool calls over standard input and output. */
export async function stdio(): Promise<Section> {
	const ours = await startServer("palimpsest");
	const sdkTransport = await startServer("sdkTransport");
	const oneNumber = await startServer("oneNumber");
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { megabytes, warmUp, rounds } of sizes) {
		for (const tool of tools) {
			const times: RoundTimes[] = [];
			for (let round = -warmUp; round < rounds; round++) {
				progress(`stdio: ${tool}, ${megabytes} MB, round ${round + 1}`);
				const measured = await measureRound({ ours, sdkTransport, oneNumber }, { tool, megabytes, round });
				if (round >= 0) times.push(measured);
			}
			rows.push(rowOf(tool, megabytes, times));
			targets.push(...targetsOf(tool, megabytes, times));
		}
	}
	await Promise.all([ours.close(), sdkTransport.close(), oneNumber.close()]);
	return {
		title: "A whole tool call over stdio",
		notes: [
			"Round trips as the SDK's own client sees them, `respond_with: \"edits\"`, servers warm from some hundred calls, the guard's budget half of the conversation. First a conversation that no server has seen, then the same with one more message. “JSON” is `JSON.parse` + `JSON.stringify` of the payload in one process: the least that any server and client must do. “reading” is a call of as large a conversation to a tool that our server does not have: what the client, the pipe and reading the line take, with no work done. “SDK transport” is the same Palimpsest server on the SDK's `StdioServerTransport` (its limit raised above 10 MiB); “one number” a tool of the SDK that takes the same payload and answers with a number. Ratios are to JSON in the same round.",
		],
		tables: [
			{
				columns: [
					"tool",
					"MB",
					"JSON",
					"counting",
					"reading",
					"never seen",
					"less counting",
					"again + 1",
					"× JSON",
					"SDK transport",
					"again + 1",
					"one number",
				],
				rows,
			},
		],
		targets,
	};
}

async function measureRound(
	servers: Record<"ours" | "sdkTransport" | "oneNumber", StdioServer>,
	{ tool, megabytes, round }: { tool: (typeof tools)[number]; megabytes: number; round: number },
): Promise<RoundTimes> {
	const length = Math.ceil((megabytes * 1e6) / charactersOfMessage);
	const seed = Math.round(megabytes * 10) * 100_000 + round * 10 + tools.indexOf(tool) + 5000;
	const all = openaiMessages(generateConversation(seed, length + 1));
	const text = JSON.stringify(all);
	const first: Record<string, unknown>[] = JSON.parse(text);
	const longer: Record<string, unknown>[] = JSON.parse(text);
	first.pop();
	const window = tool === "guard_context" ? { context_window: 8192 + Math.floor(text.length / 8) } : {};
	const parameters = (messages: unknown) => ({ messages, respond_with: "edits", ...window });
	const timeCall = (server: StdioServer, name: string, input: Record<string, unknown>) =>
		timeOnce({ name, run: () => server.call(name, input) });

	globalThis.gc?.();
	const { count } = await loadProductCounter();
	const strings = all.flatMap(({ content, tool_calls }) => [String(content), JSON.stringify(tool_calls ?? "")]);
	const counting = await timeOnce({ name: "counting", run: () => strings.reduce((sum, each) => sum + count(each), 0) });
	const run = () => JSON.stringify(JSON.parse(text)).length;
	const json = median([
		await timeOnce({ name: "json", run }),
		await timeOnce({ name: "json", run }),
		await timeOnce({ name: "json", run }),
	]);

	const other = openaiMessages(generateConversation(seed + 5, length));
	const reading = await timeOnce({
		name: "reading",
		run: () => servers.ours.call("no_such_tool", parameters(other)).catch(() => 0),
	});
	const oneNumber = await timeCall(servers.oneNumber, "count_messages", { messages: first });
	// Ours first in one round, the SDK's transport first in the next.
	const order = round % 2 === 0 ? [servers.ours, servers.sdkTransport] : [servers.sdkTransport, servers.ours];
	const times = new Map<StdioServer, { never: number; again: number }>();
	for (const server of order) {
		const never = await timeCall(server, tool, parameters(first));
		times.set(server, { never, again: await timeCall(server, tool, parameters(longer)) });
	}
	const ours = times.get(servers.ours);
	const sdk = times.get(servers.sdkTransport);
	return {
		json,
		counting,
		reading,
		ours: ours?.never ?? 0,
		again: ours?.again ?? 0,
		sdkTransport: sdk?.never ?? 0,
		sdkTransportAgain: sdk?.again ?? 0,
		oneNumber,
	};
}

function rowOf(tool: string, megabytes: number, times: readonly RoundTimes[]): string[] {
	const middle = (of: (round: RoundTimes) => number) => median(times.map(of));
	const cell = (of: (round: RoundTimes) => number) =>
		`${duration(middle(of))} (${short(middle((round) => of(round) / round.json))} ×)`;
	return [
		tool,
		short(megabytes),
		duration(middle(({ json }) => json)),
		duration(middle(({ counting }) => counting)),
		cell(({ reading }) => reading),
		cell(({ ours }) => ours),
		cell(({ ours, counting }) => ours - counting),
		duration(middle(({ again }) => again)),
		`${short(middle(({ again, json }) => again / json))} ×`,
		cell(({ sdkTransport }) => sdkTransport),
		cell(({ sdkTransportAgain }) => sdkTransportAgain),
		cell(({ oneNumber }) => oneNumber),
	];
}

function targetsOf(tool: string, megabytes: number, times: readonly RoundTimes[]): Target[] {
	const middle = (of: (round: RoundTimes) => number) => median(times.map(of));
	const call = `${tool} over stdio, ${megabytes} MB`;
	if (megabytes < 1) {
		return [
			atMost(
				`${call}, never seen: of a tool that answers one number`,
				2,
				middle((round) => round.ours / round.oneNumber),
			),
			atMost(
				`${call}, one more message: of a tool that answers one number`,
				2,
				middle((round) => round.again / round.oneNumber),
			),
		];
	}
	const limit = megabytes === 1 ? 4 : 3;
	return [
		atMost(
			`${call}, never seen, less counting: of JSON.parse + stringify`,
			limit,
			middle(({ ours, counting, json }) => (ours - counting) / json),
		),
		atMost(
			`${call}, one more message: of JSON.parse + stringify`,
			limit,
			middle(({ again, json }) => again / json),
		),
	];
}

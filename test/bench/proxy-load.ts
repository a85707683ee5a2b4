import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { requestOf, type SessionApi, sessionApis, turnsOf } from "../proxy/sessions.ts";
import { withBusyProcesses } from "./busy-processes.ts";
import { timeOf, withProxy, withUpstream } from "./proxy-process.ts";
import { atLeast, atMost, duration, progress, short, type Table, type Target } from "./section.ts";
import { median } from "./statistics.ts";

const busyProcesses = 30;
const wantedRequests = Number(process.env.PROXY_REQUESTS ?? 300);
/** Sessions under way at the same time. */
const sessionsAtOnce = 12;
/** A session begins with the history of so many turns, which ran without the proxy, and goes on in short ones. */
const [firstTurns, turnsOfSession] = [10, 40];
const [resultChars, smallChars] = [4_000, 300];
/** One result of each session is cut. */
const [largePlace, largeChars] = [11, 18_000];

export const loadNote = `Load: ${busyProcesses} processes that do nothing but count, on ${availableParallelism()} processors. Meanwhile ${sessionsAtOnce} sessions at a time, of all APIs, each of ${turnsOfSession - firstTurns + 1} requests without pauses, go through one proxy. A request has lost a state if a result that was masked or cut in an earlier request of its conversation comes with other bytes. \`PROXY_REQUESTS=10000 npm run bench -- proxy\` sends ten thousand.`;

/** Whether the proxy sends what it has sent, on a machine that has no time for it. */
export async function measureLoad(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	progress(`proxy: ${wantedRequests} requests with ${busyProcesses} busy processes`);
	const upstream = createObserver();
	const times: number[] = [];
	const counts = { started: 0, requests: 0, errors: 0 };
	const play = async (address: string, number: number): Promise<void> => {
		const api = sessionApis[number % sessionApis.length] as SessionApi;
		const name = `${api}-${number}`;
		const turns = turnsOfLoad(number);
		upstream.begin(
			name,
			turns.map(({ output }) => (api === "gemini" ? { output } : output)),
		);
		for (let end = firstTurns; end <= turns.length && counts.requests < wantedRequests; end += 1) {
			counts.requests += 1;
			const { path, body } = requestOf(api, turns.slice(0, end), `Find out where each value of ${number} is read.`);
			const asked = { path, body: String(body), headers: { "x-session": name } };
			const answer = await timeOf(address, asked).catch(() => undefined);
			if (answer?.status === 200) times.push(answer.whole);
			else {
				counts.errors += 1;
				progress(`proxy: ${answer ? `status ${answer.status}` : "a failed connection"}`);
			}
		}
		upstream.end(name);
	};
	const playMany = async (address: string): Promise<void> => {
		while (counts.requests < wantedRequests) {
			counts.started += 1;
			await play(address, counts.started);
		}
	};
	await withUpstream(
		(origin) =>
			withProxy(origin, ({ address }) =>
				withBusyProcesses(busyProcesses, async () => {
					await Promise.all(Array.from({ length: sessionsAtOnce }, () => playMany(address)));
				}),
			),
		(body, { headers }) => upstream.take(String(headers["x-session"]), body),
	);
	const { lost, withStates, maskings, cuts } = upstream.counts;
	const cells = [counts.requests, counts.started, withStates, cuts, maskings, lost, counts.errors].map(short);
	const columns = ["requests", "sessions", "with states", "results cut", "masked", "without their states", "errors"];
	const perTenThousand = (lost / counts.requests) * 10_000;
	const what = `proxy, ${busyProcesses} busy processes`;
	return {
		tables: [
			{
				caption: `With ${busyProcesses} busy processes`,
				columns: [...columns, "time, median", "most"],
				rows: [[...cells, duration(median(times)), duration(Math.max(...times))]],
			},
		],
		targets: [
			atMost(`${what}: requests without their known states in 10 000`, 0, perTenThousand, ""),
			atMost(`${what}: errors`, 0, counts.errors, ""),
			// Without any, the rows above would say nothing.
			atLeast(`${what}: share of the requests with masked or cut results`, 0.5, withStates / counts.requests, ""),
		],
	};
}

const usualTurns = turnsOf(turnsOfSession, largeChars);

function turnsOfLoad(session: number) {
	return usualTurns.map((turn, place) => ({
		id: turn.id.replace("Tests", `Load${String(session).padStart(5, "0")}x`),
		command: `${turn.command} -${session}`,
		output: `session ${session}\n${turn.output.slice(0, charsAt(place))}`,
	}));
}

function charsAt(place: number): number {
	if (place === largePlace) return largeChars;
	return place < firstTurns ? resultChars : smallChars;
}

interface Came {
	readonly kind: "whole" | "cut" | "masked";
	readonly hash: string;
}

/** Keeps how the results of each conversation came, as hashes. */
function createObserver() {
	const conversations = new Map<string, { readonly originals: readonly string[]; last: readonly Came[] }>();
	const counts = { lost: 0, withStates: 0, maskings: 0, cuts: 0 };
	return {
		counts,
		begin(name: string, outputs: readonly unknown[]): void {
			conversations.set(name, { originals: outputs.map(hashOf), last: [] });
		},
		end(name: string): void {
			conversations.delete(name);
		},
		take(name: string, body: Buffer): void {
			const conversation = conversations.get(name);
			if (!conversation) return;
			const { originals, last } = conversation;
			const came = resultsIn(JSON.parse(body.toString("utf8"))).map((value, place): Came => {
				const hash = hashOf(value);
				if (hash === originals[place]) return { kind: "whole", hash };
				return { kind: isPlaceholder(value) ? "masked" : "cut", hash };
			});
			const isLost = last.some(({ kind, hash }, place) => {
				const now = came[place];
				return kind !== "whole" && now?.hash !== hash && !(kind === "cut" && now?.kind === "masked");
			});
			if (isLost) counts.lost += 1;
			if (came.some(({ kind }) => kind !== "whole")) counts.withStates += 1;
			for (const [place, { kind }] of came.entries()) {
				if (kind === last[place]?.kind) continue;
				if (kind === "masked") counts.maskings += 1;
				if (kind === "cut") counts.cuts += 1;
			}
			conversation.last = came;
		},
	};
}

function hashOf(value: unknown): string {
	return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

const longestPlaceholder = 500;

function isPlaceholder(value: unknown): boolean {
	const text = JSON.stringify(value);
	return text.length <= longestPlaceholder && /\[masked |Observation masked/.test(text);
}

type Json = Readonly<Record<string, unknown>>;

/** The contents of the results in a request of any API, in order. */
function resultsIn({ messages, input, contents }: Json): unknown[] {
	const parts = [messages, input, contents].flatMap((value) => (Array.isArray(value) ? (value as Json[]) : []));
	return parts.flatMap((part): unknown[] => {
		if (part.role === "tool") return [part.content];
		if (part.type === "function_call_output") return [part.output];
		const inside = Array.isArray(part.content) ? part.content : Array.isArray(part.parts) ? part.parts : [];
		return (inside as Json[]).flatMap((one) => {
			if (one.type === "tool_result") return [one.content];
			return one.functionResponse ? [(one.functionResponse as Json).response] : [];
		});
	});
}

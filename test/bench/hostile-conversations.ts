import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { requestOf, turnsOf } from "../proxy/sessions.ts";
import { type ProxyProcess, timeOf, withProxy, withUpstream } from "./proxy-process.ts";
import { atMost, progress, short, type Table, type Target } from "./section.ts";

const many = Number(process.env.CONVERSATIONS ?? 2_000);
const atOnce = 8;
/** Histories rest a minute after their last request, and are looked at each 20 s; V8 collects an idle heap up to 30 s later. */
const restMs = 120_000;

/** A flood of conversations through one proxy. */
interface Flood {
	readonly name: string;
	/** The limit of its figure as a ratio to the build before. */
	readonly ofBefore: number;
	/** The requests, in order, by the conversation and its turns. */
	readonly requests: readonly (readonly [conversation: number, turns: number])[];
	readonly chars: number;
}

const floods: readonly Flood[] = [
	{
		name: `${short(many)} conversations of 13 kB`,
		ofBefore: 0.25,
		requests: Array.from({ length: many }, (_, one) => [one, 6]),
		chars: 2_000,
	},
	{
		name: "520 conversations of 175 kB",
		ofBefore: 0.3,
		requests: Array.from({ length: 520 }, (_, one) => [one, 40]),
		chars: 4_000,
	},
	{
		name: "one conversation of 175 kB at full speed, 400 requests",
		ofBefore: 0.3,
		requests: Array.from({ length: 400 }, (_, request) => [0, 40 + Math.floor(request / 40)]),
		chars: 4_000,
	},
];

const inTurn = { firstTurns: 50, rounds: 5, turnsARound: 3, chars: 4_000 };
/** Conversations that go on in turn. */
const counts = [64, 66, 500];
const mostSent = 0.62;

/** Memory of the proxy under many conversations, and the share of them that it sends when they go on in turn. */
export async function hostileConversations(): Promise<{
	readonly tables: readonly Table[];
	readonly targets: Target[];
}> {
	const { BEFORE: before } = process.env;
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const flood of floods) {
		const [start, peak, rest] = await residentOf(flood);
		const [startBefore, peakBefore, restBefore] = before ? await residentOf(flood, before) : [0, 0, 0];
		const ratio = before ? (peak - start) / Math.max(1, peakBefore - startBefore) : undefined;
		rows.push([
			flood.name,
			...[start, peak, rest].map(short),
			...(before ? [short(peakBefore), short(restBefore)] : ["", ""]),
			ratio ? `${short(ratio)} ×` : "",
		]);
		if (ratio !== undefined) targets.push(atMost(`${flood.name}: peak memory of the proxy`, flood.ofBefore, ratio));
	}
	for (const conversations of counts) {
		const sent = await shareInTurn(conversations);
		targets.push(atMost(`${conversations} conversations in turn: bytes sent of those that came`, mostSent, sent));
	}
	return {
		tables: [
			{
				caption: "Resident memory of the proxy in MB, with 8 requests at once",
				columns: ["flood", "start", "peak", "at rest", "peak before", "at rest before", "growth to that before"],
				rows,
			},
		],
		targets,
	};
}

const task = (conversation: number) => `Find out where each value of ${conversation} is read.`;

function bodyOf(conversation: number, count: number, chars: number) {
	const turns = turnsOf(count, chars).map((turn) => ({ ...turn, id: `${turn.id}of${conversation}` }));
	return requestOf("anthropic", turns, task(conversation));
}

async function ask(address: string, { path, body }: ReturnType<typeof bodyOf>): Promise<void> {
	const { status } = await timeOf(address, { path, body: String(body) });
	if (status !== 200) throw new Error(`The proxy answered with status ${status}.`);
}

/** At the start, at most, and some time afterwards, in MB. */
async function residentOf(
	{ name, requests, chars }: Flood,
	command?: string,
): Promise<readonly [number, number, number]> {
	progress(`hostile: ${name}${command === undefined ? "" : ", build before"}`);
	const flood = async ({ id, address }: ProxyProcess) => {
		const start = peakResident(id);
		const left = requests.values();
		const work = async () => {
			for (const [conversation, turns] of left) await ask(address, bodyOf(conversation, turns, chars));
		};
		await Promise.all(Array.from({ length: atOnce }, work));
		// Plans go on after the last answer.
		await setTimeout(restMs);
		return [start, peakResident(id), memoryOf(id, "VmRSS")] as const;
	};
	return withUpstream((origin) => withProxy(origin, flood, command));
}

export const peakResident = (id: number | undefined): number => memoryOf(id, "VmHWM");

/** In MB; Linux tells it in kB. */
function memoryOf(id: number | undefined, name: "VmHWM" | "VmRSS"): number {
	const [, kilobytes] =
		new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${id}/status`, "utf8")) ?? [];
	return Number(kilobytes) / 1_000;
}

/** In the last round. */
async function shareInTurn(conversations: number): Promise<number> {
	const { firstTurns, rounds, turnsARound, chars } = inTurn;
	let [came, sent] = [0, 0];
	const play = async ({ address, idle }: ProxyProcess) => {
		for (let round = 0; round < rounds; round += 1) {
			progress(`hostile: ${conversations} conversations in turn, round ${round + 1}`);
			[came, sent] = [0, 0];
			for (let conversation = 0; conversation < conversations; conversation += 1) {
				const request = bodyOf(conversation, firstTurns + round * turnsARound, chars);
				came += String(request.body).length;
				await ask(address, request);
			}
			await idle();
		}
	};
	await withUpstream(
		(origin) => withProxy(origin, play),
		(body) => {
			sent += body.length;
		},
	);
	return sent / came;
}

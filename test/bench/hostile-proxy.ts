import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { outputOf, requestOf, turnsOf } from "../proxy/sessions.ts";
import { peakResident } from "./hostile-conversations.ts";
import { type ProxyProcess, timeOf, withProxy, withUpstream } from "./proxy-process.ts";
import { atMost, duration, progress, short, type Table, type Target } from "./section.ts";

const bodies = Number(process.env.BODIES ?? 40);
const chars = 3_000_000;

/** What a request did, and how long others waited meanwhile, in ms; growth of the resident memory in MB. */
interface Harm {
	readonly took: number;
	readonly longestHealth: number;
	readonly growth: number;
}

/** Encoded bodies that become large, and single results that are hard to cut and to count. */
export async function hostileProxy(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	const { BEFORE: before } = process.env;
	const rows: string[][] = [];
	const targets: Target[] = [];
	const measured = async (name: string, attack: Attack): Promise<readonly [Harm, Harm | undefined]> => {
		progress(`hostile: ${name}`);
		const now = await harmOf(attack);
		const then = before ? await harmOf(attack, before) : undefined;
		const cells = ({ took, longestHealth, growth }: Harm) => [duration(took), duration(longestHealth), short(growth)];
		rows.push([name, ...cells(now), ...(then ? cells(then) : ["", "", ""])]);
		return [now, then];
	};

	const encoded = `${bodies} gzip bodies of 58 kB that become 60 MB each, at once`;
	const [bombs, bombsBefore] = await measured(encoded, gzipBodies());
	targets.push(atMost(`${encoded}: longest /healthz`, 250, bombs.longestHealth, "ms"));
	if (bombsBefore) targets.push(atMost(`${encoded}: growth of memory`, 0.08, bombs.growth / bombsBefore.growth));

	const [prose] = await measured("one result of 3 MB of text", resultOf(outputOf(0, chars)));
	for (const [name, character] of [
		["-", "-"],
		["\\r", "\r"],
	] as const) {
		const [hard] = await measured(`one result of 3 MB of \`${name}\``, resultOf(character.repeat(chars)));
		targets.push(atMost(`3 MB of \`${name}\`: time to that of text`, 1.5, hard.took / prose.took));
		targets.push(atMost(`3 MB of \`${name}\`: longest /healthz`, 100, hard.longestHealth, "ms"));
	}
	const columns = ["attack", "time", "longest /healthz", "MB", "time before", "/healthz before", "MB before"];
	return { tables: [{ caption: "Hostile requests at the proxy", columns, rows }], targets };
}

type Attack = (address: string) => Promise<unknown>;

/** Compressed before others are timed, since this process times them. */
function gzipBodies(): Attack {
	const body = gzipSync(
		JSON.stringify({
			model: "claude-sonnet-4-5",
			max_tokens: 10,
			messages: [{ role: "user", content: "x".repeat(60_000_000) }],
		}),
	);
	const headers = { "content-encoding": "gzip" };
	const send = (address: string) => timeOf(address, { path: "/v1/messages", body, headers }).catch(() => {});
	return (address) => Promise.all(Array.from({ length: bodies }, () => send(address)));
}

function resultOf(output: string): Attack {
	const turns = turnsOf(6, 100).map((turn, place) => (place === 5 ? { ...turn, output } : turn));
	const { path, body } = requestOf("anthropic", turns);
	return (address) => timeOf(address, { path, body: String(body) });
}

function harmOf(attack: Attack, command?: string): Promise<Harm> {
	const work = async ({ id, address, idle }: ProxyProcess): Promise<Harm> => {
		// Its modules are loaded.
		await resultOf("x".repeat(100))(address);
		await idle();
		const start = peakResident(id);
		let isOver = false;
		let longestHealth = 0;
		const watch = async () => {
			while (!isOver) {
				const { whole } = await timeOf(address, { method: "GET", path: "/palimpsest/healthz" });
				longestHealth = Math.max(longestHealth, whole);
				await setTimeout(20);
			}
		};
		const watching = watch();
		const began = performance.now();
		await attack(address);
		const took = performance.now() - began;
		// Counting goes on after the answer.
		await idle();
		isOver = true;
		await watching;
		return { took, longestHealth, growth: peakResident(id) - start };
	};
	return withUpstream((origin) => withProxy(origin, work, command));
}

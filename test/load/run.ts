import { fileURLToPath } from "node:url";
import { runFaults } from "./faults.ts";
import { runSoak, type SoakSample } from "./soak.ts";

/** The built command; this file runs as `build/load/run.js`. */
const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const say = (line: string) => process.stdout.write(`${line}\n`);
const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

/** `npm run load -- faults`: a minute of killed servers and Redis restarted. */
async function faults(): Promise<boolean> {
	const times = { unit: "seconds", length: 60, killEvery: 1, redisKills: [20, 40] } as const;
	const figures = await runFaults({ cli, ...times, servers: 3, clients: 6 });
	say(`servers killed ${figures.serversKilled}, Redis killed and started anew ${figures.redisKilled}`);
	say(`calls answered ${figures.answered}, attempts that failed ${figures.retried}, calls lost ${figures.lost}`);
	say(`placeholders ${figures.promised}, recalled word for word ${figures.recalled}`);
	return figures.lost === 0 && figures.promised > 0 && figures.recalled === figures.promised;
}

/** `npm run load -- soak [CALLS]`: 200 000 small calls over one process. */
async function soak(): Promise<boolean> {
	const onSample = ({ calls, resident, heap, files, handles }: SoakSample) =>
		say(
			`${calls} calls: ${megabytes(resident)} MB resident, ${megabytes(heap)} MB heap, ${files} files, ${handles} handles`,
		);
	const figures = await runSoak({ cli, calls: Number(process.argv[3] ?? 200_000), clients: 8, samples: 40, onSample });
	say(`wrong answers ${figures.wrong}; the second half: heap ${figures.heapSlope.toFixed(1)} bytes a call,`);
	say(`resident ${figures.residentSlope.toFixed(1)} bytes a call`);
	return figures.wrong === 0;
}

const runs: Readonly<Record<string, () => Promise<boolean>>> = { faults, soak };
const run = runs[process.argv[2] ?? ""];
if (run) process.exitCode = (await run()) ? 0 : 1;
else {
	say(`Expected one of ${Object.keys(runs).join(", ")}.`);
	process.exitCode = 2;
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { atEnd } from "../../support/at-end.ts";

/** Puts a link to elsewhere in the place of a file or folder and takes it away again, as fast as it can. */
const script = `
const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
const [place, elsewhere] = process.argv.slice(1);
process.stdout.write("ready");
for (;;) {
	renameSync(place, place + ".kept");
	symlinkSync(elsewhere, place);
	for (const end = process.hrtime.bigint() + BigInt(Math.floor(Math.random() * 150_000)); process.hrtime.bigint() < end; );
	unlinkSync(place);
	renameSync(place + ".kept", place);
	for (const end = process.hrtime.bigint() + BigInt(Math.floor(Math.random() * 150_000)); process.hrtime.bigint() < end; );
}`;

const running: ChildProcess[] = [];

/** Starts swapping in another process; until the test ends or `stopSwapping`. */
export async function startSwapping(place: string, elsewhere: string): Promise<void> {
	const child = spawn(process.execPath, ["-e", script, place, elsewhere], { stdio: ["ignore", "pipe", "inherit"] });
	running.push(child);
	atEnd("test", stopSwapping);
	await once(child.stdout, "data");
}

/** Ends all swapping, wherever it stands. */
export async function stopSwapping(): Promise<void> {
	await Promise.all(
		running.splice(0).map(async (child) => {
			child.kill("SIGKILL");
			if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
		}),
	);
}

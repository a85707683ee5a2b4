import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { packageFolder } from "../../support/built-cli.ts";

/** Puts texts one after the other and tells each ref as soon as it has it. */
const script = `
import { openArchive } from ${JSON.stringify(pathToFileURL(resolve(packageFolder, "dist/index.js")).href)};
const [where, name, count, size] = process.argv.slice(1);
const archive = await openArchive({ where });
process.stdout.write("ready\\n");
await new Promise((begin) => process.stdin.once("data", begin));
process.stdin.pause();
for (let index = 0; index < Number(count); index += 1) {
	const own = index % 2 === 0;
	const text = (own ? name : "shared") + " " + index + " " + String(index).repeat(Number(size));
	const [ref] = await archive.put([{ text, kind: "result", toolCallId: "call " + index, toolName: name }]);
	process.stdout.write(ref + " " + (own ? name : "shared") + " " + index + "\\n");
}
await archive.close();
`;

/** A text that a process was told is kept. */
export interface Told {
	readonly ref: string;
	readonly text: string;
	readonly index: number;
}

export interface PuttingProcess {
	readonly told: readonly Told[];
	/** Lets it begin. */
	readonly begin: () => void;
	/** When it has told of so many texts. */
	readonly whenTold: (count: number) => Promise<void>;
	readonly kill: () => void;
	/** When it is over, and all that it said was heard. */
	readonly over: Promise<void>;
}

/** Starts a process of its own that puts texts into a folder; half of them are its own, half every process's. */
export async function startPutting(
	where: string,
	what: { readonly name: string; readonly count: number; readonly size: number },
): Promise<PuttingProcess> {
	const { name, count, size } = what;
	const given = ["--input-type=module", "-e", script, where, name, `${count}`, `${size}`];
	const child: ChildProcess = spawn(process.execPath, given, { stdio: ["pipe", "pipe", "inherit"] });
	if (child.stdout === null) throw new Error("no output");
	const told: Told[] = [];
	const waiting = new Map<number, () => void>();
	const lines = createInterface({ input: child.stdout });
	const closed = once(lines, "close");
	const exited = once(child, "exit");
	await once(lines, "line");
	lines.on("line", (line) => {
		const [ref = "", of = "", number = ""] = line.split(" ");
		// A line that was cut by the end of the process tells nothing.
		if (ref.length !== 12 || number === "") return;
		told.push({ ref, text: `${of} ${number} ${number.repeat(size)}`, index: Number(number) });
		waiting.get(told.length)?.();
	});
	return {
		told,
		begin: () => child.stdin?.write("begin\n"),
		whenTold: (number) => new Promise((resolve) => waiting.set(number, resolve)),
		kill: () => child.kill("SIGKILL"),
		over: Promise.all([closed, exited]).then(() => {}),
	};
}

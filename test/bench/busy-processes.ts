import { type ChildProcess, spawn } from "node:child_process";

/** Ends by itself when the process that has started it is gone, and in any case after an hour. */
const spin =
	"const parent = process.ppid; const end = Date.now() + 3_600_000; while (process.ppid === parent && Date.now() < end);";

/** Does something while so many processes take all the time that they can get. They end with it, whatever ends it. */
export async function withBusyProcesses<T>(count: number, work: () => Promise<T>): Promise<T> {
	const children: ChildProcess[] = [];
	const end = () => {
		for (const child of children) child.kill("SIGKILL");
	};
	const endAll = () => {
		end();
		process.exit(1);
	};
	const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
	process.once("exit", end);
	for (const signal of signals) process.once(signal, endAll);
	try {
		for (let started = 0; started < count; started += 1) {
			children.push(spawn(process.execPath, ["-e", spin], { stdio: "ignore" }));
		}
		return await work();
	} finally {
		end();
		process.off("exit", end);
		for (const signal of signals) process.off(signal, endAll);
	}
}

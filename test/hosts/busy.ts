import { type ChildProcess, spawn } from "node:child_process";

/** Processes that only compute, until `end`: programs and the proxy then wait for a processor, as on a machine that others use. */
export function startBusy(count: number): { readonly end: () => void } {
	const busy = Array.from({ length: count }, (): ChildProcess => {
		return spawn(process.execPath, ["-e", "for (;;) Math.sqrt(2)"], { stdio: "ignore" });
	});
	return {
		end() {
			for (const one of busy) one.kill("SIGKILL");
		},
	};
}

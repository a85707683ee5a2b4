import { spawn } from "node:child_process";
import { once } from "node:events";
import { builtCli } from "./folders.ts";

/** The built server over HTTP. */
export interface Server {
	/** Such as `http://127.0.0.1:41234`. */
	readonly url: string;
	end(): Promise<void>;
}

/** Starts the built server on a free port, with an archive in memory. */
export async function startServer(node: string, environment: NodeJS.ProcessEnv): Promise<Server> {
	const child = spawn(node, [builtCli, "serve", "--http", "127.0.0.1:0", "--archive", "memory"], {
		env: environment,
		stdio: ["ignore", "ignore", "pipe"],
	});
	const closed = once(child, "close");
	let told = "";
	const url = await new Promise<string>((found, failed) => {
		child.stderr.on("data", (chunk: Buffer) => {
			told += chunk.toString("utf8");
			const [url] = /http:\/\/[^\s/]+(?=\/mcp)/.exec(told) ?? [];
			if (url) found(url);
		});
		void closed.then(() => failed(new Error(`The server ended: ${told}`)));
	});
	return {
		url,
		async end() {
			child.kill("SIGTERM");
			await closed;
		},
	};
}

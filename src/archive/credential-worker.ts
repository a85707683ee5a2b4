import { once } from "node:events";
import { MessageChannel, receiveMessageOnPort, type Transferable, Worker } from "node:worker_threads";
import { PalimpsestError } from "../errors.ts";
import type { Range } from "./redact.ts";

/** A thread that finds credentials in one text at a time. */
export interface CredentialWorker {
	/** Waits for the answer. */
	readonly find: (text: string) => readonly Range[];
	readonly close: () => Promise<void>;
}

/** Addresses (`file:`) of the modules that the thread loads. */
export interface CredentialModules {
	readonly core: string;
	readonly preset: string;
}

const longestWaitMs = 30_000;

// The thread loads no module of ours, so that it starts from the sources and from the build alike. Without the rule
// `filter-comments`, or a comment in a text would turn the search off. secretlint's profiler keeps every mark and
// searches them all at the next: without marks the thousandth text takes as long as the first. Node would write warnings
// past process.stderr, into the middle of a log of JSON.
const script = `
const { parentPort, workerData } = require("node:worker_threads");
const { core, preset, port, answered } = workerData;
process.removeAllListeners("warning");
performance.mark = () => {};
const loaded = Promise.all([import(core), import(preset)]);
loaded.then(() => parentPort.postMessage("ready"));
const find = async (content) => {
	const [{ lintSource }, { creator }] = await loaded;
	const rules = creator.rules.filter(({ meta }) => !meta.id.endsWith("filter-comments"));
	const config = { rules: rules.map((rule) => ({ id: rule.meta.id, rule })) };
	const source = { content, filePath: "text.txt", ext: ".txt", contentType: "text" };
	const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } });
	return messages.map(({ range }) => range);
};
port.on("message", async (content) => {
	port.postMessage(await find(content).catch(() => null));
	Atomics.store(answered, 0, 1);
	Atomics.notify(answered, 0);
});
`;

/**
 * Starts the thread; answers once it has loaded its modules. It keeps no process alive.
 *
 * @throws PalimpsestError `archive_unavailable` where it cannot load them.
 */
export async function startCredentialWorker(modules: CredentialModules): Promise<CredentialWorker> {
	let running: ReturnType<typeof start> | undefined = start(modules);
	try {
		await once(running.worker, "message");
	} catch (cause) {
		throw failed("The packages that find credentials could not be loaded.", cause);
	}
	running.worker.unref();

	const stop = async (): Promise<void> => {
		const { worker } = running ?? {};
		running = undefined;
		await worker?.terminate();
	};
	return {
		find(text) {
			if (running === undefined) {
				running = start(modules);
				running.worker.unref();
			}
			const { port, answered } = running;
			Atomics.store(answered, 0, 0);
			port.postMessage(text);
			const isAnswered = Atomics.wait(answered, 0, 0, longestWaitMs) !== "timed-out";
			const ranges: readonly Range[] | null | undefined = receiveMessageOnPort(port)?.message;
			if (isAnswered && ranges) return ranges;
			void stop();
			throw failed("Looking for credentials in a text failed or took longer than 30 seconds. It was not archived.");
		},
		close: stop,
	};
}

function start({ core, preset }: CredentialModules) {
	const { port1: port, port2 } = new MessageChannel();
	const answered = new Int32Array(new SharedArrayBuffer(4));
	const worker = new Worker(script, {
		eval: true,
		execArgv: [],
		workerData: { core, preset, port: port2, answered },
		transferList: [port2 as unknown as Transferable],
	});
	return { worker, port, answered };
}

function failed(message: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("archive_unavailable", message, { cause });
}

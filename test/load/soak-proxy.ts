import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { Agent, type IncomingMessage, request as sendRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostileRequests } from "../bench/hostile.ts";
import { pick } from "../bench/random.ts";
import { outputOf, requestOf, sessionApis } from "../proxy/sessions.ts";
import { freePort } from "./free-port.ts";
import { figuresOf, tellingParameters } from "./process-figures.ts";
import type { Face, FaceOptions } from "./soak.ts";
import { piecesOf, startProvider } from "./soak-provider.ts";
import { ownProcess } from "./start-process.ts";

const [smallest, largest] = [10_000, 1_000_000];
const deep = { name: "100 000 open brackets", body: Buffer.from(`{"messages":${"[".repeat(100_000)}`) };
const attacks = [...hostileRequests().slice(1), deep];
const [leaves, rewinds, recalls] = [0.05, 0.04, 0.1];

/** `proxy` with an archive of files before a provider that checks all that arrives, and conversations that grow. */
export async function proxyFace({ cli, log }: FaceOptions): Promise<Face> {
	const home = await mkdtemp(join(tmpdir(), "palimpsest-soak-proxy-"));
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const provider = await startProvider();
	const upstreams = ["anthropic", "openai", "gemini"].map((api) => `${api}=${provider.url}`).join(",");
	const proxy = ownProcess({
		command: process.execPath,
		parameters: [
			...[...tellingParameters, "--max-old-space-size=128", cli],
			...["proxy", "--port", `${port}`, "--archive", `${home}/archive`, "--upstream", upstreams],
		],
		environment: { PATH: process.env.PATH, HOME: home, USERPROFILE: home },
		isReady: () => fetch(`${url}/palimpsest/healthz`),
		stdio: ["ignore", "ignore", log, "ipc"],
	});
	await proxy.start();
	const askOwn = async (path: string) => {
		const [entry = ""] = await readdir(`${home}/.local/state/palimpsest/running`);
		const { keys } = JSON.parse(await readFile(`${home}/.local/state/palimpsest/running/${entry}`, "utf8"));
		return fetch(`${url}/palimpsest/${path}`, { headers: { Authorization: `Bearer ${keys.page}` } });
	};
	const livePage = setInterval(() => showLivePage(url), 5_000);
	let conversations = 0;
	return {
		name: "proxy",
		url,
		pingPath: "/palimpsest/healthz",
		figures() {
			const running = proxy.running();
			if (!running) throw new Error("The proxy is not running.");
			return figuresOf(running);
		},
		async more() {
			const { requests, faults } = (await (await askOwn("status")).json()) as ProxyStatus;
			return {
				edited: requests.edited,
				faults: Object.values(faults).reduce((sum, count) => sum + count, 0),
				unedited: provider.unedited(),
			};
		},
		async *client(random) {
			conversations += 1;
			const name = `c${conversations}`;
			const api = pick(random, sessionApis);
			const bytes = smallest * (largest / smallest) ** random();
			const chars = Math.min(bytes / 4, 600 * 30 ** random());
			const most = Math.ceil(bytes / chars);
			const turns = Array.from({ length: most }, (_, turn) => {
				const output = `${name} ${outputOf(turn, chars)}`;
				return { id: `toolu_${name}_${turn}`, command: `grep -rn value-${turn} src`, output };
			});
			const agent = new Agent({ keepAlive: true });
			const conversation = provider.expect(
				name,
				api,
				turns.map(({ output }) => output),
			);
			try {
				// Some conversations were begun elsewhere.
				for (let count = 1 + Math.floor(random() * most * 0.7); count <= most; count += 1) {
					if (random() < rewinds) count = Math.max(1, count - 3);
					const sent = requestOf(api, turns.slice(0, count), `Task ${name}`);
					const id = provider.nextRequest(name);
					const leaving = random() < leaves;
					const got = await ask(`${url}${sent.path}`, { agent, id, body: String(sent.body), leaving });
					if (leaving) {
						yield { what: "left in the middle", outcome: (await provider.hasSeenEnd(id)) ? "right" : "wrong" };
						continue;
					}
					const isWhole = got?.status === 200 && got.text === piecesOf(id).join("");
					yield { what: `${api} answer`, outcome: isWhole ? "right" : got ? "wrong" : "error" };
					const seen = conversation.judge(count);
					yield { what: `${api} request ${seen}`, outcome: seen === "as it should be" ? "right" : "wrong" };
					const original = random() < recalls ? conversation.original(random) : undefined;
					if (!original) continue;
					const { ref, text } = original;
					const read = await askOwn(`originals/${ref}`).then((response) => response.text());
					yield { what: "original", outcome: read === text ? "right" : "wrong" };
				}
			} finally {
				agent.destroy();
				provider.forget(name);
			}
		},
		async *hostile(random) {
			const agent = new Agent({ keepAlive: true });
			try {
				for (let index = 0; index < 10; index += 1) {
					const { name, body } = pick(random, attacks);
					const got = await ask(`${url}/v1/messages`, { agent, id: "hostile", body, leaving: false });
					yield { what: name, outcome: got?.status === 200 ? "right" : "wrong" };
				}
			} finally {
				agent.destroy();
			}
		},
		async end() {
			clearInterval(livePage);
			await proxy.kill();
			await provider.close();
			await rm(home, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

/** As a browser does that has it open, but on a connection that does not stay. */
function showLivePage(url: string): void {
	const asked = sendRequest(`${url}/palimpsest/`, { agent: false, headers: { Connection: "close" } });
	asked.on("response", (page: IncomingMessage) => page.resume());
	asked.on("error", () => {});
	asked.end();
}

interface ProxyStatus {
	readonly requests: { readonly edited: number };
	readonly faults: Readonly<Record<string, number>>;
}

interface Asked {
	readonly agent: Agent;
	readonly id: string;
	readonly body: string | Uint8Array;
	/** Hangs up at the first piece of the answer. */
	readonly leaving: boolean;
}

/** Sends a request; `undefined` where there is no whole answer. */
function ask(url: string, { agent, id, body, leaving }: Asked): Promise<{ status: number; text: string } | undefined> {
	return new Promise((resolve) => {
		const headers = { "Content-Type": "application/json", "X-Soak-Request": id };
		const sent = sendRequest(url, { method: "POST", agent, headers }, (response: IncomingMessage) => {
			let text = "";
			response.setEncoding("utf8");
			response.on("data", (piece: string) => {
				text += piece;
				if (leaving) sent.destroy();
			});
			response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
			response.on("error", () => resolve(undefined));
		});
		sent.on("error", () => resolve(undefined));
		sent.end(body);
	});
}

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificates, startCorporateProxy, startTlsFront } from "../support/corporate-network.ts";
import { finalText, type SessionScript } from "../support/scripted-session.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";
import { grouped } from "./grouped.ts";
import type { AgentProgram } from "./programs.ts";
import { builtCli, prepareHome, runToEnd, sessionPrompt } from "./run-program.ts";

export const corporateColumns = [
	"program",
	"with",
	"requests to the provider",
	"tunnels to it",
	"refused (407)",
	"asked for loopback",
	"asked for other hosts",
	"tokens",
	"right last answer",
];

/** A name that only the proxy of the network resolves. */
const host = "api.provider.example";
const password = "p@ss/w:rd";

/**
 * Plays a session in a network that only a proxy with a password leads out of, and whose provider has a certificate of the
 * network's own authority. Right is a run whose last answer is right, and that asks the proxy for no address of this machine.
 */
export async function runInNetwork(given: {
	readonly program: AgentProgram;
	readonly binFolder: string;
	readonly script: SessionScript;
	readonly way: "alone" | "proxy";
	/** Claude Code: the variables of the network are in its settings file, and not in the environment. */
	readonly isBySettings?: boolean;
	readonly limitSeconds: number;
}): Promise<{ readonly row: readonly string[]; readonly isRight: boolean; readonly output: string }> {
	const { program, script, way, isBySettings = false, limitSeconds } = given;
	const provider = await startStandInProvider({ script });
	const folder = await mkdtemp(join(tmpdir(), "palimpsest-network-"));
	const certificates = makeCertificates(folder, host);
	const front = await startTlsFront(certificates, provider.origin);
	const network = await startCorporateProxy({ user: "joe", password, hosts: { [`${host}:443`]: front.port } });
	const { home, project, environment } = await prepareHome({ ...given, origin: `https://${host}` });
	const { NO_PROXY: _, no_proxy: __, ...others } = environment;
	const ofNetwork = {
		HTTP_PROXY: network.url,
		HTTPS_PROXY: network.url,
		NODE_EXTRA_CA_CERTS: certificates.authority,
		// For programs that are not of Node.
		SSL_CERT_FILE: certificates.authority,
	};
	const { HTTP_PROXY: ___, HTTPS_PROXY: ____, ...direct } = others;
	const inNetwork = isBySettings ? direct : { ...others, ...ofNetwork };
	try {
		if (isBySettings) {
			await mkdir(join(home, ".claude"), { recursive: true });
			const settings = { env: { ...ofNetwork, NO_PROXY: "intranet.example" } };
			await writeFile(join(home, ".claude/settings.json"), JSON.stringify(settings));
		}
		const parameters = program.parameters(sessionPrompt);
		const command =
			way === "proxy"
				? [process.execPath, builtCli, "launch", program.name, "--", ...parameters]
				: [program.command, ...parameters];
		const { output, code } = await runToEnd(command, { cwd: project, environment: inNetwork, limitSeconds });
		const targets = network.asked.map((one) => one.split(" ")[1] ?? "");
		const count = (holds: (target: string) => boolean) => targets.filter(holds).length;
		const isOwn = (target: string) => /^(?:https?:\/\/)?(?:127\.|localhost|\[?::1)/.test(target);
		const isProvider = (target: string) => target === `${host}:443`;
		const loopback = count(isOwn);
		const { requests, sent } = provider.totals();
		const isAnswered = output.includes(finalText(script));
		const isRight = isAnswered && code === 0 && loopback === 0 && requests > script.toolTurns;
		const row = [
			...[requests, count(isProvider), network.asked.filter((one) => one.endsWith(" 407")).length, loopback],
			...[count((target) => !isOwn(target) && !isProvider(target)), sent],
		];
		return { row: [...row.map(grouped), isAnswered ? "yes" : "no"], isRight, output };
	} finally {
		await network.close();
		await front.close();
		await provider.close();
		await rm(folder, { recursive: true, force: true });
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeCertificates, startCorporateProxy, startTlsFront } from "../support/corporate-network.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";

const host = "api.provider.example";
let folder: string;
let provider: StandInProvider;
let front: Awaited<ReturnType<typeof startTlsFront>>;
let network: Awaited<ReturnType<typeof startCorporateProxy>>;
let environment: Record<string, string>;

const asking = `
(async () => {
	const { ANTHROPIC_BASE_URL: base, NO_PROXY, no_proxy } = process.env;
	const headers = { "content-type": "application/json" };
	const body = JSON.stringify({ model: "m", max_tokens: 9, stream: true, messages: [{ role: "user", content: "Hello" }] });
	const answer = await fetch(base + "/v1/messages", { method: "POST", headers, body });
	console.log(JSON.stringify({ status: answer.status, text: await answer.text(), NO_PROXY, no_proxy }));
})();`;

beforeEach(async () => {
	folder = await scratchFolder();
	provider = await startStandInProvider({ script: { toolTurns: 3, fileChars: 2000 } });
	const certificates = makeCertificates(folder, host);
	front = await startTlsFront(certificates, provider.origin);
	network = await startCorporateProxy({ user: "joe", password: "pa55/w@rd", hosts: { [`${host}:443`]: front.port } });
	const bin = join(folder, "bin");
	await mkdir(bin);
	await writeFile(join(bin, "claude"), `#!${process.execPath}\n${asking}\n`);
	await chmod(join(bin, "claude"), 0o755);
	environment = {
		PATH: `${bin}:${process.env.PATH}`,
		ANTHROPIC_BASE_URL: `https://${host}`,
		HTTPS_PROXY: network.url,
		HTTP_PROXY: network.url,
		NO_PROXY: "intranet.example",
		NODE_EXTRA_CA_CERTS: certificates.authority,
		DEBUG: "*",
	};
});
afterEach(async () => {
	await network.close();
	await front.close();
	await provider.close();
});

describe.skipIf(process.platform === "win32")("palimpsest launch in a network with a proxy of its own", () => {
	it("reaches the provider through it with its password and the network's authority, and prints neither", async () => {
		const { code, text, lines } = await runCli(["launch", "claude"], { folder, environment });
		const said = JSON.parse(text);
		expect([code, said.status]).toEqual([0, 200]);
		expect(said.text).toContain("event: message_stop");
		expect(said).toMatchObject({ NO_PROXY: "intranet.example,127.0.0.1,localhost,::1", no_proxy: said.NO_PROXY });
		expect(provider.paths).toEqual(["POST /v1/messages"]);
		expect(network.asked).toEqual([`CONNECT ${host}:443`]);
		expect(lines.join("\n")).not.toMatch(/pa55|Basic/);
	});

	it("takes the way that Claude Code's own settings name, and keeps loopback out of it there too", async () => {
		const { HTTPS_PROXY, NODE_EXTRA_CA_CERTS, PATH = "", ANTHROPIC_BASE_URL = "" } = environment;
		await mkdir(join(folder, ".claude"));
		const env = { HTTPS_PROXY, NODE_EXTRA_CA_CERTS, no_proxy: "intranet.example" };
		await writeFile(join(folder, ".claude/settings.json"), JSON.stringify({ env }));
		const own = { PATH, ANTHROPIC_BASE_URL, HTTPS_PROXY: "", HTTP_PROXY: "", NO_PROXY: "" };
		const { text } = await runCli(["launch", "claude"], { folder, environment: own });
		expect(JSON.parse(text).status).toBe(200);
		expect(network.asked).toEqual([`CONNECT ${host}:443`]);
		const shown = await runCli(["launch", "--dry-run", "claude"], { folder, environment: own });
		expect(shown.text).toContain(`anthropic is reached through ${network.host} (HTTPS_PROXY)\n`);
		expect(shown.text).toContain('"no_proxy":"intranet.example,127.0.0.1,localhost,::1"');
		expect(shown.text).not.toContain("pa55");
	});

	it("answers 502 with how to repair it where the proxy refuses the password", async () => {
		const wrong = { ...environment, HTTPS_PROXY: network.url.replace("joe", "ann"), DEBUG: "" };
		const { text, lines } = await runCli(["launch", "claude"], { folder, environment: wrong });
		const said = JSON.parse(text);
		expect(said.status).toBe(502);
		expect(JSON.parse(said.text).error.message).toContain(
			`The upstream of anthropic cannot be reached (PROXY_REFUSED). The proxy of this network, ${network.host} (HTTPS_PROXY), refuses the user or the password (407). Check them in HTTPS_PROXY`,
		);
		expect([text, ...lines].join("\n")).not.toContain("pa55");
		expect(network.asked).toEqual([`CONNECT ${host}:443 407`]);
	});

	it("shows which proxy it would use, and refuses a variable that names none, as a launch does", async () => {
		const shown = await runCli(["launch", "--dry-run", "claude"], { folder, environment });
		expect(shown.text).toContain(`anthropic is reached through ${network.host} (HTTPS_PROXY)\n`);
		expect(shown.text).not.toContain("pa55");
		const wrong = { ...environment, HTTPS_PROXY: "socks5://joe:pa55@proxy.example" };
		for (const options of [[], ["--dry-run"]]) {
			const { code, lines } = await runCli(["launch", ...options, "claude"], { folder, environment: wrong });
			expect([code, lines.join("\n")]).toEqual([1, expect.stringContaining("Expected HTTPS_PROXY to be the address")]);
			expect(lines.join("\n")).not.toContain("pa55");
		}
	});
});

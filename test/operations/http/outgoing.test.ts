import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Connection, openConnection } from "../../../src/operations/http/outgoing.ts";
import { startUpstream, until } from "../../proxy/upstream.ts";
import {
	type Certificates,
	makeCertificates,
	startCorporateProxy,
	startTlsFront,
} from "../../support/corporate-network.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const host = "api.provider.example";
const password = "p@ss/w:rd%";
let certificates: Certificates;
beforeAll(async () => {
	certificates = makeCertificates(await scratchFolder(), host);
});

const closing: (() => unknown)[] = [];
beforeEach(() => {
	for (const name of ["http_proxy", "https_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"]) vi.stubEnv(name, "");
	// That a certificate authority is trusted is tested with the built command, since Node reads its file as it starts.
	vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
});
afterEach(async () => {
	vi.unstubAllEnvs();
	for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => vi.restoreAllMocks());

/** A provider that only a proxy with a password leads to. */
async function startNetwork(answer?: Parameters<typeof startUpstream>[0]) {
	vi.spyOn(process, "emitWarning").mockImplementation(() => {});
	const upstream = await startUpstream(answer);
	const front = await startTlsFront(certificates, upstream.url);
	const plain = Number(new URL(upstream.url).port);
	const hosts = { [`${host}:443`]: front.port, [`${host}:80`]: plain };
	const proxy = await startCorporateProxy({ user: "joe", password, hosts });
	closing.push(front.close, proxy.close);
	return { upstream, front, proxy };
}

function connectionTo(target: string, network: Readonly<Record<string, string>> = {}): Connection {
	const connection = openConnection(new URL(target), { network });
	closing.push(connection.close);
	return connection;
}

interface Asked {
	readonly path?: string;
	readonly body?: string;
	readonly signal?: AbortSignal;
	readonly canSendAgain?: boolean;
}

const ask = (
	connection: Connection,
	{ path = "/v1", body = "", signal = new AbortController().signal, canSendAgain = true }: Asked = {},
) =>
	connection.ask({
		method: "POST",
		path,
		headers: ["Host", host, "Content-Length", String(body.length)],
		signal,
		send: (request) => request.end(body),
		canSendAgain,
	});

const read = async (answer: Promise<IncomingMessage>) => textOf(await answer);

/** A proxy that does as it is told with each connection, once it has been asked for something. */
async function startOddProxy(act: (socket: Socket) => void) {
	const open = new Set<Socket>();
	const server = createServer((socket) => {
		open.add(socket);
		socket.on("error", () => {}).on("close", () => open.delete(socket));
		socket.once("data", () => act(socket));
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	closing.push(() => {
		for (const socket of open) socket.destroy();
		return new Promise((resolve) => server.close(resolve));
	});
	return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, open };
}

describe("a connection through the proxy of a network", () => {
	it("leads to a host with TLS by one tunnel, which later requests use again", async () => {
		const { upstream, front, proxy } = await startNetwork(({ body }, response) => response.end(`got ${body}`));
		vi.stubEnv("HTTPS_PROXY", proxy.url);
		const connection = connectionTo(`https://${host}/base`);
		for (const body of ["one", "two", "three"]) expect(await read(ask(connection, { body }))).toBe(`got ${body}`);
		expect(proxy.asked).toEqual([`CONNECT ${host}:443`]);
		expect([front.connections(), upstream.received.length]).toEqual([1, 3]);
		expect(JSON.stringify(upstream.received.map(({ rawHeaders }) => rawHeaders))).not.toMatch(/proxy-/i);
	});

	it("gives the whole address of a host without TLS to the proxy", async () => {
		const { upstream, proxy } = await startNetwork(({ body }, response) => response.end(`got ${body}`));
		vi.stubEnv("HTTP_PROXY", proxy.url);
		const connection = connectionTo(`http://${host}`);
		expect(await read(ask(connection, { path: "/v1?x=1", body: "one" }))).toBe("got one");
		expect(proxy.asked).toEqual([`POST http://${host}/v1?x=1`]);
		expect(upstream.received).toMatchObject([{ path: "/v1?x=1", headers: { host } }]);
	});

	it("passes pieces of an answer on as they arrive, and ends at the host when its request is aborted", async () => {
		const pieces: (() => void)[] = [];
		const { upstream, proxy } = await startNetwork((_, response) => {
			response.writeHead(200).flushHeaders();
			for (const piece of ["one", "two"]) pieces.push(() => response.write(piece));
		});
		vi.stubEnv("HTTPS_PROXY", proxy.url);
		const leaving = new AbortController();
		const answer = await ask(connectionTo(`https://${host}`), { signal: leaving.signal });
		let text = "";
		answer
			.on("error", () => {})
			.on("data", (piece) => {
				text += piece;
			});
		pieces.shift()?.();
		await until(() => text === "one");
		pieces.shift()?.();
		await until(() => text === "onetwo");
		leaving.abort();
		await until(() => upstream.left.length === 1);
	});

	it.each(["abort", "close"] as const)("that is still opening ends at %s", async (how) => {
		const proxy = await startOddProxy(() => {});
		vi.stubEnv("HTTPS_PROXY", `http://${proxy.host}`);
		const connection = connectionTo(`https://${host}`);
		const leaving = new AbortController();
		const failed = expect(ask(connection, { signal: leaving.signal })).rejects.toThrow();
		await until(() => proxy.open.size === 1);
		if (how === "abort") leaving.abort();
		else connection.close();
		await failed;
		await until(() => proxy.open.size === 0);
	});

	it("takes the proxy and the certificate authority of other settings before those of this process", async () => {
		const { proxy } = await startNetwork();
		vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "");
		vi.stubEnv("HTTPS_PROXY", "http://127.0.0.1:1");
		const settings = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: certificates.authority };
		expect(await read(ask(connectionTo(`https://${host}`, settings)))).toBe("{}");
		const absent = connectionTo(`https://${host}`, { ...settings, NODE_EXTRA_CA_CERTS: "/absent.pem" });
		await expect(ask(absent)).rejects.toMatchObject({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
	});

	it.each([
		["can", true],
		["cannot", false],
	])("trusts the authorities of the system at the second try; the first request %s be sent again", async (_, can) => {
		const { upstream, proxy } = await startNetwork();
		vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "");
		vi.stubEnv("SSL_CERT_FILE", certificates.authority);
		vi.stubEnv("HTTPS_PROXY", proxy.url);
		const connection = connectionTo(`https://${host}`);
		const first = [1, 2].map(() => ask(connection, { body: "first", canSendAgain: can }));
		for (const one of await Promise.allSettled(first)) expect(one.status).toBe(can ? "fulfilled" : "rejected");
		expect((await ask(connection, { body: "then", canSendAgain: false })).statusCode).toBe(200);
		const bodies = upstream.received.map(({ body }) => body.toString());
		expect(bodies).toEqual(can ? ["first", "first", "then"] : ["then"]);
	});

	it("stays open for the next request after an abort of one that had ended", async () => {
		const { proxy } = await startNetwork();
		vi.stubEnv("HTTPS_PROXY", proxy.url);
		const connection = connectionTo(`https://${host}`);
		const leaving = new AbortController();
		await read(ask(connection, { signal: leaving.signal }));
		leaving.abort();
		await read(ask(connection));
		expect(proxy.asked).toHaveLength(1);
	});
});

describe("the message to a person", () => {
	const answering = (head: string) => (socket: Socket) => void socket.end(`HTTP/1.1 ${head}\r\n\r\n`);
	const adviceOf = async (target: string) => {
		const error = await ask(connectionTo(target)).catch((reason: unknown) => reason);
		expect(error).toBeInstanceOf(Error);
		return (error as { readonly advice?: string }).advice ?? "";
	};

	it.each([
		[
			"without credentials",
			"",
			"demands a user and a password (407). Write them as USER:PASSWORD@ before the host in HTTPS_PROXY",
		],
		["with others", "joe:pa55word@", "refuses the user or the password (407). Check them in HTTPS_PROXY"],
	])("about a proxy that is asked %s", async (_, credentials, words) => {
		const { proxy } = await startNetwork();
		for (const scheme of ["https", "http"]) {
			const variable = `${scheme.toUpperCase()}_PROXY`;
			vi.stubEnv(variable, `http://${credentials}${proxy.host}`);
			const advice = await adviceOf(`${scheme}://${host}`);
			expect(advice).toContain(`The proxy of this network, ${proxy.host} (${variable}), `);
			expect(advice).toContain(words.replace("HTTPS_PROXY", variable));
			expect(advice).not.toContain("pa55word");
		}
	});

	it.each([
		["403 Forbidden", `refuses a connection to ${host}:443 (403). Have the host allowed there`],
		["503 Service Unavailable", `cannot reach ${host}:443`],
		["407 No\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Negotiate", "only NTLM, Negotiate (407). Run a proxy"],
		["201 Created", "refuses a connection"],
	])("about a proxy that answers %j", async (head, words) => {
		const proxy = await startOddProxy(answering(head));
		vi.stubEnv("HTTPS_PROXY", `http://joe:pa55word@${proxy.host}`);
		const advice = await adviceOf(`https://${host}`);
		expect(advice).toContain(words);
		expect(advice).not.toContain("pa55word");
	});

	it.each<readonly [string, (socket: Socket) => void, string]>([
		["hangs up", (socket) => socket.end(), "closed the connection without an answer"],
		["resets the connection", (socket) => socket.resetAndDestroy(), "closed the connection without an answer"],
		["hangs up in its answer", (socket) => socket.end("HTTP/1.1 200 OK\r\n"), "closed the connection"],
		["speaks another protocol", (socket) => socket.end("SSH-2.0-x\r\n\r\n"), "(no HTTP)"],
	])("about a proxy that %s", async (_, act, words) => {
		const proxy = await startOddProxy(act);
		vi.stubEnv("HTTPS_PROXY", `http://joe:pa55word@${proxy.host}`);
		const advice = await adviceOf(`https://${host}`);
		expect(advice).toContain(`The proxy of this network, ${proxy.host} (HTTPS_PROXY), `);
		expect(advice).toContain(words);
		expect(advice).not.toContain("pa55word");
	});

	it("about a proxy that does not run", async () => {
		vi.stubEnv("HTTPS_PROXY", "http://joe:pa55word@127.0.0.1:1");
		expect(await adviceOf(`https://${host}`)).toBe(
			`The proxy of this network, 127.0.0.1:1 (HTTPS_PROXY), cannot be reached (ECONNREFUSED). Check HTTPS_PROXY, or name ${host} in NO_PROXY if it is reached directly.`,
		);
	});

	it("about a host that cannot be found without a proxy", async () => {
		// No label of a name has more than 63 characters, so that nobody is asked for it.
		expect(await adviceOf(`https://${"a".repeat(64)}.example`)).toBe(
			"If this network has a proxy, name it in HTTPS_PROXY and start again.",
		);
	});

	it("about a certificate that is not trusted, and not about a host behind a tunnel that hangs up", async () => {
		const { proxy } = await startNetwork((_, response) => response.socket?.destroy());
		vi.stubEnv("HTTPS_PROXY", proxy.url);
		expect(await adviceOf(`https://${host}`)).toBe("");
		vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "");
		const advice = await adviceOf(`https://${host}`);
		expect(advice).toContain(`The certificate of ${host}:443 is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE).`);
		expect(advice).toContain("NODE_EXTRA_CA_CERTS");
	});
});

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, request as sendRequest } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";

/** The files of a certificate authority of its own, and of a host that it vouches for. */
export interface Certificates {
	/** For NODE_EXTRA_CA_CERTS. */
	readonly authority: string;
	readonly key: string;
	readonly certificate: string;
}

/** Makes them in a folder, by openssl. */
export function makeCertificates(folder: string, host: string): Certificates {
	const file = (name: string) => join(folder, name);
	const openssl = (...parameters: readonly string[]) => {
		const { status, stderr } = spawnSync("openssl", parameters, { encoding: "utf8" });
		if (status !== 0) throw new Error(`openssl failed: ${stderr}`);
	};
	const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
	const authority = [file("authority.key"), file("authority.pem")] as const;
	openssl(
		...["req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=Network of the tests"],
		...["-keyout", authority[0], "-out", authority[1]],
	);
	openssl("req", ...newKey, "-subj", `/CN=${host}`, "-keyout", file("host.key"), "-out", file("host.csr"));
	writeFileSync(file("host.ext"), `subjectAltName=DNS:${host}\nextendedKeyUsage=serverAuth\n`);
	openssl(
		...["x509", "-req", "-in", file("host.csr"), "-days", "2", "-extfile", file("host.ext")],
		...["-CA", authority[1], "-CAkey", authority[0], "-set_serial", "1", "-out", file("host.pem")],
	);
	return { authority: authority[1], key: file("host.key"), certificate: file("host.pem") };
}

/** TLS on loopback in front of a server without it. */
export async function startTlsFront({ key, certificate }: Certificates, origin: string) {
	const port = Number(new URL(origin).port);
	const sockets = new Set<Socket>();
	let connections = 0;
	const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
		connections += 1;
		joined(socket, connect(port, "127.0.0.1"), sockets);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		port: (server.address() as AddressInfo).port,
		connections: () => connections,
		close: () => closed(server, sockets),
	};
}

/** The proxy of a network. It demands a password, knows the hosts that it is told, and logs what it is asked for. */
export async function startCorporateProxy(network: {
	readonly user: string;
	readonly password: string;
	/** Ports on loopback by the names and ports that they have in this network, such as `api.example:443`. */
	readonly hosts: Readonly<Record<string, number>>;
}) {
	const { user, password, hosts } = network;
	const expected = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
	const asked: string[] = [];
	const sockets = new Set<Socket>();
	/** What it answers instead of its service. */
	const refusalOf = (target: string, authorization: string | undefined): string | undefined => {
		if (authorization !== expected)
			return '407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="network"';
		return hosts[target] === undefined ? "403 Forbidden" : undefined;
	};
	const server = createServer((request, response) => {
		const { method, url = "", headers } = request;
		const target = URL.canParse(url) ? new URL(url) : undefined;
		const host = target ? `${target.hostname}:${target.port || 80}` : url;
		const refusal = refusalOf(host, headers["proxy-authorization"]);
		asked.push(`${method} ${url} ${refusal?.slice(0, 3) ?? ""}`.trimEnd());
		if (refusal !== undefined || !target) {
			const named = refusal?.startsWith("407") ? { "Proxy-Authenticate": 'Basic realm="network"' } : {};
			response.writeHead(Number(refusal?.slice(0, 3) ?? 400), named).end();
			return;
		}
		const { "proxy-authorization": _, ...passed } = headers;
		const path = target.pathname + target.search;
		const sent = sendRequest({ host: "127.0.0.1", port: hosts[host], method, path, headers: passed }, (answer) => {
			response.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.pipe(response);
		});
		sent.on("error", () => response.destroy());
		request.pipe(sent);
	});
	server.on("connect", ({ url = "", headers }, socket: Socket, head: Buffer) => {
		const refusal = refusalOf(url, headers["proxy-authorization"]);
		asked.push(`CONNECT ${url} ${refusal?.slice(0, 3) ?? ""}`.trimEnd());
		socket.on("error", () => {});
		if (refusal !== undefined) {
			socket.end(`HTTP/1.1 ${refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
			return;
		}
		const upstream = connect(hosts[url] as number, "127.0.0.1", () => {
			socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
			upstream.write(head);
		});
		joined(socket, upstream, sockets);
	});
	server.requestTimeout = 0;
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
	return {
		/** HOST:PORT. */
		host,
		/** With the user and the password. */
		url: `http://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}`,
		/** Method and target of everything that was asked, with the status of a refusal. */
		asked: asked as readonly string[],
		close: () => {
			server.closeAllConnections();
			return closed(server, sockets);
		},
	};
}

function joined(one: Socket, other: Socket, sockets: Set<Socket>): void {
	for (const [from, to] of [
		[one, other],
		[other, one],
	] as const) {
		sockets.add(from);
		from.on("error", () => {});
		from.on("close", () => {
			sockets.delete(from);
			to.destroy();
		});
		from.pipe(to);
	}
}

function closed(server: { close(then: () => void): unknown }, sockets: ReadonlySet<Socket>): Promise<void> {
	return new Promise((resolve) => {
		server.close(() => resolve());
		for (const socket of sockets) socket.destroy();
	});
}

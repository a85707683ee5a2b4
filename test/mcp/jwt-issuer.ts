import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { onTestFinished } from "vitest";

/** A stand-in for an authorisation server: its metadata, its keys, and tokens of any kind. */
export interface JwtIssuer {
	/** Its name, which is its address. */
	readonly issuer: string;
	readonly jwks: string;
	/** The paths that were asked for. */
	readonly asked: string[];
	readonly privateKey: CryptoKey;
	/** The public key in PEM, as an attacker has it. */
	readonly publicPem: string;
	/** A token that is right but for what is given; a claim of `undefined` is left out. */
	sign(
		claims?: Readonly<Record<string, unknown>>,
		key?: CryptoKey | Uint8Array,
		algorithm?: string,
		id?: string,
	): Promise<string>;
	/** Publishes these keys from now on, in place of its first one. */
	publish(...keys: readonly PublishedKey[]): Promise<void>;
	/** No longer answers. */
	stop(): void;
}

interface PublishedKey {
	readonly key: CryptoKey;
	readonly id: string;
}

export const audience = "https://palimpsest.example.org/mcp";

/** Starts an issuer, whose metadata may be spoiled. It is gone when the test is over. */
export async function startIssuer(
	spoil: (metadata: Record<string, unknown>) => object = (one) => one,
): Promise<JwtIssuer> {
	const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
	const published = async ({ key, id }: PublishedKey) => ({
		...(await exportJWK(key)),
		kid: id,
		alg: "ES256",
		use: "sig",
	});
	const key = await published({ key: publicKey, id: "one" });
	let keys: readonly object[] = [key];
	const asked: string[] = [];
	const server = createServer((request, response) => {
		asked.push(request.url ?? "");
		const documents: Record<string, unknown> = {
			"/keys": { keys },
			"/.well-known/oauth-authorization-server": spoil({ issuer, jwks_uri: `${issuer}/keys` }),
		};
		const found = documents[request.url ?? ""];
		response.writeHead(found ? 200 : 404, { "Content-Type": "application/json" }).end(JSON.stringify(found ?? {}));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const stop = () => {
		server.close();
		server.closeAllConnections();
	};
	onTestFinished(stop);
	return {
		issuer,
		jwks: `${issuer}/keys`,
		asked,
		privateKey,
		publicPem: JSON.stringify(key),
		async publish(...given) {
			keys = await Promise.all(given.map(published));
		},
		stop,
		sign(claims = {}, signing = privateKey, algorithm = "ES256", id = "one") {
			const now = Math.floor(Date.now() / 1_000);
			const usual = { iss: issuer, aud: audience, sub: "alice", iat: now, exp: now + 600 };
			return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: algorithm, kid: id }).sign(signing);
		},
	};
}

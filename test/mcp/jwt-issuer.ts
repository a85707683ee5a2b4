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
	sign(claims?: Readonly<Record<string, unknown>>, key?: CryptoKey | Uint8Array, algorithm?: string): Promise<string>;
	/** No longer answers. */
	stop(): void;
}

export const audience = "https://palimpsest.example.org/mcp";

/** Starts an issuer, whose metadata may be spoiled. It is gone when the test is over. */
export async function startIssuer(
	spoil: (metadata: Record<string, unknown>) => object = (one) => one,
): Promise<JwtIssuer> {
	const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
	const key = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" };
	const asked: string[] = [];
	const server = createServer((request, response) => {
		asked.push(request.url ?? "");
		const documents: Record<string, unknown> = {
			"/keys": { keys: [key] },
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
		stop,
		sign(claims = {}, signing = privateKey, algorithm = "ES256") {
			const now = Math.floor(Date.now() / 1_000);
			const usual = { iss: issuer, aud: audience, sub: "alice", iat: now, exp: now + 600 };
			return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: algorithm, kid: "one" }).sign(signing);
		},
	};
}

import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { quote } from "../engine/policy/errors.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import type { Log } from "../log.ts";
import { isLoopback } from "../operations/http/address.ts";
import { createTokenList } from "../operations/http/auth-tokens.ts";
import { stateKeyIn } from "../operations/http/state-key.ts";
import { createCallerCheck } from "../proxy/callers.ts";
import type { Callers } from "../proxy/tenants.ts";
import {
	type ArchiveLocation,
	archivePlace,
	locationOfPrincipal,
	openArchiveOfPolicy,
} from "../storage/archive/open.ts";
import { openRedisFigures } from "../storage/figures/redis.ts";
import { openFigures } from "../storage/figures/store.ts";

/** Who may use a proxy, and how much. */
export interface ProxyCallersOptions {
	readonly authTokens?: string;
	readonly authProviderKeys?: true;
	readonly callerRequests?: number;
	readonly callerBytes?: number;
	readonly callerConversations?: number;
	readonly tlsCert?: string;
	readonly tlsKey?: string;
}

/**
 * What tells the callers of a proxy apart; `undefined` for a proxy with one user, which has to be on loopback. Throws
 * `invalid_argument` or `unreadable_file`.
 */
export async function callersOf(
	options: ProxyCallersOptions,
	about: {
		readonly host: string;
		readonly location: ArchiveLocation;
		readonly policy: Policy;
		readonly keep: Policy["figures"];
		readonly log: Log;
	},
): Promise<(Callers & { readonly end: () => Promise<void> }) | undefined> {
	const { host, location, policy, keep, log } = about;
	const { authTokens: file, authProviderKeys } = options;
	const variable = process.env.PALIMPSEST_AUTH_TOKENS;
	const tokens = file !== undefined || variable ? createTokenList({ file, variable, log }) : undefined;
	if (!tokens && !authProviderKeys) {
		if (isLoopback(host)) return undefined;
		const message = `Expected a loopback address (localhost, 127.0.0.1 or ::1), got ${quote(host)}. Serving other machines needs to know who asks: --auth-tokens FILE, PALIMPSEST_AUTH_TOKENS, or --auth-provider-keys.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const serverKey = authProviderKeys && stateKeyIn(process.env);
	if (authProviderKeys && serverKey === undefined) {
		const message =
			"Expected PALIMPSEST_STATE_KEY with --auth-provider-keys: keys of providers are known by a hash under it, the same in all processes and after a restart. openssl rand -hex 32 makes one.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const { where, namespace } = location;
	const figures = archivePlace(where) === "redis" ? await openRedisFigures({ url: where, namespace }) : undefined;
	const { callerRequests, callerBytes, callerConversations } = options;
	return {
		check: createCallerCheck({ tokens, serverKey: serverKey || undefined }),
		archiveOf: (principal) => openArchiveOfPolicy(locationOfPrincipal(location, principal), policy),
		figuresOf: (person) => openFigures({ keep, person, write: figures?.write }),
		limits: {
			...(callerRequests !== undefined && { requestsAtOnce: callerRequests }),
			...(callerBytes !== undefined && { bytesAtOnce: callerBytes }),
			...(callerConversations !== undefined && { conversations: callerConversations }),
		},
		async end() {
			tokens?.close();
			await figures?.close();
		},
	};
}

/** The certificate and its key. Throws `invalid_argument` or `unreadable_file`. */
export async function tlsOf({ tlsCert, tlsKey }: ProxyCallersOptions) {
	if (tlsCert === undefined && tlsKey === undefined) return undefined;
	if (tlsCert === undefined || tlsKey === undefined)
		throw new PalimpsestError("invalid_argument", "Expected --tls-cert FILE and --tls-key FILE together.");
	const read = (file: string) =>
		readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
			const message = `Cannot read ${quote(file)} (${cause.code ?? "unknown error"}).`;
			throw new PalimpsestError("unreadable_file", message, { cause });
		});
	const tls = { cert: await read(tlsCert), key: await read(tlsKey) };
	try {
		createSecureContext(tls);
	} catch (cause) {
		const message = "Expected --tls-cert with a certificate and --tls-key with its key, both in PEM.";
		throw new PalimpsestError("invalid_argument", message, { cause });
	}
	return tls;
}

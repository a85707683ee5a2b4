import { createTokenList } from "../../src/operations/http/auth-tokens.ts";
import { createCallerCheck } from "../../src/proxy/callers.ts";
import type { Callers } from "../../src/proxy/tenants.ts";
import { locationOfPrincipal, openArchiveOfPolicy } from "../../src/storage/archive/open.ts";
import { openFigures } from "../../src/storage/figures/store.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { early, startPlayed } from "./played.ts";
import type { ProxyOptions, Sent } from "./upstream.ts";

export const tokens = { ann: "ann-token-of-thirty-two-characters", ben: "ben-token-of-thirty-two-characters" } as const;

export type Person = keyof typeof tokens;

export const serverKey = "a key of the server of 32 bytes or more";

/** Ann and Ben, each with a token, on one archive of files. */
export async function teamOf(limits: Callers["limits"] = {}) {
	const folder = await scratchFolder();
	const figuresFolder = await scratchFolder();
	const variable = Object.entries(tokens).map(([name, token]) => `${name}:${token}`);
	const list = createTokenList({ variable: variable.join(" "), log: () => {} });
	const callers = {
		check: createCallerCheck({ tokens: list, serverKey }),
		archiveOf: (principal) =>
			openArchiveOfPolicy(locationOfPrincipal({ where: folder, namespace: "team" }, principal), early),
		figuresOf: (person) => openFigures({ keep: "all", person, folder: figuresFolder }),
		limits,
	} satisfies Callers;
	return { callers, figuresFolder };
}

export async function startTeam(options: Partial<ProxyOptions> = {}, limits: Callers["limits"] = {}) {
	const team = await teamOf(limits);
	const played = await startPlayed({ policy: early, callers: team.callers, ...options });
	return { ...team, ...played };
}

export function from(person: Person, sent: Sent): Sent {
	return { ...sent, headers: { ...(sent.headers as Record<string, string>), "X-Palimpsest-Token": tokens[person] } };
}
